"""When sounds are heard, scored by sed_scores_eval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synth.corpus.corpus import Corpus
from synth.truth.frames import Audibility
from tests.kit.heard_frames import HalfLevels, draw_scores
from train.bench.corpus import corpus_benchmark
from train.bench.evaluate import assess
from train.bench.metrics.events import SILENT, Events, localisation
from train.bench.settings import BenchSettings, Task


def judged(scores: list[Any], states: list[Any]) -> dict[str, float]:
    found = localisation(scores, states, np.arange(len(states)))
    return {name.removeprefix("localisation_"): one.value for name, one in found.items()}


def test_who_hears_all_exactly_scores_one_and_who_guesses_chance() -> None:
    _, states = draw_scores(0, run=20)
    right = [(each == Audibility.CLEAR).astype(float) for each in states]
    assert judged(right, states) == {"psds": 1.0, "event_f1": 1.0, "frame_auroc": 1.0}
    rng = np.random.default_rng(1)
    for scores in ([rng.random(each.shape) for each in states], [each * 0.0 for each in right]):
        found = judged(scores, states)
        assert found["psds"] < 0.05
        assert found["event_f1"] < 0.2
        assert found["frame_auroc"] == pytest.approx(0.5, abs=0.05)


def test_chance_knows_digital_silence_as_any_model_does() -> None:
    _, states = draw_scores(4, run=20)
    rng = np.random.default_rng(4)
    silent = [(each == Audibility.ABSENT).all(axis=1, keepdims=True) for each in states]
    guess = [
        np.where(quiet, SILENT, rng.random(each.shape))
        for quiet, each in zip(silent, states, strict=True)
    ]
    found = localisation(guess, states, np.arange(len(states)))["localisation_frame_auroc"]
    assert found.chance > 0.53
    assert found.value == pytest.approx(found.chance, abs=0.02)


def test_what_is_said_of_faint_frames_changes_nothing() -> None:
    _, states = draw_scores(2)
    scores = [(each == Audibility.CLEAR) * 1.0 for each in states]
    other = [
        np.where(state == Audibility.FAINT, np.random.default_rng(3).random(state.shape), score)
        for score, state in zip(scores, states, strict=True)
    ]
    assert judged(other, states) == judged(scores, states)


def test_a_begin_anywhere_in_faint_frames_is_right() -> None:
    """Nobody can say where in them a sound begins; a fifth of a second off is wrong elsewhere."""
    states = np.zeros((100, 1), dtype=np.int8)
    states[20:40], states[40:60] = Audibility.FAINT, Audibility.CLEAR
    for begin, value in ((40, 1.0), (30, 1.0), (20, 1.0), (10, 0.0)):
        scores = np.zeros((100, 1))
        scores[begin:60] = 1.0
        assert Events.of([states]).best_f1([scores])(np.array([0])) == value


def test_a_model_is_scored_by_its_own_frames_or_by_windows(corpus: Corpus) -> None:
    embedder = HalfLevels(1600)
    embedder.sample_rate = 16_000
    benchmark = corpus_benchmark(corpus.folder, "test", sample_rate=16_000)
    found = assess(embedder, benchmark, [Task.LOCALISATION])
    assert list(found.metrics) == [
        "localisation_psds",
        "localisation_event_f1",
        "localisation_frame_auroc",
    ]
    for metric in found.metrics.values():
        assert metric.low <= metric.high
        assert metric.n == len(benchmark.sounds)
    assert found.facts["localisation"].startswith("the model's own embeddings of 0.1 s")
    windows = corpus_benchmark(corpus.folder, "test", settings=BenchSettings(window_s=0.5))
    other = assess(embedder, windows, [Task.LOCALISATION])
    assert other.facts["localisation"].startswith("windows of 0.5 s every 0.2 s")
    assert other.metrics != found.metrics
