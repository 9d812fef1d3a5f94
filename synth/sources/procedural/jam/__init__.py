"""Jam: short loops of music made from mathematics, whose tags are true by construction.

`compose(rng)` writes a tune, a value; `tags(tune)` says what is true of it; `perform(tune, rng)`
plays it. The tags are a closed world: what a tune is not tagged with, it is not, has not.

genre: ambient (slow swelling chords, no drums), folk (a picked guitar, no drums), funk
(sixteenths, syncopated bass, scratched chords), jazz (swung ride, walking bass, sevenths), lullaby
(a slow music box), march (108 to 120 bpm, snare and dotted tune), reggae (70 to 82 bpm, one drop,
chords between the beats), rock (backbeat, overdriven fifths), techno (126 to 134 bpm, a kick on
every beat), waltz (three four). Each tune has exactly one; `genres` is the definition.

instrument: bass (plucked), drums, flute, guitar, music box, organ, piano, strings, synthesizer.
Tagged if and only if it plays. Who plays is heard in both halves of the loop, in each at most 13 dB
below the whole, and now and then stands out from it in some band of frequencies.

mood, where slow is at most 84 bpm and fast at least 100 (no tune lies between), and sparse is at
most 3 onsets a second:
    calm: slow and sparse.
    dark: in minor, no note above the D over middle C.
    dreamy: slow and sparse, without drums, in a hall (2 s of reverberation or more).
    energetic: fast, not sparse, with drums.
    happy: fast and in major.
    sad: slow, sparse and in minor.
A tune has every mood whose rule it meets, which may be none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from synth.base.rng import pick
from synth.labels.lexicon import Tag
from synth.sources.procedural.jam.genres import MOODS, RECIPES, write
from synth.sources.procedural.jam.timbres import DRUMS, INSTRUMENTS, RATE, Tune, perform

__all__ = [
    "GENRES",
    "RATE",
    "VERSION",
    "VOCABULARY",
    "Tune",
    "compose",
    "perform",
    "tags",
]

VERSION: Final = 1
"""Raised when any tune, or its sound, comes to differ, so that kept recordings are made anew."""

GENRES: Final[tuple[str, ...]] = tuple(sorted(RECIPES))
"""The genres, sorted."""

VOCABULARY: Final[Mapping[str, tuple[str, ...]]] = {
    "genre": GENRES,
    "instrument": tuple(sorted((DRUMS, *INSTRUMENTS))),
    "mood": tuple(sorted(MOODS)),
}
"""All tags there are, by category, sorted."""


def compose(rng: np.random.Generator, genre: str | None = None) -> Tune:
    """A new tune of a genre, or of any; equal states of `rng` give equal tunes."""
    if genre is None:
        genre = pick(GENRES, rng)
    if genre not in RECIPES:
        raise ValueError(f"unknown genre {genre!r}; known: {', '.join(GENRES)}")
    return write(genre, rng)


def tags(tune: Tune) -> tuple[Tag, ...]:
    """All tags of the vocabulary that hold of a tune, sorted by category and name."""
    return (
        Tag("genre", tune.genre),
        *(Tag("instrument", name) for name in tune.instruments),
        *(Tag("mood", name) for name in sorted(MOODS) if MOODS[name](tune)),
    )
