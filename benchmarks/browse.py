"""What a page of `segue browse` takes, on corpora of 50,000 and 500,000 rows.

Run from the repository root: `python -m benchmarks.browse > benchmarks/results/browse.md`.
Every request goes over loopback to a server that was started for the repeat, so that no answer is
remembered; files are in the system's cache. Rows beyond the built ones repeat them under other ids.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from pipelines.builder.build import build
from pipelines.config.spec import Spec
from pipelines.look.browse.query import Filter, Manifest
from pipelines.store.places import find_manifest
from synth.corpus.corpus import Corpus

BROWSING: Final = "browsing"
"""The tests' helper, found by its folder as tests find it."""

OPENING: Final = "opening, before the first page"
AIM_S: Final = 1.0
_SOURCE: Final = {"foley": {"takes": 5}}
# Short sounds, for what is measured are rows; scenes have up to 7 + 7 sentences each.
RECIPES: Final[Mapping[str, Mapping[str, Any]]] = {
    "pairs": {"acba": {"crossfade_s": 0.1, "max_event_s": 0.3, "style": "natural"}},
    "scenes": {"scenes": {"max_event_s": 0.3}},
}


@dataclass(frozen=True, slots=True)
class BrowseCase:
    """A corpus to be browsed.

    Args:
        kind: Of `RECIPES`.
        built: Samples that are built.
        rows: Rows of the manifest; what is more than the built ones repeats them.
    """

    kind: str
    built: int
    rows: int


CASES: Final = (
    BrowseCase("pairs", 50_000, 50_000),
    BrowseCase("scenes", 4_000, 50_000),
    BrowseCase("pairs", 50_000, 500_000),
)
QUICK: Final = (BrowseCase("pairs", 40, 40), BrowseCase("scenes", 8, 400))


@dataclass(frozen=True, slots=True)
class Timed:
    """What one request took in each of the repeats, each with a new server.

    Args:
        kind: Of the corpus.
        rows: Of the corpus.
        request: Its name.
        wall_s: Seconds until the whole answer was there.
        cpu_s: Seconds of processor time of server and client.
    """

    kind: str
    rows: int
    request: str
    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]


def corpus_of(kind: str, samples: int, out: Path) -> Path:
    """Build a corpus, where it is not there yet; its manifest folder."""
    recipe = {name: {**settings, kind: samples} for name, settings in RECIPES[kind].items()}
    spec = {
        "corpus": kind,
        "seed": 7,
        "source": _SOURCE,
        "recipe": recipe,
        "audio": {"sample_rate": 16_000},
        "splits": {"train": 0.8, "test": 0.2},
    }
    build(Spec.model_validate(spec), out, 0)
    return find_manifest(out / "data_manifests" / kind).parent


def enlarged(folder: Path, rows: int, out: Path) -> Path:
    """The corpus with so many rows: its own, and those again under other ids."""
    corpus = Corpus.open(folder)
    if corpus.samples().num_rows == rows:
        return folder
    browsing = import_module(BROWSING)
    made: Path = browsing.variant(
        corpus, out / folder.parent.name / f"rows-{rows}", browsing.repeated(rows)
    )
    return made


def requests(folder: Path) -> dict[str, str]:
    """What is asked for, by name: each filter by its most frequent value, which finds most rows."""
    manifest = Manifest(find_manifest(folder))
    try:
        facets = manifest.facets
        last = manifest.find_page(Filter(), manifest.rows, 1).rows[0]["id"]
    finally:
        manifest.close()
    word = facets.label[0][0].split("_")[0]
    asked = {
        "first page": {},
        "last page": {"page": "999999999"},
        **{
            f"filter by {name}": {name: getattr(facets, name)[0][0]}
            for name in ("label", "relation", "split", "licence", "kind")
        },
        "text that many samples hold": {"text": word},
        "text that no sample holds": {"text": "hardly anybody says this"},
        "text and filter, last page": {"text": word, "split": "train", "page": "999999999"},
        "page of the last sample": {"sample": last},
    }
    places = {name: f"/?{urlencode(query)}" for name, query in asked.items()}
    return places | {
        "sample with siblings": f"/samples/{last}",
        "audio, first 1,000 bytes": f"/audio/{last}",
    }


def measured(case: BrowseCase, folder: Path, repeats: int) -> Iterator[Timed]:
    """Every request to a server that was started for it, so that no answer is remembered."""
    served = import_module(BROWSING).served
    wanted = requests(folder)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in (OPENING, *wanted)}
    for _ in range(repeats):
        start = _clocks()
        with served(folder) as address:
            _ask(f"{address}/")
            taken[OPENING].append(_since(start))
            for name, place in wanted.items():
                start = _clocks()
                _ask(address + place)
                taken[name].append(_since(start))
    for name, pairs in taken.items():
        wall_s, cpu_s = zip(*pairs, strict=True)
        yield Timed(case.kind, case.rows, name, wall_s, cpu_s)


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(start: tuple[float, float]) -> tuple[float, float]:
    wall, cpu = _clocks()
    return round(wall - start[0], 4), round(cpu - start[1], 4)


def _ask(address: str) -> None:
    headers = {"Range": "bytes=0-999"} if "/audio/" in address else {}
    with urlopen(Request(address, headers=headers)) as answer:
        answer.read()


def table(found: list[Timed]) -> str:
    """The figures as Markdown: medians of wall time and of processor time, in milliseconds."""
    corpora = list(dict.fromkeys((each.kind, each.rows) for each in found))
    names = [f"{rows:,} {kind}" for kind, rows in corpora]
    lines = [
        f"| Request | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
    ]
    for request in dict.fromkeys(each.request for each in found):
        cells = [
            f"{_median_ms(each.wall_s)} ({_median_ms(each.cpu_s)})"
            for each in found
            if each.request == request
        ]
        lines.append(f"| {request} | {' | '.join(cells)} |")
    slow = [
        f"{each.request} of {each.rows:,} {each.kind}"
        for each in found
        if each.request != OPENING and statistics.median(each.wall_s) > AIM_S
    ]
    told = f"Over {AIM_S:g} s: {', '.join(slow)}." if slow else f"No page takes {AIM_S:g} s."
    return "\n".join([*lines, "", told])


def _median_ms(seconds: tuple[float, ...]) -> str:
    return f"{1000 * statistics.median(seconds):,.0f}"


def main() -> None:
    """Build, ask, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.browse", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small corpora: does it run?")
    parser.add_argument("--json", type=Path, help="file for every figure")
    parser.add_argument("--folder", type=Path, help="where corpora are built, and kept")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    found: list[Timed] = []
    with tempfile.TemporaryDirectory() as temporary:
        out = given.folder or Path(temporary)
        for case in QUICK if given.quick else CASES:
            print(f"{case.rows:,} {case.kind}", file=sys.stderr, flush=True)
            built = corpus_of(case.kind, case.built, out / f"{case.kind}-{case.built}")
            found += measured(case, enlarged(built, case.rows, Path(temporary)), given.repeats)
    told = (
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} before; "
        f"{given.repeats} repeats; medians of wall time (of processor time) in ms"
    )
    print(f"{told}\n\n{table(found)}")
    if given.json:
        rows = [asdict(each) for each in found]
        given.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
