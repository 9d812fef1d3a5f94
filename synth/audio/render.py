"""The waveform of a scene, from the clip bank.

A scene is played into one canvas, every part into its own stretch of it: there are no copies to
pass on, and most of a sample's time is left to the encoder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, assert_never

import numpy as np

from synth.audio.bank import Bank
from synth.audio.dsp import PCM_SCALE, Audio, Pcm, fade_in, peak
from synth.base.errors import SceneError
from synth.base.units import Decibels, Frames, to_decibels, to_gain
from synth.scene.scene import Concat, Event, Overlay, Scene
from synth.scene.timeline import Fade, duration

RENDER_VERSION = 2
_BLOCK: Final = 1 << 15
"""Frames that stay in a core's cache between two passes over them."""


@dataclass(frozen=True, slots=True)
class Mixdown:
    """How a scene becomes PCM.

    Args:
        fade: Crossfade law of every concatenation.
        peak_db: Level in dBFS that no sample may exceed; louder scenes are turned down as a whole.
    """

    fade: Fade
    peak_db: Decibels


@dataclass(frozen=True, slots=True)
class Rendering:
    """A rendered sample: PCM of the planned length, and the one gain that was applied to it."""

    pcm: Pcm
    gain_db: Decibels
    peak_db: Decibels


def waveform(scene: Scene, bank: Bank, fade: Fade) -> Audio:
    """The scene as float32 samples at the bank's rate; its length is `timeline.duration(scene)`."""
    canvas = np.empty(duration(scene), dtype=np.float32)
    _play(scene, bank, fade, canvas)
    return canvas


def _play(scene: Scene, bank: Bank, fade: Fade, canvas: Audio) -> None:
    """Write the scene over all of `canvas`, which is as long as it."""
    match scene:
        case Event():
            excerpt = scene.heard
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


def render(scene: Scene, bank: Bank, mixdown: Mixdown, frames: Frames) -> Rendering:
    """The scene as 16-bit PCM, padded with silence at the end to exactly `frames` samples."""
    audio = waveform(scene, bank, mixdown.fade)
    if len(audio) > frames:
        raise SceneError(f"a scene of {len(audio)} frames does not fit into {frames}")
    loudest = peak(audio)
    gain = min(1.0, to_gain(mixdown.peak_db) / loudest) if loudest > 0 else 1.0
    pcm = np.zeros(frames, dtype=np.int16)
    _quantise(audio, gain, loudest * gain, pcm)
    return Rendering(pcm, to_decibels(gain), to_decibels(loudest * gain))


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
