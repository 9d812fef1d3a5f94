"""Decoding: what libsndfile reads is read, what nobody reads is a clip error."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile

from synth.audio_file import read_audio
from synth.errors import ClipError


def encoded(audio: np.ndarray, rate: int, kind: str, subtype: str | None = None) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, audio, rate, format=kind, subtype=subtype)
    return buffer.getvalue()


NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 4800).astype(np.float32)


@pytest.mark.parametrize(
    ("kind", "subtype"),
    [("WAV", "PCM_16"), ("WAV", "PCM_24"), ("WAV", "FLOAT"), ("FLAC", "PCM_24")],
)
@pytest.mark.parametrize("channels", [1, 2, 8])
def test_lossless_files_are_read_at_full_scale_one(kind: str, subtype: str, channels: int) -> None:
    audio = np.stack([NOISE * (k + 1) / channels for k in range(channels)], axis=1)
    samples, rate = read_audio(encoded(audio, 44_100, kind, subtype), f".{kind.lower()}")
    assert rate == 44_100
    assert samples.dtype == np.float32
    assert samples.shape == audio.shape
    assert np.abs(samples - audio).max() <= 1 / 32768


@pytest.mark.parametrize("kind", ["OGG", "MP3"])
def test_lossy_files_are_read(kind: str) -> None:
    samples, rate = read_audio(encoded(NOISE, 48_000, kind), f".{kind.lower()}")
    assert rate == 48_000
    assert samples.shape[1] == 1
    assert len(samples) >= len(NOISE)


def test_the_extension_is_not_trusted() -> None:
    samples, _ = read_audio(encoded(NOISE, 48_000, "FLAC"), ".wav")
    assert len(samples) == len(NOISE)


@pytest.mark.parametrize("suffix", [".wav", ".mp3", ".m4a", ""])
def test_what_is_no_audio_is_a_clip_error(suffix: str) -> None:
    with pytest.raises(ClipError, match="decode"):
        read_audio(b"path,label\na.wav,dog\n" * 40, suffix)


@pytest.mark.parametrize("kind", ["WAV", "FLAC", "OGG", "MP3"])
@pytest.mark.parametrize("share", [0.9, 0.5, 0.05, 0.001])
def test_a_truncated_file_is_read_as_far_as_it_goes_or_a_clip_error(
    kind: str, share: float
) -> None:
    noise = np.tile(NOISE, 10)
    data = encoded(noise, 48_000, kind)
    try:
        samples, rate = read_audio(data[: int(len(data) * share)], f".{kind.lower()}")
    except ClipError:
        return
    assert rate == 48_000
    assert len(samples) < len(noise)
    assert np.isfinite(samples).all()


def test_what_libsndfile_cannot_read_goes_through_ffmpeg(ffmpeg: None, tmp_path: Path) -> None:
    wav, m4a = tmp_path / "noise.wav", tmp_path / "noise.m4a"
    soundfile.write(wav, np.tile(NOISE, 10), 48_000)
    command = ["ffmpeg", "-loglevel", "error", "-i", str(wav), "-c:a", "aac", str(m4a)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    samples, rate = read_audio(m4a.read_bytes(), ".m4a")
    assert (rate, samples.shape[1]) == (48_000, 1)
    assert abs(len(samples) - 48_000) < 4096
    assert 0.2 < np.abs(samples).max() <= 1


def test_a_file_over_the_limit_is_refused_before_it_is_decoded() -> None:
    data = encoded(np.zeros(48_000, dtype=np.float32), 8_000, "FLAC")
    with pytest.raises(ClipError, match=r"lasts 6\.0 s, the limit is 5 s"):
        read_audio(data, ".flac", max_s=5)
