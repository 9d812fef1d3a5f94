"""The protocol of an export format, and what every format is given."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, Final, Protocol, runtime_checkable

import pyarrow as pa

from synth.base.doors import open_regular, own_file, parse_json, read_regular
from synth.base.rng import Randomness, digest
from synth.base.units import Seconds
from synth.corpus.corpus import ATTRIBUTION_FILE, Corpus
from synth.corpus.schema import canonical_json
from synth.export.folder import KEPT, Folder, Writer
from synth.export.items import ExportItem, Shard
from synth.storage import fetch

README: Final = "README.md"
"""Says how an export is read."""

_NONE: Final[Mapping[str, str]] = MappingProxyType({})

RANDOMNESS: Final = Randomness(0)
"""Draws what is derived from samples: wording, distractors and the order of options."""


@runtime_checkable
class ExportFormat(Protocol):
    """One published layout. Instances are values that travel to workers.

    A shard becomes a part: whatever files its samples need, and its pieces of the manifests that
    list the whole split. When all parts are there, the pieces are joined in plan order.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    """Raised whenever the same corpus would give other bytes."""
    needs: ClassVar[str] = ""
    """What reading it takes besides, and how to get that."""
    derived: ClassVar[tuple[str, ...]] = ()
    """Names of the pieces that hold what is derived from samples; a corpus must give a row."""
    expected: ClassVar[str] = "groups whose samples are told apart, as of recipe triplets or scenes"
    """What gives such rows."""
    root: str = ""
    """Folder with which paths begin, "" where they are relative."""

    def check(self, shards: Sequence[Shard]) -> None:
        """Refuse a corpus that readers of this layout cannot take, before anything is written."""

    def part(self, shard: Shard, out: Writer) -> None:
        """Write everything of one shard, sample by sample."""
        ...

    def finish(self, whole: Whole, out: Writer) -> Mapping[str, int] | None:
        """Join the pieces, and write what is said of the whole.

        Returns:
            What the summary of the export tells besides, such as rows that were left out.
        """
        ...


def identify_export(made: ExportFormat, corpus: Corpus, shards: Sequence[Shard]) -> dict[str, Any]:
    """Which export this is; another one must not be written into the same folder."""
    facts = {
        "format": made.name,
        "format_version": made.version,
        "corpus": corpus.name,
        "version": corpus.version,
        "corpus_digest": str(corpus.facts["digest"]),
        "splits": list(dict.fromkeys(shard.split for shard in shards)),
    }
    if made.root:
        facts["root"] = made.root
    return facts | {"digest": digest(canonical_json(facts))}


@dataclass(frozen=True, slots=True)
class Whole:
    """All that is exported.

    Args:
        shards: Those of the chosen splits, in plan order.
    """

    corpus: Corpus
    shards: tuple[Shard, ...]
    folder: Folder

    @property
    def splits(self) -> tuple[str, ...]:
        """The chosen splits, in plan order."""
        return tuple(dict.fromkeys(shard.split for shard in self.shards))

    def of_split(self, split: str) -> tuple[Shard, ...]:
        """The shards of a split, in plan order."""
        return tuple(shard for shard in self.shards if shard.split == split)

    def values(self, split: str, piece: str) -> Iterator[Any]:
        """The values of the lines of JSON in a split's pieces of one name, in plan order."""
        for shard in self.of_split(split):
            path = self.folder.piece(shard.name, piece)
            with open_regular(path) as file:
                for line in file:
                    yield parse_json(line, str(path), fix="export again into another folder")

    def count(self, piece: str) -> int:
        """The sum of the numbers in all pieces of one name."""
        return sum(sum(self.values(split, piece)) for split in self.splits)

    def join(self, out: Writer, name: str, piece: str, head: bytes = b"") -> None:
        """Write `head` and a split's pieces of one name, in plan order, as one file a split.

        Args:
            name: Of the file, with `{split}` in it.
        """
        for split in self.splits:
            with out.open(name.format(split=split)) as file:
                file.write(head)
                for shard in self.of_split(split):
                    with open_regular(self.folder.piece(shard.name, piece)) as part:
                        shutil.copyfileobj(part, file)

    def readme(
        self, out: Writer, name: str, words: Mapping[str, str] = _NONE, front_matter: str = ""
    ) -> None:
        """Write README.md: what this is, how it is read, the clips' licences; and their credits.

        Args:
            name: Of the file below `readmes/` that says what lies where, and how it is read.
            words: What takes the place of words in capitals there.
            front_matter: YAML for Hugging Face, without its fences.
        """
        facts = self.corpus.facts
        how = read_how(name)
        for word, text in words.items():
            how = how.replace(word, text).strip()
        counts = "\n".join(
            f"| {split} | {sum(shard.samples for shard in self.of_split(split)):,} |"
            for split in self.splits
        )
        rights = "\n".join(
            f"| {name} | {count:,} |" for name, count in facts.get("licences", {}).items()
        )
        reason, common = facts.get("licence_reason"), facts.get("licence", "unknown")
        effective = (
            f"No single licence covers all samples: {reason}."
            if reason
            else f"A work of all clips of the corpus can be under {common}."
        )
        head = f"---\n{front_matter.strip()}\n---\n" if front_matter else ""
        text = f"""{head}# {facts["corpus"]}

An export of the synthetic audio-caption corpus `{facts["corpus"]}`, version `{facts["version"]}`,
made by Segue with recipe `{facts["recipe"]}` over source `{facts["source"]}`.

| split | samples |
|---|---:|
{counts}

{how}

`{KEPT}/` lets an interrupted export go on, and is not needed to read it.

## Licences of the clips

{effective} `{ATTRIBUTION_FILE}` credits each clip that the corpus's samples use. This is
bookkeeping, not legal advice.

| licence | clips |
|---|---:|
{rights}
"""
        out.write(README, text.encode())
        ledger = fetch(own_file(self.corpus.folder, ATTRIBUTION_FILE))
        if ledger.is_file():
            out.write(ATTRIBUTION_FILE, read_regular(ledger))


def read_how(name: str) -> str:
    """What the README of a format says of its files."""
    return files("synth.export").joinpath("readmes", f"{name}.md").read_text("utf-8").strip()


def json_line(value: Any) -> bytes:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def add_member(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    """Add a file to a tar file, without time or owner."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


# The columns of exports that are tables: what is told of a sample, without its audio.


AUDIO: Final = "audio"
ROWS_AT_ONCE: Final = 16
"""So few that a reader of a single row, and a writer, hold little audio at a time."""

_TEXTS = pa.list_(pa.string())
_EVENT = pa.struct(
    [
        ("label", pa.string()),
        ("clip", pa.string()),
        ("onset_s", pa.float64()),
        ("offset_s", pa.float64()),
        ("heard_s", pa.list_(pa.list_(pa.float64()))),
        ("gain_db", pa.float64()),
        ("licence", pa.string()),
        ("attribution", pa.string()),
    ]
)
_DENSE = pa.struct(
    [
        ("resolution", pa.string()),
        ("onset_s", pa.float64()),
        ("offset_s", pa.float64()),
        ("text", pa.string()),
    ]
)
_TOLD: Final = (
    ("caption", pa.string()),
    ("captions", _TEXTS),
    ("negatives", _TEXTS),
    ("negative_kinds", _TEXTS),
    ("negative_against", _TEXTS),
    ("labels", _TEXTS),
    ("events", pa.list_(_EVENT)),
    ("dense", pa.list_(_DENSE)),
    ("relation", pa.string()),
    ("notation", pa.string()),
    ("group", pa.string()),
    ("recipe", pa.string()),
    ("generator", pa.string()),
    ("frames", pa.int64()),
)


def make_schema(audio: pa.DataType) -> pa.Schema:
    """The columns, given the type of the one that holds the audio."""
    return pa.schema([("id", pa.string()), (AUDIO, audio), *_TOLD])


def make_row(item: ExportItem, audio: Any) -> dict[str, Any]:
    """A sample as a row, with more keys than there are columns; `audio` is told as given."""
    return {
        **item.document,
        AUDIO: audio,
        "caption": item.texts[0],
        "captions": item.texts,
        "labels": item.document["tag"],
    }


def batch_rows(rows: Iterator[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows as batches of `ROWS_AT_ONCE`, the last one of what is left."""
    while chosen := list(islice(rows, ROWS_AT_ONCE)):
        yield pa.RecordBatch.from_pylist(chosen, schema=schema)


# Lines of CSV and TSV files.


def table_line(values: Sequence[str], separator: str = ",") -> bytes:
    """Values as one line, quoted where they hold the separator, a quote or a line break."""
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(values)
    return line.getvalue().encode()


def seconds_text(seconds: Seconds) -> str:
    """Seconds to the microsecond, finer than a frame at any audio rate."""
    return f"{seconds:.6f}"
