"""Every check of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from pipelines.checks.doctor.check import Check
from pipelines.checks.doctor.decoders import decoder_checks
from pipelines.checks.doctor.disk import disk_checks
from pipelines.checks.doctor.machine import device_checks, machine_checks
from pipelines.checks.doctor.packages import package_checks
from pipelines.checks.doctor.services import endpoint_checks, prefect_checks


def all_checks(out: Path, endpoint: str | None) -> Iterator[Check]:
    """All checks in their order; those that wait for a process or a server wait together.

    Args:
        out: Where corpora are to be built.
        endpoint: Address of a language model, None for the usual one.
    """
    groups: list[Callable[[], Iterable[Check]]] = [
        package_checks,
        decoder_checks,
        device_checks,
        machine_checks,
        partial(disk_checks, out),
        prefect_checks,
        partial(endpoint_checks, endpoint),
    ]
    with ThreadPoolExecutor(len(groups)) as pool:
        for found in pool.map(lambda group: list(group()), groups):
            yield from found
