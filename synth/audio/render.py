"""The waveform of a scene, from the clip bank.

A scene is played into one canvas, every part into its own stretch of it: there are no copies to
pass on, and most of a sample's time is left to the encoder.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, assert_never

import numpy as np
from jaxtyping import Float32

from synth.audio.bank import Bank
from synth.audio.dsp import PCM_SCALE, Audio, Pcm, fade_in, peak, true_peak
from synth.base.errors import CorpusError, SceneError
from synth.base.units import Decibels, Frames, to_decibels, to_gain
from synth.scene.scene import Concat, Event, Overlay, Scene, events
from synth.scene.timeline import Fade, duration

RENDER_VERSION = 3
_CEILING: Final = 1 - 2**-12
"""The highest true peak, 0 dBTP but for the rounding to 16 bits."""
_NEAR: Final = 0.7
"""Between samples that are all below, no sound that is recorded exceeds it."""
_BLOCK: Final = 1 << 15
"""Frames that stay in a core's cache between two passes over them."""


@dataclass(frozen=True, slots=True)
class Mixdown:
    """How a scene becomes PCM.

    Args:
        peak_db: Level in dBFS that no sample may exceed; louder scenes are turned down as a whole,
            and those whose true peak would exceed 0 dBTP.
        stems: Whether each sound is kept alone, too; a scene is turned down until each fits into
            16 bits, even where others cancel it.
    """

    fade: Fade
    peak_db: Decibels
    stems: bool = False


class Layer(NamedTuple):
    """One sound of a scene from where it begins to where it ends, as loud as among the others."""

    onset: Frames
    audio: Audio


@dataclass(frozen=True, slots=True)
class Rendering:
    """A rendered sample: PCM of the planned length, and the one gain that was applied to it.

    Args:
        layers: Its sounds before that gain, if stems are wanted.
    """

    pcm: Pcm
    gain_db: Decibels
    peak_db: Decibels
    layers: tuple[Layer, ...] = ()


def waveform(scene: Scene, bank: Bank, fade: Fade) -> Audio:
    """The scene as float32 samples at the bank's rate; its length is `timeline.duration(scene)`."""
    canvas = np.empty(duration(scene), dtype=np.float32)
    _play(scene, bank, fade, canvas)
    return canvas


def _play(scene: Scene, bank: Bank, fade: Fade, canvas: Audio) -> None:
    """Write the scene over all of `canvas`, which is as long as it."""
    match scene:
        case Event():
            excerpt = scene.played
            bank.play(excerpt.clip, excerpt.start, to_gain(excerpt.gain_db), canvas)
        case Concat(first, second, crossfade):
            ends = duration(first)
            seam = ends - crossfade
            _play(first, bank, fade, canvas[:ends])
            canvas[ends:seam] = 0
            falling = canvas[seam:ends].copy()
            _play(second, bank, fade, canvas[seam:])
            if crossfade > 0:
                rising = _ramp(crossfade, fade)
                falling *= rising[::-1]
                canvas[seam:ends] *= rising
                canvas[seam:ends] += falling
        case Overlay(first, second, offset):
            canvas.fill(0)
            _play(first, bank, fade, canvas[max(0, -offset) :][: duration(first)])
            right = waveform(second, bank, fade)
            canvas[max(0, offset) :][: len(right)] += right
        case _:
            assert_never(scene)


@lru_cache(maxsize=16)
def _ramp(frames: Frames, fade: Fade) -> Audio:
    ramp = fade_in(frames, fade)
    ramp.setflags(write=False)
    return ramp


def render(
    scene: Scene, bank: Bank, mixdown: Mixdown, frames: Frames, lead: Frames = 0
) -> Rendering:
    """The scene as 16-bit PCM after a lead of silence, padded to exactly `frames` samples."""
    audio = waveform(scene, bank, mixdown.fade)
    if lead + len(audio) > frames:
        raise SceneError(f"a scene of {lead} + {len(audio)} frames does not fit into {frames}")
    loudest = peak(audio)
    gain = min(1.0, to_gain(mixdown.peak_db) / loudest) if loudest > 0 else 1.0
    if loudest * gain > _NEAR and (over := true_peak(audio, _NEAR / gain) * gain) > _CEILING:
        # In steps of 0.01 dB, so that no machine's rounding counts.
        gain *= to_gain(math.floor(100 * to_decibels(_CEILING / over)) / 100)
    layers = play_apart(scene, bank, mixdown.fade, lead) if mixdown.stems else ()
    if (most := max((peak(layer.audio) for layer in layers), default=0.0)) * gain > _CEILING:
        gain = _CEILING / most
    pcm = np.zeros(frames, dtype=np.int16)
    _quantise(audio, gain, loudest * gain, pcm[lead:])
    return Rendering(pcm, to_decibels(gain), to_decibels(loudest * gain), layers)


def _quantise(audio: Audio, gain: float, loudest: float, pcm: Pcm) -> None:
    """Write `dsp.to_pcm(audio * gain)`, whose peak is `loudest`, over the head of `pcm`."""
    # Exact, as the scale is a power of two: it is the same to multiply by both in turn.
    scale = np.float32(gain) * np.float32(PCM_SCALE)
    scratch = np.empty(min(_BLOCK, len(audio)), dtype=np.float32)
    for start in range(0, len(audio), _BLOCK):
        block = audio[start : start + _BLOCK]
        scaled = np.multiply(block, scale, out=scratch[: len(block)])
        np.rint(scaled, out=scaled)
        if loudest * PCM_SCALE > PCM_SCALE - 1:
            np.clip(scaled, -PCM_SCALE, PCM_SCALE - 1, out=scaled)
        pcm[start : start + len(block)] = scaled


# The stems of a scene: each of its sounds alone, as it is heard among the others.


def play_apart(scene: Scene, bank: Bank, fade: Fade, onset: Frames = 0) -> tuple[Layer, ...]:
    """Each event of the scene alone, in its order; the scene begins at `onset`.

    Gains and crossfades are those of `render.waveform`, so that the layers add up to it, but for
    the rounding of float32.
    """
    match scene:
        case Event():
            excerpt = scene.played
            gain = to_gain(excerpt.gain_db)
            audio = bank.read(excerpt.clip, excerpt.start, excerpt.frames, gain)
            return (Layer(onset, audio),)
        case Concat(first, second, crossfade):
            seam = onset + duration(first) - crossfade
            left = play_apart(first, bank, fade, onset)
            right = play_apart(second, bank, fade, seam)
            if crossfade > 0:
                rising = _ramp(crossfade, fade)
                _shape(left, seam, rising[::-1])
                _shape(right, seam, rising)
        case Overlay(first, second, offset):
            left = play_apart(first, bank, fade, onset + max(0, -offset))
            right = play_apart(second, bank, fade, onset + max(0, offset))
        case _:
            assert_never(scene)
    return (*left, *right)


def _shape(layers: Iterable[Layer], start: Frames, ramp: Audio) -> None:
    """Multiply the part of each layer that lies below a ramp."""
    for onset, audio in layers:
        begin = max(onset, start)
        end = max(begin, min(onset + len(audio), start + len(ramp)))
        audio[begin - onset : end - onset] *= ramp[begin - start : end - start]


def render_stems(
    scene: Scene, bank: Bank, fade: Fade, lead: Frames = 0
) -> Float32[np.ndarray, "events frames"]:
    """The same as an array, after a lead of silence: a stem is silent where no event plays."""
    stems = np.zeros((len(events(scene)), lead + duration(scene)), dtype=np.float32)
    for stem, layer in zip(stems, play_apart(scene, bank, fade, lead), strict=True):
        stem[layer.onset :][: len(layer.audio)] = layer.audio
    return stems


def quantise_stems(layers: Sequence[Layer], gain_db: Decibels, mix: Pcm) -> Iterator[Pcm]:
    """The stems as 16-bit PCM as long as the mix, to which they add up, sample for sample.

    Rounded one by one, n stems would miss the mix by up to n / 2 least significant bits. So sums of
    stems are rounded instead: each stem is what it adds to the sum of those before it, within one
    bit of its own samples. The mix was summed as float32, and so may be rounded otherwise:
    what is left of it is added to the last sound that plays. A stem is 0 where its sound does not.
    """
    scale = to_gain(gain_db) * PCM_SCALE
    sums, last = np.zeros(len(mix)), np.full(len(mix), -1)
    places = [slice(layer.onset, layer.onset + len(layer.audio)) for layer in layers]
    for number, (place, layer) in enumerate(zip(places, layers, strict=True)):
        sums[place] += layer.audio * scale
        last[place][layer.audio != 0] = number
    rest = mix - np.rint(sums)
    if np.abs(rest).max(initial=0) > 1 or rest[last < 0].any():
        raise CorpusError("the clips in the bank do not add up to the stored audio", fix=_FIX)
    sums[:] = 0
    for number, (place, layer) in enumerate(zip(places, layers, strict=True)):
        stem = np.zeros(len(mix), dtype=np.int16)
        before = np.rint(sums[place])
        sums[place] += layer.audio * scale
        part = np.rint(sums[place]) - before + rest[place] * (last[place] == number)
        if part.max(initial=0) >= PCM_SCALE or part.min(initial=0) < -PCM_SCALE:
            raise CorpusError(
                "a sound alone is too loud for 16 bits", fix="build with `audio: {stems: true}`"
            )
        stem[place] = part
        yield stem


_FIX: Final = "run `segue build` again with the corpus's spec"
