"""What a training step, its start and its memory are at 0.1, 1 and 10 million planned rows.

Run from the repository root: `python -m benchmarks.scale > benchmarks/results/scale.md`.
A small corpus of triplets is built; its rows are repeated under ids and groups of their own, and
one in a hundred is left out, so that groups are of unequal size and have to be packed. `segue
train` then renders from plan and bank (`mode: virtual`), with towers so small that a step shows
what data cost. Every turn is a process of its own, or one a rank. Linux only: memory is what /proc
tells.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.builder.build import build
from pipelines.config.spec import Spec
from synth.corpus.corpus import CLIPS_FILE, CORPUS_FILE, SAMPLES_FILE, Corpus
from train.config.model import AudioConfig, HeadConfig, ModelConfig
from train.config.run import AudioMode, Stage, TrainConfig
from train.data.loader import Loader
from train.data.order import BatchOrder
from train.data.split import TRAIN
from train.engine import loop
from train.engine.step import StepFigures, train_step

T = TypeVar("T")

ROWS: Final = (100_000, 1_000_000, 10_000_000)
QUICK: Final = (2_000, 20_000)
SPEC: Final = {
    "corpus": "scale",
    "seed": 7,
    "source": {"foley": {"takes": 5}},
    "recipe": {"triplets": {"crossfade_s": 0.1, "max_event_s": 0.3, "style": "natural"}},
    "audio": {"sample_rate": 16_000},
    "splits": {TRAIN: 0.8, "test": 0.2},
}
MISSING: Final = 100
ROW_GROUP: Final = 1024
BATCH: Final = 64
WARM_STEPS: Final = 20
MIB: Final = 2**20
SAMPLED_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class ScaleTurn:
    """What one process of a run took.

    Args:
        rows: Of the manifest.
        ranks: Processes of the run.
        rank: This one.
        prepared: Whether the rows were laid out by an earlier run.
        start_s: Seconds from the call of `train` to the first step.
        order_ms: Median of drawing a batch's samples, in ms.
        batch_ms: Median of making a batch, the samples drawn, in ms, in the thread that makes it.
        step_ms: Median from step to step, in ms.
        slowest_ms: The longest of them.
        anon_mib: Memory of its own behind the last step, in MiB.
        file_mib: Pages of files that are mapped then; the system may take them back.
        pss_mib: Both, shared pages by the number of processes that share them.
        peak_anon_mib: Most memory of its own at any time.
        peak_rss_mib: Most of both at any time.
    """

    rows: int
    ranks: int
    rank: int
    prepared: bool
    start_s: float
    order_ms: float
    batch_ms: float
    step_ms: float
    slowest_ms: float
    anon_mib: float
    file_mib: float
    pss_mib: float
    peak_anon_mib: float
    peak_rss_mib: float

    @property
    def key(self) -> tuple[int, int, bool]:
        """What is the same for all processes of one run."""
        return self.rows, self.ranks, self.prepared


def enlarge(corpus: Corpus, rows: int, folder: Path) -> Path:
    """The corpus with so many rows of its training split; its manifest folder."""
    if (folder / CORPUS_FILE).is_file():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(corpus.folder / CLIPS_FILE, folder)
    base = corpus.samples(TRAIN)
    with pq.ParquetWriter(folder / SAMPLES_FILE, base.schema, compression="zstd") as writer:
        for start in range(0, rows, ROW_GROUP):
            at = np.arange(start, min(start + ROW_GROUP, rows))
            at += at // (MISSING - 1) + 1  # the first of every hundred is left out
            writer.write_table(_repeat(base, at))
    facts: dict[str, Any] = {**corpus.facts, "splits": {TRAIN: {"samples": rows, "shards": 1}}}
    facts |= {
        "shards": str(corpus.shards),
        "bank": str((corpus.folder / corpus.facts["bank"]).resolve()),
    }
    (folder / CORPUS_FILE).write_text(json.dumps(facts), encoding="utf-8")
    return folder


def _repeat(base: pa.Table, at: np.ndarray) -> pa.Table:
    taken = base.take(pa.array(at % len(base)))
    turn = pa.array(at // len(base)).cast(pa.string())
    named = {
        "id": pc.binary_join_element_wise(taken["id"], turn, "-"),
        "index": pa.array(at),
        "group": pc.binary_join_element_wise(taken["group"], turn, "-"),
    }
    for name, values in named.items():
        place = base.schema.get_field_index(name)
        taken = taken.set_column(place, base.schema.field(name), values)
    return taken


def take_turn(folder: Path, out: Path, rows: int, steps: int, prepared: bool) -> ScaleTurn:
    """Train for so many steps in this process, and watch it."""
    config = TrainConfig(
        corpus=folder,
        out=out,
        mode=AudioMode.VIRTUAL,
        model=ModelConfig(dim=16, head=HeadConfig(), audio=AudioConfig(width=8, mels=16)),
        stages=(Stage(steps=steps),),
        batch=BATCH,
        keep_groups=True,
        cache_mb=0,
        tensorboard=False,
        checkpoint_every=0,
    )
    drawn, made, ended = list[float](), list[float](), list[float]()
    BatchOrder.shares = _timed(BatchOrder.shares, drawn)  # type: ignore[method-assign]
    Loader.batch = _timed(Loader.batch, made)  # type: ignore[method-assign]
    learn, memory = train_step, dict[str, float]()

    def step(*given: Any) -> StepFigures:
        if not ended:
            ended.append(time.perf_counter())
        found = learn(*given)
        ended.append(time.perf_counter())
        if len(ended) == steps + 1:
            memory.update(read_memory())
        return found

    vars(loop)[train_step.__name__] = step
    begun = time.perf_counter()
    with sampled_peaks() as peaks:
        loop.train(config)
    between = np.diff(ended)[WARM_STEPS:] * 1000
    return ScaleTurn(
        rows=rows,
        ranks=int(os.environ.get("WORLD_SIZE", "1")),
        rank=int(os.environ.get("RANK", "0")),
        prepared=prepared,
        start_s=round(ended[0] - begun, 2),
        order_ms=_median_ms(drawn),
        batch_ms=_median_ms(made),
        step_ms=round(float(np.median(between)), 2),
        slowest_ms=round(float(between.max()), 2),
        anon_mib=memory["RssAnon"],
        file_mib=memory["RssFile"],
        pss_mib=memory["Pss"],
        peak_anon_mib=peaks["RssAnon"],
        peak_rss_mib=peaks["VmRSS"],
    )


def _median_ms(seconds: list[float]) -> float:
    return round(1000 * median(seconds[WARM_STEPS:]), 2)


def _timed(function: Callable[..., T], seconds: list[float]) -> Callable[..., T]:
    def timed(*given: Any) -> T:
        begun = time.perf_counter()
        found = function(*given)
        seconds.append(time.perf_counter() - begun)
        return found

    return timed


def read_memory() -> dict[str, float]:
    """What the system says of this process's memory, in MiB."""
    found = {}
    for name in ("status", "smaps_rollup"):
        for line in Path("/proc/self", name).read_text(encoding="utf-8").splitlines():
            words = line.split()
            if words[-1] == "kB":
                found[words[0].rstrip(":")] = round(int(words[1]) / 1024, 1)
    return found


@contextmanager
def sampled_peaks() -> Iterator[dict[str, float]]:
    """The most memory that was seen at any time, in MiB: its own, and with pages of files."""
    peaks = {"RssAnon": 0.0, "VmRSS": 0.0}
    ended = threading.Event()

    def watch() -> None:
        page = os.sysconf("SC_PAGE_SIZE") / MIB
        while not ended.wait(SAMPLED_S):
            _, resident, shared, *_ = Path("/proc/self/statm").read_text().split()
            found = {"RssAnon": int(resident) - int(shared), "VmRSS": int(resident)}
            for name, pages in found.items():
                peaks[name] = max(peaks[name], round(pages * page, 1))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()


def run(
    folder: Path, rows: int, ranks: int, steps: int, cache: Path, prepared: bool
) -> list[ScaleTurn]:
    """A run of one process a rank."""
    with tempfile.TemporaryDirectory() as temporary, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        job = [str(folder), f"{temporary}/run", str(rows), str(steps), str(int(prepared))]
        command = [sys.executable, "-m", "benchmarks.scale", "--turn", *job]
        own = {"SEGUE_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
        started = [
            subprocess.Popen(
                command,
                env=os.environ | own | shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        ]
        told = [process.communicate()[0] for process in started]
        if any(process.returncode for process in started):
            raise RuntimeError(f"a run on {rows:,} rows failed")
    return [ScaleTurn(**json.loads(lines.splitlines()[-1])) for lines in told]


def table(found: list[ScaleTurn]) -> str:
    """The figures as Markdown; of several ranks the largest of each."""
    lines = [
        "| Planned rows | Ranks | Start, rows laid out before | order, ms | batch, ms | step, ms "
        "| slowest step, ms | own memory, MiB | peak | pages of files, MiB | PSS, MiB "
        "| peak RSS, MiB |",
        "|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    names = ["order_ms", "batch_ms", "step_ms", "slowest_ms", "anon_mib", "peak_anon_mib"]
    names += ["file_mib", "pss_mib", "peak_rss_mib"]
    for key in dict.fromkeys(each.key for each in found):
        own = [each for each in found if each.key == key]
        most = {name: max(asdict(each)[name] for each in own) for name in asdict(own[0])}
        cells = [f"{most[name]:,.{2 if name == 'order_ms' else 0}f}" for name in names]
        start = f"{most['start_s']:.1f} s, {'yes' if own[0].prepared else 'no'}"
        lines.append(f"| {own[0].rows:,} | {own[0].ranks} | {start} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Build, train, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", help="other numbers of rows")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--quick", action="store_true", help="few rows and steps: does it run?")
    parser.add_argument("--json", type=Path, help="file for every figure")
    parser.add_argument("--folder", type=Path, help="where corpora are built, and kept")
    parser.add_argument("--turn", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.turn:
        folder, out, rows, steps, prepared = given.turn
        turn = take_turn(Path(folder), Path(out), int(rows), int(steps), prepared == "1")
        print(json.dumps(asdict(turn)))
        return
    steps = 2 * WARM_STEPS if given.quick else given.steps
    load = os.getloadavg()[0]
    found: list[ScaleTurn] = []
    with tempfile.TemporaryDirectory() as temporary:
        out = given.folder or Path(temporary)
        build(Spec.model_validate(SPEC), out / "base", 0)
        corpus = Corpus.open(out / "base" / "data_manifests" / "scale")
        for rows in given.rows or (QUICK if given.quick else ROWS):
            folder = enlarge(corpus, rows, out / f"rows-{rows}")
            cache = out / f"cache-{rows}"
            shutil.rmtree(cache, ignore_errors=True)
            for ranks in given.ranks:
                for prepared in (False, True) if ranks == given.ranks[0] else (True,):
                    print(f"{rows:,} rows, {ranks} ranks", file=sys.stderr, flush=True)
                    found += run(folder, rows, ranks, steps, cache, prepared)
            shutil.rmtree(cache, ignore_errors=True)
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f} before; "
        f"batches of {BATCH}, {steps} steps\n\n{table(found)}"
    )
    if given.json:
        rows_of_json = [asdict(each) for each in found]
        given.json.write_text(json.dumps(rows_of_json, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
