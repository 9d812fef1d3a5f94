"""What a page of `segue browse` takes on 50,000 and 500,000 rows, and how long a crowd waits.

    python -m benchmarks.browse > benchmarks/results/browse.md
    python -m benchmarks.browse --clients 200

Every turn asks a new server over loopback for each page once, so that no answer is remembered;
files are in the system's cache. Rows beyond the built ones repeat them under other ids. A crowd is
connections of this process to the real command in one of its own; each asks for its next page as
soon as it has the last one: the whole page, filtered results, samples of them, and audio. All begin
at once, on a server that has shown nothing yet.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from benchmarks.core import table
from benchmarks.core.contenders import Contender, take_turns
from benchmarks.core.turn import Done, Job, Stopwatch, Work
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from pipelines.look.browse.query import Filter, Manifest
from pipelines.store.places import find_manifest
from synth.corpus.corpus import Corpus

BROWSING: Final = "tests.kit.browsing"
OPENING: Final = "opening, before the first page"
AIM_S: Final = 1.0
# Short sounds, for what is measured are rows; scenes have up to 7 + 7 sentences each.
RECIPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "pairs": {"acba": {"crossfade_s": 0.1, "max_event_s": 0.3, "style": "natural"}},
    "scenes": {"scenes": {"max_event_s": 0.3}},
}
CASES: Final = (("pairs", 50_000, 50_000), ("scenes", 4_000, 50_000), ("pairs", 50_000, 500_000))
"""Kind, samples that are built, and rows."""
QUICK: Final = (("pairs", 40, 40), ("scenes", 8, 400))


def make_corpus(kind: str, built: int, rows: int, out: Path) -> Path:
    """The manifest folder of a corpus with so many rows: its own, and those again."""
    recipe = {name: {**settings, kind: built} for name, settings in RECIPES[kind].items()}
    spec = {
        "corpus": kind,
        "seed": 7,
        "source": {"foley": {"takes": 5}},
        "recipe": recipe,
        "audio": {"sample_rate": 16_000},
        "splits": {"train": 0.8, "test": 0.2},
    }
    root = out / f"{kind}-{built}"
    build(Spec.model_validate(spec), root, 0)
    folder = find_manifest(root / "data_manifests" / kind).parent
    enlarged = root / f"rows-{rows}"
    if rows == built or enlarged.is_dir():
        return folder if rows == built else enlarged
    browsing = import_module(BROWSING)
    variant: Path = browsing.variant(Corpus.open(folder), enlarged, browsing.repeated(rows))
    return variant


def list_requests(folder: Path) -> dict[str, str]:
    """What is asked for, by name: each filter by its most frequent value, which finds most rows."""
    manifest = Manifest(find_manifest(folder))
    try:
        facets = manifest.facets
        last = manifest.find_page(Filter(), manifest.rows, 1).rows[0]["id"]
    finally:
        manifest.close()
    word = facets.label[0][0].split("_")[0]
    filters = ("label", "relation", "split", "licence", "kind")
    queries = {
        "first page": {},
        "last page": {"page": "999999999"},
        **{f"filter by {name}": {name: getattr(facets, name)[0][0]} for name in filters},
        "text that many samples hold": {"text": word},
        "text that no sample holds": {"text": "hardly anybody says this"},
        "text and filter, last page": {"text": word, "split": "train", "page": "999999999"},
        "page of the last sample": {"sample": last},
    }
    return {name: f"/?{urlencode(query)}" for name, query in queries.items()} | {
        "sample with siblings": f"/samples/{last}",
        "audio, first 1,000 bytes": f"/audio/{last}",
    }


def prepare(job: Job) -> Work:
    folder = Path(job["corpus"])
    served = import_module(BROWSING).served
    requests = list_requests(folder)
    with served(folder) as address:
        _ask(address)  # first use

    def work(whole: Stopwatch) -> Done:
        watches = {name: Stopwatch() for name in (OPENING, *requests)}
        with whole:
            with watches[OPENING]:
                server = served(folder)
                address = server.__enter__()
                _ask(address)
            for name, place in requests.items():
                with watches[name]:
                    _ask(address + place)
            server.__exit__(None, None, None)
        facts = {f"{name}: wall_ms": watch.wall_s * 1e3 for name, watch in watches.items()}
        facts |= {f"{name}: cpu_ms": watch.cpu_s * 1e3 for name, watch in watches.items()}
        return Done(len(watches), facts=facts)

    return work


def _ask(address: str) -> None:
    headers = {"Range": "bytes=0-999"} if "/audio/" in address else {}
    with urlopen(Request(address, headers=headers)) as answer:
        answer.read()


def describe(cases: Mapping[str, Mapping[str, float]]) -> str:
    """Medians of wall time and of processor time, in milliseconds."""
    names = [key.removesuffix(": wall_ms") for key in next(iter(cases.values())) if ": wall" in key]
    rows = (
        [
            name,
            *(
                f"{values[f'{name}: wall_ms']:,.0f} ({values[f'{name}: cpu_ms']:,.0f})"
                for values in cases.values()
            ),
        ]
        for name in names
    )
    slow = [
        f"{name} of {corpus}"
        for name in names
        for corpus, values in cases.items()
        if name != OPENING and values[f"{name}: wall_ms"] > 1e3 * AIM_S
    ]
    end = f"Over {AIM_S:g} s: {', '.join(slow)}." if slow else f"No page takes {AIM_S:g} s."
    return f"{table.markdown(('Request', *cases), rows)}\n\n{end}"


class Client:
    """One reader with a connection that stays.

    Args:
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
        options = re.findall(rb'<option value="([^"&]+)">', await self._ask("index", "/"))
        for _ in range(rounds):
            query = {"label": self._random.choice(options).decode()} if options else {}
            page = await self._ask("results", f"/results?{urlencode(query)}")
            names = [name.decode() for name in re.findall(rb'data-sample="([^"]+)"', page)]
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
            address = urlsplit(json.loads(text)["url"])
            assert address.hostname is not None
            assert address.port is not None
            yield address.hostname, address.port
        finally:
            process.terminate()


def crowd(corpus: Path, clients: int, rounds: int) -> str:
    """How long answers took with all clients at once, as Markdown."""
    taken: dict[str, list[float]] = {}

    async def browse_all(address: tuple[str, int]) -> None:
        await asyncio.gather(
            *(Client(address, seed, taken).browse(rounds) for seed in range(clients))
        )

    with serving(corpus) as address:
        start = time.perf_counter()
        asyncio.run(browse_all(address))
        wall_s = time.perf_counter() - start
    everything = [seconds for times in taken.values() for seconds in times]

    def quantiles(times: list[float]) -> list[float]:
        cuts = statistics.quantiles(times, n=20, method="inclusive")
        return [cuts[9], cuts[18], max(times)]

    rows = (
        [name, f"{len(times):,}", *(f"{1e3 * seconds:,.0f}" for seconds in quantiles(times))]
        for name, times in [*sorted(taken.items()), ("all", everything)]
    )
    head = ("Request", "answers", "p50 ms", "p95 ms", "longest ms")
    side = "within" if quantiles(everything)[1] < AIM_S else "over"
    speed = f"{len(everything) / wall_s:,.0f} answers/s; p95 {side} {AIM_S:g} s."
    return f"{table.markdown(head, rows)}\n\n{speed}"


def main() -> None:
    """Build, ask, and print the table."""
    parser = table.make_parser("browse", __doc__)
    parser.add_argument("--clients", type=int, help="so many at once, on 50,000 pairs")
    parser.add_argument("--rounds", type=int, default=4, help="of each client")
    options = parser.parse_args()
    cases = QUICK if options.quick else CASES
    head = f"{table.machine()}, load {table.load()} before; "
    with tempfile.TemporaryDirectory() as temporary:
        out = options.folder or Path(temporary)
        if options.clients:
            corpus = make_corpus(*(QUICK[0] if options.quick else ("pairs", 2_000, 50_000)), out)
            report = crowd(corpus, options.clients, options.rounds)
            print(f"{head}{options.clients} clients at once\n\n{report}")
            return
        contenders = [
            Contender(
                "browse",
                f"{rows:,} {kind}",
                "benchmarks.browse",
                {"corpus": str(make_corpus(kind, built, rows, out))},
            )
            for kind, built, rows in cases
        ]
        turns = take_turns(contenders, options.repeats, Path(temporary))
    heading = f"{options.repeats} repeats; medians of wall time (of processor time) in ms"
    print(f"{head}{heading}\n\n{describe(table.medians(turns)['browse'])}")
    table.write_json(options.json, turns)


if __name__ == "__main__":
    main()
