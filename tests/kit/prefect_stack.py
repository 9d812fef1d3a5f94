"""PostgreSQL, Redis and Prefect's processes on loopback, all ended with the test."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing
from tests.kit.ports import held_port
from tests.kit.started import MARK
from tests.kit.waiting import PATIENCE_S, wait_for

INITDB = ("--username=prefect", "--auth=scram-sha-256", "--encoding=UTF8", "--no-sync")


@dataclass
class Processes:
    """What a test starts; on leaving, everything that it brought forth is gone."""

    folder: Path
    token: str = field(default_factory=lambda: secrets.token_hex(8))

    def start(
        self,
        stack: ExitStack,
        name: str,
        *command: str | Path,
        env: Mapping[str, str],
        user: Mapping[str, Any] | None = None,
    ) -> None:
        """Start a program that is stopped when the stack is left."""
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(part) for part in command],
                env={**env, MARK: self.token},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                **(user or {}),
            )
        stack.callback(self._stop, name, process)

    def _stop(self, name: str, process: subprocess.Popen[bytes]) -> None:
        """As a container is stopped, which must be enough."""
        process.send_signal(signal.SIGINT if name == "postgres" else signal.SIGTERM)
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{name} does not stop\n{self.logs()}")

    def logs(self) -> str:
        """The ends of all logs."""
        ends = [(path.name, path.read_text()[-1500:]) for path in self.folder.glob("*.log")]
        return "\n".join(f"--- {name}\n{end}" for name, end in sorted(ends))


@dataclass(frozen=True)
class PostgresDatabase:
    port: int
    password: str = field(repr=False)


@contextmanager
def postgres(processes: Processes) -> Iterator[PostgresDatabase]:
    """A cluster of its own, on loopback; as another user where this one is root, as it insists."""
    binaries = _newest_postgres()
    if binaries is None:
        missing("PostgreSQL is not installed")
    assert binaries is not None
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    # Not in pytest's folder, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="segue-postgres-") as home, ExitStack() as stack:
        database = PostgresDatabase(stack.enter_context(held_port()), secrets.token_hex(16))
        password = Path(home, "password")
        password.write_text(database.password)
        if user:
            shutil.chown(home, "postgres", "postgres")
            shutil.chown(password, "postgres", "postgres")
        cluster = Path(home, "cluster")
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        made = subprocess.run(
            [binaries / "initdb", *INITDB, f"--pgdata={cluster}", f"--pwfile={password}"],
            env=env,
            cwd=home,
            capture_output=True,
            text=True,
            **user,
        )
        assert made.returncode == 0, made.stderr
        options = ["listen_addresses=127.0.0.1", f"port={database.port}", "fsync=off"]
        options.append(f"unix_socket_directories={home}")
        flags = [part for option in options for part in ("-c", option)]
        server = [binaries / "postgres", "-D", cluster, *flags]
        processes.start(stack, "postgres", *server, env=env, user=user)
        ready = [binaries / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(database.port)]
        wait(lambda: subprocess.run(ready).returncode == 0, processes)
        yield database


def _newest_postgres() -> Path | None:
    """Where Debian puts its programs, else beside the `postgres` on the path."""
    installed = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    newest = max(installed, key=lambda path: int(path.parents[1].name), default=None)
    found = newest or shutil.which("postgres")
    return Path(found).parent if found else None


@contextmanager
def redis(processes: Processes) -> Iterator[int]:
    """A Redis of its own, on loopback."""
    server = shutil.which("redis-server")
    if server is None or importlib.util.find_spec("prefect_redis") is None:
        missing("redis-server or prefect-redis is not installed")
    with ExitStack() as stack:
        port = stack.enter_context(held_port())
        options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", "/"]
        env = dict(os.environ)
        processes.start(stack, "redis", str(server), *options, env=env)
        yield port


def wait(until: Callable[[], bool], processes: Processes) -> None:
    assert wait_for(until, 0.2), processes.logs()
