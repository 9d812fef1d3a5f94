"""Samples of an audio file, or the reason why it has none to give."""

from __future__ import annotations

import errno
import io
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import Final

import numpy as np
import soundfile
from jaxtyping import Float32

from synth.audio.decoding.formats import (
    MAX_SAMPLES,
    FileFormat,
    FilePart,
    Limits,
    Mislabelled,
    current_limits,
    detect_format,
    detect_signature,
    explain_mismatch,
    skip_id3,
    skip_tags,
)
from synth.audio.decoding.streams import (
    add_count,
    find_end,
    read_chunks,
    split_flac,
    split_mpeg,
    split_ogg,
    state_caf_size,
)
from synth.base.doors import plain_text
from synth.base.errors import ClipError
from synth.base.units import Frames

BLOCK_FRAMES: Final = 1 << 18
INSTALL_FFMPEG: Final = (
    "install it with `apt install ffmpeg`, `brew install ffmpeg` or `conda install ffmpeg`"
)
_ADDRESS: Final = re.compile(r" @ 0x[0-9a-f]+")
"""Where ffmpeg's decoder lies in memory: other in each run."""
_CRASHES: Final = frozenset({"SIGSEGV", "SIGABRT", "SIGFPE", "SIGILL"})
"""What a file can do to a decoder; other signals come from the system or a person."""


def read_audio(data: bytes, suffix: str) -> tuple[Float32[np.ndarray, "frames channels"], int]:
    """Samples at full scale 1, shape (frames, channels), and the rate in Hz; see `use_limits`."""
    limits = current_limits()
    form = detect_format(data)
    if limits.mislabelled is Mislabelled.REFUSE and (reason := explain_mismatch(form, suffix)):
        raise ClipError(reason)
    pieces: list[Float32[np.ndarray, "frames channels"]] = []
    forms: dict[tuple[int, int], None] = {}
    frames = 0
    for part in _split(data, limits):
        try:
            samples, rate = read_part(part, limits)
        except soundfile.LibsndfileError as error:
            samples, rate = _read_with_ffmpeg(part, limits, describe_error(error))
        frames += len(samples)
        limits.check(samples.shape[1], rate)
        limits.check_length(frames, samples.shape[1], rate)
        least = part.least * rate // (part.clock or rate)
        if len(samples) < least:
            raise _incomplete_error(len(samples), least, rate)
        pieces.append(samples)
        forms[samples.shape[1], rate] = None
    if len(forms) > 1:
        parts = ", ".join(f"{rate:,} Hz with {channels} channels" for channels, rate in forms)
        raise ClipError(f"is joined of sounds that differ in form: {parts}")
    return (pieces[0] if len(pieces) == 1 else np.concatenate(pieces)), rate


def _split(data: bytes, limits: Limits) -> Iterator[FilePart]:
    """The parts of a file, each of which is decoded by itself; most have one."""
    while True:
        data = data[skip_id3(data) :]
        form = detect_format(data)
        end = len(data)
        match form:
            case FileFormat.FLAC:
                yield from split_flac(data)
            case FileFormat.OGG:
                yield from split_ogg(data)
            case FileFormat.MP3:
                yield from split_mpeg(data)
            case FileFormat.WAV | FileFormat.AIFF:
                sound, end = read_chunks(data, limits)
                yield from split_mpeg(sound.data) if sound.form is FileFormat.MP3 else (sound,)
            case FileFormat.AAC:  # behind what is no frame more may follow
                find_end(data, form)
                yield FilePart(data, form)
            case _:
                data = state_caf_size(data) if form is FileFormat.CAF else data
                end = find_end(data, form)
                yield FilePart(data[:end], form)
        end = skip_tags(data, end)
        if detect_signature(data, end) is None:
            return
        data = data[end:]


class _Forward(soundfile.SoundFile):  # type: ignore[misc]
    """Read from begin to end: after each read soundfile would seek to where it believes to be."""

    def seekable(self) -> bool:
        return False


def read_part(part: FilePart, limits: Limits, dtype: str = "float32") -> tuple[np.ndarray, int]:
    """Samples of a part, shape (frames, channels), and the rate, as libsndfile decodes them."""
    with _Forward(io.BytesIO(part.data)) as file:
        channels, rate, frames = file.channels, file.samplerate, file.frames
        limits.check(channels, rate)
        # A streamed file does not say how long it is.
        known = frames < 1 << 62
        limits.check_length(frames if known else part.least, channels, rate)
        if frames < part.least * rate // (part.clock or rate) and part.form is FileFormat.MP3:
            return read_part(add_count(part), limits, dtype)
        blocks: list[np.ndarray] = []
        read = 0
        # In blocks: memory is taken for what is there, not for what the header says.
        while read < frames:
            exact = frames if known or read >= part.least else part.least
            wanted = min(BLOCK_FRAMES, exact - read)
            try:
                blocks.append(file.read(wanted, dtype=dtype, always_2d=True))
            except soundfile.LibsndfileError as error:
                if not known and 0 < part.least <= read:
                    break  # what follows the sound is none
                raise ClipError(f"is truncated or damaged: {describe_error(error)}") from error
            read += len(blocks[-1])
            limits.check_length(read, channels, rate)
            if len(blocks[-1]) < wanted:
                break
        # Of MPEG audio without a count of frames libsndfile only guesses the length.
        if known and read < frames and part.form is not FileFormat.MP3:
            raise _incomplete_error(read, frames, rate)
        blocks = [block for block in blocks if len(block)] or [np.zeros((0, channels), dtype)]
        return (blocks[0] if len(blocks) == 1 else np.concatenate(blocks)), rate


def describe_error(error: soundfile.LibsndfileError) -> str:
    """What libsndfile says, in a few words."""
    words = str(error.error_string).removeprefix("Error : ").rstrip(".")
    # What libsndfile says where libmpg123 finds no frame.
    return "no frame can be decoded" if words.startswith("File does not exist") else words


def _incomplete_error(read: Frames, promised: Frames, rate: int) -> ClipError:
    return ClipError(
        f"is truncated or damaged: its header promises {promised / rate:.2f} s, "
        f"but {read / rate:.2f} s can be decoded"
    )


def _find_converter() -> str | None:
    """The program that pydub runs: ffmpeg, or what its users set."""
    with warnings.catch_warnings():
        # Python warns of what pydub imports, and pydub where there is no ffmpeg.
        warnings.simplefilter("ignore")
        from pydub import AudioSegment
    return shutil.which(str(AudioSegment.converter))


def _read_with_ffmpeg(
    part: FilePart, limits: Limits, reason: str
) -> tuple[Float32[np.ndarray, "frames channels"], int]:
    if part.form is None:
        raise ClipError(f"cannot be decoded: it is not audio in a known format ({reason})")
    program = _find_converter()
    if program is None:
        raise ClipError(
            f"holds {part.form}, which libsndfile cannot decode ({reason}); that needs "
            f"ffmpeg: {INSTALL_FFMPEG}"
        )
    # More than the limits allow is not written: it shows that the limits are exceeded.
    most = min(MAX_SAMPLES, int((limits.max_s + 1) * limits.max_rate) * limits.max_channels)
    command = [program, "-nostdin", "-v", "error", "-xerror", "-f", part.form.demuxer]
    # It must be able to seek, which a pipe does not let it.
    command += ["-i", "cache:pipe:0" if sys.platform == "win32" else "/dev/stdin", "-vn"]
    command += ["-t", str(limits.max_s + 1), "-fs", str(4 * most + (1 << 16))]
    command += ["-c:a", "pcm_f32le", "-f", "wav", "-"]
    with tempfile.TemporaryFile() as file:
        file.write(part.data)
        file.seek(0)
        done = subprocess.run(command, stdin=file, capture_output=True, check=False)
    words = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode in (126, 127):
        raise OSError(errno.ENOEXEC, f"{program} does not run: {plain_text(words)}")
    if done.returncode < 0 and signal.Signals(-done.returncode).name not in _CRASHES:
        name = signal.Signals(-done.returncode).name
        raise OSError(errno.ENOMEM, f"{program} was ended by {name}, not by the file it decoded")
    if done.returncode:
        reply = plain_text(words.rpartition("\n")[2] or f"status {done.returncode}")
        reply = _ADDRESS.sub("", reply)
        raise ClipError(f"can be decoded neither by libsndfile ({reason}) nor by ffmpeg ({reply})")
    return read_part(read_chunks(done.stdout, limits)[0], limits)
