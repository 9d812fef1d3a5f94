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
    if how == "an excerpt":
        assert match.offset_s == pytest.approx(0.713, abs=HOP_S)
        assert match.overlap_s == pytest.approx(2.4 - 0.713, abs=0.1)
    short = event(seed, 0.5)
    copy = soxr.resample(short * np.float32(0.5), RATE, 22_050)
    assert heard_again(fingerprint(copy, 22_050), fingerprint(short, RATE))


def test_different_sounds_are_not_taken_for_each_other() -> None:
    sounds = [event(seed, 3.0) for seed in range(12)] + [noise(seed, 3.0) for seed in range(12)]
    known = [fingerprint(sound, RATE) for sound in sounds]
    index = Known.of([str(i) for i in range(len(known))], known)
    for i, words in enumerate(known):
        assert [match.name for match in index.matches(words)] == [str(i)]


def test_silence_and_steady_sounds_are_taken_for_nothing() -> None:
    quiet = np.zeros(RATE, dtype=np.float32)
    steady = (np.full(RATE, 0.5, dtype=np.float32), tone(1000.0, 3.0) + tone(2500.0, 3.0))
    for audio in (quiet, *steady, tone(440.0, 3.0)):
        assert (fingerprint(audio, RATE)[5:-5] == NOTHING).all()
    known = fingerprint(tone(440.0, 3.0), RATE)
    for hertz in (440.0, 441.0, 1000.0, 50.0):
        assert not heard_again(fingerprint(tone(hertz, 3.0), RATE), known)
    words = fingerprint(np.concatenate([noise(0, 1.0), quiet, noise(1, 1.0)]), RATE)
    assert (words[int(1.25 / HOP_S) : int(1.75 / HOP_S)] == NOTHING).all()
    assert (words != NOTHING).sum() > 35


@given(st.integers(0, 3000), st.sampled_from([8_000, 16_000, 22_050, 44_100, 48_000]))
def test_every_sound_has_a_word_for_each_hop(frames: int, rate: int) -> None:
    words = fingerprint(noise(1, 1.0)[:frames], rate)
    assert abs(len(words) - frames / rate / HOP_S) <= 1
    assert words.dtype == np.uint32


def test_the_fingerprint_of_long_audio_is_taken_in_parts() -> None:
    audio = noise(3, 100.0)
    whole, end = fingerprint(audio, RATE), fingerprint(audio[90 * RATE :], RATE)
    (match,) = heard_again(end, whole)
    assert match.offset_s == pytest.approx(90.0, abs=HOP_S)


@given(st.lists(st.integers(0, 2**32 - 1), max_size=40))
def test_words_survive_the_column(values: list[int]) -> None:
    words = np.array(values, dtype=np.uint32)
    data = to_bytes(words)
    np.testing.assert_array_equal(from_bytes(data), words)
    # Four bytes a word, of which there are some twenty a second, behind the version.
    version = FINGERPRINT_VERSION.to_bytes(4, "little") if values else b""
    assert data == version + b"".join(value.to_bytes(4, "little") for value in values)
    for other in (b"abc", b"\xff\0\0\0\1\0\0\0"):
        with pytest.raises(ValueError, match="a fingerprint"):
            from_bytes(other)
