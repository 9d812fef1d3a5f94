"""The edits of a shard with the audio of both sides, one group at a time."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from synth.audio.stems import quantise_stems, render_stems
from synth.base.errors import CorpusError
from synth.base.rng import Randomness
from synth.base.units import to_frames, to_seconds
from synth.corpus.shards import AudioFormat, decode_audio, encode_audio
from synth.derived.edits.edit import Edit, FoundEdits, edit_from_json, find_edits, takes
from synth.export.items import ExportItem, Shard
from synth.export.questions import SEED, read_clips
from synth.scene.scene import from_text
from synth.scene.timeline import duration

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
        label: What it is called.
        name: Unique among the stems of the corpus.
        audio: An audio file, as long as the sample.
    """

    label: str
    name: str
    audio: bytes


@dataclass(frozen=True, slots=True)
class PairSide:
    """A sample of a pair.

    Args:
        item: It.
        stems: Its sounds.
    """

    item: ExportItem
    stems: tuple[Stem, ...]


@dataclass(frozen=True, slots=True)
class EditGroup:
    """A group with its edits.

    Args:
        edits: Those between its samples.
        sides: Its samples, by id.
    """

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


def read_edit(row: Mapping[str, Any], rate: int) -> Edit:
    """The edit of a row that `describe_edit` wrote."""
    frames = {
        name: to_frames(seconds, rate)
        for name in ("onset", "offset")
        if isinstance(seconds := row.get(f"{name}_s"), float) and 0 <= seconds < math.inf
    }
    return edit_from_json({**row, **frames})


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
