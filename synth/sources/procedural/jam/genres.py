"""Keys, chords and rhythms, from patterns written as text to notes; and the genres made of them.

A rhythm is one bar of equal steps: `X` a loud note, `x` a note, `.` a rest, `-` the note before it
held on. In a line a digit is a note of the chord of the bar, from its root upwards: `0` the root,
`1` the third, `2` the fifth, `3` the root an octave up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from synth.base.rng import pick
from synth.base.units import Decibels, Seconds
from synth.sources.procedural.jam.timbres import (
    CLAP,
    DRUMS,
    HAT,
    KICK,
    OPEN_HAT,
    RIDE,
    RIM,
    SNARE,
    Mode,
    Note,
    PlayerPart,
    Reverb,
    Tune,
)

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


MOODS: Final[Mapping[str, Callable[[Tune], bool]]] = {
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


# The genres: of each the tempo, the metre, and who plays which rhythm.
#
# No genre has a tempo between 84 and 100 bpm, so that slow and fast are never in doubt. Reggae is
# played in minor only: slow and in major it would be happy to many ears, yet not by the rule.


LONGEST: Final[Seconds] = 10.0

Arrange = Callable[[Song, np.random.Generator], list[PlayerPart]]


@dataclass(frozen=True, slots=True)
class Genre:
    """What makes a genre.

    Args:
        tempi: Ranges of bpm, of which one is drawn.
        meter: Beats a bar.
        modes: Of which one is drawn.
        halls: Share of loops that are played in a hall.
        looseness: Standard deviation of the players' timing.
    """

    tempi: tuple[tuple[int, int], ...]
    meter: int
    arrange: Arrange
    modes: tuple[Mode, ...] = ("major", "minor")
    halls: float = 0.0
    looseness: Seconds = 0.006


def _draw_lead(
    song: Song,
    rng: np.random.Generator,
    instruments: Sequence[str],
    rhythms: Sequence[str],
    centre: int,
    level: Decibels,
) -> list[PlayerPart]:
    """A tune for one of the instruments, or none for ""."""
    lead = pick(instruments, rng)
    return [PlayerPart(lead, melody(song, rhythms, centre, rng), level)] if lead else []


def _ambient(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """Slow chords that swell over a drone, now and then a few notes; no drums."""
    low = 12 * int(rng.integers(2))
    pad = pick(("strings", "synthesizer"), rng)
    parts = [
        PlayerPart(pad, chords(song, "x-------", 65 - low, size=4)),
        PlayerPart(pad, line(song, ("0-------",), 50 - low), -4),
    ]
    rhythms = ("..x---..", "x---..x-", ".x----..")
    drops = ("piano", "flute", "synthesizer", "")
    return parts + _draw_lead(song, rng, drops, rhythms, 77 - 2 * low, -5)


def _folk(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """A picked guitar, perhaps with a tune and a bass; no drums."""
    picking = pick(("02142152", "04254254", "0-254-52"), rng)
    parts = [PlayerPart("guitar", line(song, (picking,), 52, ring=1.5))]
    rhythms = ("x-x-x-x-", "x--xx---", "x-xxx-x-")
    parts += _draw_lead(song, rng, ("flute", "strings", ""), rhythms, 70, -2)
    if rng.uniform() < 0.3:
        parts.append(PlayerPart("bass", line(song, ("0---2---",), 36), -3))
    return parts


def _funk(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """Sixteenths on the hi-hat, a syncopated bass that leaps octaves, short scratched chords."""
    beat = {
        KICK: pick(("X..x..x...x..x..", "X.x....x..x....."), rng),
        SNARE: pick(("....X..x.x..X...", "....X.......X..x"), rng),
        HAT: "XxxxXxxxXxxxXxxx",
    }
    groove = pick(("0..0..3.0.0..23.", "0.3...0..03.2..3"), rng)
    scratch = pick(("..x...xx..x..x..", "x..x..x...xx..x."), rng)
    parts = [
        PlayerPart(DRUMS, kit(song, beat), -1),
        PlayerPart("bass", line(song, (groove,), 36)),
        PlayerPart(pick(("guitar", "guitar", "organ"), rng), chords(song, scratch, 62, size=4), -3),
    ]
    rhythms = ("x.xx--..x.x-....", "..x-x-x-..xxx-..")
    return parts + _draw_lead(song, rng, ("synthesizer", "flute", ""), rhythms, 72, -4)


def _jazz(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """Swing: the ride cymbal in triplets, a walking bass, seventh chords off the beat, a solo."""
    beat = {RIDE: "X..x.xX..x.x", HAT: "...x.....x..", KICK: "x..........."}
    walks = ("0--1--2--1--", "0--2--1--2--", "0--1--2--4--")
    order = [walks[i] for i in rng.permutation(3)]
    comp = pick(("piano", "piano", "guitar"), rng)
    stabs = pick(("x----x......", "...x.....x-.", "x-...x...x-."), rng)
    solo = pick(("flute", "organ", "piano", "guitar"), rng)
    rhythms = ("x--x.xx.xx--", "x.xx.x...x--", "...x.xx--x.x")
    return [
        PlayerPart(DRUMS, kit(song, beat), -5),
        PlayerPart("bass", line(song, order, 38)),
        PlayerPart(comp, chords(song, stabs, 62, size=4), -3),
        PlayerPart(solo, melody(song, rhythms, 72, rng), -1),
    ]


def _lullaby(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """A music box over slowly rocking broken chords; no drums."""
    rocking = pick(("0-1-2-1-", "0-2-1-2-", "0-2-4-2-"), rng)
    under = pick(("piano", "guitar", "strings"), rng)
    return [
        PlayerPart("music box", melody(song, ("x-x-x---", "x---x-x-", "x--xx---"), 81, rng)),
        PlayerPart(under, line(song, (rocking,), 52, ring=1.0), -3),
    ]


def _march(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """Left, right: bass drum and low notes on one and three, chords between, snare, dotted tune."""
    beat = {
        KICK: "X.......X.......",
        SNARE: pick(("x...X.xxx...X.xx", "x.xxX...x.xxX.x.", "....X..x....Xxxx"), rng),
    }
    low, middle = pick(("piano", "bass"), rng), pick(("strings", "organ"), rng)
    tune = pick(("flute", "flute", "organ"), rng)
    rhythms = ("x--xx-x-x--xx---", "x---x--xx-x-x---", "x--xx--xx---x-x-")
    return [
        PlayerPart(DRUMS, kit(song, beat), -2),
        PlayerPart(low, line(song, ("0-..2-..",), 40), -2),
        PlayerPart(middle, chords(song, "..x...x.", 60), -4),
        PlayerPart(tune, melody(song, rhythms, 76, rng)),
    ]


def _reggae(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """One drop: the drums fall on three, the chords between the beats, a heavy roaming bass."""
    beat = {KICK: "....X...", RIM: "....X...", HAT: "XxxxXxxxXxxxXxxx"}
    bass = pick(("0...2.3...0.2.1.", "0..01.2.......2.", "..0.2.3.0...3.2."), rng)
    parts = [
        PlayerPart(DRUMS, kit(song, beat), -3),
        PlayerPart("bass", line(song, (bass,), 34), 1),
        PlayerPart(
            pick(("guitar", "piano", "organ"), rng), chords(song, "..x...x...x...x.", 63), -2
        ),
    ]
    rhythms = ("x-x-x---", "..x-x-x-", "x--x----")
    return parts + _draw_lead(song, rng, ("flute", "synthesizer", "", ""), rhythms, 72, -4)


def _rock(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """Backbeat: snare on two and four, overdriven fifths, the bass in eighths on the root."""
    beat = {
        KICK: pick(("X..xX...", "X...Xx..", "X.x.X..x"), rng),
        SNARE: "..X...X.",
        HAT: "XxXxXxXx",
    }
    riff = pick(("XxxxXxxx", "X-xxX-xx", "X--x-xx-"), rng)
    heavy = rng.uniform() < 0.5
    low = 44 if heavy else 48
    parts = [
        PlayerPart(DRUMS, kit(song, beat)),
        PlayerPart("bass", line(song, ("00000000",), low - 12)),
        PlayerPart("guitar", chords(song, riff, low, power=True), -2, drive=4.0),
    ]
    lead = pick(("guitar", "guitar", "organ", "piano"), rng)
    if lead == "guitar":
        rhythms = ("x---x-x-", "x--x--x-", "x---xxx-")
        tune = melody(song, rhythms, 52 if heavy else 72, rng)
        parts.append(PlayerPart(lead, tune, -1, drive=2.5))
    else:
        rhythm = pick(("x---x-x-", "x--x--x-"), rng)
        parts.append(PlayerPart(lead, chords(song, rhythm, 56 if heavy else 68), -3))
    return parts


def _techno(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """Four on the floor: a kick on every beat, open hi-hats between, a bass in sixteenths."""
    beat = {
        KICK: "X...X...X...X...",
        CLAP: pick(("....x.......x...", "................"), rng),
        OPEN_HAT: "..x...x...x...x.",
        HAT: pick(("xx.xxx.xxx.xxx.x", "x..xx..xx..xx..x"), rng),
    }
    bass = pick((".000.000.000.003", "..00..00..00..03", ".0.0.03..0.0.03."), rng)
    stabs = pick(("x..x..x...x..x..", "..x...x..x....x.", "x.x..x.x..x..x.."), rng)
    stabber = pick(("synthesizer", "synthesizer", "piano"), rng)
    low = 10 * int(rng.integers(2))
    parts = [
        PlayerPart(DRUMS, kit(song, beat), 1),
        PlayerPart("synthesizer", line(song, (bass,), 36), -2),
        PlayerPart(stabber, chords(song, stabs, 63 - low), -3),
    ]
    if rng.uniform() < 0.4:
        parts.append(PlayerPart("strings", chords(song, "x-------", 72 - low), -6))
    return parts


def _waltz(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """Three four: a low note on one, chords on two and three, a tune above; no drums."""
    under = pick(("piano", "piano", "guitar"), rng)
    tune = pick(("strings", "flute", "organ", "piano"), rng)
    return [
        PlayerPart(under, line(song, ("0..", "2..") if rng.uniform() < 0.3 else ("0..",), 41), -2),
        PlayerPart(under, chords(song, ".xx", 60), -4),
        PlayerPart(tune, melody(song, ("x---x-", "x-x-x-", "x--xx-", "x-----"), 74, rng)),
    ]


RECIPES: Final[Mapping[str, Genre]] = {
    "ambient": Genre(((56, 72),), 4, _ambient, halls=1.0),
    "folk": Genre(((72, 82), (102, 120)), 4, _folk, halls=0.3, looseness=0.009),
    "funk": Genre(((102, 112),), 4, _funk),
    "jazz": Genre(((66, 76), (120, 144), (144, 168)), 4, _jazz, looseness=0.009),
    "lullaby": Genre(((60, 80),), 4, _lullaby, halls=0.5, looseness=0.009),
    "march": Genre(((108, 120),), 4, _march),
    "reggae": Genre(((70, 82),), 4, _reggae, ("minor",)),
    "rock": Genre(((112, 140),), 4, _rock),
    "techno": Genre(((126, 134),), 4, _techno, looseness=0.0),
    "waltz": Genre(((72, 82), (132, 168)), 3, _waltz, halls=0.3, looseness=0.009),
}


def write(name: str, rng: np.random.Generator) -> Tune:
    """A new tune of a genre, as many whole bars as 10 s hold (8, 6, 4, 3 or 2)."""
    genre = RECIPES[name]
    slowest, fastest = pick(genre.tempi, rng)
    bpm = int(rng.integers(slowest, fastest + 1))
    bars = next(n for n in (8, 6, 4, 3, 2) if n * genre.meter * 60 / bpm <= LONGEST)
    mode = pick(genre.modes, rng)
    song = Song(int(rng.integers(12)), mode, genre.meter, progression(mode, bars, rng))
    hall = rng.uniform() < genre.halls
    room = Reverb(rng.uniform(2.0, 3.0), 0.5) if hall else Reverb(rng.uniform(0.3, 0.8), 0.15)
    parts = tuple(genre.arrange(song, rng))
    return Tune(name, bpm, genre.meter, bars, mode, song.key, parts, room, genre.looseness)
