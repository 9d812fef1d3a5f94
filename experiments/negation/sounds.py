"""Overlaid sounds as `negation` hears them: told by their labels, as music is by its tags."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from experiments.harness.experiment import Row, Scale
from experiments.harness.library import SoundLibrary
from experiments.negation.captions import with_idioms
from experiments.scenes.corpora import choose_seconds
from pipelines.spec.spec import Spec
from synth.base.rng import Randomness
from synth.captions.caption import Caption, Style, capitalise
from synth.corpus.schema import caption_row
from synth.labels.lexicon import Tag
from synth.scene.claim import claim_to_text
from synth.text.negation.negation import Negation, negate
from synth.text.negation.negators import NegationExtent
from synth.text.tags.tag_captions import enumerate_words
from synth.text.tags.tags import TagCategory, TagVocabulary
from synth.truth.change import tag_claim

FRAMES: Final = ("{}.", "One hears {}.", "This is a recording of {}.")
EXPRESSIONS: Final = {"any * any": 1, "any * any * any": 1}
SCENES: Final = {Scale.TINY: 2400, Scale.SMALL: 24_000, Scale.PAPER: 250_000}
"""In training."""
HELD_OUT: Final = 600
_SEED: Final = 7


def make_overlays_spec(name: str, scale: Scale, library: SoundLibrary, audio: Any) -> Spec:
    """Two or three sounds at once, and as many with one of them exchanged.

    Args:
        library: Of labelled sounds.
        audio: As a spec's `audio`.
    """
    recipe = {
        "scenes": library.list_by_split(train=SCENES[scale], val=HELD_OUT, test=HELD_OUT),
        "expressions": EXPRESSIONS,
        "variants": 2,
        "captions": 1,
        "max_event_s": choose_seconds(scale),
    }
    return library.make_spec(name, seed=_SEED, recipe={"scenes": recipe}, audio=audio)


def with_tags(clip: Row) -> Row:
    """A clip's row with its labels for tags."""
    return {**clip, "tags": [asdict(tag) for tag in _make_tags(clip["labels"])]}


def told_by_labels(row: Row) -> Row:
    """The sample with a caption that lists its labels, and that half and fully negated."""
    tags = _make_tags(row["labels"])
    rng = Randomness(_SEED).at("negation/sounds", row["index"])
    frame = FRAMES[int(rng.integers(len(FRAMES)))]
    caption = capitalise(frame.format(enumerate_words([tag.name for tag in tags])))
    how = Negation(TagVocabulary.of(tags))
    found = (
        negate(caption, mode, how, rng, tags) for mode in (NegationExtent.HALF, NegationExtent.FULL)
    )
    negatives = [
        Caption(
            each.text,
            tag_claim(each.kept, each.denied),
            f"negate-{each.mode.value}",
            "",
            f"rule:negate/{Style.PAPER.value}/{each.outcome.value}",
        )
        for each in found
    ]
    return {
        **row,
        "caption": caption,
        "claim": claim_to_text(tag_claim(tags)),
        "relation": "",
        "positives": [],
        "negatives": list(map(caption_row, negatives)),
    }


def learnt_by_labels(row: Row) -> Row:
    """The same with idioms in training captions."""
    return with_idioms(told_by_labels(row))


def _make_tags(labels: Iterable[str]) -> list[Tag]:
    return [Tag(TagCategory.SOUND.value, label.replace("_", " ")) for label in sorted(labels)]
