"""Worker processes of a build, found in Linux's /proc."""

from __future__ import annotations

from pathlib import Path


def pool_workers(build: int) -> list[int]:
    """Living worker processes of a build: forks, in its group, of the process it keeps for that.

    Its decoders are forks of the same, but each leads a group of its own.
    """
    stats = {process: found for process in _processes() if (found := _stat(process))}
    if build not in stats:
        return []
    servers = {
        process
        for process, (parent, _) in stats.items()
        if parent == build and b"multiprocessing.forkserver" in _read(process, "cmdline")
    }
    return [
        process
        for process, (parent, group) in stats.items()
        if parent in servers and group == stats[build][1]
    ]


def _processes() -> list[int]:
    return sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _stat(process: int) -> tuple[int, int] | None:
    """A living process's parent and group."""
    fields = _read(process, "stat").rpartition(b")")[2].split()
    return None if not fields or fields[0] == b"Z" else (int(fields[1]), int(fields[2]))


def _read(process: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{what}").read_bytes()
    except OSError:
        return b""
