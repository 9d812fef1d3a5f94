"""The rows of a plan: a sample as a row, and what is read of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from synth.base.errors import SceneError, shorten
from synth.base.units import Frames
from synth.captions.caption import Caption
from synth.captions.narrative import DenseCaption, Resolution
from synth.scene.activity import Activity
from synth.scene.claim import claim_to_text
from synth.scene.notation import format_scene
from synth.scene.scene import Scene, events, from_text, labels, to_text
from synth.scene.timeline import Timeline, timeline
from synth.truth.envelope import LevelTable


@dataclass(frozen=True, slots=True)
class Sample:
    """One planned sample: a scene that can be rendered, and every sentence about it.

    Args:
        id: Key in the shard: lowercase letters, digits and `-`.
        index: Position in the plan, from 0.
        group: Minimal-pair group; members use the same clips in another composition.
        split: `train`, `val` or `test`.
        shard: Name of the shard that holds it.
        recipe: Name of the recipe that made it.
        scene: The scene, with excerpts.
        activity: When each of its events is heard, in its order.
        caption: The main caption.
        positives: Further true captions.
        negatives: False captions.
        frames: Exact length of the audio.
        excerpts: How many of its events are heard in part only.
        sample_rate: In Hz.
        dense: What is heard when, as sentences.
    """

    id: str
    index: int
    group: str
    split: str
    shard: str
    recipe: str
    scene: Scene
    activity: tuple[Activity, ...]
    caption: Caption
    positives: tuple[Caption, ...]
    negatives: tuple[Caption, ...]
    frames: Frames
    excerpts: int
    sample_rate: int
    dense: tuple[DenseCaption, ...] = ()

    def row(self) -> dict[str, Any]:
        """The sample as a row of `PLAN`."""
        return {
            "id": self.id,
            "index": self.index,
            "group": self.group,
            "split": self.split,
            "shard": self.shard,
            "recipe": self.recipe,
            "relation": self.caption.connective,
            "caption": self.caption.text,
            "claim": claim_to_text(self.caption.claim),
            "generator": self.caption.generator,
            "positives": [caption_row(caption) for caption in self.positives],
            "negatives": [caption_row(caption) for caption in self.negatives],
            "labels": list(labels(self.scene)),
            "clips": [event.heard.clip for event in events(self.scene)],
            "notation": format_scene(self.scene),
            "scene": to_text(self.scene),
            "activity": [each.to_json() for each in self.activity],
            "dense": [asdict(each) for each in self.dense],
            "frames": self.frames,
            "excerpts": self.excerpts,
            "sample_rate": self.sample_rate,
        }


def caption_row(caption: Caption) -> dict[str, str]:
    """A caption as a value of `CAPTION`."""
    return {
        "text": caption.text,
        "claim": claim_to_text(caption.claim),
        "kind": caption.kind,
        "connective": caption.connective,
        "generator": caption.generator,
        "against": caption.against,
    }


def compared_with(negative: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """The text of the true sentence of a row with which one of its negatives is compared.

    Where it stands against any, or the corpus is of an older format, that is the main caption.
    """
    return str(negative.get("against") or row["caption"])


def read_timeline(row: Mapping[str, Any]) -> Timeline:
    """The timeline of a row of `PLAN` or `SAMPLES`: `scene` and `activity` are read.

    It lasts as long as the sample, with what it is padded with.

    In a corpus of an older format, which does not tell activity, sounds are heard all through.
    """
    told = row.get("activity")
    activities = None if told is None else [Activity.from_json(each) for each in told]
    found = timeline(from_text(row["scene"]), activities)
    clips = {place.excerpt.clip for place in found.placements}
    if unlisted := clips - {*row.get("clips", clips)}:
        raise SceneError(
            f"sample {row.get('id')}: its scene has clip {shorten(min(unlisted))}, which its clips "
            "lack",
            fix="download or build the corpus again",
        )
    return replace(found, frames=max(found.frames, row.get("frames", 0)))


def read_dense(row: Mapping[str, Any]) -> tuple[DenseCaption, ...]:
    """The dense captions of a row of `PLAN` or `SAMPLES`; none in a corpus of an older format."""
    told = row.get("dense") or ()
    try:
        return tuple(
            DenseCaption(
                Resolution(each["resolution"]), each["onset"], each["offset"], each["text"]
            )
            for each in told
        )
    except ValueError as error:
        raise SceneError(
            f"dense: {error}", fix=f"expected one of {', '.join(Resolution)}"
        ) from error


# The levels of a catalogue's clips, read where they lie.


def read_levels(clips: pa.RecordBatch) -> LevelTable:
    """Views of the levels of clips.

    Args:
        clips: With the columns `levels_db`, `levels_dba` and `attacks` of `schema.CLIPS`.
    """
    names = ("levels_db", "levels_dba", "attacks")
    levels, weighted, attacks = (clips.column(name) for name in names)
    return LevelTable(
        levels.values.to_numpy(),
        weighted.values.to_numpy(),
        levels.offsets.to_numpy(),
        attacks.values.to_numpy(),
    )
