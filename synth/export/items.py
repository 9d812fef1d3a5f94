"""The samples of a shard, one at a time, each checked against the manifest."""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from synth.base.doors import parse_json
from synth.base.errors import CorpusError
from synth.base.units import Seconds, to_seconds
from synth.corpus.corpus import CLIPS_FILE, SAMPLES_FILE, Corpus
from synth.corpus.schema import AUDIBLE
from synth.corpus.shards import document, name_stems
from synth.derived.questions import Subject, subjects
from synth.export.folder import Writer
from synth.storage import display_path, open_file

ROWS_AT_ONCE: Final = 64
_ASKED_OF_CLIPS: Final = ("id", "labels", "captions", "tags")
_MAX_TEXT: Final = 1 << 26
"""Bytes of the JSON of one sample; a header of a stranger may say anything."""

_MEND: Final = "run `segue build` again with the corpus's spec, or copy the shards again"


def _fits(stored: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """Whether a sample's JSON is as it is written today, but for what older formats lack."""
    events = [
        {name: event[name] for name in own}
        for own, event in zip(stored["events"], expected["events"], strict=True)
    ]
    known = {**expected, "events": events}
    return all(stored[key] == known[key] for key in stored.keys() & known.keys())


@dataclass(frozen=True, slots=True)
class ExportItem:
    """One sample with its audio.

    Args:
        row: Its row of `schema.SAMPLES`.
        audio: The audio file, as the shard stores it.
        document: What `shards.document` says of it.
    """

    row: Mapping[str, Any]
    audio: bytes
    document: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Its key."""
        return str(self.row["id"])

    @property
    def split(self) -> str:
        """Its split."""
        return str(self.row["split"])

    @property
    def suffix(self) -> str:
        """Extension of the audio file, with the dot."""
        return PurePosixPath(self.row["member"]).suffix

    @property
    def path(self) -> str:
        """Where exports with a folder of audio put it."""
        return f"audio/{self.split}/{self.id}{self.suffix}"

    @property
    def duration_s(self) -> Seconds:
        """Of the audio."""
        return to_seconds(self.row["frames"], self.row["sample_rate"])

    @property
    def texts(self) -> list[str]:
        """Captions that are true of it, the main one first."""
        return list(self.document["text"])

    @property
    def dense(self) -> list[dict[str, Any]]:
        """Its dense captions, as the document tells them, with their `duration_s`."""
        return self._add_durations(self.document["dense"])

    @property
    def heard(self) -> list[dict[str, Any]]:
        """Every stretch in which a sound of it is heard, as an event with its `duration_s`."""
        return self._add_durations(
            event | {"onset_s": onset, "offset_s": offset}
            for event in self.document["events"]
            for onset, offset in event["heard_s"]
        )

    def _add_durations(self, events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        rate = self.row["sample_rate"]
        return [
            event
            | {"duration_s": to_seconds(round((event["offset_s"] - event["onset_s"]) * rate), rate)}
            for event in events
        ]


@dataclass(frozen=True)
class Shard:
    """A shard that is to be exported.

    Args:
        row_group: Of `samples.parquet`, that lists its samples.
        row: The first of them in the row group.
        number: Position among the shards of its split, from 0.
        of: Shards of its split.
    """

    corpus: Corpus
    name: str
    split: str
    row_group: int
    row: int
    samples: int
    number: int
    of: int

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of `schema.SAMPLES`, in plan order."""
        with pq.ParquetFile(self.corpus.folder / SAMPLES_FILE) as file:
            begin, end = self.row, self.row + self.samples
            place = 0
            for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=[self.row_group]):
                first = min(max(0, begin - place), batch.num_rows)
                own = batch.slice(first, max(0, end - max(begin, place)))
                place += batch.num_rows
                yield from own.to_pylist()
                if place >= end:
                    break

    def items(self) -> Iterator[ExportItem]:
        """The samples, in plan order."""
        path = self.corpus.shard(self.split, self.name)
        try:
            with (
                open_file(path, self.corpus.receipt(self.name)) as file,
                tarfile.open(fileobj=file, mode="r:") as tar,
            ):
                for row in self.rows():
                    if self.corpus.facts.get("stems"):
                        self._find_member(tar, name_stems(row["member"]))
                    audio = self._read_member(tar, row["member"], row["size"])
                    if hashlib.sha256(audio).hexdigest() != row["sha256"]:
                        raise self._damage_error(f"{row['member']} is not what was rendered")
                    name = f"{row['id']}.json"
                    stored = parse_json(self._read_member(tar, name, _MAX_TEXT), name)
                    expected = document(row, {event["clip"]: event for event in stored["events"]})
                    if not _fits(stored, expected):
                        raise self._damage_error(f"{row['id']}.json does not match the manifest")
                    yield ExportItem(row, audio, expected)
                if tar.next() is not None:
                    raise self._damage_error("holds more samples than its manifest")
        except FileNotFoundError as error:
            raise CorpusError(f"{display_path(path)}: no such shard", fix=_MEND) from error
        except (tarfile.TarError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
            raise self._damage_error(str(error) or type(error).__name__) from error

    def store_audio(self, out: Writer) -> dict[str, str]:
        """Write the audio files; where each sample's lies."""
        paths: dict[str, str] = {}
        for item in self.items():
            paths[item.id] = item.path
            out.write(item.path, item.audio)
        return paths

    def subjects(self, rows: Sequence[Mapping[str, Any]] | None = None) -> list[Subject]:
        """The samples as they are asked about, in plan order.

        Args:
            rows: The shard's, where they have been read.
        """
        folder = self.corpus.folder
        metadata = pq.read_schema(folder / SAMPLES_FILE).metadata or {}
        if AUDIBLE.encode() not in metadata:
            raise CorpusError(
                f"{folder / SAMPLES_FILE}: does not say which overlaps are audible",
                fix="it was made by an older version: build again",
            )
        rows = list(self.rows()) if rows is None else rows
        used = sorted({clip for row in rows for clip in row["clips"]})
        clips = pq.read_table(
            folder / CLIPS_FILE, columns=list(_ASKED_OF_CLIPS), filters=[("id", "in", used)]
        )
        by_id = {row["id"]: row for row in clips.to_pylist()}
        return subjects(rows, by_id, int(metadata[AUDIBLE.encode()]))

    def _find_member(self, tar: tarfile.TarFile, name: str) -> tarfile.TarInfo:
        """The next member, which must have this name and at most so many bytes."""
        member = tar.next()
        if member is None or member.name != name or not member.isfile():
            place = member.name if member is not None else "the end"
            raise self._damage_error(f"expected {name}, found {place}")
        return member

    def _read_member(self, tar: tarfile.TarFile, name: str, most: int) -> bytes:
        """What the next member holds."""
        member = self._find_member(tar, name)
        if member.size > most:
            raise self._damage_error(f"{name} has {member.size} bytes: expected {most} at most")
        file = tar.extractfile(member)
        assert file is not None
        return file.read()

    def _damage_error(self, reason: str) -> CorpusError:
        path = self.corpus.shards / self.split / self.name
        return CorpusError(f"{display_path(path)}: damaged: {reason}", fix=_MEND)


def list_shards(corpus: Corpus, splits: Sequence[str] = ()) -> tuple[Shard, ...]:
    """The shards of some splits, or of all, in plan order."""
    for split in splits:
        corpus.refuse_unknown(split)
    path = corpus.folder / SAMPLES_FILE
    pieces: list[tuple[str, str, int, int, int]] = []
    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, columns=["shard", "split"])
                rows = zip(table["shard"].to_pylist(), table["split"].to_pylist(), strict=True)
                row = 0
                for (shard, split), entry in groupby(rows):
                    samples = sum(1 for _ in entry)
                    pieces.append((shard, split, group, row, samples))
                    row += samples
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise CorpusError(f"{path}: damaged: {error}", fix=_MEND) from error
    names = [entry[0] for entry in pieces]
    if len(set(names)) < len(names):
        raise CorpusError(f"{path}: the samples of a shard are not together", fix=_MEND)
    chosen = [entry for entry in pieces if not splits or entry[1] in splits]
    totals = {split: sum(entry[1] == split for entry in chosen) for split in corpus.splits}
    seen = dict.fromkeys(totals, 0)
    result = []
    for name, split, group, row, samples in chosen:
        result.append(Shard(corpus, name, split, group, row, samples, seen[split], totals[split]))
        seen[split] += 1
    return tuple(result)
