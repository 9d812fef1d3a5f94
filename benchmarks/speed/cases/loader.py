"""The trainer's loader: batches with 0, 1 and 2 threads, and how long a step waits for them.

First the batches are taken as fast as they come. Then each is followed by a step of `STEP_S` in
which the processor is free, as it is while a GPU learns; the wait is a share of that whole time.
Several epochs pass; `longest_wait` tells whether their boundaries cost anything.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.speed.contenders import SpeedContender
from benchmarks.speed.measure import Done, Job, Stopwatch, Work
from benchmarks.speed.stage import BenchStage
from synth.corpus.corpus import Corpus
from train.config.run import AudioMode, TrainConfig
from train.config.run import Stage as Lesson
from train.data.batch import Batch
from train.data.loader import Assembler, Loader, Share
from train.data.split import TRAIN, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine.log import Meter

BATCH: Final = 16
STEP_S: Final = 0.1
THREADS: Final = (0, 1, 2)


def contenders(stage: BenchStage) -> list[SpeedContender]:
    """Shards and virtual shards, each with 0, 1 and 2 threads."""
    job = {"corpus": str(stage.manifests("pair")), "steps": stage.size.steps}
    samples = stage.size.steps * BATCH
    return [
        SpeedContender(
            "loader",
            f"{name}, {threads} threads",
            __name__,
            job | {"mode": mode.value, "threads": threads},
            samples,
        )
        for name, mode in (("shards", AudioMode.SHARDS), ("virtual shards", AudioMode.VIRTUAL))
        for threads in THREADS
    ]


def prepare(job: Job) -> Work:
    """The pieces of `train.engine.loop.train`, without a model."""
    steps, threads = job["steps"], job["threads"]
    config = TrainConfig(
        corpus=Path(job["corpus"]),
        out=Path(job["out"]) / "unused",
        mode=AudioMode(job["mode"]),
        stages=(Lesson(steps=3 * steps),),
        batch=BATCH,
        workers=max(1, threads),
        prefetch=max(1, 2 * threads),
        cache_mb=0,
    )
    data = SplitData(Corpus.open(config.corpus), TRAIN, config.mode)
    tokenizer = TextTokenizer.of_texts(data.vocabulary())
    assembler = Assembler.of(data, tokenizer, config, cached=False)
    loader = Loader(assembler, config, Share())

    def batches(start: int, stop: int) -> Iterator[Batch]:
        if threads:
            return loader.iterate(start, stop)
        return map(loader.batch, range(start, stop))

    def work(watch: Stopwatch) -> Done:
        for _ in batches(0, 2):  # first use
            pass
        with watch:
            for _ in batches(steps, 2 * steps):
                pass
        meter, longest = Meter(), 0.0
        taken = meter.time_waits(batches(2 * steps, 3 * steps))
        asked = time.perf_counter()
        for _ in taken:
            longest = max(longest, time.perf_counter() - asked)
            time.sleep(STEP_S)
            asked = time.perf_counter()
        facts = {"data_wait": meter.data_wait, "longest_wait_s": longest}
        return Done(steps * BATCH, 0.0, facts)

    return work
