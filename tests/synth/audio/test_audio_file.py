"""Decoding: whole files are read, what is missing, lied about or no audio is a clip error."""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import soundfile

from synth.audio.decoding import Limits, Mislabelled, read_audio, use_limits
from synth.audio.decoding.streams import _checksum, _header
from synth.base.errors import ClipError, CorpusError
from synth.corpus.shards import decode_audio
from synth.sources.reading.files import to_mono
from tests.kit.cases import cases
from tests.kit.tables import read_data


def encoded(audio: np.ndarray, rate: int, kind: str, subtype: str | None = None) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, audio, rate, format=kind, subtype=subtype)
    return buffer.getvalue()


NOISE = np.random.default_rng(0).uniform(-0.5, 0.5, 4800).astype(np.float32)
LONG = np.tile(NOISE, 10)
STRICT = Limits(max_s=600, max_channels=2, min_rate=4000, max_rate=96_000)


@cases(
    ("kind", "subtype"),
    [("WAV", "PCM_16"), ("WAV", "PCM_24"), ("WAV", "FLOAT"), ("FLAC", "PCM_24")],
)
@cases("channels", [1, 2, 8])
def test_lossless_files_are_read_at_full_scale_one(kind: str, subtype: str, channels: int) -> None:
    audio = np.stack([NOISE * (k + 1) / channels for k in range(channels)], axis=1)
    samples, rate = read_audio(encoded(audio, 44_100, kind, subtype), f".{kind.lower()}")
    assert rate == 44_100
    assert samples.dtype == np.float32
    assert samples.shape == audio.shape
    assert np.abs(samples - audio).max() <= 1 / 32768


def test_a_name_may_tell_another_format_unless_that_is_refused() -> None:
    data = encoded(NOISE, 48_000, "FLAC")
    samples, _ = read_audio(data, ".wav")
    assert len(samples) == len(NOISE)
    with (
        use_limits(Limits(mislabelled=Mislabelled.REFUSE)),
        pytest.raises(ClipError, match=r"holds FLAC, but its name ends in \.wav"),
    ):
        read_audio(data, ".wav")
    with use_limits(Limits(mislabelled=Mislabelled.REFUSE)):
        for suffix in (".flac", ".FLAC", "", ".sound"):
            read_audio(data, suffix)


@cases("suffix", [".wav", ".mp3", ".m4a", ""])
@cases(
    "data", [b"path,label\na.wav,dog\n" * 40, b"#EXTM3U\nfile:///etc/passwd\n", b"R", bytes(4096)]
)
def test_what_is_no_audio_is_a_clip_error(suffix: str, data: bytes) -> None:
    with pytest.raises(ClipError, match="decode"):
        read_audio(data, suffix)


# Truncation

ENCODINGS = read_data("audio/encodings.yaml")


@cases(("kind", "subtype"), ENCODINGS["libsndfile"])
def test_a_file_that_ends_too_early_is_a_clip_error(kind: str, subtype: str) -> None:
    data = encoded(LONG, 48_000, kind, subtype)
    with use_limits(STRICT):
        samples, _ = read_audio(data, "")
        assert len(samples) == len(LONG)
        for end in (-1, -9, -100, *(int(len(data) * share) for share in (0.9, 0.5, 0.05, 0.001))):
            with pytest.raises(ClipError):
                read_audio(data[:end], "")


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ffmpeg") / "noise.wav"
    soundfile.write(path, LONG, 48_000)
    return path


@cases(("name", "options"), ENCODINGS["ffmpeg"].items())
def test_files_that_ffmpeg_writes_are_read_if_they_are_whole(
    ffmpeg: None, second: Path, name: str, options: str
) -> None:
    path = second.with_name(name)
    command = ["ffmpeg", "-y", "-loglevel", "error", "-i", second, *options.split(), path]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    data = path.read_bytes()
    with use_limits(Limits(mislabelled=Mislabelled.REFUSE)):
        samples, rate = read_audio(data, path.suffix)
        assert len(samples) / rate == pytest.approx(1.0, abs=0.05)
        assert 0.2 < np.abs(samples).max() <= 1.2
        for end in (-1 if "tagged" not in name else -200, len(data) * 9 // 10, len(data) // 3 + 5):
            with pytest.raises(ClipError):
                read_audio(data[:end], path.suffix)


def pipe(source: Path | None, form: str, data: bytes | None = None) -> bytes:
    """What ffmpeg writes to a pipe."""
    place = [source if source is not None else "-", "-f", *form.split(), "-"]
    command = ["ffmpeg", "-loglevel", "error", "-i", *place]
    return subprocess.run(command, check=True, capture_output=True, input=data).stdout


@cases("form", ["wav", "flac", "mp3", "ogg -c:a libvorbis", "matroska"])
def test_files_that_were_written_to_a_pipe_are_whole(ffmpeg: None, second: Path, form: str) -> None:
    samples, rate = read_audio(pipe(second, form), "")
    assert len(samples) / rate == pytest.approx(1.0, abs=0.05)


def test_nothing_is_cut_at_full_scale_by_ffmpeg(ffmpeg: None) -> None:
    loud = encoded(4 * np.sin(np.arange(48_000) / 20), 48_000, "WAV", "FLOAT")
    data = pipe(None, "webm -c:a libopus", loud)
    assert np.abs(read_audio(data, ".webm")[0]).max() > 2


@cases("size", [0, 0xFFFFFFFF, 0x7FFFF000, 0x7FFFFFFF, 0x80000000])
def test_a_wave_file_whose_writer_never_came_back_is_whole(size: int) -> None:
    data = encoded(LONG, 48_000, "WAV")
    at = data.index(b"data") + 4
    samples, _ = read_audio(data[:at] + struct.pack("<I", size) + data[at + 4 :], ".wav")
    assert len(samples) == len(LONG)


def test_what_follows_the_sound_does_not_count() -> None:
    data = encoded(LONG, 48_000, "WAV")
    listed = b"LIST" + struct.pack("<I", 4) + b"INFO"
    for tail in (listed, b"junk", b"TAG" + bytes(125)):
        assert len(read_audio(data + tail, ".wav")[0]) == len(LONG)
    header = data[: data.index(b"data") + 4] + bytes(4)
    assert len(read_audio(header, ".wav")[0]) == 0
    assert len(read_audio(header + listed, ".wav")[0]) == 0


def test_a_page_that_is_missing_is_found() -> None:
    data = encoded(np.tile(NOISE, 60), 48_000, "OGG")
    pages = [at for at in range(len(data)) if data.startswith(b"OggS", at)]
    assert len(pages) > 5
    with pytest.raises(ClipError, match="page 3 is missing"):
        read_audio(data[: pages[3]] + data[pages[4] :], ".ogg")
    long = np.tile(NOISE, 250)  # 1.2 million frames, in many blocks
    samples, _ = read_audio(encoded(long, 48_000, "FLAC"), ".flac")
    assert len(samples) == len(long)
    assert np.abs(samples[:, 0] - long).max() <= 1 / 32768


# What headers say of the length


def with_field(data: bytes, at: int, form: str, value: int) -> bytes:
    field = struct.pack(form, value)
    return data[:at] + field + data[at + len(field) :]


def chunk(name: bytes, data: bytes, pad: bytes = b"\0") -> bytes:
    return name + struct.pack("<I", len(data)) + data + pad * (len(data) % 2)


def wave(*chunks: bytes) -> bytes:
    return chunk(b"RIFF", b"WAVE" + b"".join(chunks))


ID3 = b"ID3\3\0\0\0\0\0\x10" + bytes(16)
WAV, FLAC, VORBIS, OPUS = (
    encoded(LONG, 48_000, *form)
    for form in (("WAV",), ("FLAC",), ("OGG", "VORBIS"), ("OGG", "OPUS"))
)
FORM, SOUND = WAV[12:36], WAV[36:]
MP3 = encoded(np.concatenate([LONG, 0 * LONG]), 48_000, "MP3")  # it needs most bytes at its begin
COUNT = MP3.index(b"Info" if b"Info" in MP3[:99] else b"Xing") + 8
UNTAGGED = MP3[_header(MP3, 0).size :]  # type: ignore[union-attr]
LIST = b"INFOIART\5\0\0\0abcde"
WHOLE: dict[str, tuple[bytes, float]] = {
    "joined WAV": (WAV + WAV, 2),
    "joined FLAC": (FLAC + FLAC, 2),
    "joined Vorbis": (VORBIS + VORBIS, 2),
    "joined Opus": (OPUS + OPUS, 2),
    "joined MP3": (MP3 + MP3, 4),
    "joined MP3 with tags between": (UNTAGGED + b"TAG" + bytes(125) + ID3 + UNTAGGED, 4),
    "an MP3 without a count": (UNTAGGED, 2),
    "an MP3 whose count is too low": (with_field(MP3, COUNT, ">I", 20), 2),
    "an MP3 whose count is too high": (with_field(MP3, COUNT, ">I", 400), 2),
    "a WAV of MP3": (wave(chunk(b"fmt ", b"\x55\0" + FORM[10:]), chunk(b"data", UNTAGGED)), 2),
    "a FLAC of unknown length": (with_field(FLAC, 22, ">I", 0), 1),
    "a FLAC whose count is too low": (with_field(FLAC, 22, ">I", 9), 1),
    "a FLAC with a tag behind": (FLAC + b"TAG" + bytes(125), 1),
    "a tag before a WAV": (ID3 + WAV, 1),
    "an odd chunk with its pad": (wave(FORM, chunk(b"LIST", LIST), SOUND), 1),
    "an odd chunk without": (wave(FORM, chunk(b"LIST", LIST, b""), SOUND), 1),
    "a chunk whose size is wrong": (wave(FORM, b"LIST\7\0\0\0", LIST, SOUND), 1),
    "a size that counts the header in": (with_field(WAV, 40, "<I", len(WAV)), 1),
}


@cases("name", WHOLE)
def test_a_whole_file_is_read_whole(name: str) -> None:
    data, seconds = WHOLE[name]
    samples, rate = read_audio(data, "")
    assert len(samples) / rate == pytest.approx(seconds, abs=0.1)
    assert np.abs(samples).max() > 0.4


@cases(
    ("data", "reason"),
    [
        (WAV + encoded(LONG, 24_000, "WAV"), "differ in form"),
        (VORBIS + OPUS[: len(OPUS) // 2], "truncated"),
        (MP3 + MP3[:-9], "truncated"),
        (with_field(MP3[:-900], COUNT, ">I", 400), "promises 400 frames"),
        (with_field(FLAC, 22, ">I", 90_000), r"promises 1\.8. s"),
        (with_field(FLAC, 22, ">I", 0)[:-9], "truncated or damaged"),
        (wave(FORM, SOUND, SOUND), "several data chunks"),
        (wave(FORM, chunk(b"data", SOUND[8:9000])) + SOUND[9000:], "behind its sound"),
    ],
)
def test_what_cannot_be_read_whole_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ClipError, match=reason):
        read_audio(data, "")


@cases("data", [VORBIS, OPUS])
def test_an_ogg_file_without_its_mark_of_the_end_is_whole_if_its_last_page_is(data: bytes) -> None:
    last = data.rindex(b"OggS")
    page = bytearray(data[last:])
    page[5], page[22:26] = 0, bytes(4)
    page[22:26] = _checksum(page).to_bytes(4, "little")
    cut = data[:last] + bytes(page)
    samples, _ = read_audio(cut, "")
    assert np.array_equal(samples, read_audio(data, "")[0])
    with pytest.raises(ClipError, match="within a page"):
        read_audio(cut[:-1], "")


def test_a_float_file_whose_peaks_count_one_of_two_channels_is_read() -> None:
    data = encoded(np.stack([2 * LONG, LONG], axis=1), 48_000, "WAV", "FLOAT")
    at = data.index(b"PEAK")
    short = data[:at] + chunk(b"PEAK", data[at + 8 : at + 24]) + data[data.index(b"data") :]
    assert np.array_equal(read_audio(short, "")[0], read_audio(data, "")[0])


# What headers say of the form


@cases(
    ("at", "form", "value", "reason"),
    [
        (24, "<I", 0, "is sampled at 0 Hz; clips.min_rate is 4,000 Hz"),
        (24, "<I", 192_000, "is sampled at 192,000 Hz; clips.max_rate is 96,000 Hz"),
        (24, "<I", 0xFFFFFFFF, "is sampled at 4,294,967,295 Hz"),
        (22, "<H", 0, "has 0 channels according to its header"),
        (22, "<H", 8, "has 8 channels; clips.max_channels is 2"),
        (22, "<H", 65_535, "has 65535 channels"),
    ],
)
def test_a_header_outside_the_limits_is_refused(
    at: int, form: str, value: int, reason: str
) -> None:
    data = with_field(encoded(NOISE, 48_000, "WAV"), at, form, value)
    with use_limits(STRICT), pytest.raises(ClipError) as refused:
        read_audio(data, ".wav")
    assert reason in str(refused.value)


def test_limits_hold_for_every_format(m4a: bytes) -> None:
    slow = encoded(np.zeros(48_000, dtype=np.float32), 8_000, "FLAC")
    for data, limits, reason in (
        (slow, Limits(max_s=5), r"lasts 6\.0 s; clips\.max_s is 5 s"),
        (m4a, Limits(max_s=0.5), r"max_s is 0\.5 s"),
        (m4a, Limits(max_rate=8000), "48,000"),
    ):
        with use_limits(limits), pytest.raises(ClipError, match=reason):
            read_audio(data, "")
    for kind in ("FLAC", "AIFF", "OGG"):
        wide = encoded(np.zeros((100, 4)), 48_000, kind)
        told = r"has 4 channels; clips\.max_channels is 2"
        with use_limits(STRICT), pytest.raises(ClipError, match=told):
            read_audio(wide, "")
        fast = encoded(np.zeros(100), 48_000, kind)
        told = r"48,000 Hz; clips\.max_rate is 44,100 Hz"
        with use_limits(Limits(max_rate=44_100)), pytest.raises(ClipError, match=told):
            read_audio(fast, "")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs Linux to limit memory")
@pytest.mark.parametrize(
    ("max_s", "reason"),
    [(600, "lasts 1,431,655.8 s; clips.max_s is 600 s"), (1e9, "needs 256.0 GiB of memory")],
)
def test_an_absurd_length_takes_no_memory(tmp_path: Path, max_s: float, reason: str) -> None:
    program = """
import resource, sys
from pathlib import Path
from synth.audio.decoding import Limits, read_audio, use_limits
from synth.base.errors import ClipError
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 28),) * 2)
try:
    with use_limits(Limits(max_s=float(sys.argv[2]))):
        read_audio(Path(sys.argv[1]).read_bytes(), ".flac")
except ClipError as error:
    print(error)
"""
    data = bytearray(encoded(NOISE, 48_000, "FLAC"))
    data[21] |= 0x0F  # STREAMINFO promises 2**36 - 1 samples
    data[22:26] = b"\xff" * 4
    path = tmp_path / "endless.flac"
    path.write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", program, path, str(max_s)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.stdout.strip() == reason, done.stderr


@cases(("gain", "kept"), [(1, True), (0, True), (-0.5, True), (-0.9, False)])
def test_channels_that_nearly_cancel_are_refused(gain: float, kept: bool) -> None:
    with nullcontext() if kept else pytest.raises(ClipError, match="channels that cancel"):
        mono = to_mono(np.stack([LONG, np.float32(gain) * LONG], axis=1))
        assert np.abs(mono - LONG * (1 + gain) / 2).max() < 1e-6


def test_a_sample_is_read_whatever_its_header_says_of_its_length() -> None:
    whole = decode_audio(FLAC)
    for count in (0, 9):
        assert np.array_equal(
            decode_audio(with_field(FLAC, 22, ">I", count))[: count or None], whole[: count or None]
        )
    for bad in (b"fLaC" + bytes(99), encoded(np.zeros((99, 2)), 48_000, "FLAC"), FLAC[:-9]):
        with pytest.raises(CorpusError, match="a sample"):
            decode_audio(bad)


# ffmpeg


@pytest.fixture
def m4a(ffmpeg: None, second: Path) -> bytes:
    path = second.with_name("for-ffmpeg.m4a")
    command = ["ffmpeg", "-y", "-loglevel", "error", "-i", second, "-c:a", "aac", path]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return path.read_bytes()


def test_a_reason_is_the_same_in_every_run(ffmpeg: None) -> None:
    # ffmpeg says where its decoder lies in memory.
    data = bytearray(encoded(np.zeros(8000), 16_000, "FLAC"))
    data[20] = 3
    with pytest.raises(ClipError, match=r"nor by ffmpeg \(\[flac\] decode_frame"):
        read_audio(bytes(data), ".flac")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("ending", ["kill -KILL $$", "kill -TERM $$", "exit 127"])
def test_an_ffmpeg_that_the_system_ends_refuses_no_file(
    m4a: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    program = tmp_path / "ffmpeg"
    program.write_text(f"#!/bin/sh\n{ending}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(OSError, match=r"ffmpeg (was ended by|does not run)"):
        read_audio(m4a, ".m4a")


def test_without_ffmpeg_the_reason_says_how_to_get_it(
    m4a: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(ClipError) as refused:
        read_audio(m4a, ".m4a")
    assert str(refused.value) == (
        "holds MPEG-4, which libsndfile cannot decode (Format not recognised); that needs ffmpeg: "
        "install it with `apt install ffmpeg`, `brew install ffmpeg` or "
        "`conda install ffmpeg`"
    )


# Real files


@cases(("name", "pattern", "count"), [("ESC-50", "*.wav", 229), ("ESC-10", "*.ogg", 320)])
def test_no_real_file_is_refused(
    shared_data: Callable[[str], Path], name: str, pattern: str, count: int
) -> None:
    paths = sorted(shared_data(name).rglob(pattern))
    assert len(paths) == count
    with use_limits(Limits(600, 2, 4000, 96_000, Mislabelled.REFUSE)):
        for path in paths[::4]:
            samples, _ = read_audio(path.read_bytes(), path.suffix)
            assert len(samples)
