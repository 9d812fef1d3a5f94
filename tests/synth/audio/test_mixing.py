"""Between-class mixing against the published formula, written out anew in float64."""

from __future__ import annotations

from pathlib import Path

import librosa
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.audio.bank import INDEX_SCHEMA, Bank, encode
from synth.audio.mixing import (
    FLOOR_DB,
    _a_curve,
    _window,
    a_weighted_level,
    between_class,
    frame_length,
)
from synth.audio.render import waveform
from synth.scene.scene import Concat, Event, Excerpt, Overlay
from synth.scene.timeline import Fade

# The run-time type checker samples containers with `random`, also inside strategies.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module")

RATES = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000, 192_000]
FRAMES = {16_000: 2048, 44_100: 4096}


def published_level(sound: np.ndarray, rate: int, frame: int) -> float:
    """G: the largest, over frames, of the A-weighted power in dB, floored at -80."""
    sound = np.asarray(sound, dtype=np.float64)
    if len(sound) < frame:
        sound = np.concatenate([sound, np.zeros(frame - len(sound))])
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(frame) / frame)  # periodic Hann
    frequencies = np.arange(frame // 2 + 1) * rate / frame
    with np.errstate(divide="ignore"):
        curve = librosa.A_weighting(frequencies, min_db=-80.0)
    best = -80.0
    for start in range(0, len(sound) - frame + 1, frame // 2):
        spectrum = np.fft.rfft(sound[start : start + frame] * window)
        power = float(np.sum(np.abs(spectrum) ** 2 * 10 ** (curve / 10)))
        if power > 0:
            best = max(best, 10 * float(np.log10(power)))
    return best


def published_mix(
    first: np.ndarray, second: np.ndarray, rate: int, frame: int, ratio: float
) -> np.ndarray:
    """t = 1 / (1 + 10^((G1-G2)/20) (1-r)/r); out = (t x1 + (1-t) x2) / sqrt(t^2 + (1-t)^2)."""
    louder = published_level(first, rate, frame) - published_level(second, rate, frame)
    t = 1 / (1 + 10 ** (louder / 20) * (1 - ratio) / ratio)
    return (t * first + (1 - t) * second) / np.sqrt(t**2 + (1 - t) ** 2)


def noise(frames: int, seed: int, level: float = 0.3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (level * rng.uniform(-1, 1, frames)).astype(np.float32)


def tone(hertz: float, rate: int, seconds: float = 0.5, level: float = 0.5) -> np.ndarray:
    return (level * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)).astype(
        np.float32
    )


def test_frames_are_as_published_and_about_as_long_at_other_rates() -> None:
    assert {rate: frame_length(rate) for rate in FRAMES} == FRAMES
    for rate in RATES:
        frame = frame_length(rate)
        assert frame & (frame - 1) == 0
        assert 0.06 < frame / rate < 0.14
    assert frame_length(8_000) == 1024
    assert frame_length(48_000) == 4096


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("seconds", [0.001, 0.05, 0.2, 0.7])
def test_level_is_the_published_one(rate: int, seconds: float) -> None:
    for seed, level in enumerate((0.9, 0.01, 1e-5)):
        sound = noise(int(seconds * rate), seed, level)
        expected = published_level(sound, rate, frame_length(rate))
        assert a_weighted_level(sound, rate) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("ratio", [0.05, 0.5, 0.8])
def test_gains_are_the_published_ones(rate: int, ratio: float) -> None:
    first, second = tone(440, rate), noise(int(0.5 * rate), 1, 0.05)
    share, other = between_class(first, second, rate, ratio)
    expected = published_mix(first, second, rate, frame_length(rate), ratio)
    np.testing.assert_allclose(share * first + other * second, expected, atol=1e-5)
    assert share**2 + other**2 == pytest.approx(1, abs=1e-5)


@given(
    st.floats(0.02, 0.98), st.floats(-40, 40), st.integers(0, 5), st.sampled_from([8_000, 16_000])
)
@settings(max_examples=40)
def test_the_perceived_share_is_the_ratio_whatever_the_levels(
    ratio: float, gain_db: float, seed: int, rate: int
) -> None:
    # Perceived pressures are in the ratio r to 1 - r: t * 10^(G1/20) : (1-t) * 10^(G2/20).
    first = noise(rate // 2, seed, 0.01) * np.float32(10 ** (gain_db / 20))
    second = noise(rate // 3, seed + 1, 0.1)
    share, other = between_class(first, second, rate, ratio)
    heard = share * 10 ** (a_weighted_level(first, rate) / 20)
    beside = other * 10 ** (a_weighted_level(second, rate) / 20)
    assert heard / (heard + beside) == pytest.approx(ratio, abs=1e-4)


@given(st.floats(0.02, 0.98), st.integers(0, 20))
@settings(max_examples=30)
def test_exchanging_the_sounds_exchanges_the_shares(ratio: float, seed: int) -> None:
    first, second = noise(3000, seed, 0.2), noise(4000, seed + 1, 0.02)
    one = between_class(first, second, 8_000, ratio)
    other = between_class(second, first, 8_000, 1 - ratio)
    np.testing.assert_allclose(one, other[::-1], atol=1e-5)


def test_equal_sounds_at_one_half_weigh_the_same() -> None:
    sound = noise(9000, 3)
    share, other = between_class(sound, sound, 16_000, 0.5)
    assert share == other == pytest.approx(np.sqrt(0.5), abs=1e-6)


def test_hum_that_is_hardly_perceived_gets_the_larger_gain() -> None:
    # 50 Hz weighs 30 dB less than 1 kHz on the A-curve.
    hum, whistle = tone(50, 16_000), tone(1000, 16_000)
    share, other = between_class(hum, whistle, 16_000, 0.5)
    assert 20 * np.log10(share / other) == pytest.approx(30, abs=1.5)


def test_the_loudest_frame_counts_alone() -> None:
    burst = np.zeros(20 * 2048, dtype=np.float32)
    burst[10 * 2048 : 11 * 2048] = noise(2048, 0)
    assert a_weighted_level(burst, 16_000) == pytest.approx(
        a_weighted_level(burst[10 * 2048 : 11 * 2048], 16_000), abs=1e-6
    )


@pytest.mark.parametrize("frames", [1, 2, 100, 2047, 2048, 2049])
def test_sounds_about_one_frame_long(frames: int) -> None:
    sound, other = noise(frames, 0), noise(5000, 1)
    assert np.isfinite(a_weighted_level(sound, 16_000))
    expected = published_mix(np.pad(sound, (0, 5000 - frames)), other, 16_000, 2048, 0.5)
    share, rest = between_class(sound, other, 16_000, 0.5)
    if frames <= 2048:  # padding changes nothing
        mixed = share * np.pad(sound, (0, 5000 - frames)) + rest * other
        np.testing.assert_allclose(mixed, expected, atol=1e-5)


def test_silence_is_at_the_floor_and_divides_nothing_by_zero() -> None:
    silence, sound = np.zeros(8000, dtype=np.float32), noise(8000, 0)
    assert a_weighted_level(silence, 16_000) == pytest.approx(FLOOR_DB)
    assert a_weighted_level(sound * np.float32(1e-9), 16_000) == pytest.approx(FLOOR_DB)
    for pair in ((silence, silence), (silence, sound), (sound, silence)):
        gains = between_class(*pair, 16_000, 0.5)
        assert np.isfinite(gains).all()
    assert between_class(silence, silence, 16_000, 0.5)[0] == pytest.approx(np.sqrt(0.5))


RATE = 8_000
SOUNDS = {"a": noise(5000, 0, 0.6), "b": noise(1200, 1, 0.05), "c": tone(200, RATE)}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> Bank:
    folder: Path = tmp_path_factory.mktemp("bank")
    rows, data, start = [], b"", 0
    for clip, audio in SOUNDS.items():
        pcm, scale = encode(audio)
        rows.append(
            {"clip": clip, "part": "part-p.pcm", "start": start, "frames": len(pcm), "scale": scale}
        )
        data += pcm.astype("<i2").tobytes()
        start += len(pcm)
    (folder / "part-p.pcm").write_bytes(data)
    table = pa.Table.from_pylist(rows, schema=INDEX_SCHEMA)
    pq.write_table(table.replace_schema_metadata({"sample_rate": str(RATE)}), folder / "i.parquet")
    return Bank.open(folder / "i.parquet")


def event(clip: str) -> Event:
    return Event(clip, Excerpt(clip, 0, len(SOUNDS[clip])))


@pytest.mark.parametrize("ratio", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("offset", [0, 700, -300])
def test_an_overlay_with_a_ratio_is_the_published_mix_of_the_sounds_alone(
    bank: Bank, ratio: float, offset: int
) -> None:
    mixed = waveform(Overlay(event("a"), event("b"), offset, ratio), bank, Fade.LINEAR)
    share, other = between_class(SOUNDS["a"], SOUNDS["b"], RATE, ratio)
    start = max(0, -offset)
    expected = np.zeros(len(mixed))
    expected[start : start + len(SOUNDS["a"])] += share * SOUNDS["a"]
    begin = max(0, offset)
    expected[begin : begin + len(SOUNDS["b"])] += other * SOUNDS["b"]
    np.testing.assert_allclose(mixed, expected, atol=1e-4)
    if offset == 0:
        padded = np.pad(SOUNDS["b"], (0, len(SOUNDS["a"]) - len(SOUNDS["b"])))
        # The level of b is that of its own samples: padding adds frames, never a louder one but by
        # framing; so compare with a second writing of the formula on the sounds alone.
        gap = published_level(SOUNDS["a"], RATE, 1024) - published_level(SOUNDS["b"], RATE, 1024)
        t = 1 / (1 + 10 ** (gap / 20) * (1 - ratio) / ratio)
        direct = (t * SOUNDS["a"] + (1 - t) * padded) / np.hypot(t, 1 - t)
        np.testing.assert_allclose(mixed, direct, atol=1e-4)


def test_without_a_ratio_sounds_are_added(bank: Bank) -> None:
    mixed = waveform(Overlay(event("a"), event("c")), bank, Fade.LINEAR)
    np.testing.assert_allclose(mixed, SOUNDS["a"] + np.pad(SOUNDS["c"], (0, 1000)), atol=1e-4)


def test_a_composed_part_is_weighed_as_a_whole(bank: Bank) -> None:
    part = Concat(event("a"), event("b"), 100)
    mixed = waveform(Overlay(part, event("c"), 0, 0.5), bank, Fade.LINEAR)
    whole = waveform(part, bank, Fade.LINEAR)
    share, other = between_class(whole, waveform(event("c"), bank, Fade.LINEAR), RATE, 0.5)
    expected = share * whole + other * np.pad(SOUNDS["c"], (0, len(whole) - len(SOUNDS["c"])))
    np.testing.assert_allclose(mixed, expected, atol=1e-4)


def test_rendering_leaves_the_bank_as_it_is(bank: Bank) -> None:
    scene = Overlay(event("a"), event("a"), 0, 0.3)
    once = waveform(scene, bank, Fade.LINEAR)
    np.testing.assert_array_equal(once, waveform(scene, bank, Fade.LINEAR))


@given(
    rate=st.sampled_from([8_000, 16_000, 44_100]),
    seconds=st.floats(0.05, 1.5),
    seed=st.integers(0, 2**32 - 1),
    loudness_db=st.floats(-70, 0),
    steady=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_level_is_to_the_bit_that_of_the_loudest_of_all_frames(
    rate: int, seconds: float, seed: int, loudness_db: float, steady: bool
) -> None:
    rng = np.random.default_rng(seed)
    count = max(1, int(rate * seconds))
    noise = rng.standard_normal(count)
    tone = np.sin(2 * np.pi * rng.uniform(50, rate / 3) * np.arange(count) / rate)
    sound = ((tone if steady else noise) * 10 ** (loudness_db / 20)).astype(np.float32)
    frame = frame_length(rate)
    padded = np.pad(sound, (0, max(0, frame - count)))
    powers = [
        float(_a_curve(frame, rate) @ np.square(np.abs(np.fft.rfft(part * _window(frame)))))
        for start in range(0, len(padded) - frame + 1, frame // 2)
        for part in [padded[start : start + frame]]
    ]
    expected = 10 * float(np.log10(max(*powers, 10 ** (FLOOR_DB / 10))))
    assert a_weighted_level(sound, rate) == expected
