"""Every check of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from pipelines.checks.doctor.check import DoctorCheck
from pipelines.checks.doctor.machine import (
    check_decoders,
    check_devices,
    check_disks,
    check_machine,
)
from pipelines.checks.doctor.packages import check_endpoint, check_packages, check_prefect


def run_checks(out: Path, endpoint: str | None) -> Iterator[DoctorCheck]:
    """All checks in their order; those that wait for a process or a server wait together.

    Args:
        out: Where corpora are to be built.
        endpoint: Address of a language model, None for the usual one.
    """
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
        for found in pool.map(lambda group: list(group()), groups):
            yield from found
