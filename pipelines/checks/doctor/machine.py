"""Processors, memory and limits of this process; and the devices that torch finds."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from pipelines.checks.doctor.check import DoctorCheck
from pipelines.checks.doctor.module_output import SilentModuleError, run_module
from synth.base.atomic import format_bytes
from synth.base.processors import processors

LEAST_FILES: Final = 1024
LEAST_MEMORY: Final = 2_000_000_000
CGROUP: Final = Path("/sys/fs/cgroup")
DEVICES: Final = "train.model.device"
_TRAINING: Final = "segue train and eval; they are slow on a CPU"


def check_machine() -> Iterator[DoctorCheck]:
    """Processors, memory, open files."""
    yield _check_processors(CGROUP)
    yield _check_memory(CGROUP)
    if sys.platform != "win32":
        yield _check_open_files()


def check_devices() -> Iterator[DoctorCheck]:
    """GPUs, as torch finds them in a process of its own."""
    if find_spec("torch") is None:
        fix = "pip install -c constraints.txt torch"
        yield DoctorCheck.of("gpu", "", _TRAINING, "torch is not installed", fix)
        return
    try:
        yield from _check_found_devices(json.loads(run_module(DEVICES)))
    except (SilentModuleError, ValueError) as error:
        fault = f"torch does not start: {error}"
        yield DoctorCheck.of(
            "gpu", "", _TRAINING, fault, "install torch again: see README, Install"
        )


def _check_found_devices(found: Mapping[str, Any]) -> Iterator[DoctorCheck]:
    """What `train.model.device` says of the machine."""
    torch = f"torch {found['torch']}, {found['build']}"
    if not found["devices"]:
        fix = (
            "nothing without a GPU; else install a driver, or torch's build for it "
            "(README, Install)"
        )
        yield DoctorCheck.of("gpu", "", _TRAINING, f"none; {torch}", fix)
    for each in found["devices"]:
        size = f", {format_bytes(each['memory'])}" if each["memory"] else ""
        bf16 = "with bf16" if each["bf16"] else "without bf16"
        yield DoctorCheck.of(
            f"gpu {each['device']}", f"{each['name']}{size}, {bf16}; {torch}", _TRAINING
        )


def _check_processors(cgroup: Path) -> DoctorCheck:
    usable = processors()
    share = _read_cpu_share(cgroup)
    found = f"{usable} of {os.cpu_count()}"
    fault = ""
    if share is not None and share < usable:
        fault = f"{found} visible, but the container may use only {share:g}"
    fix = f"use --workers {max(1, int(share or 1))}, or give the container more"
    return DoctorCheck.of("processors", found, "--workers", fault, fix)


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
    few = f"only {format_bytes(size)}" if size < LEAST_MEMORY else ""
    return DoctorCheck.of(
        "memory", format_bytes(size), "each worker takes about 0.5 GB", few, "use fewer --workers"
    )


def _check_open_files() -> DoctorCheck:
    import resource

    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = f"{limit} at a time" if 0 <= limit < LEAST_FILES else ""
    found = "any number" if limit < 0 else f"{limit:,} at a time"
    fix = f"ulimit -n {LEAST_FILES if most < 0 else min(most, 65_536)}"
    return DoctorCheck.of("open files", found, "segue build with many workers, train", few, fix)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
