"""Keys, chords and rhythms: from patterns written as text to notes.

A rhythm is one bar of equal steps: `X` a loud note, `x` a note, `.` a rest, `-` the note before it
held on. In a line a digit is a note of the chord of the bar, from its root upwards: `0` the root,
`1` the third, `2` the fifth, `3` the root an octave up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Final

import numpy as np

from synth.base.rng import pick
from synth.base.units import Seconds
from synth.sources.procedural.jam.timbres import DRUMS, Mode, Note, Tune

_SCALES: Final[Mapping[Mode, tuple[int, ...]]] = {
    "major": (0, 2, 4, 5, 7, 9, 11),
    "minor": (0, 2, 3, 5, 7, 8, 10),
}
_PROGRESSIONS: Final[Mapping[Mode, tuple[tuple[int, ...], ...]]] = {
    "major": ((0, 3, 0, 4), (0, 4, 3, 4), (0, 3, 1, 4), (0, 5, 3, 4), (0, 1, 3, 4)),
    "minor": ((0, 3, 0, 4), (0, 5, 3, 4), (0, 6, 5, 4), (0, 3, 5, 4), (0, 0, 3, 4)),
}
"""Four chords each, by degree: all set out from the tonic and return to it by the dominant."""

_LOUDNESS: Final = {"X": 1.0, "x": 0.7}


def nearest(pitch_class: int, centre: int) -> int:
    """The pitch of that class nearest to `centre`."""
    return centre + (pitch_class - centre + 6) % 12 - 6


@dataclass(frozen=True, slots=True)
class Song:
    """What all players agree on.

    Args:
        key: Pitch class of the tonic.
        mode: Of the key; in minor the dominant is a major chord, as in the harmonic scale.
        meter: Beats a bar.
        chords: The degree of each bar's chord, 0 the tonic.
    """

    key: int
    mode: Mode
    meter: int
    chords: tuple[int, ...]

    def scale(self, bar: int) -> tuple[int, ...]:
        """The seven pitch classes of the scale under the chord of a bar."""
        steps = list(_SCALES[self.mode])
        if self.chords[bar] == 4:
            steps[6] = 11
        return tuple((self.key + step) % 12 for step in steps)

    def chord(self, bar: int, size: int = 3) -> tuple[int, ...]:
        """Pitch classes of a bar's chord from the root in thirds: 3 a triad, 4 a seventh."""
        scale, degree = self.scale(bar), self.chords[bar]
        return tuple(scale[(degree + 2 * i) % 7] for i in range(size))


def progression(mode: Mode, bars: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Chords for 2, 3, 4, 6 or 8 bars."""
    a, b, c, d = pick(_PROGRESSIONS[mode], rng)
    return {
        2: (a, d),
        3: (a, c, d) if c else (a, b, d),
        4: (a, b, c, d),
        6: (a, b, c, d, a, d),
        8: (a, b, c, d, a, b, c, d),
    }[bars]


def _steps(pattern: str, meter: int) -> Iterator[tuple[str, float, float]]:
    """Sign, start and length in beats of each note of a rhythm."""
    step = meter / len(pattern)
    places = [i for i, sign in enumerate(pattern) if sign not in ".-"]
    for i in places:
        held = len(pattern[i + 1 :]) - len(pattern[i + 1 :].lstrip("-"))
        yield pattern[i], i * step, (1 + held) * step


def kit(song: Song, rhythms: Mapping[int, str]) -> tuple[Note, ...]:
    """Drums: a rhythm for each piece, the same in every bar."""
    return tuple(
        Note(bar * song.meter + start, length, piece, _LOUDNESS[sign])
        for bar in range(len(song.chords))
        for piece, pattern in rhythms.items()
        for sign, start, length in _steps(pattern, song.meter)
    )


def chords(
    song: Song, pattern: str, centre: int, size: int = 3, power: bool = False
) -> tuple[Note, ...]:
    """Block chords in a rhythm, each voice as near to `centre` as can be.

    Args:
        centre: Pitch around which the voices lie.
        size: Notes a chord: 3 a triad, 4 a seventh chord.
        power: Root, fifth and octave above `centre` in place of the chord.
    """
    notes = []
    for bar in range(len(song.chords)):
        tones = song.chord(bar, size)
        voices = [nearest(tone, centre) for tone in tones]
        if power:
            voices = [voices[0], voices[0] + 7, voices[0] + 12]
        for sign, start, length in _steps(pattern, song.meter):
            time = bar * song.meter + start
            notes += [Note(time, length, voice, _LOUDNESS[sign]) for voice in voices]
    return tuple(notes)


def line(song: Song, patterns: Sequence[str], centre: int, ring: float = 0.0) -> tuple[Note, ...]:
    """Bass lines and broken chords.

    Args:
        patterns: Rhythms of digits, one a bar in turn.
        centre: The root lies as near to it as can be.
        ring: Least length of a note in beats.
    """
    notes = []
    for bar in range(len(song.chords)):
        tones = [nearest(song.chord(bar)[0], centre)]
        for before, tone in pairwise(song.chord(bar)):
            tones.append(tones[-1] + (tone - before) % 12)
        for sign, start, length in _steps(patterns[bar % len(patterns)], song.meter):
            octave, place = divmod(int(sign), 3)
            velocity = 0.9 if start == 0 else 0.75
            pitch = tones[place] + 12 * octave
            notes.append(Note(bar * song.meter + start, max(length, ring), pitch, velocity))
    return tuple(notes)


def melody(
    song: Song, rhythms: Sequence[str], centre: int, rng: np.random.Generator
) -> tuple[Note, ...]:
    """A tune: chord notes on the beats, steps of the scale between, within an octave of `centre`.

    On the tonic a bar starts with the third, which tells major from minor.

    Args:
        rhythms: Of which two are chosen, for the odd and the even bars.
        centre: Pitch around which it moves.
    """
    chosen = [rhythms[i] for i in rng.permutation(len(rhythms))[:2]]
    pitch, notes = centre, []
    for bar in range(len(song.chords)):
        triad, scale = song.chord(bar), song.scale(bar)
        beats = _steps(chosen[bar % len(chosen)], song.meter)
        for i, (sign, start, length) in enumerate(beats):
            on_beat = start == int(start)
            leap = rng.integers(-4, 5) if on_beat else rng.choice((-2, 2))
            goal = int(np.clip(pitch + leap, centre - 8, centre + 8))
            if i == 0 and song.chords[bar] == 0:
                pitch = nearest(triad[1], centre)
            else:
                tones = triad if on_beat else scale
                pitch = min((nearest(tone, goal) for tone in tones), key=lambda p: abs(p - goal))
            notes.append(Note(bar * song.meter + start, length, pitch, _LOUDNESS[sign]))
    return tuple(notes)


# The moods: rules over tempo, mode, density, register and room. What is not tagged is denied.


SLOW: Final = 84
"""The most bpm of a slow loop."""
FAST: Final = 100
"""The least bpm of a fast one; there is none between."""
SPARSE: Final = 3.0
"""The most onsets a second of a sparse loop."""
LOW: Final = 62
"""The highest note of a low loop: the D above middle C; none has its highest note just above."""
HALL: Final[Seconds] = 2.0
"""The least reverberation time of a hall; that of any other room is below 1 s."""


def _is_calm(tune: Tune) -> bool:
    return tune.bpm <= SLOW and tune.onset_rate <= SPARSE


MOODS: Final[Mapping[str, Callable[[Tune], bool]]] = MappingProxyType(
    {
        "calm": _is_calm,
        "dark": lambda tune: tune.mode == "minor" and tune.top <= LOW,
        "dreamy": lambda tune: (
            _is_calm(tune) and tune.room.decay >= HALL and DRUMS not in tune.instruments
        ),
        "energetic": lambda tune: (
            tune.bpm >= FAST and tune.onset_rate > SPARSE and DRUMS in tune.instruments
        ),
        "happy": lambda tune: tune.bpm >= FAST and tune.mode == "major",
        "sad": lambda tune: _is_calm(tune) and tune.mode == "minor",
    }
)
