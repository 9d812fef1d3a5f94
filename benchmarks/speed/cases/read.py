"""Reading: samples as a trainer takes them, from shards, or rendered anew (virtual shards).

A sample is its PCM and its texts, in plan order. The peer is webdataset with the same decoder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.speed.contenders import SpeedContender
from benchmarks.speed.measure import Done, Job, Stopwatch, Work
from benchmarks.speed.stage import KINDS, BenchStage
from synth.corpus.corpus import Corpus
from train.config.run import AudioMode
from train.data.split import TRAIN, SplitData

CASE: Final = "read"
TOGETHER: Final = 32


def contenders(stage: BenchStage) -> list[SpeedContender]:
    """Both ways of ours, and webdataset."""
    found = []
    for kind in KINDS:
        samples, seconds = stage.count(kind)
        job = {"corpus": str(stage.manifests(kind))}
        for name, mode in (
            ("Segue, virtual shards", AudioMode.VIRTUAL),
            ("Segue, shards", AudioMode.SHARDS),
        ):
            chosen = job | {"mode": mode.value}
            found.append(SpeedContender(f"{CASE} {kind}", name, __name__, chosen, samples, seconds))
        peer = "benchmarks.speed.peers.webdataset_read"
        shards = {"shards": str(stage.manifests(kind).parents[2] / "shards")}
        name = "webdataset + FLAC decode"
        found.append(
            SpeedContender(f"{CASE} {kind}", name, peer, shards, samples, seconds, peer=True)
        )
    return found


def prepare(job: Job) -> Work:
    """Open the corpus and read it once, so that it is in the page cache for all."""
    corpus = Corpus.open(Path(job["corpus"]))
    data = SplitData(corpus, TRAIN, AudioMode(job["mode"]))
    rate = corpus.sample_rate

    def all_of_it() -> tuple[int, int]:
        frames = texts = 0
        for start in range(0, len(data), TOGETHER):
            for row in data.rows(range(start, min(start + TOGETHER, len(data)))):
                frames += len(data.pcm(row))
                texts += 1 + len(row["positives"])
        return frames, texts

    def work(watch: Stopwatch) -> Done:
        all_of_it()
        with watch:
            frames, texts = all_of_it()
        return Done(len(data), frames / rate, {"texts": texts})

    return work
