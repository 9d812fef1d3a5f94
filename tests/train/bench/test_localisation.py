"""When sounds are heard: scores of frames, and what is made of them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from synth.base.errors import SpecError
from synth.truth.frames import Audibility
from train.bench.corpus import corpus_benchmark
from train.bench.embedder import FrameEmbedder
from train.bench.evaluate import assess
from train.bench.metrics.events import SILENT, Events, FrameRanking, localisation, refuse_missing
from train.bench.opening import open_embedder
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import SoundItem
from train.bench.tasks.localisation import score_frames
from train.config.model import AudioConfig, HeadConfig, ModelConfig
from train.config.run import Stage, TrainConfig
from train.engine.loop import train
from train.export.files import ModelFormat
from train.report.publish import publish

RATE = 1000
FRAME = 40


class HalfLevels:
    """Hears how loud the first and the second half of a sound are; its frames are of 0.1 s."""

    sample_rate = RATE
    longest: int | None = None

    def __init__(self, frame: int | None = None) -> None:
        self.frame = frame
        self.lengths: list[int] = []

    def audio(self, waveforms: Sequence[np.ndarray]) -> np.ndarray:
        self.lengths += [len(each) for each in waveforms]
        return np.array([[each.mean(), 1.0] for each in waveforms])

    def frames(self, waveforms: Sequence[np.ndarray]) -> list[np.ndarray]:
        step = self.frame or 1
        return [
            np.array([[each[k : k + step].mean(), 1.0] for k in range(0, len(each), step)])
            for each in waveforms
        ]

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[1.0, 0.0] for _ in texts])


def scored(model: HalfLevels, sound: np.ndarray, **settings: Any) -> np.ndarray:
    said = {"loud": model.texts(["loud"])[0]}
    plain = SoundItem("sound", len(sound), lambda _: sound.astype(np.float32))
    (found,) = score_frames(model, [plain], ["loud"], said, BenchSettings(**settings))
    return found[:, 0]


@given(st.integers(1, 700), st.sampled_from([10, 40, 100, 130]))
def test_a_frame_has_the_mean_of_the_models_own_frames_in_it(length: int, step: int) -> None:
    sound = np.random.default_rng(length).uniform(0.1, 1, length)
    (tokens,) = HalfLevels(step).frames([sound])
    expected = [
        np.mean(
            [tokens[k // step, 0] for k in range(start, start + FRAME) if k // step < len(tokens)]
        )
        for start in range(0, length, FRAME)
    ]
    np.testing.assert_allclose(scored(HalfLevels(step), sound), expected, rtol=1e-5)


def test_windows_lie_about_their_hop_and_inside_the_sound() -> None:
    sound = np.arange(1, 1001) / 1000
    model = HalfLevels()
    found = scored(model, sound, window_s=0.2, hop_s=0.04)
    begins = [min(max(start - 80, 0), 800) for start in range(0, 1000, 40)]
    expected = [sound[begin : begin + 200].mean() for begin in begins]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert set(model.lengths) == {200}


def test_a_model_without_frames_is_asked_by_windows_and_any_where_a_window_is_given() -> None:
    sound = np.ones(1000)
    for model, settings in (
        (HalfLevels(), {}),
        (HalfLevels(100), {"window_s": 1.0}),
        (HalfLevels(100), {"hop_s": 0.2}),
    ):
        scored(model, sound, **settings)
        assert set(model.lengths) == {1000}
    model = HalfLevels(100)
    scored(model, sound)
    assert not model.lengths
    model.longest = 500
    with pytest.raises(SpecError, match=r"windows of 1 s: the model takes 0\.5 s"):
        scored(model, sound[:400], window_s=1.0)
    for seconds in (0.0, 0.01, float("inf"), float("nan")):
        with pytest.raises(SpecError, match="window_s"):
            BenchSettings(window_s=seconds)
        with pytest.raises(SpecError, match="hop_s"):
            BenchSettings(hop_s=seconds)


def test_in_digital_silence_nothing_is_heard() -> None:
    sound = np.concatenate([np.zeros(80), np.ones(80), np.zeros(100)])
    assert scored(HalfLevels(40), sound).tolist() == [-1, -1, 1, 1, -1, -1, -1]


def drawn(
    seed: int, samples: int = 12, texts: int = 3, run: int = 6
) -> tuple[list[Any], list[Any]]:
    """Random scores that repeat, and how the sounds are heard."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(8, 20, samples)
    states = [
        np.repeat(rng.integers(0, 3, (count, texts)), run, axis=0).astype(np.int8)
        for count in lengths
    ]
    return [rng.integers(0, 9, each.shape) / 8 for each in states], states


@pytest.mark.parametrize("seed", range(3))
def test_auroc_is_that_of_scikit_learn(seed: int) -> None:
    scores, states = drawn(seed)
    chosen = np.random.default_rng(seed).integers(0, 12, 12)
    expected = []
    for text in range(3):
        score = np.concatenate([scores[k][:, text] for k in chosen])
        state = np.concatenate([states[k][:, text] for k in chosen])
        judged = state != Audibility.FAINT
        expected.append(roc_auc_score(state[judged] == Audibility.CLEAR, score[judged]))
    found = FrameRanking.of(scores, states).auroc(chosen)
    assert found == pytest.approx(np.mean(expected), abs=1e-12)


def judged(scores: list[Any], states: list[Any]) -> dict[str, float]:
    pytest.importorskip("sed_scores_eval")
    found = localisation(scores, states, np.arange(len(states)))
    return {name.removeprefix("localisation_"): one.value for name, one in found.items()}


def test_who_hears_all_exactly_scores_one_and_who_guesses_chance() -> None:
    _, states = drawn(0, run=20)
    right = [(each == Audibility.CLEAR).astype(float) for each in states]
    assert judged(right, states) == {"psds": 1.0, "event_f1": 1.0, "frame_auroc": 1.0}
    rng = np.random.default_rng(1)
    for scores in ([rng.random(each.shape) for each in states], [each * 0.0 for each in right]):
        found = judged(scores, states)
        assert found["psds"] < 0.05
        assert found["event_f1"] < 0.2
        assert found["frame_auroc"] == pytest.approx(0.5, abs=0.05)


def test_chance_knows_digital_silence_as_any_model_does() -> None:
    pytest.importorskip("sed_scores_eval")
    _, states = drawn(4, run=20)
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
    _, states = drawn(2)
    scores = [(each == Audibility.CLEAR) * 1.0 for each in states]
    other = [
        np.where(state == Audibility.FAINT, np.random.default_rng(3).random(state.shape), score)
        for score, state in zip(scores, states, strict=True)
    ]
    assert judged(other, states) == judged(scores, states)


def test_a_begin_anywhere_in_faint_frames_is_right() -> None:
    """Nobody can say where in them a sound begins; a fifth of a second off is wrong elsewhere."""
    pytest.importorskip("sed_scores_eval")
    states = np.zeros((100, 1), dtype=np.int8)
    states[20:40], states[40:60] = Audibility.FAINT, Audibility.CLEAR
    for begin, value in ((40, 1.0), (30, 1.0), (20, 1.0), (10, 0.0)):
        scores = np.zeros((100, 1))
        scores[begin:60] = 1.0
        assert Events.of([states]).best_f1([scores])(np.array([0])) == value


def test_a_run_is_scored_when_asked_for(
    settings: Callable[..., TrainConfig], corpus: Path, tmp_path: Path
) -> None:
    model = ModelConfig(
        dim=16,
        frames=True,
        head=HeadConfig(dropout=0.0),
        audio=AudioConfig(width=8, mels=16, chunk_s=0.1),
    )
    config = settings(model=model, stages=(Stage(steps=6, frames=1.0),))
    train(config)
    embedder = open_embedder(config.out)
    publish(config.out, tmp_path / "exported", ModelFormat.SAFETENSORS)
    exported = open_embedder(tmp_path / "exported")
    assert isinstance(exported, FrameEmbedder)
    assert isinstance(embedder, FrameEmbedder)
    assert exported.frame == embedder.frame == 1600
    noise = np.random.default_rng(0).normal(0, 0.1, 5000).astype(np.float32)
    for one, other in zip(exported.frames([noise]), embedder.frames([noise]), strict=True):
        assert one.shape == (4, 16)
        np.testing.assert_array_equal(one, other)
    benchmark = corpus_benchmark(corpus, "test", sample_rate=16_000)
    assert Task.LOCALISATION in benchmark.allowed
    assert Task.LOCALISATION not in benchmark.plans()
    pytest.importorskip("sed_scores_eval")
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
    windows = corpus_benchmark(corpus, "test", settings=BenchSettings(window_s=0.5))
    other = assess(embedder, windows, [Task.LOCALISATION])
    assert other.facts["localisation"].startswith("windows of 0.5 s every 0.2 s")
    assert other.metrics != found.metrics


def test_without_the_package_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def absent(name: str, *args: Any) -> Any:
        if name.startswith("sed_scores_eval"):
            raise ImportError(name)
        return plain(name, *args)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(SpecError) as told:
        refuse_missing()
    assert "segue-audio[localisation]" in told.value.fix
