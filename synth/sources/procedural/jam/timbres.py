"""The instruments: from a frequency and a length to the sound of one note.

`INSTRUMENTS[name](rng)` is one instrument as a player brings it, with its own colour; what it
returns plays single notes. Two ways of making tones suffice: a bank of partials that each die away
(strings plucked and struck, tines), and a wavetable read at a steady or trembling pitch (all that
is blown, bowed or electronic).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import scipy
from jaxtyping import Float32, Float64

from synth.base.units import Decibels, Seconds, to_frames, to_gain
from synth.sources.procedural.foley.signals import band_noise

RATE: Final = 48_000
Signal: TypeAlias = Float64[np.ndarray, "_"]
Voice: TypeAlias = Callable[[float, int], Signal]
"""One note: from its frequency in Hz and the frames that it is held; it rings on after."""

_TABLE: Final = 4096
_BLOCK: Final = 256
_HIGHEST: Final = 15_000.0  # Hz


def seconds(n: int) -> Signal:
    """The time of each of `n` frames."""
    return np.arange(n) / RATE


def partials(
    n: int,
    frequencies: Float64[np.ndarray, " partials"],
    decays: Float64[np.ndarray, " partials"],
    gains: Float64[np.ndarray, " partials"],
) -> Float64[np.ndarray, " {n}"]:
    """The sum of gain * exp(-t / decay) * sin(2 pi f t) over all partials below 15 kHz.

    The phasor at frame i * 256 + j is that of frame i * 256 turned by j frames, so that few
    exponentials are taken.
    """
    low = frequencies < _HIGHEST
    pole = (2j * np.pi * frequencies[low] - 1 / decays[low]) / RATE
    blocks = -(-n // _BLOCK)
    starts = gains[low] * np.exp(np.arange(blocks)[:, None] * (_BLOCK * pole))
    turns = np.exp(pole[:, None] * np.arange(_BLOCK))
    # Not a product of matrices: its last bits may change with the number of threads.
    out: Signal = np.einsum("ik,kj->ij", starts.real, turns.imag)
    out += np.einsum("ik,kj->ij", starts.imag, turns.real)
    return out.reshape(-1)[:n]


def wavetable(gains: Signal) -> Signal:
    """One period of a wave with harmonics of the given gains."""
    spectrum = np.zeros(_TABLE // 2 + 1, complex)
    spectrum[1 : gains.size + 1] = -0.5j * _TABLE * gains
    return np.asarray(np.fft.irfft(spectrum, _TABLE))


def read(table: Signal, cycles: Signal) -> Signal:
    """The wave at every moment of a running phase in cycles."""
    wave: Signal = table.take((cycles * _TABLE).astype(np.int32) & (_TABLE - 1))
    return wave


def hold(n: int, gate: int, attack: Seconds, release: Seconds) -> Signal:
    """A rise, a level, and a fall from frame `gate` on."""
    frame = np.arange(n)
    shape: Signal = np.minimum(frame / (attack * RATE), 1.0)
    shape *= np.clip(1 + (gate - frame) / (release * RATE), 0.0, 1.0)
    return shape


def damp(x: Signal, gate: int, release: Seconds) -> Signal:
    """`x` itself, hushed within `release` from frame `gate` on, its start free of clicks."""
    x *= hold(x.size, gate, 0.001, release)
    return x


def harmonics(f: float, most: int) -> Signal:
    """The numbers 1, 2, 3, ... of those harmonics of `f` that lie below 15 kHz, at most `most`."""
    return np.arange(1.0, max(1, min(most, int(_HIGHEST / f))) + 1)


def piano(rng: np.random.Generator) -> Voice:
    """Struck strings: partials a little sharp, the high ones dying first, and a felt thump."""
    bright, stiff = rng.uniform(1.0, 1.5), rng.uniform(2e-4, 5e-4)
    thump = band_noise(to_frames(0.03, RATE), rng, 100, 900) * np.linspace(
        1, 0, to_frames(0.03, RATE)
    )

    def play(f: float, gate: int) -> Signal:
        k = harmonics(f, 14)
        gains = np.abs(np.sin(np.pi * k / 7.3)) / k**bright
        decays = 2.2 * np.sqrt(220 / f) / (1 + 0.45 * (k - 1))
        x = partials(gate + to_frames(0.12, RATE), k * f * np.sqrt(1 + stiff * k**2), decays, gains)
        x[: thump.size] += 0.05 * thump[: x.size]
        return damp(x, gate, 0.12)

    return play


def _make_plucked(place: float, dull: float, *, most: int, loss: float, release: Seconds) -> Voice:
    """The string of Karplus and Strong by its modes: a mode loses cos(pi f / rate) each period."""

    def play(f: float, gate: int) -> Signal:
        k = harmonics(f, most)
        keep = loss * np.cos(np.minimum(np.pi * k * f / 22_050, 1.5))
        gains = np.abs(np.sin(np.pi * k * place)) / k**dull
        x = partials(gate + to_frames(release, RATE), k * f, -1 / (f * np.log(keep)), gains)
        return damp(x, gate, release)

    return play


def guitar(rng: np.random.Generator) -> Voice:
    """A plucked string, the nail near the bridge."""
    place, dull = rng.uniform(0.12, 0.25), rng.uniform(0.5, 0.8)
    return _make_plucked(place, dull, most=28, loss=0.996, release=0.08)


def bass(rng: np.random.Generator) -> Voice:
    """A long plucked string, the finger far from the bridge."""
    place, dull = rng.uniform(0.25, 0.4), rng.uniform(1.1, 1.5)
    return _make_plucked(place, dull, most=16, loss=0.994, release=0.06)


def organ(rng: np.random.Generator) -> Voice:
    """Drawbars an octave below to three above, through a rotating speaker."""
    gains = np.zeros(16)
    pulled = rng.uniform((0.3, 0.1, 0.8, 0.2, 0.2, 0.0, 0.1), (0.7, 0.4, 1.0, 0.6, 0.5, 0.3, 0.3))
    gains[np.array((0, 2, 1, 3, 5, 7, 15))] = pulled  # of half the pitch
    table, turns = wavetable(gains), rng.uniform(5.5, 7.0)

    def play(f: float, gate: int) -> Signal:
        t = seconds(gate + to_frames(0.04, RATE))
        turn = np.sin(2 * np.pi * turns * t)
        x: Signal = read(table, f / 2 * t + 0.03 * turn) * (1 + 0.15 * turn)
        x *= hold(t.size, gate, 0.008, 0.04)
        return x

    return play


def flute(rng: np.random.Generator) -> Voice:
    """A breath that is mostly the first two harmonics, and trembles once it has settled."""
    table = wavetable(np.array((1.0, rng.uniform(0.3, 0.6), 0.2, 0.07, 0.03)))
    tremble = rng.uniform(4.5, 5.8)
    breath = rng.uniform(0.02, 0.05) * band_noise(8 * RATE, rng, 800, 5000)

    def play(f: float, gate: int) -> Signal:
        t = seconds(gate + to_frames(0.07, RATE))
        settled = np.minimum(t / 0.4, 1.0) * np.sin(2 * np.pi * tremble * t)
        tone: Signal = read(table, f * t + 0.0008 * f / tremble * settled) * (1 + 0.12 * settled)
        tone += breath[: t.size]
        tone *= hold(t.size, gate, 0.05, 0.07)
        return tone

    return play


def _saw(f: float, corner: float, even: float = 1.0) -> Signal:
    """One period of a sawtooth (square where `even` is 0), dull above `corner` Hz."""
    k = harmonics(f, 60)
    gains = np.where(k % 2 == 0, even, 1.0) / (k * np.sqrt(1 + (k * f / corner) ** 4))
    return wavetable(gains)


def strings(rng: np.random.Generator) -> Voice:
    """A section: three bowed strings a little out of tune, each trembling in its own time."""
    corner = rng.uniform(1800, 3000)
    detune, tremble = rng.uniform(2, 9, 3) * (-1, 0.3, 1), rng.uniform(4.5, 6.5, 3)
    sine = wavetable(np.ones(1))

    def play(f: float, gate: int) -> Signal:
        t = seconds(gate + to_frames(0.25, RATE))
        table, x = _saw(f, corner), np.zeros(t.size)
        for cents, rate, lag in zip(detune, tremble, (0.1, 0.37, 0.71), strict=True):
            sway = 0.0006 * f / rate * read(sine, rate * t)
            x += read(table, lag + f * 2 ** (cents / 1200) * t + sway)
        x *= hold(t.size, gate, min(0.25, 0.4 * gate / RATE), 0.25)
        return x

    return play


def synthesizer(rng: np.random.Generator) -> Voice:
    """Two oscillators, saw to square, beating; the filter opens and falls with every note."""
    even, corner = rng.choice((0.0, 1.0)), rng.uniform(2500, 6000)
    fall, beat = rng.uniform(0.08, 0.25), rng.uniform(0.5, 1.2)

    def play(f: float, gate: int) -> Signal:
        slow = gate > RATE
        t = seconds(gate + to_frames(0.3 if slow else 0.05, RATE))
        dull, bright = _saw(f, 700, even), _saw(f, corner, even)
        opening = np.sin(np.pi * t / t[-1]) ** 2 * 0.5 if slow else np.exp(-t / fall)
        cycles = f * t
        x: Signal = read(dull, cycles) + read(dull, cycles + beat * t)
        x += opening * (read(bright, cycles) - x / 2)
        x *= hold(t.size, gate, 0.4 if slow else 0.004, 0.3 if slow else 0.05)
        return x

    return play


def music_box(rng: np.random.Generator) -> Voice:
    """A plucked steel tine: a pure tone and the two high modes of a clamped bar."""
    gains = np.array((1.0, rng.uniform(0.15, 0.3), rng.uniform(0.1, 0.25), 0.05))

    def play(f: float, gate: int) -> Signal:
        del gate  # nothing hushes a tine
        frequencies = f * np.array((1.0, 2.003, 6.27, 17.55))
        decays = np.array((0.5, 0.3, 0.1, 0.03))
        return damp(partials(2 * RATE, frequencies, decays, gains), to_frames(1.2, RATE), 0.8)

    return play


INSTRUMENTS: Final[Mapping[str, Callable[[np.random.Generator], Voice]]] = {
    voice.__name__.replace("_", " "): voice
    for voice in (bass, flute, guitar, music_box, organ, piano, strings, synthesizer)
}
"""All but the drums, whose notes have no pitch."""


# The score of a loop as a value: who plays what and when, and in which room.


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
    """The room it is played in: its decay by 60 dB, and its RMS over that of the dry sound."""

    decay: Seconds
    wet: float


@dataclass(frozen=True, slots=True)
class Tune:
    """A loop of whole bars, complete but for the performance.

    Args:
        genre: One of `synth.sources.procedural.jam.GENRES`.
        bpm: Beats a minute.
        key: Pitch class of the tonic, 0 for C to 11.
        parts: An instrument may play several.
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


# The drum kit: each piece is one sound, drawn once a loop.


def _time(duration: Seconds) -> Signal:
    return seconds(to_frames(duration, RATE))


def kick(rng: np.random.Generator) -> Signal:
    """A skin that falls in pitch, and the click of the beater."""
    t = _time(0.4)
    sweep = rng.uniform(42, 58) * t + rng.uniform(3.0, 4.5) * (1 - np.exp(-t / 0.03))
    body = np.sin(2 * np.pi * sweep) * np.exp(-t / rng.uniform(0.09, 0.14))
    return body + 0.1 * band_noise(t.size, rng, 1000, 6000) * np.exp(-t / 0.004)


def snare(rng: np.random.Generator) -> Signal:
    """Two modes of the skin and the rattle of the wires."""
    t = _time(0.3)
    pitch = rng.uniform(170, 220)
    skin = partials(t.size, pitch * np.array((1.0, 1.72)), np.full(2, 0.06), np.full(2, 0.5))
    return skin + 0.35 * band_noise(t.size, rng, 1500, 9000) * np.exp(-t / rng.uniform(0.06, 0.1))


def rim(rng: np.random.Generator) -> Signal:
    """The stick laid across the drum: a short wooden knock."""
    f = rng.uniform(800, 1100) * np.array((0.45, 1.0, 1.9))
    knock = partials(to_frames(0.12, RATE), f, np.full(3, 0.018), np.array((0.4, 1.0, 0.5)))
    return knock + 0.2 * band_noise(knock.size, rng, 2000, 7000) * np.exp(
        -seconds(knock.size) / 0.01
    )


def clap(rng: np.random.Generator) -> Signal:
    """Several hands within 30 ms."""
    t = _time(0.25)
    hands = sum(np.exp(-np.maximum(t - lag, 0) / 0.006) * (t >= lag) for lag in (0, 0.01, 0.02))
    tail = np.exp(-np.maximum(t - 0.03, 0) / 0.06) * (t >= 0.03)
    x: Signal = 0.4 * band_noise(t.size, rng, 900, 4000)
    x *= hands + tail
    return x


def _cymbal(rng: np.random.Generator, duration: Seconds, decay: Seconds) -> Signal:
    t = _time(duration)
    f = rng.uniform(3000, 11_000, 12)
    metal = partials(t.size, f, np.full(12, decay), rng.uniform(0.05, 0.15, 12))
    hiss = scipy.signal.lfilter((1.0, -0.95), (1.0,), band_noise(t.size, rng, 4000, 16_000))
    return np.asarray((metal + 0.15 * hiss * np.exp(-t / decay)) * np.minimum(1.0, t[::-1] / 0.01))


KIT: Final[Mapping[int, Callable[[np.random.Generator], Signal]]] = {
    KICK: kick,
    RIM: rim,
    SNARE: snare,
    CLAP: clap,
    HAT: lambda rng: 0.5 * _cymbal(rng, 0.1, 0.022),
    OPEN_HAT: lambda rng: 0.7 * _cymbal(rng, 0.22, 0.12),
    RIDE: lambda rng: 0.6 * _cymbal(rng, 0.9, 0.22),
}
"""Every piece, by its number."""


# From the score to sound: the players, the room, the recording.


ROOM: Final = "room"


def stems(tune: Tune, rng: np.random.Generator) -> dict[str, Float32[np.ndarray, " frames"]]:
    """Each instrument by itself, dry, and the sound of the room; together they are the loop.

    Args:
        rng: Source of the instruments' colour, the players' timing and touch, the room, the level.

    Returns:
        By instrument (and "room"), each of shape (frames,), at the level that it has in the mix.
    """
    n = to_frames(tune.duration, RATE)
    dry = {name: np.zeros(n) for name in tune.instruments}
    for part in tune.parts:
        dry[part.instrument] += _play(part, tune, n, rng)
    mix = np.sum(list(dry.values()), axis=0)
    wet = _reverberate(mix, tune.room, rng)
    gain = to_gain(rng.uniform(-10, -1)) / float(np.max(np.abs(mix + wet)))
    edge = np.minimum(np.arange(n), np.arange(n)[::-1]) / to_frames(0.003, RATE)
    shape = gain * np.minimum(edge, 1.0)
    return {name: (shape * x).astype(np.float32) for name, x in (dry | {ROOM: wet}).items()}


def perform(tune: Tune, rng: np.random.Generator) -> Float32[np.ndarray, " frames"]:
    """The loop: the sum of its stems, peak -10 to -1 dBFS."""
    out: Float32[np.ndarray, " frames"] = np.sum(list(stems(tune, rng).values()), axis=0)
    return out


def _play(part: PlayerPart, tune: Tune, n: int, rng: np.random.Generator) -> Signal:
    """One part at its level; what rings on past the end is heard at the start, as in any loop."""
    beat = 60 / tune.bpm
    sound = _drummer(rng) if part.instrument == DRUMS else _player(part, beat, rng)
    tail = 3 * RATE
    out = np.zeros(n + tail)
    loose = rng.normal(0.0, tune.looseness, len(part.notes))
    touch = rng.uniform(0.88, 1.0, len(part.notes))
    for note, late, force in zip(part.notes, loose, touch, strict=True):
        grain = sound(note)
        start = to_frames(max(note.start * beat + late, 0.0), RATE)
        end = min(start + grain.size, out.size)
        out[start:end] += (note.velocity * force) * grain[: end - start]
    out[:tail] += out[n:]
    out = out[:n]
    if part.drive:
        out = _amplify(out, part.drive)
    return out * (to_gain(part.level) / _rms(out))


def _drummer(rng: np.random.Generator) -> Callable[[Note], Signal]:
    pieces = {number: piece(rng) for number, piece in KIT.items()}
    return lambda note: pieces[note.pitch]


def _player(part: PlayerPart, beat: float, rng: np.random.Generator) -> Callable[[Note], Signal]:
    voice = INSTRUMENTS[part.instrument](rng)
    known: dict[tuple[int, int], Signal] = {}

    def sound(note: Note) -> Signal:
        pitch, gate = note.pitch, to_frames(0.95 * note.length * beat, RATE)
        if (pitch, gate) not in known:
            known[pitch, gate] = voice(440 * 2 ** ((pitch - 69) / 12), gate)
        return known[pitch, gate]

    return sound


def _amplify(x: Signal, drive: float) -> Signal:
    """A valve amplifier driven into its limits, and a loudspeaker that gives no highs."""
    hot = np.tanh(x * (drive / (4 * _rms(x))))
    return np.asarray(
        scipy.signal.sosfilt(scipy.signal.butter(3, 4000, fs=RATE, output="sos"), hot)
    )


def _reverberate(x: Signal, room: Reverb, rng: np.random.Generator) -> Signal:
    """The room's answer to a loop that goes on and on: a tail of noise, darker than the sound."""
    m = to_frames(room.decay, RATE)
    tail = rng.standard_normal(m) * np.exp(-6.9 * np.arange(m) / m)
    tail[: to_frames(0.01, RATE)] = 0.0
    size = scipy.fft.next_fast_len(x.size + m, real=True)
    f = np.fft.rfftfreq(size, 1 / RATE)
    wet = scipy.fft.irfft(
        scipy.fft.rfft(x, size) * scipy.fft.rfft(tail, size) / (1 + (f / 3000) ** 2), size
    )
    wet[:m] += wet[x.size : x.size + m]
    wet = wet[: x.size]
    return np.asarray(wet * (room.wet * _rms(x) / _rms(wet)))


def _rms(x: Signal) -> float:
    return float(np.sqrt(np.mean(x**2)))
