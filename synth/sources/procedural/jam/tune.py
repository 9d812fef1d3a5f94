"""The score of a loop as a value: who plays what and when, and in which room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from synth.base.units import Decibels, Seconds

Mode: TypeAlias = Literal["major", "minor"]

DRUMS: Final = "drums"
KICK, RIM, SNARE, CLAP, HAT, OPEN_HAT, RIDE = 36, 37, 38, 39, 42, 46, 51
"""The pieces of the drum kit, by their numbers in General MIDI."""


@dataclass(frozen=True, slots=True)
class Note:
    """One note.

    Args:
        start: In beats from the start of the loop.
        length: In beats.
        pitch: MIDI number (60 is middle C); for drums the piece of the kit.
        velocity: Loudness as played, 0 to 1.
    """

    start: float
    length: float
    pitch: int
    velocity: float


@dataclass(frozen=True, slots=True)
class PlayerPart:
    """What one player plays.

    Args:
        instrument: Its timbre, which is also its tag.
        notes: In no particular order.
        level: RMS in the mix, relative to the other parts.
        drive: Gain into an overdriven amplifier, 0 for none.
    """

    instrument: str
    notes: tuple[Note, ...]
    level: Decibels = 0.0
    drive: float = 0.0


@dataclass(frozen=True, slots=True)
class Reverb:
    """The reverberation of the room it is played in.

    Args:
        decay: Reverberation time (60 dB).
        wet: RMS of the room's sound over that of the dry sound.
    """

    decay: Seconds
    wet: float


@dataclass(frozen=True, slots=True)
class Tune:
    """A loop of whole bars, complete but for the performance.

    Args:
        genre: One of `synth.sources.procedural.jam.GENRES`.
        bpm: Beats a minute.
        meter: Beats a bar.
        bars: How many.
        mode: Of the key.
        key: Pitch class of the tonic, 0 for C to 11.
        parts: An instrument may play several.
        room: Where it is played.
        looseness: Standard deviation of the players' timing.
    """

    genre: str
    bpm: int
    meter: int
    bars: int
    mode: Mode
    key: int
    parts: tuple[PlayerPart, ...]
    room: Reverb
    looseness: Seconds

    @property
    def beats(self) -> int:
        """Beats in the loop."""
        return self.bars * self.meter

    @property
    def duration(self) -> Seconds:
        """Of the loop."""
        return self.beats * 60 / self.bpm

    @property
    def instruments(self) -> tuple[str, ...]:
        """The instruments that play, sorted."""
        return tuple(sorted({part.instrument for part in self.parts}))

    @property
    def onset_rate(self) -> float:
        """Different moments a second at which notes start."""
        starts = {round(24 * note.start) for part in self.parts for note in part.notes}
        return len(starts) / self.duration

    @property
    def top(self) -> int:
        """MIDI number of the highest note."""
        return max(
            note.pitch for part in self.parts if part.instrument != DRUMS for note in part.notes
        )
