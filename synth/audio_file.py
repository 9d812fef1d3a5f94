"""Decode audio files: libsndfile where it can, ffmpeg through pydub where it cannot."""

from __future__ import annotations

import io
import shutil

import numpy as np
import soundfile
from jaxtyping import Float32

from synth.errors import ClipError
from synth.units import Seconds

MAX_S = 3600.0


def read_audio(
    data: bytes, suffix: str, max_s: Seconds = MAX_S
) -> tuple[Float32[np.ndarray, "frames channels"], int]:
    """Samples in [-1, 1], shape (frames, channels), and the rate in Hz.

    Args:
        data: The whole file.
        suffix: Its extension, with the dot.
        max_s: Longest file that is decoded.

    Raises:
        ClipError: If no decoder at hand can read it, or it is longer.
    """
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            if file.frames > max_s * file.samplerate:
                raise ClipError(
                    f"lasts {file.frames / file.samplerate:.1f} s, the limit is {max_s:g} s"
                )
            return file.read(dtype="float32", always_2d=True), file.samplerate
    except soundfile.LibsndfileError as error:
        return _read_with_ffmpeg(data, suffix, reason=str(error.error_string))
    except MemoryError as error:
        raise ClipError("its header asks for more memory than there is") from error


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
