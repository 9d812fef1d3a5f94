"""All checks; among them processors, memory, disks, decoders, and the devices that torch finds."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipelines.checks.doctor.check import CheckState, DoctorCheck, SilentModuleError, run_module
from pipelines.checks.doctor.packages import (
    EXTRAS,
    check_endpoint,
    check_packages,
    check_prefect,
    find_version,
)
from synth.base.atomic import format_bytes, free_bytes, write_bytes
from synth.base.errors import CorpusError, SegueError
from synth.base.locks import LOCK_FILE, hold_lock
from synth.base.processors import processors
from synth.storage import url_of
from synth.text.grammar.tagger import SPACY_MODEL

LEAST_FILES: Final = 1024
LEAST_MEMORY: Final = 2_000_000_000
CGROUP: Final = Path("/sys/fs/cgroup")
DEVICES: Final = "train.model.device"
CODEC: Final = "pipelines.checks.doctor.codec" if sys.platform == "linux" else "torchcodec.version"
_TRAINING: Final = "segue train and eval; they are slow on a CPU"


def run_checks(out: Path, endpoint: str | None) -> Iterator[DoctorCheck]:
    """All checks in their order; those that wait for a process or a server wait together."""
    groups: list[Callable[[], Iterable[DoctorCheck]]] = [
        check_packages,
        check_decoders,
        check_devices,
        check_machine,
        partial(check_disks, out),
        check_prefect,
        partial(check_endpoint, endpoint),
    ]
    with ThreadPoolExecutor(len(groups)) as pool:
        for checks in pool.map(lambda group: list(group()), groups):
            yield from checks


def check_machine() -> Iterator[DoctorCheck]:
    """Processors, memory, open files."""
    yield _check_processors(CGROUP)
    yield _check_memory(CGROUP)
    if sys.platform != "win32":
        import resource

        limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        fault = f"{limit} at a time" if 0 <= limit < LEAST_FILES else ""
        text = "any number" if limit < 0 else f"{limit:,} at a time"
        fix = f"ulimit -n {LEAST_FILES if hard < 0 else min(hard, 65_536)}"
        yield DoctorCheck.of("open files", text, "segue build with many workers, train", fault, fix)


def check_devices() -> Iterator[DoctorCheck]:
    """GPUs, as torch finds them in a process of its own; a build for CPUs finds none."""
    version = find_version("torch")
    if version is None:
        fix = "pip install -c constraints.txt torch"
        yield DoctorCheck.of("gpu", "", _TRAINING, "torch is not installed", fix)
        return
    facts = {"torch": version, "build": "built for CPU", "devices": []}
    try:
        if not version.endswith("+cpu"):
            facts = json.loads(run_module(DEVICES))
    except (SilentModuleError, ValueError) as error:
        fault, fix = f"torch does not start: {error}", "install torch again: see README, Install"
        yield DoctorCheck.of("gpu", "", _TRAINING, fault, fix)
    else:
        yield from _check_found_devices(facts)


def _check_found_devices(facts: Mapping[str, Any]) -> Iterator[DoctorCheck]:
    """What `train.model.device` says of the machine."""
    torch = f"torch {facts['torch']}, {facts['build']}"
    if not facts["devices"]:
        fix = (
            "nothing without a GPU; else install a driver, or torch's build for it "
            "(README, Install)"
        )
        yield DoctorCheck.of("gpu", "", _TRAINING, f"none; {torch}", fix)
    for device in facts["devices"]:
        size = f", {format_bytes(device['memory'])}" if device["memory"] else ""
        bf16 = "with bf16" if device["bf16"] else "without bf16"
        yield DoctorCheck.of(
            f"gpu {device['device']}", f"{device['name']}{size}, {bf16}; {torch}", _TRAINING
        )


def _check_processors(cgroup: Path) -> DoctorCheck:
    usable = processors()
    share = _read_cpu_share(cgroup)
    count = f"{usable} of {os.cpu_count()}"
    fault = ""
    if share is not None and share < usable:
        fault = f"{count} visible, but the container may use only {share:g}"
    fix = f"use --workers {max(1, int(share or 1))}, or give the container more"
    return DoctorCheck.of("processors", count, "--workers", fault, fix)


def _read_cpu_share(cgroup: Path) -> float | None:
    """Processors that a container may use, None without a limit."""
    words = _read_text(cgroup / "cpu.max").split()
    if len(words) != 2 or words[0] == "max":
        return None
    return int(words[0]) / int(words[1])


def _check_memory(cgroup: Path) -> DoctorCheck:
    size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = _read_text(cgroup / "memory.max")
    if limit.isdecimal():
        size = min(size, int(limit))
    fault = f"only {format_bytes(size)}" if size < LEAST_MEMORY else ""
    return DoctorCheck.of(
        "memory", format_bytes(size), "each worker takes about 0.5 GB", fault, "use fewer --workers"
    )


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


# Where files are written: room, and whether syncing, renaming and locking work there.


LEAST_BYTES: Final = 1_000_000_000
LEAST_SHARED: Final = 256_000_000
SHARED_MEMORY: Final = Path("/dev/shm")


def check_disks(out: Path) -> Iterator[DoctorCheck]:
    """The disks of `--out`, the user's folder and temporary files, and shared memory."""
    if (url := url_of(out)) is not None:
        yield DoctorCheck.of(f"--out {url}", "an object store, not tested", "segue build writes it")
    else:
        yield _check_disk(f"--out {out}", out, "segue build and plan write there", CheckState.WRONG)
    yield _check_disk("home", Path.home(), "caches: models, copies of stored files")
    temporary = Path(tempfile.gettempdir())
    yield _check_disk(f"temporary files {temporary}", temporary, "decoding by ffmpeg, Prefect")
    if SHARED_MEMORY.is_dir():
        size = shutil.disk_usage(SHARED_MEMORY).total
        total = f"{format_bytes(size)} in all"
        fault = total if size < LEAST_SHARED else ""
        needed_for = "segue train with loader workers"
        fix = "docker run --shm-size=2g, or train with `workers: 0`"
        yield DoctorCheck.of("shared memory", total, needed_for, fault, fix)


def _check_disk(
    name: str, path: Path, needed_for: str, state: CheckState = CheckState.MISSING
) -> DoctorCheck:
    folder = path.expanduser().resolve()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    try:
        free = free_bytes(folder)
        with tempfile.TemporaryDirectory(prefix=".segue-doctor-", dir=folder) as scratch:
            _try_writing(Path(scratch))
    except (OSError, SegueError) as error:
        fix = "use a folder on a disk that supports writing, sync and locks"
        return DoctorCheck(name, state, f"{folder}: {error}", needed_for, fix)
    result = f"{format_bytes(free)} free; sync, rename and lock work"
    fault = f"only {format_bytes(free)} free" if free < LEAST_BYTES else ""
    fix = "free some space, or use another disk; `segue plan` shows what a corpus needs"
    return DoctorCheck.of(name, result, needed_for, fault, fix)


def _try_writing(scratch: Path) -> None:
    """Do what a build does.

    Raises:
        OSError: If the file system cannot.
        SegueError: If it has no room, or locks nothing.
    """
    for data in (b"first", b"second"):
        write_bytes(scratch / "file", data)  # synced, and renamed onto what is there
    if (scratch / "file").read_bytes() != b"second":
        raise CorpusError("a rename over an existing file is not seen by readers")
    refusal = CorpusError("is locked")
    with hold_lock(scratch / LOCK_FILE, refusal):
        try:
            with hold_lock(scratch / LOCK_FILE, refusal):
                pass
        except CorpusError:
            return
    raise CorpusError("a lock can be taken twice")


# What reads audio files, and what tags words.


VERSION_LIMIT_S: Final = 10.0
RATE: Final = 16_000
_TORCHCODEC: Final = "torchcodec"
_FORMATS: Final = (
    ("FLAC", CheckState.WRONG),
    ("OGG", CheckState.MISSING),
    ("MP3", CheckState.MISSING),
)


def check_decoders() -> Iterator[DoctorCheck]:
    """Of libsndfile by format, ffmpeg, spaCy's model, and torchcodec where it is installed."""
    yield from map(_check_sndfile, *zip(*_FORMATS, strict=True))
    yield _check_ffmpeg()
    version = metadata.version("spacy") if find_spec("spacy") else ""
    is_installed = bool(version) and find_spec(SPACY_MODEL) is not None
    versions = f"spaCy {version}, {SPACY_MODEL} {find_version(SPACY_MODEL) or ''}".strip()
    fault = "" if is_installed else f"{SPACY_MODEL} is not installed" if version else "no spaCy"
    needed_for = "segue text probe and negate; without it the embedded tagger is used"
    download = f"python -m spacy download {SPACY_MODEL}"
    fix = download if version else f"pip install 'segue-audio[nlp]', then {download}"
    yield DoctorCheck.of("word tagger", versions, needed_for, fault, fix)
    if find_version(_TORCHCODEC) is not None:
        yield _check_torchcodec()


def _check_torchcodec() -> DoctorCheck:
    """Whether it finds ffmpeg's libraries and fits torch: only loading it tells."""
    try:
        run_module(CODEC)
        fault = ""
    except SilentModuleError:
        fault = "does not load: ffmpeg's libraries are missing, or it was built for another torch"
    return DoctorCheck.of(
        _TORCHCODEC,
        find_version(_TORCHCODEC) or "",
        EXTRAS["hf"],
        fault,
        "apt install ffmpeg, then pip install -c constraints.txt 'segue-audio[hf]'",
    )


def _check_sndfile(form: str, state: CheckState) -> DoctorCheck:
    needed_for = "every shard" if form == "FLAC" else f"sound libraries in {form}"
    try:
        import soundfile

        buffer = io.BytesIO()
        soundfile.write(buffer, np.zeros(RATE, np.float32), RATE, format=form)
        buffer.seek(0)
        samples, _ = soundfile.read(buffer)
        fault = "" if len(samples) else f"{form} is written, but reads back empty"
        version = soundfile.__libsndfile_version__
    except (ImportError, OSError, RuntimeError, ValueError, TypeError) as error:
        fault, version = f"{form} cannot be written and read: {error}", ""
    fix = "pip install -U soundfile, which brings libsndfile 1.2"
    return DoctorCheck.of(f"libsndfile {form}", version, needed_for, fault, fix, state)


def _check_ffmpeg() -> DoctorCheck:
    path = shutil.which("ffmpeg")
    version, fault = "", "not found"
    try:
        if path is not None:
            version = subprocess.run(
                [path, "-version"],
                capture_output=True,
                text=True,
                timeout=VERSION_LIMIT_S,
                check=True,
            ).stdout
            fault = ""
    except (OSError, subprocess.SubprocessError) as error:
        fault = f"{path} does not run: {error}"
    needed_for = "m4a, wma, webm and aac files; they are quarantined without it"
    fix = "apt install ffmpeg, brew install ffmpeg or conda install ffmpeg"
    return DoctorCheck.of("ffmpeg", " ".join(version.split()[:3]), needed_for, fault, fix)
