"""Damaged sound files: a seeded generator of small files of every format."""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import soundfile

RATE = 16_000

Generator: TypeAlias = np.random.Generator
EXTREMES = (0, 1, 3, 44, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
FORMATS = (
    ("wav", "WAV", "PCM_16"),
    ("wav", "WAV", "PCM_24"),
    ("wav", "WAV", "FLOAT"),
    ("wav", "RF64", "PCM_16"),
    ("flac", "FLAC", "PCM_16"),
    ("ogg", "OGG", "VORBIS"),
    ("opus", "OGG", "OPUS"),
    ("mp3", "MP3", "MPEG_LAYER_III"),
    ("aiff", "AIFF", "PCM_16"),
)
AT_RATE = {"wav": 24, "aiff": 28, "flac": 18}
AT_CHANNELS = {"wav": 22, "aiff": 20, "flac": 20}


def originals() -> list[tuple[str, bytes]]:
    """Extension and content of one whole file a format, mono and stereo."""
    found = []
    for number, (suffix, kind, subtype) in enumerate(FORMATS):
        noise = np.random.default_rng(number).uniform(-0.5, 0.5, (4800, number % 2 + 1))
        buffer = io.BytesIO()
        soundfile.write(buffer, noise, RATE, format=kind, subtype=subtype)
        found.append((suffix, buffer.getvalue()))
    return found


def m4a(folder: Path) -> list[tuple[str, bytes]]:
    """The same by ffmpeg, where it is."""
    if shutil.which("ffmpeg") is None:
        return []
    path = folder / "noise.m4a"
    noise = np.random.default_rng(99).uniform(-0.5, 0.5, 4800)
    soundfile.write(folder / "noise.wav", noise, RATE)
    command = ["ffmpeg", "-loglevel", "error", "-i", folder / "noise.wav", "-c:a", "aac", path]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return [("m4a", path.read_bytes())]


def flipped(data: bytes, rng: Generator, end: int) -> bytes:
    damaged = bytearray(data)
    for bit in rng.integers(0, 8 * min(end, len(data)), rng.integers(1, 12)):
        damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def overwritten(data: bytes, at: int, value: bytes) -> bytes:
    return data[:at] + value + data[at + len(value) :]


def lie(data: bytes, rng: Generator, at: int) -> bytes:
    order = rng.choice(["<", ">"])
    width = rng.choice(["H", "I"])
    value = int(rng.choice(EXTREMES)) & (0xFFFF if width == "H" else 0xFFFFFFFF)
    return overwritten(data, at, struct.pack(order + width, value))


def mutate(whole: list[tuple[str, bytes]], number: int) -> tuple[str, bytes]:
    """File `number`: its extension, and its damaged content."""
    rng = np.random.default_rng([7, number])
    suffix, data = whole[number % len(whole)]
    other_suffix, other = whole[int(rng.integers(len(whole)))]
    begin, end = sorted(int(at) for at in rng.integers(0, len(data), 2))
    ways: Mapping[str, Callable[[], tuple[str, bytes]]] = {
        "bits": lambda: (suffix, flipped(data, rng, len(data))),
        "bits of the header": lambda: (suffix, flipped(data, rng, 64)),
        "truncated": lambda: (suffix, data[:end]),
        "last bytes gone": lambda: (suffix, data[: -int(rng.integers(1, 200))]),
        "lie": lambda: (suffix, lie(data, rng, int(rng.integers(4, 64)))),
        "rate": lambda: (suffix, lie(data, rng, AT_RATE.get(suffix, 40))),
        "channels": lambda: (suffix, lie(data, rng, AT_CHANNELS.get(suffix, 11))),
        "magic": lambda: (suffix, overwritten(data, 0, other[: int(rng.choice([4, 12]))])),
        "zeros": lambda: (suffix, overwritten(data, begin, bytes(end - begin))),
        "noise": lambda: (suffix, overwritten(data, begin, rng.bytes(end - begin))),
        "joined": lambda: (suffix, data + other),
        "joined within": lambda: (suffix, data[:end] + other[begin:]),
        "renamed": lambda: (other_suffix, data),
        "nothing but noise": lambda: (suffix, rng.bytes(end)),
    }
    return ways[list(ways)[number // len(whole) % len(ways)]]()


def write_damaged(folder: Path, count: int) -> Path:
    """A library of so many damaged files, below a folder. Returns its root."""
    root = folder / "lib"
    (root / "noise").mkdir(parents=True)
    whole = originals() + m4a(folder)
    for number in range(count):
        suffix, data = mutate(whole, number)
        (root / "noise" / f"{number:05}.{suffix}").write_bytes(data)
    return root
