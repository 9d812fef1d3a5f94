"""Corpora that several experiments hear: scenes, counted sounds and measured ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from experiments.harness.experiment import Scale
from experiments.harness.library import SoundLibrary, choose_audio
from pipelines.spec.spec import Spec

# How often each shape of a scene is drawn.
EXPRESSIONS: Final = {
    "any + any": 3,
    "any * any": 1,
    "(any * any) + any": 2,
    "any + (any * any)": 2,
    "(any + any) * any": 1,
    "any + any + any": 1,
    "(any * any) + any + any": 1,
    "any + (any * any) + any": 1,
}
PAPER_CAPTIONS: Final = 7
"""At most as many true ones and as many false ones (Ghosh et al., section 3.4)."""
MEASURED: Final = ("longer", "louder", "again_louder", "background", "onset")
"""What scenes of a few seconds have room for."""


def make_scenes_spec(
    scale: Scale,
    library: SoundLibrary,
    longer: int = 1,
    truth: Mapping[str, float] | None = None,
) -> Spec:
    """Scenes and their edits.

    Args:
        library: Of labelled sounds.
        longer: How many times longer scenes and sounds are than at that scale.
        truth: What can be heard, where it is not as usual.
    """
    sizes = {Scale.TINY: 2400, Scale.MEDIUM: 50_000, Scale.SMALL: 24_000, Scale.PAPER: 250_000}
    train = sizes[scale]
    test = 2400 if scale.runs_on_cpu else 4000
    seconds = longer * choose_seconds(scale)
    recipe: dict[str, Any] = {
        "scenes": library.list_by_split(train=train, val=600, test=test),
        "expressions": EXPRESSIONS,
        "captions": choose_captions(scale),
        "max_event_s": seconds / 2,
    }
    rate = 48_000 if scale is Scale.PAPER else 16_000
    changed = f"-{longer}-times-longer" * (longer > 1)
    changed += "-by-spans" * bool(truth)
    return library.make_spec(
        corpus=f"scenes-{scale}{changed}",
        seed=7,
        recipe={"scenes": recipe},
        audio={"sample_rate": rate, "length": f"exact {seconds:g} s"},
        truth=dict(truth or {}),
    )


def make_counts_spec(scale: Scale, library: SoundLibrary) -> Spec:
    """One short sound once, twice or three times.

    Args:
        library: Of labelled sounds, some of which can be counted.
    """
    train = 6 if scale is Scale.TINY else 60
    recipe = {"repeats": library.list_by_split(train=train, val=2, test=4)}
    return library.make_spec(
        # After the experiment that had it first: another name would be another corpus.
        f"together-counts-{scale}",
        seed=7,
        recipe={"counts": recipe},
        audio=choose_audio(scale, choose_seconds(scale)),
    )


def make_measures_spec(scale: Scale, library: SoundLibrary) -> Spec:
    """The same sounds twice, which differ in one of `MEASURED`.

    Args:
        library: Of labelled sounds.
    """
    train = 1200 if scale is Scale.TINY else 12_000
    recipe = {
        "pairs": library.list_by_split(train=train, val=300, test=600),
        "attributes": MEASURED,
        # Two sounds and the pause between them fill a sample.
        "max_event_s": 1.5 if scale.runs_on_cpu else 3.0,
    }
    return library.make_spec(
        f"measures-{scale}",
        seed=7,
        recipe={"attributes": recipe},
        audio=choose_audio(scale, choose_seconds(scale)),
    )


def choose_seconds(scale: Scale) -> float:
    """Length of a scene."""
    return 4.0 if scale.runs_on_cpu else 10.0


def choose_captions(scale: Scale) -> int:
    """Most true captions of a scene, its main one included, and most false ones."""
    return 3 if scale.runs_on_cpu else PAPER_CAPTIONS
