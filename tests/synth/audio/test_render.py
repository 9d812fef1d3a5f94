"""Rendering: exact lengths, one recorded gain, the same as a plain mix; stems that add up to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import resample_poly

from synth.audio.bank import Bank
from synth.audio.dsp import PCM_SCALE
from synth.audio.render import (
    Layer,
    Mixdown,
    play_apart,
    quantise_stems,
    render,
    render_stems,
    waveform,
)
from synth.base.errors import CorpusError, SceneError
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, events
from synth.scene.timeline import Fade, duration, timeline
from synth.sources.catalogue import Acceptance, catalogue
from synth.sources.sounds.esc50 import Esc50
from tests.kit.banks import make_noise_bank, write_bank
from tests.kit.cases import cases

FRAMES = {"a": 90, "b": 60, "c": 120}
LINEAR = Mixdown(Fade.LINEAR, -1.0)


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    return make_noise_bank(tmp_path_factory.mktemp("bank"), FRAMES)


@st.composite
def excerpts(draw: st.DrawFn) -> Excerpt:
    clip = draw(st.sampled_from(sorted(FRAMES)))
    start = draw(st.integers(0, FRAMES[clip] - 1))
    frames = draw(st.integers(1, FRAMES[clip] - start))
    return Excerpt(clip, start, frames, draw(st.floats(-30, 12)))


@st.composite
def scenes(draw: st.DrawFn, depth: int = 3) -> Scene:
    kind = draw(st.sampled_from(["event", "sequence", "overlay"])) if depth else "event"
    if kind == "event":
        return Event("x", draw(excerpts()))
    first, second = draw(scenes(depth - 1)), draw(scenes(depth - 1))
    if kind == "sequence":
        longest = min(duration(first), duration(second))
        return Concat(first, second, draw(st.integers(0, longest)))
    return Overlay(first, second, draw(st.integers(-50, 50)))


def mix(scene: Scene, bank: Bank, power: bool) -> np.ndarray:
    """The scene by the definition, in float64: every part placed into a canvas of zeros."""
    if isinstance(scene, Event):
        heard = scene.played
        entry = bank.entries[heard.clip]
        pcm = np.fromfile(bank.folder / entry.part, dtype="<i2")[entry.start :][heard.start :]
        gains = np.full(heard.frames, 10 ** (heard.gain_db / 20) * entry.scale / 32768)
        ramp = min(40, heard.frames // 2)  # 5 ms
        for at in range(ramp):
            rising = (at + 0.5) / ramp
            gains[at] *= rising if heard.start > 0 else 1.0
            gains[-1 - at] *= rising if heard.start + heard.frames < entry.frames else 1.0
        return pcm[: heard.frames] * gains
    first, second = mix(scene.first, bank, power), mix(scene.second, bank, power)
    if isinstance(scene, Concat):
        fade, shift = scene.crossfade, len(first) - scene.crossfade
        ramp = (np.arange(fade) + 0.5) / max(fade, 1)
        up, down = (np.sqrt(np.sin(ramp * np.pi / 2) ** 2), np.cos(ramp * np.pi / 2))
        if not power:
            up, down = ramp, 1 - ramp
        first = np.concatenate([first[:shift], first[shift:] * down])
        second = np.concatenate([second[:fade] * up, second[fade:]])
    else:
        shift = scene.offset
    left = max(0, -shift)
    canvas = np.zeros(max(left + len(first), left + shift + len(second)))
    canvas[left : left + len(first)] += first
    canvas[left + shift : left + shift + len(second)] += second
    return canvas


@settings(max_examples=100)
@given(scene=scenes(), power=st.booleans(), more=st.integers(0, 30), peak_db=st.floats(-30, 0))
def test_it_equals_a_plain_mix_to_one_step(
    bank: Bank, scene: Scene, power: bool, more: int, peak_db: float
) -> None:
    expected = mix(scene, bank, power)
    fade = Fade.EQUAL_POWER if power else Fade.LINEAR
    frames = len(expected) + more
    rendering = render(scene, bank, Mixdown(fade, peak_db), frames)
    assert len(expected) == duration(scene) == timeline(scene).frames
    assert len(waveform(scene, bank, fade)) == len(expected)
    assert rendering.pcm.dtype == np.int16
    assert rendering.pcm.shape == (frames,)
    loudest = np.abs(expected).max()
    gain = min(1.0, 10 ** (peak_db / 20) / loudest) if loudest else 1.0
    over = np.abs(resample_poly(expected * gain, 4, 1)).max()
    gain *= min(1.0, (1 - 2**-12) / over) if over else 1.0
    assert rendering.gain_db == pytest.approx(20 * np.log10(gain), abs=0.011)
    steps = np.clip(np.round(expected * 10 ** (rendering.gain_db / 20) * 32768), -32768, 32767)
    assert np.abs(rendering.pcm[: len(expected)] - steps).max() <= 1
    assert not rendering.pcm[len(expected) :].any()
    assert np.abs(rendering.pcm.astype(int)).max() <= np.ceil(10 ** (peak_db / 20) * 32768)
    late = render(scene, bank, Mixdown(fade, peak_db), frames + 7, lead=7)
    assert not late.pcm[:7].any()
    assert (late.pcm[7:] == rendering.pcm).all()
    again = render(scene, Bank.open(bank.folder / "index.parquet"), Mixdown(fade, peak_db), frames)
    assert again.pcm.tobytes() == rendering.pcm.tobytes()
    assert (again.gain_db, again.peak_db) == (rendering.gain_db, rendering.peak_db)


def test_no_true_peak_of_real_sounds_exceeds_full_scale(
    tmp_path: Path, shared_data: Callable[[str], Path]
) -> None:
    """By four times as many samples; by eight times as many by 0.2 dB at most."""
    source = Esc50(root=shared_data("ESC-50"))
    clips = {
        ref.id: catalogue(source, ref, 16_000, Acceptance()).audio
        for ref in islice(source.refs(), 0, None, 12)
    }
    bank, lowered = Bank.open(write_bank(tmp_path, clips, 16_000)), 0
    for clip in clips:
        frames = bank.frames(clip)
        scene = Event("x", Excerpt(clip, 0, frames, 60.0))
        for peak_db in (-1.0, 0.0):
            rendering = render(scene, bank, Mixdown(Fade.LINEAR, peak_db), frames)
            for times, limit in ((4, 1.0), (8, 10 ** (0.2 / 20))):
                assert np.abs(resample_poly(rendering.pcm / 32768, times, 1)).max() <= limit
            lowered += rendering.peak_db < peak_db - 0.01
    assert 3 < lowered < 2 * len(clips)


def test_a_loud_scene_is_turned_down_to_the_peak_and_the_gain_is_recorded(bank: Bank) -> None:
    scene = Event("a", Excerpt("a", 0, 90, 40.0))
    low, high = (render(scene, bank, Mixdown(Fade.LINEAR, peak_db), 90) for peak_db in (-6.0, -1.0))
    assert np.abs(low.pcm.astype(int)).max() == round(10 ** (-6 / 20) * 32768)
    assert low.peak_db == pytest.approx(-6.0, abs=1e-5)
    assert -39 < low.gain_db < -35
    # Noise peaks between its samples.
    assert high.peak_db < -1.5
    assert 0.99 < np.abs(resample_poly(high.pcm / 32768, 4, 1)).max() <= 1.0


# Stems: each sound alone, which together are the scene


@given(scene=scenes(), fade=st.sampled_from(Fade))
def test_they_add_up_to_the_scene_and_each_is_silent_where_its_sound_does_not_play(
    bank: Bank, scene: Scene, fade: Fade
) -> None:
    stems = render_stems(scene, bank, fade)
    whole = waveform(scene, bank, fade)
    assert stems.shape == (len(events(scene)), len(whole))
    loudest = np.abs(stems).sum(axis=0).max()
    np.testing.assert_allclose(stems.sum(axis=0), whole, rtol=0, atol=2e-6 * loudest)
    for place, stem in zip(timeline(scene).placements, stems, strict=True):
        assert not stem[: place.onset].any()
        assert not stem[place.offset :].any()


def test_without_fades_each_is_its_clip(bank: Bank) -> None:
    a, b = Event("a", Excerpt("a", 5, 80, -6.0)), Event("b", Excerpt("b", 0, 60))
    stems = render_stems(Overlay(a, b, -20), bank, Fade.LINEAR)
    np.testing.assert_array_equal(stems[0, 20:100], bank.read("a", 5, 80, 10 ** (-6 / 20)))
    np.testing.assert_array_equal(stems[1, :60], bank.read("b", 0, 60, 1.0))


@cases(
    ("event", "frames", "error", "told"),
    [
        (Event("a"), 10, SceneError, "no excerpt"),
        (Event("a", Excerpt("z", 0, 1)), 1, CorpusError, "z"),
        (Event("a", Excerpt("a", 0, 91)), 91, CorpusError, "90"),
        # A longer scene is never cut.
        (Event("a", Excerpt("a", 0, 90)), 89, SceneError, "90 frames does not fit into 89"),
    ],
)
def test_what_cannot_be_rendered_is_an_error(
    bank: Bank, event: Event, frames: int, error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        render(event, bank, LINEAR, frames)
    if frames != 89:
        with pytest.raises(error, match=told):
            render_stems(event, bank, Fade.LINEAR)
        return
    layers = play_apart(event, bank, Fade.LINEAR)
    with pytest.raises(CorpusError, match="do not add up"):
        next(quantise_stems(layers, 0.0, np.zeros(90, dtype=np.int16)))


def quantise(stems: np.ndarray, gain_db: float, mix: np.ndarray) -> np.ndarray:
    """The stems by the definition: all sums rounded, the rest given to the last that plays."""
    sums = np.zeros((len(stems) + 1, len(mix)))
    scaled = (stems * np.float32(10 ** (gain_db / 20) * PCM_SCALE)).astype(np.float64)
    sums[1:, : stems.shape[1]] = np.cumsum(scaled, axis=0)
    parts = np.diff(np.rint(sums), axis=0)
    for at in range(stems.shape[1]):
        playing = np.flatnonzero(stems[:, at])
        if len(playing):
            parts[playing[-1], at] += mix[at] - parts[:, at].sum()
    return parts


@given(scene=scenes(), more=st.integers(0, 9), lead=st.integers(0, 9), peak_db=st.floats(-12, 0))
def test_as_integers_they_add_up_to_the_mix_sample_for_sample(
    bank: Bank, scene: Scene, more: int, lead: int, peak_db: float
) -> None:
    frames = lead + duration(scene) + more
    mixdown = Mixdown(Fade.LINEAR, peak_db, stems=True)
    made = render(scene, bank, mixdown, frames, lead)
    found = np.array([*quantise_stems(made.layers, made.gain_db, made.pcm)])
    assert found.dtype == np.int16
    assert np.array_equal(found.sum(axis=0, dtype=np.int64), made.pcm)
    stems = render_stems(scene, bank, Fade.LINEAR, lead)
    assert np.array_equal(found, quantise(stems, made.gain_db, made.pcm))
    scaled = stems * (10 ** (made.gain_db / 20) * PCM_SCALE)
    assert np.abs(found[:, : stems.shape[1]] - scaled).max(initial=0) <= 1.01
    assert not found[:, : stems.shape[1]][stems == 0].any()
    plain = render(scene, bank, Mixdown(Fade.LINEAR, peak_db), frames, lead)
    assert made.gain_db <= plain.gain_db
    assert made.gain_db < plain.gain_db or np.array_equal(made.pcm, plain.pcm)


def test_a_stem_that_is_too_loud_alone_is_refused() -> None:
    layers = [Layer(0, np.full(9, level, dtype=np.float32)) for level in (1.2, -1.0)]
    mix = np.rint(sum(layer.audio for layer in layers) * PCM_SCALE).astype(np.int16)
    with pytest.raises(CorpusError, match="too loud for 16 bits"):
        next(quantise_stems(layers, 0.0, mix))


def test_a_scene_is_turned_down_until_each_stem_fits(tmp_path: Path) -> None:
    """The sounds cancel: the mix is silent, and each of them is too loud."""
    noise = np.random.default_rng(1).uniform(-0.9, 0.9, 400).astype(np.float32)
    bank = Bank.open(write_bank(tmp_path, {"up": noise, "down": -noise}, 16_000))
    scene = Overlay(*(Event("x", Excerpt(clip, 0, 400, 12.0)) for clip in ("up", "down")))
    assert render(scene, bank, LINEAR, 400).gain_db == 0
    made = render(scene, bank, replace(LINEAR, stems=True), 400)
    one, other = quantise_stems(made.layers, made.gain_db, made.pcm)
    assert np.array_equal(one + other, made.pcm)
    assert one.max() > 32_000
    assert np.array_equal(np.sign(one), np.sign(noise))
