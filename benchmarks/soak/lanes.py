"""Ways to build a corpus, and who can be killed on each."""

from __future__ import annotations

import subprocess
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from benchmarks.core.contenders import free_port
from benchmarks.soak.processes import children, end_all, start
from pipelines.flows.servers import QUIET
from tests.kit.pools import pool_workers

FLOW, WORKER, SCHEDULER, SERVER = "flow", "worker", "scheduler", "server"
NANNIED: Final = "spawn_main"
START_S: Final = 120.0

Process = subprocess.Popen[bytes]

_HERE: Final = ("--host", "127.0.0.1", "--no-dashboard")


class Lane:
    """A build without Prefect, with two worker processes; services keep their files in `home`."""

    options: tuple[str, ...] = ("--no-prefect", "--workers", "2")
    env: Mapping[str, str] = {}
    early_s = 3.0
    """Seconds from a build's start within which shards come, roughly."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def ready(self) -> bool:
        """Whether all services answer; starts those that are dead."""
        return True

    def victims(self, who: str, build: Process) -> list[int]:
        """The living processes that play a part in a build."""
        return [build.pid] if who == FLOW else pool_workers(build.pid)

    def close(self) -> None:
        """End the services."""
        end_all(self.home)


class Flow(Lane):
    """A Prefect flow, which starts a server for itself."""

    options = ("--prefect", "--workers", "2")
    early_s = 8.0

    def victims(self, who: str, build: Process) -> list[int]:
        """The server is the build's own."""
        if who == SERVER:
            return children(build.pid, "pipelines.flows.servers")
        return super().victims(who, build)


class Served(Flow):
    """A Prefect flow on a server that outlives it."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._port = free_port()
        self._api = f"http://127.0.0.1:{self._port}/api"
        self.env = {"PREFECT_API_URL": self._api}
        self._server: Process | None = None

    def ready(self) -> bool:
        """Whether the server answers; it keeps its port and its database."""
        if self._server is None or self._server.poll() is not None:
            place = {"PREFECT_HOME": str(self.home), "PREFECT_UI_ENABLED": "0", **QUIET}
            command = ("server", "start", "--host", "127.0.0.1", "--port", self._port)
            self._server = start("prefect", *command, home=self.home, name="server", env=place)
        with suppress(OSError), urllib.request.urlopen(f"{self._api}/health", timeout=5) as answer:
            return bool(answer.status == 200)
        return False

    def victims(self, who: str, build: Process) -> list[int]:
        """The server is nobody's child."""
        if who == SERVER:
            return [self._server.pid] if self._server and self._server.poll() is None else []
        return super().victims(who, build)


class Dask(Lane):
    """A build without Prefect on a Dask scheduler and two workers below a nanny."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._port = free_port()
        self.options = ("--no-prefect", "--engine", f"dask://127.0.0.1:{self._port}")
        self._scheduler: Process | None = None
        self._nanny: Process | None = None

    def ready(self) -> bool:
        """Whether the scheduler knows two workers; those of a dead scheduler are ended."""
        if self._scheduler is None or self._scheduler.poll() is not None:
            self.close()
            self._scheduler = self._start("scheduler", "--port", self._port, "--no-show", *_HERE)
        if self._nanny is None or self._nanny.poll() is not None:  # one whose workers do not start
            address = f"tcp://127.0.0.1:{self._port}"
            two = ("--nworkers", 2, "--nthreads", 1)
            self._nanny = self._start("worker", address, *two, *_HERE)
        return len(self._workers()) == 2

    def victims(self, who: str, build: Process) -> list[int]:
        """Workers are children of their nannies, which start others for them."""
        if who == SCHEDULER:
            alive = self._scheduler is not None and self._scheduler.poll() is None
            return [self._scheduler.pid] if alive and self._scheduler else []
        return self._workers() if who == WORKER else super().victims(who, build)

    def _workers(self) -> list[int]:
        return children(self._nanny.pid, NANNIED) if self._nanny else []

    def _start(self, role: str, *arguments: object) -> Process:
        return start(f"distributed.cli.dask_{role}", *arguments, home=self.home, name=role)


LANES: Final[dict[str, Callable[[Path], Lane]]] = {
    "bare": Lane,
    "flow": Flow,
    "served": Served,
    "dask": Dask,
}
