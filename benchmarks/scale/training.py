"""A trainer's step, start and memory by the rows of its plan.

Rows of triplets are repeated under ids and groups of their own, and one in a hundred is left out,
so that groups are of unequal size and have to be packed. `segue train` then renders from plan and
bank (`mode: virtual`), with towers so small that a step shows what data cost.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.core.contenders import Contender
from benchmarks.core.turn import Done, Job, Stopwatch, Work, memory_mib, sampled_peaks
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


def list_trainings(out: Path, rows: list[int], ranks: list[int], steps: int) -> Iterator[Contender]:
    build(Spec.model_validate(SPEC), out / "base", 0)
    corpus = Corpus.open(out / "base" / "data_manifests" / "scale")
    for count in rows:
        folder = enlarge(corpus, count, out / f"rows-{count}")
        cache = out / f"cache-{count}"
        shutil.rmtree(cache, ignore_errors=True)
        job = {"folder": str(folder), "cache": str(cache), "steps": steps}
        for number, laid_out in ((ranks[0], "no"), *((number, "yes") for number in ranks)):
            name = f"{number}, {laid_out}"
            module = "benchmarks.scale.training"
            yield Contender(f"{count:,}", name, module, job, once=True, ranks=number)
        shutil.rmtree(cache, ignore_errors=True)


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
    shards = {TRAIN: {"samples": rows, "shards": len(base["shard"].unique())}}
    facts: dict[str, Any] = {**corpus.facts, "splits": shards}
    facts |= {
        "shards": str(corpus.shards),
        "bank": str((corpus.folder / corpus.facts["bank"]).resolve()),
    }
    (folder / CORPUS_FILE).write_text(json.dumps(facts), encoding="utf-8")
    return folder


def _repeat(base: pa.Table, at: np.ndarray) -> pa.Table:
    rows = base.take(pa.array(at % len(base)))
    turn = pa.array(at // len(base)).cast(pa.string())
    named = {
        "id": pc.binary_join_element_wise(rows["id"], turn, "-"),
        "index": pa.array(at),
        "group": pc.binary_join_element_wise(rows["group"], turn, "-"),
    }
    for name, values in named.items():
        place = base.schema.get_field_index(name)
        rows = rows.set_column(place, base.schema.field(name), values)
    return rows


def prepare(job: Job) -> Work:
    """Train for so many steps, and watch the pieces of it."""
    steps = job["steps"]
    os.environ["SEGUE_CACHE"] = job["cache"]
    config = TrainConfig(
        corpus=Path(job["folder"]),
        out=Path(job["out"]) / "run",
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
    memory = dict[str, float]()

    def step(*arguments: Any) -> StepFigures:
        if not ended:
            ended.append(time.perf_counter())
        figures = train_step(*arguments)
        ended.append(time.perf_counter())
        if len(ended) == steps + 1:
            memory.update(memory_mib())
        return figures

    vars(loop)[train_step.__name__] = step

    def work(watch: Stopwatch) -> Done:
        begun = time.perf_counter()
        with watch, sampled_peaks() as peaks:
            loop.train(config)
        between = [later - earlier for earlier, later in pairwise(ended)][WARM_STEPS:]
        facts = {
            "start_s": ended[0] - begun,
            "order_ms": 1e3 * median(drawn[WARM_STEPS:]),
            "batch_ms": 1e3 * median(made[WARM_STEPS:]),
            "step_ms": 1e3 * median(between),
            "slowest_ms": 1e3 * max(between),
            **{name: memory[name] for name in ("RssAnon", "RssFile", "Pss")},
        }
        return Done(steps * BATCH, facts=facts | peaks)

    return work


def _timed(function: Callable[..., T], seconds: list[float]) -> Callable[..., T]:
    def timed(*arguments: Any) -> T:
        begun = time.perf_counter()
        result = function(*arguments)
        seconds.append(time.perf_counter() - begun)
        return result

    return timed
