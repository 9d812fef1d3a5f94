"""A model that hears pitch, tones to test it on, and rows of splits without a corpus."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from synth.corpus.corpus import Corpus
from train.bench.evaluate import Evaluation, assess
from train.bench.metrics.measure import Metric
from train.bench.plan import Benchmark, TaskPlan, TaskRefusal
from train.bench.tasks.samples import Samples
from train.config.run import AudioMode
from train.data.split import SplitData

PITCHES = {"low": 220.0, "mid": 880.0, "high": 3000.0}
NAMES = tuple(PITCHES)


class Tones:
    """Hears which tone each half of a sound is of; knows "low", "low then high", and their like.

    A single word is as near to every sound that holds it; what it does not know is near to none.
    """

    sample_rate = 16_000
    longest: int | None = None

    def __init__(self) -> None:
        self.heard = 0
        self.read: list[str] = []

    def audio(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        self.heard += len(waveforms)
        return np.stack([self._sound(waveform) for waveform in waveforms])

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        self.read += texts
        return np.stack([self._text(text) for text in texts])

    def _sound(self, waveform: np.ndarray) -> np.ndarray:
        half = len(waveform) // 2
        first, second = (self._pitch(part) for part in (waveform[:half], waveform[half:]))
        return np.eye(10)[3 * first + second]

    def _pitch(self, part: np.ndarray) -> int:
        peak = np.abs(np.fft.rfft(part)).argmax() * self.sample_rate / len(part)
        return int(np.abs(np.array(list(PITCHES.values())) - peak).argmin())

    def _text(self, text: str) -> np.ndarray:
        words = [word.strip(".,") for word in text.split()]
        named = [NAMES.index(word) for word in words if word in NAMES]
        found = np.zeros(10)
        if len(named) == 2:
            order = named[::-1] if "after" in words else named
            found[3 * order[0] + order[1]] = 1
        elif named:
            found[[3 * named[0] + other for other in range(3)]] += 1
            found[[3 * other + named[0] for other in range(3)]] += 1
        else:
            found[9] = 1
        return found / np.linalg.norm(found)


class Tables:
    """Tables below a folder, and files of two tones in its folder `audio`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.audio = folder, folder / "audio"
        self.tones = Tones()

    def sound(
        self, first: str, second: str, name: str = "", rate: int = 16_000, seconds: float = 0.5
    ) -> str:
        """Writes a file of two tones, one after the other; gives its name."""
        time = np.arange(round(rate * seconds / 2)) / rate
        wave = [0.5 * np.sin(2 * np.pi * PITCHES[tone] * time) for tone in (first, second)]
        name = name or f"{first}-{second}.wav"
        self.audio.mkdir(exist_ok=True)
        soundfile.write(self.audio / name, np.concatenate(wave), rate)
        return name

    def write(self, *lines: Sequence[str], name: str = "table.csv") -> Path:
        """Writes a CSV file of lines of cells."""
        quoted = (",".join(f'"{cell}"' for cell in line) for line in lines)
        (self.folder / name).write_text("\n".join(quoted) + "\n", encoding="utf-8")
        return self.folder / name

    def assess(self, benchmark: Benchmark) -> Evaluation:
        """What is found of the model that hears tones."""
        return assess(self.tones, benchmark)


@pytest.fixture
def tones() -> Tones:
    return Tones()


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return Tables(tmp_path)


def _scene_of(first: str, second: str, way: str) -> str:
    part = {"clip": "c", "start": 0, "frames": 9, "gain_db": 0.0}
    parts = [{"event": label, **part} for label in (first, second)]
    extra = {"crossfade": 0} if way == "sequence" else {"offset": 0}
    return json.dumps({way: parts, **extra})


def _row(
    group: str, caption: str, first: str, second: str, way: str, **negatives: str
) -> dict[str, Any]:
    claim = {way: [{"event": first}, {"event": second}]}
    return {
        "group": group,
        "caption": caption,
        "claim": json.dumps(claim),
        "labels": [first, second],
        "scene": _scene_of(first, second, way),
        "relation": "",
        "negatives": [
            {"text": text, "kind": kind.replace("_", "-"), "connective": ""}
            for kind, text in negatives.items()
        ],
    }


def _judged(
    plan: TaskPlan | TaskRefusal, samples: Samples, score: Callable[[dict[str, Any], str], float]
) -> dict[str, Metric]:
    """What the plan finds where `score` is the similarity of a sample to a text."""
    assert isinstance(plan, TaskPlan), plan
    said = {text: np.array([score(row, text) for row in samples.rows]) for text in plan.texts}
    return plan.measure(np.eye(len(samples.rows)), said)


@pytest.fixture
def row() -> Callable[..., dict[str, Any]]:
    """Makes a manifest row of two sounds; further arguments are negatives by kind."""
    return _row


@pytest.fixture
def judged() -> Callable[..., dict[str, Metric]]:
    """Runs a plan with a function as the similarity of a sample to a text."""
    return _judged


@pytest.fixture(scope="session")
def triplets(corpus: Path) -> Samples:
    opened = Corpus.open(corpus)
    data = SplitData(opened, "test", AudioMode.SHARDS)
    return Samples(data.rows(range(len(data))), "triplets", "test")
