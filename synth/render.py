"""The waveform of a scene, from the clip bank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import numpy as np

from synth.bank import Bank
from synth.dsp import Audio, Fade, Pcm, join, overlay, peak, to_pcm
from synth.errors import SceneError
from synth.mixing import between_class
from synth.scene import Event, Overlay, Scene, Sequence
from synth.units import Decibels, Frames, to_decibels, to_gain

RENDER_VERSION = 1


@dataclass(frozen=True, slots=True)
class Mixdown:
    """How a scene becomes PCM.

    Args:
        fade: Crossfade law of every sequence.
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
    """The scene as float32 samples at the bank's rate; its length is `timeline.duration(scene)`.

    Raises:
        SceneError: If an event has no excerpt.
        CorpusError: If a clip is not in the bank.
    """
    match scene:
        case Event():
            excerpt = scene.heard
            gain = to_gain(excerpt.gain_db)
            return bank.read(excerpt.clip, excerpt.start, excerpt.frames, gain)
        case Sequence(first, second, crossfade):
            return join(waveform(first, bank, fade), waveform(second, bank, fade), crossfade, fade)
        case Overlay(first, second, offset, ratio):
            left, right = waveform(first, bank, fade), waveform(second, bank, fade)
            if ratio is not None:
                share, other = between_class(left, right, bank.rate, ratio)
                left *= share
                right *= other
            return overlay(left, right, offset)
        case _:
            assert_never(scene)


def render(scene: Scene, bank: Bank, mixdown: Mixdown, frames: Frames) -> Rendering:
    """The scene as 16-bit PCM, padded with silence at the end to exactly `frames` samples.

    Raises:
        SceneError: If the scene is longer than `frames`: nothing is ever cut.
    """
    audio = waveform(scene, bank, mixdown.fade)
    if len(audio) > frames:
        raise SceneError(f"a scene of {len(audio)} frames does not fit into {frames}")
    loudest = peak(audio)
    gain = min(1.0, to_gain(mixdown.peak_db) / loudest) if loudest > 0 else 1.0
    audio *= np.float32(gain)
    pcm = np.zeros(frames, dtype=np.int16)
    pcm[: len(audio)] = to_pcm(audio)
    return Rendering(pcm, to_decibels(gain), to_decibels(loudest * gain))
