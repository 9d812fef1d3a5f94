"""Damaged files by the hundred: none may crash or hang an ingest, and all are accounted for.

A seeded generator damages small files of every format. The suite takes the first 150;
`SEGUE_MUTATIONS=1000` takes so many.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
import soundfile

from pipelines.engines.executor import workers
from pipelines.ingest.ingest import ingest
from pipelines.spec.intake import Intake
from synth.audio.bank import Bank
from synth.base.progress import Silent
from synth.sources.catalogue import Acceptance
from synth.sources.own.folder import FolderSource

MUTATIONS = int(os.environ.get("SEGUE_MUTATIONS", "150"))
RATE = 16_000
LIMIT_S = 20.0

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


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "lib" / "noise").mkdir(parents=True)
    whole = originals() + m4a(folder)
    for number in range(MUTATIONS):
        suffix, data = mutate(whole, number)
        (folder / "lib" / "noise" / f"{number:05}.{suffix}").write_bytes(data)
    return folder


def test_damaged_files_are_accepted_or_quarantined_and_end_nothing(damaged: Path) -> None:
    """SEGUE_MUTATIONS=1000 in the environment gives the full count."""
    source = FolderSource(root=damaged / "lib")
    intake = Intake(source, RATE, Acceptance(decode_timeout_s=LIMIT_S, max_s=30))
    with workers(1) as run:
        library = ingest(intake, damaged / "banks", run, 1, Silent())
    assert len(library.clips) + len(library.quarantine) == MUTATIONS
    ids = {row["id"] for row in (*library.clips, *library.quarantine)}
    assert ids == {ref.id for ref in source.refs()}
    assert all(row["reason"] for row in library.quarantine)
    assert len(library.quarantine) > MUTATIONS // 3
    assert len({row["reason"] for row in library.quarantine}) > 10
    # Told by the files' own bytes, not by what became of the process that read them.
    faults = re.compile(
        r"crashes|ends the decoder|processor time|more memory|"
        r"cannot be decoded: (what it holds|it cannot be read|the decoder fails)"
    )
    wrong = [row["reason"] for row in library.quarantine if faults.search(row["reason"])]
    assert not wrong, Counter(wrong)
    bank = Bank.open(library.index)
    for clip in library.clips:
        audio = bank.read(clip["id"], 0, bank.frames(clip["id"]), 1.0)
        assert len(audio)
        assert np.isfinite(audio).all()
