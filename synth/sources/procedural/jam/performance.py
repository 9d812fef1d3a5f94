"""From the score to sound: the players, the room, the recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import scipy
from jaxtyping import Float32

from synth.base.units import to_frames, to_gain
from synth.sources.procedural.jam.timbres import (
    DRUMS,
    INSTRUMENTS,
    KIT,
    RATE,
    Note,
    PlayerPart,
    Reverb,
    Signal,
    Tune,
)

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
