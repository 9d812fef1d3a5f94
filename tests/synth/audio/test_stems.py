"""Stems: each sound alone, which together are the scene."""

from __future__ import annotations

import numpy as np
import pytest
from banks import make_noise_bank
from hypothesis import given
from hypothesis import strategies as st

from synth.audio.bank import Bank
from synth.audio.dsp import PCM_SCALE
from synth.audio.render import quantise_stems, render_stems, waveform
from synth.base.errors import CorpusError, SceneError
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, events
from synth.scene.timeline import Fade, duration, timeline

FRAMES = {"a": 900, "b": 600, "c": 1200}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    return make_noise_bank(tmp_path_factory.mktemp("bank"), FRAMES)


@st.composite
def scenes(draw: st.DrawFn, depth: int = 3) -> Scene:
    kind = draw(st.sampled_from(["event", "concat", "overlay"])) if depth else "event"
    if kind == "event":
        clip = draw(st.sampled_from(sorted(FRAMES)))
        start = draw(st.integers(0, FRAMES[clip] - 1))
        frames = draw(st.integers(1, FRAMES[clip] - start))
        return Event(clip, Excerpt(clip, start, frames, draw(st.floats(-30, 12))))
    first, second = draw(scenes(depth - 1)), draw(scenes(depth - 1))
    if kind == "concat":
        longest = min(duration(first), duration(second))
        return Concat(first, second, draw(st.integers(0, longest)))
    return Overlay(first, second, draw(st.integers(-500, 500)))


@given(scene=scenes(), fade=st.sampled_from(Fade))
def test_they_add_up_to_the_scene(bank: Bank, scene: Scene, fade: Fade) -> None:
    stems = render_stems(scene, bank, fade)
    whole = waveform(scene, bank, fade)
    assert stems.shape == (len(events(scene)), len(whole))
    loudest = np.abs(stems).sum(axis=0).max()
    np.testing.assert_allclose(stems.sum(axis=0), whole, rtol=0, atol=2e-6 * loudest)


@given(scene=scenes())
def test_each_is_silent_where_its_sound_does_not_play(bank: Bank, scene: Scene) -> None:
    for place, stem in zip(
        timeline(scene).placements, render_stems(scene, bank, Fade.LINEAR), strict=True
    ):
        assert not stem[: place.onset].any()
        assert not stem[place.offset :].any()


def test_without_fades_each_is_its_clip(bank: Bank) -> None:
    a, b = Event("a", Excerpt("a", 5, 100, -6.0)), Event("b", Excerpt("b", 0, 80))
    stems = render_stems(Overlay(a, b, -20), bank, Fade.LINEAR)
    np.testing.assert_array_equal(stems[0, 20:120], bank.read("a", 5, 100, 10 ** (-6 / 20)))
    np.testing.assert_array_equal(stems[1, :80], bank.read("b", 0, 80, 1.0))


def test_what_cannot_be_rendered_is_an_error(bank: Bank) -> None:
    with pytest.raises(SceneError, match="no excerpt"):
        render_stems(Event("a"), bank, Fade.LINEAR)
    with pytest.raises(CorpusError):
        render_stems(Event("a", Excerpt("z", 0, 1)), bank, Fade.LINEAR)


@given(scene=scenes(), gain_db=st.floats(-12, 0), seed=st.integers(0, 9))
def test_as_integers_they_add_up_to_the_mix_sample_for_sample(
    bank: Bank, scene: Scene, gain_db: float, seed: int
) -> None:
    stems = render_stems(scene, bank, Fade.LINEAR)
    scale = 0.9999 * 10 ** (gain_db / 20) / max(1.0, float(np.abs(stems).sum(axis=0).max()))
    stems *= np.float32(scale)
    mix = np.zeros(stems.shape[1] + seed, dtype=np.int16)
    mix[: stems.shape[1]] = np.clip(np.rint(stems.sum(axis=0) * PCM_SCALE), -32768, 32767)
    found = quantise_stems(stems, 0.0, mix)
    assert np.array_equal(found.astype(np.int64).sum(axis=0), mix)
    off = np.abs(found[:, : stems.shape[1]] - stems.astype(np.float64) * PCM_SCALE)
    assert off.max(initial=0) <= 1.01
    assert not found[:, : stems.shape[1]][(stems == 0) & stems.any(axis=0)].any()


def test_stems_of_another_mix_are_refused(bank: Bank) -> None:
    stems = render_stems(Event("a", Excerpt("a", 0, 900)), bank, Fade.LINEAR)
    with pytest.raises(CorpusError, match="do not add up"):
        quantise_stems(stems, 0.0, np.zeros(900, dtype=np.int16))
