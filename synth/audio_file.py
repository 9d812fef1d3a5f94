"""Decode audio files: libsndfile where it can, ffmpeg through pydub where it cannot."""

from __future__ import annotations

import io
import shutil

import numpy as np
import soundfile
from jaxtyping import Float32

from synth.errors import ClipError


def read_audio(data: bytes, suffix: str) -> tuple[Float32[np.ndarray, "frames channels"], int]:
    """Samples in [-1, 1], shape (frames, channels), and the rate in Hz.

    Args:
        data: The whole file.
        suffix: Its extension, with the dot.

    Raises:
        ClipError: If no decoder at hand can read it.
    """
    try:
        samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        return _read_with_ffmpeg(data, suffix, reason=str(error.error_string))
    return samples, int(rate)


def _read_with_ffmpeg(
    data: bytes, suffix: str, reason: str
) -> tuple[Float32[np.ndarray, "frames channels"], int]:
    if shutil.which("ffmpeg") is None:
        raise ClipError(f"libsndfile cannot decode it ({reason}) and ffmpeg is not installed")
    from pydub import AudioSegment
    from pydub.exceptions import CouldntDecodeError

    try:
        segment = AudioSegment.from_file(io.BytesIO(data), format=suffix.lstrip(".") or None)
    except (CouldntDecodeError, IndexError, KeyError, OSError, ValueError) as error:
        raise ClipError(f"neither libsndfile ({reason}) nor ffmpeg can decode it") from error
    samples = np.asarray(segment.get_array_of_samples(), dtype=np.float32)
    full_scale = np.float32(1 << (8 * segment.sample_width - 1))
    return (samples / full_scale).reshape(-1, segment.channels), int(segment.frame_rate)
