"""Edits as a folder: the audio of both sides and its stems, and JSON lines that join them."""

from __future__ import annotations

import tarfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq

from synth.audio.render import quantise_stems, render_stems
from synth.base.errors import CorpusError
from synth.base.rng import Randomness
from synth.base.units import to_seconds
from synth.corpus.shards import AudioFormat, decode_audio, encode_audio
from synth.derived.differences import find_differences
from synth.derived.edits import Edit, FoundEdits, find_edits, takes
from synth.export.base import ExportFormat, Whole, add_member, json_line
from synth.export.folder import Writer
from synth.export.hf import AUDIO_TYPE, card_facts, name_file, with_features
from synth.export.items import ExportItem, Shard
from synth.export.questions import SEED, read_clips, store_audio, subjects_of
from synth.scene.scene import from_text
from synth.scene.timeline import duration

# The edits of a shard with the audio of both sides, one group at a time.


RECIPE: Final = "edits"

FIELDS: Final = """\
- `instruction` leads from before to after, `reverse_instruction` back.
- `kind`: `add`, `remove`, `replace`, `quieter`, `louder` or `swap`; `sounds`: the labels it is
  about; `gain_db`: by how much a sound is raised.
- `onset_s`, `offset_s`: outside of this stretch before and after are equal, sample for sample.
- `claims`: two, as JSON text in the form of the corpus's manifest: what is proven before and what
  is proven after. Except for a level, each is refuted of the other side.
- Stems are the sounds of a sample, each by itself, and silent where it does not play. Added as
  16-bit integers they give the sample exactly.
"""


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
    """A group with its edits."""

    edits: tuple[Edit, ...]
    sides: dict[str, PairSide]


def check_edits(shards: Sequence[Shard]) -> None:
    """Check that a corpus was made for edits, and that its clips are there."""
    for shard in shards[:1]:
        recipe = shard.corpus.facts["recipe"]
        if recipe != RECIPE:
            raise CorpusError(
                f"corpus {shard.corpus.name} was made with recipe {recipe}: its samples differ by "
                "more than one edit, or each was turned down by itself",
                fix=f"build one with recipe {RECIPE} (`segue new {RECIPE}`)",
            )
        _ = shard.corpus.bank


def read_edits(shard: Shard) -> FoundEdits:
    """The edits of a shard, without audio."""
    rows, clips, audible = read_clips(shard)
    return find_edits(takes(rows, clips, audible), Randomness(SEED))


def edit_groups(shard: Shard, edits: Sequence[Edit]) -> Iterator[EditGroup]:
    """The groups of a shard that have edits, in plan order."""
    leading_from = defaultdict(list)
    for edit in edits:
        leading_from[edit.before].append(edit)
    for _, members in groupby(shard.items(), lambda item: item.row["group"]):
        items = {item.id: item for item in members}
        own = tuple(edit for name in items for edit in leading_from[name])
        if own:
            yield EditGroup(own, {name: _take_apart(shard, item) for name, item in items.items()})


def describe_edit(edit: Edit, group: EditGroup) -> dict[str, Any]:
    """The row of an edit: stretches in seconds, captions and the group."""
    before, after = group.sides[edit.before].item, group.sides[edit.after].item
    rate = before.row["sample_rate"]
    row = edit.to_json()
    times = {f"{name}_s": to_seconds(row.pop(name), rate) for name in ("onset", "offset")}
    return (
        row
        | times
        | {
            "group": before.row["group"],
            "before_caption": before.texts[0],
            "after_caption": after.texts[0],
        }
    )


def _take_apart(shard: Shard, item: ExportItem) -> PairSide:
    corpus, row = shard.corpus, item.row
    scene, mix = from_text(row["scene"]), decode_audio(item.audio)
    if duration(scene) > len(mix):
        raise CorpusError(
            f"sample {item.id}: its scene lasts longer than its audio",
            fix="run `segue build` again with the corpus's spec",
        )
    rendered = render_stems(scene, corpus.bank, corpus.fade)
    try:
        stems = quantise_stems(rendered, row["gain_db"], mix)
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


_EDITS_HOW = f"""\
`SPLIT.jsonl` has a line for every pair of samples of which one becomes the other by one edit:

- `before`, `after`: ids of the samples; `before_audio`, `after_audio`: their files, from this
  folder; `before_caption`, `after_caption`: what is said of them.
- `before_stems`, `after_stems`: `label` and `audio` of every sound.
{FIELDS}
Pairs of a group that are no single edit, and so have no line: UNLIKE.
"""


class EditFormat(ExportFormat):
    """An export of edits."""

    def check(self, shards: Sequence[Shard]) -> None:
        """The corpus must be made by recipe `edits`, and its bank be there."""
        check_edits(shards)


class EditsFormat(EditFormat):
    """JSON lines, the stored audio files, and a file per stem."""

    name: ClassVar[str] = "edits"
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio, stems, and the edits of this shard's groups."""
        pairs = read_edits(shard)
        with out.piece("edits") as lines:
            for group in edit_groups(shard, pairs.edits):
                files = {name: _store(side, out) for name, side in group.sides.items()}
                for edit in group.edits:
                    sides = {
                        f"{which}_{key}": value
                        for which, name in (("before", edit.before), ("after", edit.after))
                        for key, value in files[name].items()
                    }
                    lines.write(json_line(describe_edit(edit, group) | sides))
        note_unlike(out, pairs)

    def finish(self, whole: Whole, out: Writer) -> None:
        """One file a split."""
        for split in whole.splits:
            whole.join(out, f"{split}.jsonl", split, "edits")
        write_readme(whole, out, _EDITS_HOW)


def note_unlike(out: Writer, found: FoundEdits) -> None:
    """Note how many pairs of a shard are no edits."""
    with out.piece("unlike") as facts:
        facts.write(json_line(found.unlike))


def write_readme(whole: Whole, out: Writer, how: str, front_matter: str = "") -> None:
    """README.md, which says how many pairs are no edits."""
    unlike = sum(sum(whole.values(split, "unlike")) for split in whole.splits)
    whole.readme(out, how.replace("UNLIKE", f"{unlike:,}"), front_matter)


def _store(side: PairSide, out: Writer) -> dict[str, Any]:
    """Write the files of a sample; where they lie."""
    item = side.item
    out.write(item.path, item.audio)
    stems = []
    for stem in side.stems:
        path = f"stems/{item.split}/{stem.name}{item.suffix}"
        out.write(path, stem.audio)
        stems.append({"label": stem.label, "audio": path})
    return {"audio": item.path, "stems": stems}


# Difference captions: pairs of samples of a group, and what tells them apart, as JSON lines.


_DIFFERENCES_HOW = """\
`SPLIT.jsonl` has a line for every two samples of a minimal-pair group that can be told apart:

- `first`, `second`, `group`: the samples; `first_audio`, `second_audio`: their files, from this
  folder.
- `caption` says how they differ, the first before the second; `reverse_caption` says the same of
  them in the opposite order, and is false in this one.
- `kind`: `reorder`, `together`, `apart`, `rebind`, `replaced`, `added` or `removed`: how the second
  differs from the first.
- `claims`: two, as JSON text in the form of the corpus's manifest: what is proven of the first and
  refuted of the second, and what is proven of the second and refuted of the first.

Of UNTOLD pairs nothing could be said that is proven of one and refuted of the other.
"""


class DifferencesFormat(ExportFormat):
    """JSON lines and the stored audio files."""

    name: ClassVar[str] = "differences"
    version: ClassVar[int] = 1

    def part(self, shard: Shard, out: Writer) -> None:
        """Audio files and the differences within this shard's groups."""
        paths = store_audio(shard, out)
        about = subjects_of(shard)
        groups = {subject.id: subject.group for subject in about}
        differences = find_differences(about, Randomness(SEED))
        with out.piece("differences") as lines:
            for difference in differences.differences:
                place = {
                    "group": groups[difference.first],
                    "first_audio": paths[difference.first],
                    "second_audio": paths[difference.second],
                }
                lines.write(json_line(difference.to_json() | place))
        with out.piece("untold") as facts:
            facts.write(json_line(differences.untold))

    def finish(self, whole: Whole, out: Writer) -> None:
        """One file a split."""
        untold = 0
        for split in whole.splits:
            whole.join(out, f"{split}.jsonl", split, "differences")
            untold += sum(whole.values(split, "untold"))
        whole.readme(out, _DIFFERENCES_HOW.replace("UNTOLD", f"{untold:,}"))


# Edits with their audio in one file a shard: WebDataset shards, and Parquet for Hugging Face.


_UNLIKE = "\nPairs of a group that are no single edit, and so are left out: UNLIKE.\n"
_HOW_TAR = f"""\
`SPLIT/*.tar` are WebDataset shards. A sample is an edit: `before.flac` and `after.flac` (or `.wav`)
are its audio, `before-stem0.flac`, `after-stem0.flac` and so on the sounds of each side by
themselves, and `json` says what the edit is; `before_stems` and `after_stems` there are the labels
of the stems.

    import webdataset
    edits = webdataset.WebDataset("FOLDER/train/train-00000.tar", shardshuffle=False)

{FIELDS}{_UNLIKE}"""
_HOW_PARQUET = f"""\
One Parquet file a shard in `data/`, a row an edit. `before` and `after` are `Audio` columns with
the files' bytes; `before_stems` and `after_stems` list `label` and `audio` of every sound.

    from datasets import load_dataset
    edits = load_dataset("FOLDER")

{FIELDS}{_UNLIKE}"""

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
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """The edits of a shard, members of each adjacent."""
        pairs = read_edits(shard)
        with (
            out.open(f"{shard.split}/{shard.name}") as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            for group in edit_groups(shard, pairs.edits):
                for edit in group.edits:
                    row = describe_edit(edit, group)
                    for which in ("before", "after"):
                        side = group.sides[row[which]]
                        row[f"{which}_stems"] = [stem.label for stem in side.stems]
                        add_member(tar, f"{edit.id}.{which}{side.item.suffix}", side.item.audio)
                        for number, stem in enumerate(side.stems):
                            name = f"{edit.id}.{which}-stem{number}{side.item.suffix}"
                            add_member(tar, name, stem.audio)
                    add_member(tar, f"{edit.id}.json", json_line(row))
        note_unlike(out, pairs)

    def finish(self, whole: Whole, out: Writer) -> None:
        """The README."""
        write_readme(whole, out, _HOW_TAR)


class EditsHuggingFace(EditFormat):
    """A Parquet file a shard, and a card that names the splits."""

    name: ClassVar[str] = "edits-hf"
    version: ClassVar[int] = 3

    def part(self, shard: Shard, out: Writer) -> None:
        """The edits of a shard, a row group each group."""
        pairs = read_edits(shard)
        schema = with_features(_COLUMNS, shard.corpus.sample_rate)
        samples = 0
        with (
            out.open(name_file(shard)) as file,
            pq.ParquetWriter(file, schema, write_statistics=["id"], use_dictionary=False) as writer,
        ):
            for group in edit_groups(shard, pairs.edits):
                rows = list(_rows(group))
                samples += len(rows)
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        note_unlike(out, pairs)
        with out.piece("rows") as facts:
            facts.write(json_line(samples))

    def finish(self, whole: Whole, out: Writer) -> None:
        """The card."""
        rows = sum(sum(whole.values(split, "rows")) for split in whole.splits)
        tags = ("audio-editing", "source-separation")
        write_readme(whole, out, _HOW_PARQUET, card_facts(whole, rows, "audio-to-audio", tags))


def _rows(group: EditGroup) -> Iterator[dict[str, Any]]:
    for edit in group.edits:
        row = describe_edit(edit, group)
        for which in ("before", "after"):
            side = group.sides[row[which]]
            row[f"{which}_id"] = side.item.id
            row[which] = _audio(side.item.id, side, side.item.audio)
            row[f"{which}_stems"] = [
                {"label": stem.label, "audio": _audio(stem.name, side, stem.audio)}
                for stem in side.stems
            ]
        yield row


def _audio(name: str, side: PairSide, data: bytes) -> dict[str, Any]:
    return {"bytes": data, "path": f"{name}{side.item.suffix}"}
