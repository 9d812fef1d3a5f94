"""webdataset over the shards that Segue built: FLAC decoded by soundfile, JSON parsed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import soundfile
import webdataset  # type: ignore[import-untyped]

from benchmarks.core.turn import Done, Job, Stopwatch, Work


def prepare(job: Job) -> Work:
    """Find the shards."""
    urls = sorted(map(str, Path(job["shards"]).rglob("*.tar")))

    def all_of_it() -> tuple[int, float, int]:
        samples, seconds, texts = 0, 0.0, 0
        for sample in webdataset.WebDataset(urls, shardshuffle=False).map(_decoded):
            samples += 1
            seconds += len(sample["pcm"]) / sample["rate"]
            texts += len(sample["json"]["text"])
        return samples, seconds, texts

    def work(watch: Stopwatch) -> Done:
        all_of_it()
        with watch:
            samples, seconds, texts = all_of_it()
        return Done(samples, seconds, {"texts": texts})

    return work


def _decoded(sample: dict[str, Any]) -> dict[str, Any]:
    pcm, rate = soundfile.read(io.BytesIO(sample["flac"]), dtype="int16")
    return {"pcm": pcm, "rate": rate, "json": json.loads(sample["json"])}
