"""The stems of a scene: each of its sounds alone, as it is heard among the others."""

from __future__ import annotations

from typing import Final, assert_never

import numpy as np
from jaxtyping import Float32, Int16

from synth.audio.bank import Bank
from synth.audio.dsp import PCM_SCALE, Pcm, fade_in
from synth.base.errors import CorpusError
from synth.base.units import Decibels, to_gain
from synth.scene.scene import Concat, Event, Overlay, Scene, events
from synth.scene.timeline import Fade, duration


def render_stems(scene: Scene, bank: Bank, fade: Fade) -> Float32[np.ndarray, "events frames"]:
    """Each event of the scene alone, in its order and on the scene's clock.

    Gains and crossfades are those of `render.waveform`, so that the stems add up to it, but for the
    rounding of float32. Where an event does not play its stem is silent.
    """
    stems = np.zeros((len(events(scene)), duration(scene)), dtype=np.float32)
    _play_apart(scene, bank, fade, stems)
    return stems


def quantise_stems(
    stems: Float32[np.ndarray, "events frames"], gain_db: Decibels, mix: Pcm
) -> Int16[np.ndarray, "events samples"]:
    """The stems as 16-bit PCM that adds up to the mix, sample for sample.

    Rounded one by one, n stems would miss the mix by up to n / 2 least significant bits. So sums of
    stems are rounded instead: each stem is what it adds to the sum of those before it, within one
    bit of its own samples. The mix was summed as float32, and so may be rounded otherwise:
    what is left of it is added to the last sound that plays. A stem is 0 where its sound does not.
    """
    sums = np.zeros((len(stems) + 1, len(mix)), dtype=np.float64)
    np.cumsum(stems * (to_gain(gain_db) * PCM_SCALE), axis=0, out=sums[1:, : stems.shape[1]])
    whole = np.clip(np.rint(sums), -PCM_SCALE, PCM_SCALE - 1)
    if np.abs(whole[-1] - mix).max(initial=0) > 1:
        raise CorpusError("the clips in the bank do not add up to the stored audio", fix=_FIX)
    is_rest = np.ones(len(mix), dtype=np.bool_)
    for upto in range(len(stems), 0, -1):
        whole[upto, is_rest] = mix[is_rest]
        is_rest[: stems.shape[1]] &= stems[upto - 1] == 0
    parts = np.diff(whole, axis=0)
    return np.clip(parts, -PCM_SCALE, PCM_SCALE - 1).astype(np.int16)


_FIX: Final = "run `segue build` again with the corpus's spec"


def _play_apart(
    scene: Scene, bank: Bank, fade: Fade, stems: Float32[np.ndarray, "events frames"]
) -> None:
    """Write each event of the scene into its own row of silence."""
    if isinstance(scene, Event):
        excerpt = scene.heard
        gain = to_gain(excerpt.gain_db)
        stems[0] = bank.read(excerpt.clip, excerpt.start, excerpt.frames, gain)
        return
    count, ends = len(events(scene.first)), duration(scene.first)
    first, second = stems[:count], stems[count:]
    match scene:
        case Concat(_, _, crossfade):
            seam = ends - crossfade
            first, second = first[:, :ends], second[:, seam:]
            _play_apart(scene.first, bank, fade, first)
            _play_apart(scene.second, bank, fade, second)
            if crossfade > 0:
                rising = fade_in(crossfade, fade)
                first[:, seam:] *= rising[::-1]
                second[:, :crossfade] *= rising
        case Overlay(_, _, offset):
            first = first[:, max(0, -offset) :][:, :ends]
            second = second[:, max(0, offset) :][:, : duration(scene.second)]
            _play_apart(scene.first, bank, fade, first)
            _play_apart(scene.second, bank, fade, second)
        case _:
            assert_never(scene)
