"""How sounds sound: what the levels of a clip tell, beside what is measured of the samples."""

from __future__ import annotations

import numpy as np
import pytest

from synth.audio.dsp import block_frames, weighted_levels
from synth.scene.scene import Concat, Event, Excerpt, Scene
from synth.scene.timeline import Fade, timeline
from synth.truth.ear import Envelope, find_acoustics
from tests.kit.cases import cases

RATE = 16_000
FRAMES = 2 * RATE
FADE = RATE // 2


def make_knock(at_s: float) -> np.ndarray:
    """Soft noise with a loud stretch of 0.2 s."""
    audio = np.random.default_rng(3).standard_normal(FRAMES).astype(np.float32) * 0.01
    audio[round(at_s * RATE) :][: RATE // 5] *= 20
    return audio


def envelope_of(audio: np.ndarray) -> Envelope:
    levels = weighted_levels(audio, RATE)
    return Envelope(levels, levels, block_frames(RATE), len(audio))


def fade(audio: np.ndarray, law: Fade, *, rises: bool) -> np.ndarray:
    progress = np.arange(FADE, dtype=np.float32) / FADE
    faded = audio.copy()
    if rises:
        faded[:FADE] *= law.rise(progress)
    else:
        faded[-FADE:] *= law.rise(1 - progress)
    return faded


@cases("law", Fade)
@cases("at_s", [0.05, 1.0, 1.75])
def test_what_a_crossfade_takes_counts(law: Fade, at_s: float) -> None:
    audio = make_knock(at_s)
    event = Event("knock", Excerpt("k", 0, FRAMES, -6.0))
    placed = timeline(Concat(event, event, FADE))
    for number, rises in ((0, False), (1, True)):
        found = find_acoustics(placed, number, envelope_of(audio), law, {})
        faded = envelope_of(fade(audio, law, rises=rises) * np.float32(10 ** (-6 / 20)))
        expected = faded.weigh(0, FRAMES)
        assert found is not None
        assert expected is not None
        assert found.mean_dba == pytest.approx(expected.mean_dba, abs=0.5)
        assert found.peak_dba == pytest.approx(expected.peak_dba, abs=0.7)
        assert found.thirds_dba == pytest.approx(expected.thirds_dba, abs=0.5)


@cases(("start", "frames"), [(0, FRAMES - 1), (1, FRAMES - 1)])
def test_a_part_is_not_compared_with_the_recording(start: int, frames: int) -> None:
    envelope = envelope_of(make_knock(1.0))

    def recording_of(scene: Scene) -> str:
        found = find_acoustics(timeline(scene), 0, envelope, Fade.LINEAR, {"k~far": ("k", "far")})
        assert found is not None
        return found.recording

    assert recording_of(Event("knock", Excerpt("k~far", 0, FRAMES))) == "k"
    assert recording_of(Event("knock", Excerpt("k~far", start, frames))) == ""
