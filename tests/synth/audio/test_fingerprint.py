"""Fingerprints: the same whatever is done to a sound, different for different sounds."""

from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile
import soxr
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import fftconvolve, firwin2

from synth.audio.dsp import Audio
from synth.audio.fingerprint import (
    FINGERPRINT_VERSION,
    HOP_S,
    NOTHING,
    Words,
    fingerprint,
    from_bytes,
    to_bytes,
)
from synth.corpus.leakage import Known, Match
from tests.kit.cases import cases
from tests.kit.known_sounds import RATE, event, noise, tone


def coded(audio: Audio, container: str, subtype: str, level: float) -> Audio:
    file = io.BytesIO()
    soundfile.write(file, audio, RATE, format=container, subtype=subtype, compression_level=level)
    file.seek(0)
    return soundfile.read(file, dtype="float32")[0]


def equalised(audio: Audio) -> Audio:
    """Up to 3 dB up and down, four times over the spectrum."""
    axis = np.linspace(0, 1, 257)
    gains = 10 ** (3 * np.sin(8 * np.pi * axis) / 20)
    return fftconvolve(audio, firwin2(1025, axis, gains), mode="same").astype(np.float32)


COPIES = {
    "itself": lambda audio: (audio, RATE),
    "quieter": lambda audio: (audio * np.float32(0.05), RATE),
    "inverted": lambda audio: (-audio, RATE),
    "as MP3": lambda audio: (coded(audio, "MP3", "MPEG_LAYER_III", 0.5), RATE),
    "as Vorbis": lambda audio: (coded(audio, "OGG", "VORBIS", 0.5), RATE),
    "at 22,050 Hz": lambda audio: (soxr.resample(audio, RATE, 22_050), 22_050),
    "at 48,000 Hz": lambda audio: (soxr.resample(audio, RATE, 48_000), 48_000),
    "at 8,000 Hz": lambda audio: (soxr.resample(audio, RATE, 8_000), 8_000),
    "equalised": lambda audio: (equalised(audio), RATE),
    "an excerpt": lambda audio: (audio[int(0.713 * RATE) : int(2.4 * RATE)], RATE),
    "in silence": lambda audio: (np.pad(audio, (int(0.35 * RATE), RATE)), RATE),
}


def heard_again(copy: Words, original: Words) -> list[Match]:
    return Known.of(["original"], [original]).matches(copy)


@cases("seed", range(3))
@cases("how", COPIES)
def test_a_copy_of_a_sound_is_known_again(how: str, seed: int) -> None:
    audio, rate = COPIES[how](event(seed, 4.0))
    (match,) = heard_again(fingerprint(audio, rate), fingerprint(event(seed, 4.0), RATE))
    assert match.bit_error_rate < 0.2
    assert match.overlap_s > 1.2


def test_a_match_tells_where_an_excerpt_comes_from() -> None:
    audio = event(0, 4.0)
    (match,) = heard_again(
        fingerprint(audio[int(1.5 * RATE) : 3 * RATE], RATE), fingerprint(audio, RATE)
    )
    assert match.offset_s == pytest.approx(1.5, abs=HOP_S)
    assert match.overlap_s == pytest.approx(1.5, abs=0.1)


def test_a_copy_of_a_short_sound_is_known_again() -> None:
    audio = event(3, 0.5)
    copy = soxr.resample(audio * np.float32(0.5), RATE, 22_050)
    assert heard_again(fingerprint(copy, 22_050), fingerprint(audio, RATE))


def test_different_sounds_are_not_taken_for_each_other() -> None:
    sounds = [event(seed, 3.0) for seed in range(12)] + [noise(seed, 3.0) for seed in range(12)]
    known = [fingerprint(sound, RATE) for sound in sounds]
    index = Known.of([str(i) for i in range(len(known))], known)
    for i, words in enumerate(known):
        assert [match.name for match in index.matches(words)] == [str(i)]


@cases(
    "audio",
    [
        np.zeros(RATE, dtype=np.float32),
        np.full(RATE, 0.5, dtype=np.float32),
        tone(440.0, 3.0),
        tone(1000.0, 3.0) + tone(2500.0, 3.0),
    ],
)
def test_silence_and_steady_sounds_are_taken_for_nothing(audio: Audio) -> None:
    words = fingerprint(audio, RATE)
    inside = words[5:-5]
    assert (inside == NOTHING).all()


@cases("others_hz", [440.0, 441.0, 1000.0, 50.0])
def test_steady_tones_are_not_known_again(others_hz: float) -> None:
    words = fingerprint(tone(440.0, 3.0), RATE)
    assert not heard_again(fingerprint(tone(others_hz, 3.0), RATE), words)


def test_silence_inside_a_sound_does_not_speak() -> None:
    parts = [noise(0, 1.0), np.zeros(RATE, dtype=np.float32), noise(1, 1.0)]
    words = fingerprint(np.concatenate(parts), RATE)
    quiet = words[int(1.25 / HOP_S) : int(1.75 / HOP_S)]
    assert (quiet == NOTHING).all()
    assert (words != NOTHING).sum() > 35


@given(
    st.integers(0, 3000),
    st.sampled_from([8_000, 16_000, 22_050, 44_100, 48_000]),
)
def test_every_sound_has_a_word_for_each_hop(frames: int, rate: int) -> None:
    words = fingerprint(noise(1, 1.0)[:frames], rate)
    assert abs(len(words) - frames / rate / HOP_S) <= 1
    assert words.dtype == np.uint32


def test_the_fingerprint_of_long_audio_is_taken_in_parts() -> None:
    audio = noise(3, 100.0)
    whole, end = fingerprint(audio, RATE), fingerprint(audio[90 * RATE :], RATE)
    (match,) = heard_again(end, whole)
    assert match.offset_s == pytest.approx(90.0, abs=HOP_S)


def test_a_fingerprint_costs_less_than_90_bytes_a_second() -> None:
    assert len(to_bytes(fingerprint(noise(0, 10.0), RATE))) < 900


@given(st.lists(st.integers(0, 2**32 - 1), max_size=40))
def test_words_survive_the_column(values: list[int]) -> None:
    words = np.array(values, dtype=np.uint32)
    data = to_bytes(words)
    np.testing.assert_array_equal(from_bytes(data), words)
    assert len(data) == (4 + 4 * len(values) if values else 0)


def test_bytes_are_little_endian_and_carry_the_version() -> None:
    data = to_bytes(np.array([0x01020304], dtype=np.uint32))
    assert data == FINGERPRINT_VERSION.to_bytes(4, "little") + bytes([4, 3, 2, 1])


@cases(
    "data",
    [b"abc", b"\xff\0\0\0\1\0\0\0"],
)
def test_what_is_no_fingerprint_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="a fingerprint"):
        from_bytes(data)
