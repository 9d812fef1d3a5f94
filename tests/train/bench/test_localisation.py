"""When sounds are heard: scores of frames, and what is made of them."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from synth.base.errors import SpecError
from synth.truth.frames import Audibility
from tests.kit.heard_frames import HalfLevels, draw_scores
from train.bench.corpus import corpus_benchmark
from train.bench.embedder import FrameEmbedder
from train.bench.metrics.events import FrameRanking, refuse_missing
from train.bench.opening import open_embedder
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import SoundItem
from train.bench.tasks.localisation import score_frames
from train.config.model import AudioConfig, HeadConfig, ModelConfig
from train.config.run import Stage, TrainConfig
from train.engine.loop import train
from train.export.files import ModelFormat
from train.report.publish import publish

FRAME = 40


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


@pytest.mark.parametrize("seed", range(3))
def test_auroc_is_that_of_scikit_learn(seed: int) -> None:
    scores, states = draw_scores(seed)
    chosen = np.random.default_rng(seed).integers(0, 12, 12)
    expected = []
    for text in range(3):
        score = np.concatenate([scores[k][:, text] for k in chosen])
        state = np.concatenate([states[k][:, text] for k in chosen])
        judged = state != Audibility.FAINT
        expected.append(roc_auc_score(state[judged] == Audibility.CLEAR, score[judged]))
    found = FrameRanking.of(scores, states).auroc(chosen)
    assert found == pytest.approx(np.mean(expected), abs=1e-12)


def test_a_run_and_its_export_tell_the_same_of_frames(
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
