"""What decodes and encodes: ingest, reading, the trainer's loader, and the floors beside them.

- **ingest**: clips opened, measured, resampled and stored in a new bank, a clip is a sample. The
  decoder's process starts on the clock: there is no ingest without it. Decoding alone is
  soundfile's (and soxr's, where it resamples).
- **read**: samples as a trainer takes them, PCM and texts in plan order, from shards or rendered
  anew (virtual shards); the peer is webdataset with the same decoder.
- **loader**: batches taken as fast as they come; then each is followed by a step of `STEP_S` in
  which the processor is free, as while a GPU learns, and the wait is a share of that whole time.
  Several epochs pass; `longest_wait_s` tells whether their boundaries cost anything.
- **encode**, the floor of rendering: the same PCM to FLAC by soundfile, and nothing else.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import soundfile
import soxr

from benchmarks.core.contenders import Contender
from benchmarks.core.turn import Done, Job, Stopwatch, Work
from benchmarks.speed.stage import KINDS, RATE, BenchStage
from pipelines.config.spec import Spec
from pipelines.engines.engine import engine
from pipelines.ingest.ingest import ingest as fill_bank
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from train.config.run import AudioMode, TrainConfig
from train.config.run import Stage as Lesson
from train.data.batch import Batch
from train.data.loader import Assembler, Loader
from train.data.split import TRAIN, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine.log import Meter

MODES: Final = {"shards": AudioMode.SHARDS, "virtual shards": AudioMode.VIRTUAL}
ENCODED: Final = 64
READ: Final = 32
BATCH: Final = 16
STEP_S: Final = 0.1


def ingest(stage: BenchStage) -> Iterator[Contender]:
    """At the clips' own rate, and at another, which resamples all of them."""
    files = sorted(map(str, stage.clips.glob("*/*")))
    for case, rate in (("ingest", RATE), ("ingest at 48 kHz", 48_000)):
        job: Job = {"work": "ingest", "spec": stage.spec("pair", 4, audio={"sample_rate": rate})}
        yield Contender(case, "Segue", __name__, job, len(files))
        job = {"work": "decode", "files": files, "rate": rate}
        yield Contender(case, "decoding alone", __name__, job, len(files))


def read(stage: BenchStage) -> Iterator[Contender]:
    for kind in KINDS:
        case, amount = f"read {kind}", stage.count(kind)
        for name, mode in reversed(MODES.items()):
            job = {"corpus": str(stage.manifests(kind)), "mode": mode.value, "work": "read"}
            yield Contender(case, f"Segue, {name}", __name__, job, *amount)
        peer = "benchmarks.speed.peers.webdataset_read"
        job = {"shards": str(stage.manifests(kind).parents[2] / "shards")}
        yield Contender(case, "webdataset + FLAC decode", peer, job, *amount, peer=True)


def loader(stage: BenchStage) -> Iterator[Contender]:
    for name, mode in MODES.items():
        for threads in (0, 1, 2):
            job: Job = {"work": "load", "corpus": str(stage.manifests("pair")), "mode": mode.value}
            job |= {"threads": threads, "steps": stage.size.steps}
            samples = stage.size.steps * BATCH
            yield Contender("loader", f"{name}, {threads} threads", __name__, job, samples)


def prepare(job: Job) -> Work:
    makers = {"ingest": _ingest, "decode": _decode, "read": _read, "load": _load}
    return makers.get(job["work"], _encode)(job)


def _ingest(job: Job) -> Work:
    spec = Spec.model_validate(job["spec"])

    def work(watch: Stopwatch) -> Done:
        with watch, engine(0) as where:
            library = fill_bank(spec.intake, Path(job["out"]) / "banks", where, UNOBSERVED)
        return Done(len(library.clips) + len(library.quarantine))

    return work


def _decode(job: Job) -> Work:
    def work(watch: Stopwatch) -> Done:
        with watch:
            for file in job["files"]:
                audio, rate = soundfile.read(file, dtype="float32")
                if rate != job["rate"]:
                    soxr.resample(audio, rate, job["rate"], quality="HQ")
        return Done(len(job["files"]))

    return work


def _encode(job: Job) -> Work:
    corpus = Corpus.open(Path(job["corpus"]))
    rows = corpus.samples(columns=["scene", "lead", "frames"]).to_pylist()
    rate = corpus.sample_rate

    def work(watch: Stopwatch) -> Done:
        frames = 0
        for start in range(0, len(rows), ENCODED):  # PCM is made between what is on the clock
            sounds = [corpus.virtual_pcm(row) for row in rows[start : start + ENCODED]]
            with watch:
                for pcm in sounds:
                    soundfile.write(io.BytesIO(), pcm, rate, format="FLAC", subtype="PCM_16")
            frames += sum(map(len, sounds))
        return Done(len(rows), frames / rate)

    return work


def _read(job: Job) -> Work:
    data = SplitData(Corpus.open(Path(job["corpus"])), TRAIN, AudioMode(job["mode"]))

    def read_all() -> tuple[int, int]:
        frames = texts = 0
        for start in range(0, len(data), READ):
            for row in data.rows(range(start, min(start + READ, len(data)))):
                frames += len(data.pcm(row))
                texts += 1 + len(row["positives"])
        return frames, texts

    def work(watch: Stopwatch) -> Done:
        read_all()  # so that it is in the page cache for all
        with watch:
            frames, texts = read_all()
        return Done(len(data), frames / data.corpus.sample_rate, {"texts": texts})

    return work


def _load(job: Job) -> Work:
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
    feed = Loader(Assembler.of(data, tokenizer, config, cached=False), config)

    def batches(start: int, stop: int) -> Iterator[Batch]:
        return feed.iterate(start, stop) if threads else map(feed.batch, range(start, stop))

    def work(watch: Stopwatch) -> Done:
        for _ in batches(0, 2):  # first use
            pass
        with watch:
            for _ in batches(steps, 2 * steps):
                pass
        meter, longest = Meter(), 0.0
        waited = meter.time_waits(batches(2 * steps, 3 * steps))
        begun = time.perf_counter()
        for _ in waited:
            longest = max(longest, time.perf_counter() - begun)
            time.sleep(STEP_S)
            begun = time.perf_counter()
        facts = {"data_wait": meter.data_wait, "longest_wait_s": longest}
        return Done(steps * BATCH, 0.0, facts)

    return work
