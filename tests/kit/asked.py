"""Planned corpora as subjects of questions, read back from their rows."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

from synth.base.rng import Randomness
from synth.corpus.schema import Sample
from synth.derived.asking import ask
from synth.derived.questions import Derived, Question, Subject, subjects
from synth.labels.lexicon import Treatment
from synth.recipes.attributes import Attribute, Attributes
from synth.recipes.base import Clip, Recipe, Setting
from synth.recipes.counts import Counts
from synth.recipes.scenes import Scenes
from synth.recipes.triplets import Triplets
from synth.scene.timeline import Timeline
from synth.truth.relations import Tolerance
from tests.kit.planned import AUDIBLE, RATE, level_clip, make_setting, spread_clips

SPREAD = (
    "Bark", "Meow", "Moo", "Rain", "Thunder", "Siren", "Church bell", "Piano", "Acoustic guitar",
    "Snoring", "Laughter", "Motorcycle", "Helicopter", "Chainsaw", "Typing", "Applause",
    "theremin solo", "Bagpipes", "Dog", "Printer", "Walk, footsteps", "Fireworks",
)  # fmt: skip
"""Singular and plural, one that is not listed, and two that are kin."""


def subject(
    heard: Timeline, number: int = 0, group: int = 0, tolerance: Tolerance | None = None
) -> Subject:
    """A sample whose caption names all that is heard."""
    sounds = tuple(dict.fromkeys(place.label for place in heard.placements))
    return Subject(f"s-{number}", f"g-{group}", heard, tolerance or Tolerance(), sounds)


def clips(names: tuple[str, ...] = SPREAD, each: int = 3) -> list[Clip]:
    """A few clips a label, from 0.5 s to about 8 s."""
    return spread_clips(names, each)


def rows(
    recipe: Recipe, found: list[Clip], seed: int = 7, setting: Setting | None = None
) -> list[dict[str, Any]]:
    """The plan of a corpus of one split."""
    setting = setting or make_setting(seed=seed)
    recipe.check(setting, ["train"])
    groups = recipe.groups({"train": found}, setting)["train"]
    planned: list[dict[str, Any]] = []
    for number in range(len(groups)):
        for draft in groups.group(number):
            captions, heard = draft.captions, draft.timeline
            sample = Sample(
                id=f"corpus-train-{len(planned):08d}",
                index=len(planned),
                group=f"train-{number:08d}",
                split="train",
                shard="corpus-train-000000.tar",
                recipe=recipe.name,
                scene=draft.scene,
                activity=tuple(place.heard for place in heard.placements),
                caption=captions.caption,
                positives=captions.positives,
                negatives=captions.negatives,
                frames=1,
                excerpts=0,
                sample_rate=RATE,
            )
            planned.append(sample.row())
    return planned


def catalogue(found: list[Clip]) -> dict[str, dict[str, Any]]:
    """What is read of the clips' rows."""
    return {
        clip.id: {
            "id": clip.id,
            "labels": list(clip.labels),
            "captions": list(clip.captions),
            "tags": [{"category": tag.category, "name": tag.name} for tag in clip.tags],
        }
        for clip in found
    }


def planned(recipe: Recipe, found: list[Clip] | None = None, seed: int = 7) -> list[Subject]:
    """The samples of a planned corpus."""
    found = found or clips()
    return subjects(rows(recipe, found, seed), catalogue(found), AUDIBLE)


@cache
def scenes() -> tuple[Subject, ...]:
    """40 groups of nested scenes."""
    return tuple(planned(Scenes(scenes=160)))


@cache
def triplets() -> tuple[Subject, ...]:
    """30 groups of two sounds, all long enough to be fitted to one another."""
    found = clips(("Bark", "Rain", "Siren", "Piano", "Typing", "Moo"))
    return tuple(planned(Triplets(), [clip for clip in found if clip.frames >= RATE]))


_SHORT = (-14.0, *(-20.0,) * 19)
_RISING = tuple(-30 + 18 * at / 40 for at in range(40))
_TREATED = {
    Treatment.RISING: _RISING,
    Treatment.FALLING: _RISING[::-1],
    Treatment.FAR: (-35.0,) * 40,
}
PLAIN = [
    *(level_clip(label, (-20.0,) * 100) for label in ("rain", "vacuum_cleaner")),
    *(level_clip(label, _SHORT) for label in ("dog", "rooster")),
]
TREATED = PLAIN + [
    level_clip(label, _TREATED.get(treatment, (-20.0,) * 40), treatment)
    for label in ("dog", "rooster")
    for treatment in Treatment
]
"""Clips of which every attribute can be proven."""


@cache
def attributes() -> tuple[Subject, ...]:
    """Four groups of each attribute."""
    every = get_args(Attribute)
    recipe = Attributes(pairs=4 * len(every), attributes=every)
    return tuple(planned(recipe, TREATED))


@cache
def counts() -> tuple[Subject, ...]:
    """12 groups of one sound, heard once to three times."""
    levels = (-20.0, -22.0, -30.0, -60.0)
    found = [level_clip(label, levels, attacks=(1, 0, 0, 0)) for label in ("dog", "cat", "frog")]
    return tuple(planned(Counts(repeats=4), found))


CORPORA = {"scenes": scenes, "triplets": triplets}
MEASURED = {"attributes": attributes, "counts": counts}


@cache
def questions(name: str) -> Derived[Question]:
    """What is asked of one of the corpora."""
    return ask((CORPORA | MEASURED)[name](), Randomness(0))


def holds(question: Question, subject: Subject) -> bool:
    """Whether the answer is proven of a sample, and every other option refuted."""
    return all(
        subject.proves(claim) if option == question.answer else subject.refutes(claim)
        for option, claim in question.options.items()
    )
