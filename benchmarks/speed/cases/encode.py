"""The floor of rendering: the same PCM to FLAC by soundfile, and nothing else."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import soundfile

from benchmarks.speed.measure import Done, Job, Stopwatch, Work
from synth.corpus.corpus import Corpus

TOGETHER: Final = 64


def prepare(job: Job) -> Work:
    """Open the corpus; PCM is made between the stretches that are measured."""
    corpus = Corpus.open(Path(job["corpus"]))
    rows = corpus.samples(columns=["scene", "lead", "frames"]).to_pylist()
    rate = corpus.sample_rate

    def work(watch: Stopwatch) -> Done:
        frames = 0
        for start in range(0, len(rows), TOGETHER):
            chosen = rows[start : start + TOGETHER]
            sounds = [corpus.virtual_pcm(row) for row in chosen]
            with watch:
                for pcm in sounds:
                    file = io.BytesIO()
                    soundfile.write(file, pcm, rate, format="FLAC", subtype="PCM_16")
            frames += sum(map(len, sounds))
        return Done(len(rows), frames / rate)

    return work
