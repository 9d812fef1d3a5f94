"""Edits: the audio of both sides and its stems, in a folder, in tar files, and in Parquet.

Where samples have two edits of one kind, a file besides asks which sample an instruction means.
"""

from __future__ import annotations

import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq

from synth.audio.render import play_apart, quantise_stems
from synth.base.errors import CorpusError
from synth.base.own_label import name_of
from synth.base.units import to_seconds
from synth.corpus.shards import AudioFormat, decode_audio, encode_audio
from synth.derived.edits import EDIT, Edit, EditChoice, find_choices, find_edits
from synth.export.base import RANDOMNESS, ExportFormat, Whole, add_member, json_line, read_how
from synth.export.folder import Writer
from synth.export.hf import AUDIO_TYPE, DECODING, card_facts, name_file, with_features
from synth.export.items import ExportItem, Shard
from synth.scene.scene import from_text
from synth.scene.timeline import duration
from synth.truth.change import ChangeKind

RECIPE: Final = "edits"
SIDES: Final = ("before", "after")

# The edits of a shard with the audio of both sides, one group at a time.


@dataclass(frozen=True, slots=True)
class Stem:
    """One sound of a sample by itself.

    Args:
        name: Unique among the stems of the corpus.
        audio: An audio file, as long as the sample.
    """

    label: str
    name: str
    audio: bytes


@dataclass(frozen=True, slots=True)
class PairSide:
    """A sample of a pair."""

    item: ExportItem
    stems: tuple[Stem, ...]


@dataclass(frozen=True, slots=True)
class EditGroup:
    """A group with its edits.

    Args:
        rows: What every format tells of each edit.
        sides: All samples of the group by id.
    """

    rows: tuple[dict[str, Any], ...]
    sides: Mapping[str, PairSide]


def edit_groups(shard: Shard, edits: Sequence[Edit]) -> Iterator[EditGroup]:
    """The groups of a shard that have edits, in plan order."""
    leading_from = defaultdict(list)
    for edit in edits:
        leading_from[edit.before].append(edit)
    for _, members in groupby(shard.items(), lambda item: item.row["group"]):
        items = {item.id: item for item in members}
        rows = tuple(_describe(edit, items) for name in items for edit in leading_from[name])
        if rows:
            yield EditGroup(rows, {name: _take_apart(shard, item) for name, item in items.items()})


def _describe(edit: Edit, items: Mapping[str, ExportItem]) -> dict[str, Any]:
    """The row of an edit: stretches in seconds, captions and the group."""
    before, after = items[edit.before], items[edit.after]
    rate, stretch = before.row["sample_rate"], edit.change.stretch
    return edit.to_json() | {
        "onset_s": to_seconds(stretch.onset, rate),
        "offset_s": to_seconds(stretch.offset, rate),
        "group": before.row["group"],
        "before_caption": before.texts[0],
        "after_caption": after.texts[0],
    }


def _take_apart(shard: Shard, item: ExportItem) -> PairSide:
    corpus, row = shard.corpus, item.row
    scene, mix = from_text(row["scene"]), decode_audio(item.audio)
    lead = row.get("lead") or 0
    if lead + duration(scene) > len(mix):
        raise CorpusError(
            f"sample {item.id}: its scene lasts longer than its audio",
            fix="run `segue build` again with the corpus's spec",
        )
    layers = play_apart(scene, corpus.bank, corpus.fade, lead)
    try:
        stems = [*quantise_stems(layers, row["gain_db"], mix)]
    except CorpusError as error:
        raise CorpusError(f"sample {item.id}: {error.message}", fix=error.fix) from error
    audio_format = AudioFormat(item.suffix[1:])
    return PairSide(
        item,
        tuple(
            Stem(
                label,
                f"{item.id}-stem{number}",
                encode_audio(pcm, row["sample_rate"], audio_format),
            )
            for number, (label, pcm) in enumerate(zip(scene.named, stems, strict=True))
        ),
    )


class EditFormat(ExportFormat):
    """An export of edits."""

    derived = ("ids",)
    expected = "two samples of a group that differ by one edit"

    def check(self, shards: Sequence[Shard]) -> None:
        """The corpus must be made by recipe `edits`, and its bank be there."""
        for shard in shards[:1]:
            recipe = shard.corpus.facts["recipe"]
            if recipe != RECIPE:
                raise CorpusError(
                    f"corpus {shard.corpus.name} was made with recipe {recipe}: its samples differ "
                    "by more than one edit, or each was turned down by itself",
                    fix=f"build one with recipe {RECIPE} (`segue new {RECIPE}`)",
                )
            _ = shard.corpus.bank

    def part(self, shard: Shard, out: Writer) -> None:
        """The edits of a shard with their audio, and how many pairs are none."""
        rows = {row["id"]: row for row in shard.rows()}
        subjects = shard.subjects([*rows.values()])
        edits = find_edits(subjects, rows, RANDOMNESS)
        self.write(shard, edit_groups(shard, edits.made), out)
        with out.piece("ids") as lines:
            lines.writelines(json_line(edit.id) for edit in edits.made)
        with out.piece("choices") as lines:
            for choice in find_choices(subjects, rows, [*ChangeKind], RANDOMNESS):
                lines.writelines(map(json_line, _ask(choice)))
        with out.piece("unlike") as facts:
            facts.write(json_line(edits.left_out[EDIT]))

    def write(self, shard: Shard, groups: Iterator[EditGroup], out: Writer) -> None:
        """Write the edits of a shard."""
        raise NotImplementedError

    def finish(self, whole: Whole, out: Writer) -> None:
        """The choices, if there are any, and README.md, which says how many pairs are no edits."""
        words = {"FIELDS": read_how("edit-fields"), "UNLIKE": f"{whole.count('unlike'):,}"}
        words["CHOICES"] = ""
        if any(True for split in whole.splits for _ in whole.values(split, "choices")):
            whole.join(out, "{split}_choices.jsonl", "choices")
            words["CHOICES"] = read_how("edit-choices")
        whole.readme(out, self.name, words, self.front_matter(whole))

    def front_matter(self, whole: Whole) -> str:
        """What stands above the README, as YAML."""
        return ""


def _ask(choice: EditChoice) -> Iterator[dict[str, Any]]:
    """The two questions of a choice: what one instruction makes is the rival of the other."""
    targets = choice.targets
    for instruction, target, rival in zip(choice.instructions, targets, targets[::-1], strict=True):
        yield {
            "id": f"{choice.source}-{target}-{rival}",
            "group": choice.group,
            "kind": choice.kind.value,
            "source": choice.source,
            "instruction": instruction,
            "target": target,
            "rival": rival,
        }


# As JSON lines that join the audio files of both sides and of their stems.


class EditsFormat(EditFormat):
    """JSON lines, the stored audio files, and a file per stem."""

    name: ClassVar[str] = "edits"
    version: ClassVar[int] = 3

    def write(self, shard: Shard, groups: Iterator[EditGroup], out: Writer) -> None:
        """Audio, stems, and the edits of this shard's groups."""
        with out.piece("edits") as lines:
            for group in groups:
                files = {name: _store(side, out) for name, side in group.sides.items()}
                for row in group.rows:
                    sides = {
                        f"{which}_{key}": value
                        for which in SIDES
                        for key, value in files[row[which]].items()
                    }
                    lines.write(json_line(row | sides))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One file a split."""
        whole.join(out, "{split}.jsonl", "edits")
        super().finish(whole, out)


def _store(side: PairSide, out: Writer) -> dict[str, Any]:
    """Write the files of a sample; where they lie."""
    item = side.item
    out.write(item.path, item.audio)
    stems = []
    for stem in side.stems:
        path = f"stems/{item.split}/{stem.name}{item.suffix}"
        out.write(path, stem.audio)
        stems.append({"label": name_of(stem.label), "audio": path})
    return {"audio": item.path, "stems": stems}


# With their audio in one file a shard: WebDataset shards, and Parquet for Hugging Face.


_STEMS = pa.list_(pa.struct([("label", pa.string()), ("audio", AUDIO_TYPE)]))
_TEXT: Final = pa.string()
_COLUMNS: Final = pa.schema(
    [
        ("id", _TEXT),
        ("instruction", _TEXT),
        ("reverse_instruction", _TEXT),
        ("kind", _TEXT),
        ("sounds", pa.list_(_TEXT)),
        ("gain_db", pa.float64()),
        ("onset_s", pa.float64()),
        ("offset_s", pa.float64()),
        ("before", AUDIO_TYPE),
        ("after", AUDIO_TYPE),
        ("before_stems", _STEMS),
        ("after_stems", _STEMS),
        ("before_id", _TEXT),
        ("after_id", _TEXT),
        ("before_caption", _TEXT),
        ("after_caption", _TEXT),
        ("claims", pa.list_(_TEXT)),
        ("group", _TEXT),
    ]
)


class EditsWebDataset(EditFormat):
    """A tar file a shard."""

    name: ClassVar[str] = "edits-webdataset"
    version: ClassVar[int] = 3

    def write(self, shard: Shard, groups: Iterator[EditGroup], out: Writer) -> None:
        """The edits of a shard, members of each adjacent."""
        with (
            out.open(f"{shard.split}/{shard.name}") as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            for group in groups:
                for row in group.rows:
                    for which in SIDES:
                        side = group.sides[row[which]]
                        row[f"{which}_stems"] = [name_of(stem.label) for stem in side.stems]
                        parts = [which, *(f"{which}-stem{at}" for at in range(len(side.stems)))]
                        audio = [side.item.audio, *(stem.audio for stem in side.stems)]
                        for part, data in zip(parts, audio, strict=True):
                            add_member(tar, f"{row['id']}.{part}{side.item.suffix}", data)
                    add_member(tar, f"{row['id']}.json", json_line(row))


class EditsHuggingFace(EditFormat):
    """A Parquet file a shard, and a card that names the splits."""

    name: ClassVar[str] = "edits-hf"
    version: ClassVar[int] = 4
    needs = DECODING

    def write(self, shard: Shard, groups: Iterator[EditGroup], out: Writer) -> None:
        """The edits of a shard, a row group each group."""
        schema = with_features(_COLUMNS, shard.corpus.sample_rate)
        with (
            out.open(name_file(shard)) as file,
            pq.ParquetWriter(file, schema, write_statistics=["id"], use_dictionary=False) as writer,
        ):
            for group in groups:
                rows = [_embed(row, group.sides) for row in group.rows]
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))

    def front_matter(self, whole: Whole) -> str:
        """The card's facts."""
        tags = ("audio-editing", "source-separation")
        rows = sum(1 for split in whole.splits for _ in whole.values(split, "ids"))
        return card_facts(whole, rows, "audio-to-audio", tags)


def _embed(row: dict[str, Any], sides: Mapping[str, PairSide]) -> dict[str, Any]:
    """A row with the audio of both sides in it."""
    embedded = dict(row)
    for which in SIDES:
        item, stems = sides[row[which]].item, sides[row[which]].stems
        embedded[f"{which}_id"] = item.id
        embedded[which] = {"bytes": item.audio, "path": f"{item.id}{item.suffix}"}
        embedded[f"{which}_stems"] = [
            {
                "label": name_of(stem.label),
                "audio": {"bytes": stem.audio, "path": f"{stem.name}{item.suffix}"},
            }
            for stem in stems
        ]
    return embedded
