"""Samples of an audio file, or the reason why it has none to give."""

from __future__ import annotations

import io
import shutil
import warnings
from collections.abc import Mapping
from typing import Final

import numpy as np
import soundfile
from jaxtyping import Float32

from synth.audio.decoding.chunks import (
    check_aiff,
    check_asf,
    check_au,
    check_caf,
    check_matroska,
    check_mp4,
    repair_wav,
)
from synth.audio.decoding.formats import FileFormat, detect_format, explain_mismatch
from synth.audio.decoding.limits import Limits, Mislabelled, current_limits
from synth.audio.decoding.streams import check_aac, check_ogg, flac_frames, mp3_least_frames
from synth.base.errors import ClipError
from synth.base.units import Frames

BLOCK_FRAMES: Final = 1 << 18
INSTALL_FFMPEG: Final = (
    "install it with `apt install ffmpeg`, `brew install ffmpeg` or `conda install ffmpeg`"
)
_DEMUXERS: Final[Mapping[FileFormat, str]] = {
    FileFormat.WAV: "wav",
    FileFormat.AIFF: "aiff",
    FileFormat.FLAC: "flac",
    FileFormat.OGG: "ogg",
    FileFormat.MP3: "mp3",
    FileFormat.AAC: "aac",
    FileFormat.MP4: "mp4",
    FileFormat.ASF: "asf",
    FileFormat.MATROSKA: "matroska",
    FileFormat.CAF: "caf",
    FileFormat.AU: "au",
    FileFormat.W64: "w64",
    FileFormat.AMR: "amr",
    FileFormat.APE: "ape",
    FileFormat.WAVPACK: "wv",
}
"""What ffmpeg is asked to read: no playlist among them, which would make it open other files."""


def read_audio(
    data: bytes, suffix: str, limits: Limits | None = None
) -> tuple[Float32[np.ndarray, "frames channels"], int]:
    """Samples at full scale 1, shape (frames, channels), and the rate in Hz.

    Args:
        data: The whole file.
        suffix: Its extension, with the dot.
        limits: Which files are decoded; by default those that `reading` set.

    Raises:
        ClipError: If it is outside the limits, if sound that it promises is missing, or if no
            decoder at hand can read it.
    """
    limits = limits or current_limits()
    found = detect_format(data)
    if limits.mislabelled is Mislabelled.REFUSE and (reason := explain_mismatch(found, suffix)):
        raise ClipError(reason)
    try:
        data, least = _check_format(data, found, limits)
        try:
            samples, rate = _read_with_libsndfile(data, found, limits)
        except soundfile.LibsndfileError as error:
            samples, rate = _read_with_ffmpeg(data, found, limits, _describe_error(error))
    except MemoryError as error:
        raise ClipError("needs more memory than there is") from error
    limits.check(samples.shape[1], rate)
    limits.check_length(len(samples), samples.shape[1], rate)
    if least is not None and len(samples) < least:
        raise _incomplete_error(len(samples), least, rate)
    return samples, rate


def _check_format(
    data: bytes, found: FileFormat | None, limits: Limits
) -> tuple[bytes, Frames | None]:
    """The file, fixed where that is due, and the frames that decoding it must give at least."""
    match found:
        case FileFormat.WAV:
            return repair_wav(data, limits), None
        case FileFormat.AIFF:
            check_aiff(data, limits)
        case FileFormat.FLAC:
            return data, flac_frames(data)
        case FileFormat.OGG:
            check_ogg(data)
        case FileFormat.MP3:
            return data, mp3_least_frames(data)
        case FileFormat.MP4:
            check_mp4(data)
        case FileFormat.MATROSKA:
            check_matroska(data)
        case FileFormat.CAF:
            check_caf(data)
        case FileFormat.AU:
            check_au(data)
        case FileFormat.ASF:
            check_asf(data)
        case FileFormat.AAC:
            check_aac(data)
    return data, None


class _Forward(soundfile.SoundFile):  # type: ignore[misc]
    """Read from begin to end: after each read soundfile would seek to where it believes to be."""

    def seekable(self) -> bool:
        return False


def _read_with_libsndfile(
    data: bytes, found: FileFormat | None, limits: Limits
) -> tuple[Float32[np.ndarray, "frames channels"], int]:
    with _Forward(io.BytesIO(data)) as file:
        channels, rate, frames = file.channels, file.samplerate, file.frames
        limits.check(channels, rate)
        # A streamed file does not say how long it is.
        known = frames < 1 << 62
        if known:
            limits.check_length(frames, channels, rate)
        blocks: list[Float32[np.ndarray, "frames channels"]] = []
        read = 0
        # In blocks: memory is taken for what is there, not for what the header says.
        while not blocks or len(blocks[-1]) == BLOCK_FRAMES:
            try:
                blocks.append(file.read(BLOCK_FRAMES, dtype="float32", always_2d=True))
            except soundfile.LibsndfileError as error:
                raise ClipError(f"is truncated or damaged: {_describe_error(error)}") from error
            read += len(blocks[-1])
            limits.check_length(read, channels, rate)
        # Of MPEG audio without a count of frames libsndfile only guesses the length.
        if known and read < frames and found is not FileFormat.MP3:
            raise _incomplete_error(read, frames, rate)
        return (blocks[0] if len(blocks) == 1 else np.concatenate(blocks)), rate


def _describe_error(error: soundfile.LibsndfileError) -> str:
    words = str(error.error_string).removeprefix("Error : ").rstrip(".")
    # What libsndfile says where libmpg123 finds no frame.
    return "no frame can be decoded" if words.startswith("File does not exist") else words


def _incomplete_error(read: Frames, promised: Frames, rate: int) -> ClipError:
    return ClipError(
        f"is truncated or damaged: its header promises {promised / rate:.2f} s, "
        f"but {read / rate:.2f} s can be decoded"
    )


def _read_with_ffmpeg(
    data: bytes, found: FileFormat | None, limits: Limits, reason: str
) -> tuple[Float32[np.ndarray, "frames channels"], int]:
    if found is None:
        raise ClipError(f"cannot be decoded: it is not audio in a known format ({reason})")
    missing = [program for program in ("ffmpeg", "ffprobe") if shutil.which(program) is None]
    if missing:
        raise ClipError(
            f"holds {found}, which libsndfile cannot decode ({reason}); that needs "
            f"{' and '.join(missing)}: {INSTALL_FFMPEG}"
        )
    with warnings.catch_warnings():
        # Where Python still has audioop, pydub takes it and Python warns that it will go.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", SyntaxWarning)
        from pydub import AudioSegment
        from pydub.exceptions import CouldntDecodeError

    try:
        segment = AudioSegment.from_file(
            io.BytesIO(data), format=_DEMUXERS[found], duration=limits.max_s + 1
        )
    except (CouldntDecodeError, ArithmeticError, LookupError, OSError, ValueError) as error:
        raise ClipError(f"can be decoded neither by libsndfile ({reason}) nor by ffmpeg") from error
    samples = np.asarray(segment.get_array_of_samples(), dtype=np.float32)
    full_scale = np.float32(1 << (8 * segment.sample_width - 1))
    return (samples / full_scale).reshape(-1, segment.channels), int(segment.frame_rate)
