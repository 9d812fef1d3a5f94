"""How long 200 clients at once wait for pages of `segue browse`.

Run from the repository root: `python -m benchmarks.browse_clients`. The server is the real command
in a process of its own; the clients are connections of this process, on the same machine. Each asks
for its next page as soon as it has the last one: the whole page, filtered results, samples of them,
and audio. All begin at once, on a server that has shown nothing yet.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

from benchmarks.browse import corpus_of, enlarged

CLIENTS: Final = 200
ROUNDS: Final = 4
BUILT: Final = 2_000
ROWS: Final = 50_000
AIM_S: Final = 1.0
_SAMPLE: Final = re.compile(rb'data-sample="([^"]+)"')
_VALUE: Final = re.compile(rb'<option value="([^"&]+)">')


class Client:
    """One reader with a connection that stays.

    Args:
        address: Host and port.
        seed: Of what it asks for.
        taken: Gets the seconds that each answer took, by kind of request.
    """

    def __init__(self, address: tuple[str, int], seed: int, taken: dict[str, list[float]]) -> None:
        self._address = address
        self._random = random.Random(seed)
        self._taken = taken

    async def browse(self, rounds: int) -> None:
        """Look at pages, at samples of them, and hear them."""
        host, port = self._address
        self._reader, self._writer = await asyncio.open_connection(host, port, limit=1 << 20)
        labels = [b.decode() for b in _VALUE.findall(await self._ask("index", "/"))]
        for _ in range(rounds):
            query = {"label": self._random.choice(labels)} if labels else {}
            page = await self._ask("results", f"/results?{urlencode(query)}")
            names = [found.decode() for found in _SAMPLE.findall(page)]
            for name in self._random.sample(names, min(2, len(names))):
                await self._ask("sample", f"/samples/{name}?{urlencode(query)}")
                await self._ask("audio", f"/audio/{name}")
            await self._ask("index", f"/?{urlencode(query | {'page': self._random.randint(1, 9)})}")
        self._writer.close()

    async def _ask(self, kind: str, place: str) -> bytes:
        start = time.perf_counter()
        host, port = self._address
        self._writer.write(
            f"GET {place} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/html\r\n\r\n".encode()
        )
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = re.search(rb"content-length: (\d+)", head)
        if length is None or not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"{place}: {head.decode()}")
        body = await self._reader.readexactly(int(length[1]))
        self._taken.setdefault(kind, []).append(time.perf_counter() - start)
        return body


@contextmanager
def serving(corpus: Path) -> Iterator[tuple[str, int]]:
    """Host and port of `segue browse` in a process of its own."""
    command = [sys.executable, "-m", "pipelines.cli", "browse", str(corpus), "--port", "0"]
    with subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE, text=True) as process:
        try:
            text = ""
            assert process.stdout is not None
            while not text.rstrip().endswith("}"):
                line = process.stdout.readline()
                if not line:
                    raise RuntimeError("segue browse has ended")
                text += line
            found = urlsplit(json.loads(text)["url"])
            assert found.hostname is not None
            assert found.port is not None
            yield found.hostname, found.port
        finally:
            process.terminate()


async def crowd(address: tuple[str, int], clients: int, rounds: int) -> dict[str, list[float]]:
    """The seconds that answers took, by kind of request, with all clients at once."""
    taken: dict[str, list[float]] = {}
    each = (Client(address, seed, taken) for seed in range(clients))
    await asyncio.gather(*(client.browse(rounds) for client in each))
    return taken


def quantile(seconds: Sequence[float], share: float) -> float:
    """The least time that a share of the answers did not exceed."""
    return sorted(seconds)[min(len(seconds) - 1, int(share * len(seconds)))]


def table(taken: Mapping[str, list[float]], wall_s: float) -> str:
    """The figures as Markdown, in milliseconds."""
    everything = [each for times in taken.values() for each in times]
    lines = ["| Request | answers | p50 ms | p95 ms | longest ms |", "|---|---:|---:|---:|---:|"]
    for name, times in [*sorted(taken.items()), ("all", everything)]:
        figures = [1000 * quantile(times, share) for share in (0.5, 0.95, 1.0)]
        lines.append(f"| {name} | {len(times):,} | {' | '.join(f'{x:,.0f}' for x in figures)} |")
    p95 = quantile(everything, 0.95)
    told = "within" if p95 < AIM_S else "over"
    return "\n".join(
        [*lines, "", f"{len(everything) / wall_s:,.0f} answers/s; p95 {told} {AIM_S:g} s."]
    )


def main() -> None:
    """Build, ask, and print the table."""
    name = "python -m benchmarks.browse_clients"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--corpus", type=Path, help="a corpus that is there already")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary)
        corpus = given.corpus
        if corpus is None:
            built = corpus_of("pairs", min(BUILT, given.rows), out / "built")
            corpus = enlarged(built, given.rows, out)
        load = os.getloadavg()[0]
        with serving(corpus) as address:
            start = time.perf_counter()
            taken = asyncio.run(crowd(address, given.clients, given.rounds))
            wall_s = time.perf_counter() - start
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} before; "
        f"{given.clients} clients at once, {given.rows:,} pairs\n\n{table(taken, wall_s)}"
    )


if __name__ == "__main__":
    main()
