"""The genres: of each the tempo, the metre, and who plays which rhythm.

No genre has a tempo between 84 and 100 bpm, so that slow and fast are never in doubt. Reggae is
played in minor only: slow and in major it would be happy to many ears, yet not by the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from synth.base.rng import pick
from synth.base.units import Seconds
from synth.sources.procedural.jam.harmony import Song, chords, kit, line, melody, progression
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
    PlayerPart,
    Reverb,
    Tune,
)

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


def _ambient(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """Slow chords that swell over a drone, now and then a few notes; no drums."""
    low = 12 * int(rng.integers(2))
    pad = pick(("strings", "synthesizer"), rng)
    parts = [
        PlayerPart(pad, chords(song, "x-------", 65 - low, size=4)),
        PlayerPart(pad, line(song, ("0-------",), 50 - low), -4),
    ]
    drops = pick(("piano", "flute", "synthesizer", ""), rng)
    if drops:
        rhythms = ("..x---..", "x---..x-", ".x----..")
        parts.append(PlayerPart(drops, melody(song, rhythms, 77 - 2 * low, rng), -5))
    return parts


def _folk(song: Song, rng: np.random.Generator) -> list[PlayerPart]:
    """A picked guitar, perhaps with a tune and a bass; no drums."""
    picking = pick(("02142152", "04254254", "0-254-52"), rng)
    parts = [PlayerPart("guitar", line(song, (picking,), 52, ring=1.5))]
    lead = pick(("flute", "strings", ""), rng)
    if lead:
        parts.append(
            PlayerPart(lead, melody(song, ("x-x-x-x-", "x--xx---", "x-xxx-x-"), 70, rng), -2)
        )
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
    lead = pick(("synthesizer", "flute", ""), rng)
    if lead:
        rhythms = ("x.xx--..x.x-....", "..x-x-x-..xxx-..")
        parts.append(PlayerPart(lead, melody(song, rhythms, 72, rng), -4))
    return parts


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
    lead = pick(("flute", "synthesizer", "", ""), rng)
    if lead:
        parts.append(
            PlayerPart(lead, melody(song, ("x-x-x---", "..x-x-x-", "x--x----"), 72, rng), -4)
        )
    return parts


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


RECIPES: Final[Mapping[str, Genre]] = MappingProxyType(
    {
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
)


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
