"""When sounds are heard: moments and frames, against loops, chance and files."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from synth.base.doors import MAX_LINE
from synth.base.errors import SegueError, SpecError
from synth.truth.frames import Audibility
from tests.kit.builds import segue_here
from tests.kit.cases import cases
from tests.kit.heard_frames import HalfLevels, draw_scores
from tests.kit.tables import read_data
from train.bench.corpus import corpus_benchmark
from train.bench.metrics.events import FrameRanking, refuse_missing
from train.bench.metrics.moments import absence, guess, moment_retrieval
from train.bench.moments import Prediction, Query, learn_prior, score_moments
from train.bench.opening import open_embedder
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import SoundItem
from train.bench.tasks.localisation import score_frames
from train.config.model import AudioConfig, HeadConfig, ModelConfig
from train.config.run import Stage, TrainConfig
from train.engine.loop import train
from train.export.files import ModelFormat
from train.report.publish import publish
from train.report.results import read_evaluations

Window = tuple[float, ...]
LENGTH = 60.0


# The slow scorer


def iou(one: Window, other: Window) -> float:
    shared = max(0.0, min(one[1], other[1]) - max(one[0], other[0]))
    union = one[1] - one[0] + other[1] - other[0] - shared
    return shared / union if union else 0.0


def precision(predicted: Sequence[Window], wanted: Sequence[Window], least: float) -> float:
    """Area under precision by recall, each precision being the best at no less recall."""
    left = list(wanted)
    points = []
    right = 0
    for number, window in enumerate(sorted(predicted, key=lambda each: -each[2]), start=1):
        open_to = [own for own in left if iou(window, own) >= least]
        if open_to:
            left.remove(max(open_to, key=lambda own: iou(window, own)))
            right += 1
        points.append((right / len(wanted), right / number))
    levels = sorted({recall for recall, _ in points if recall})
    area = 0.0
    for before, level in zip([0.0, *levels], levels, strict=False):
        area += (level - before) * max(p for recall, p in points if recall >= level)
    return area


def draw(rng: np.random.Generator) -> tuple[list[Window], list[Window]]:
    """Windows, and others of which many are near them."""
    edges = np.sort(rng.choice(np.arange(1, 59), 2 * int(rng.integers(1, 5)), replace=False))
    wanted = [tuple(map(float, pair)) for pair in edges.reshape(-1, 2)]
    predicted = []
    for score in rng.random(int(rng.integers(13))):
        start, end = wanted[int(rng.integers(len(wanted)))] + rng.normal(0, 0.7, 2)
        predicted.append((float(start), float(max(start, end)), float(score)))
    return wanted, predicted


def arrays(windows: Sequence[Sequence[Window]], width: int) -> list[np.ndarray]:
    return [np.array(each, dtype=float).reshape(-1, width) for each in windows]


@pytest.mark.parametrize("seed", range(3))
def test_retrieval_agrees_with_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wanted, predicted = zip(*(draw(rng) for _ in range(80)), strict=True)
    found = moment_retrieval(arrays(predicted, 3), arrays(wanted, 2), np.full(80, LENGTH))
    heads = [windows[:10] for windows in predicted]
    for least in (0.5, 0.7):
        firsts = [
            any(iou(windows[0], own) >= least for own in owns) if windows else False
            for windows, owns in zip(heads, wanted, strict=True)
        ]
        assert found[f"r1@{least}"].value == pytest.approx(np.mean(firsts))
    means = [
        np.mean([precision(windows, owns, 0.5 + 0.05 * step) for step in range(10)])
        for windows, owns in zip(heads, wanted, strict=True)
    ]
    assert found["map"].value == pytest.approx(np.mean(means), abs=0.003)
    assert 0.1 < found["map"].value < 0.9
    assert all(metric.low <= metric.value <= metric.high for metric in found.values())


@pytest.mark.parametrize("least", [0.5, 0.7, 0.95])
def test_chance_is_what_random_windows_give(least: float) -> None:
    rng = np.random.default_rng(1)
    guesses = np.sort(rng.uniform(0, LENGTH, (200_000, 2)), axis=1)
    for wanted in ([(0.0, 60.0)], [(1.0, 30.0), (40.0, 59.0)], [(20.0, 26.0)], [(3.0, 50.0)]):
        hits = [
            (np.minimum(guesses[:, 1], e) - np.maximum(guesses[:, 0], s))
            >= least * (np.maximum(guesses[:, 1], e) - np.minimum(guesses[:, 0], s))
            for s, e in wanted
        ]
        share = np.any(hits, axis=0).mean()
        chance = guess(np.array(wanted), LENGTH, least)
        assert chance == pytest.approx(share, abs=4 * np.sqrt(share / len(guesses)) + 1e-5)


def test_absence_rewards_nobody_who_cannot_tell() -> None:
    rng = np.random.default_rng(0)
    absent = np.arange(200) % 2 == 0
    for scores in (np.full(200, -np.inf), np.full(200, 0.9), rng.random(200)):
        found = absence(scores, absent, 0.5)
        for metric in found.values():
            assert metric.low <= metric.chance <= metric.high
    knows = absence(np.where(absent, 0.1, 0.9), absent, 0.5)
    assert {name: metric.value for name, metric in knows.items()} == {"absent": 1, "presence": 1}
    assert knows["absent"].chance == knows["presence"].chance == 0.5
    with pytest.raises(ValueError, match="for what is not"):
        absence(np.zeros(3), np.zeros(3, dtype=bool), 0.5)


# Files


def write(path: Path, lines: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    """Two groups of two recordings; half of the queries are for what is absent."""
    common = [
        {"qid": number, "query": "A dog barks", "vid": f"v{number // 2}", "duration": LENGTH}
        for number in range(8)
    ]
    for line in common:
        line["group"] = f"g{line['qid'] // 4}"
        line["relevant_windows"] = [] if line["qid"] % 2 else [[6.0, 12.0], [30.0, 36.0]]
    write(tmp_path / "test_absent.jsonl", [line for line in common if line["qid"] % 2])
    return write(tmp_path / "test.jsonl", [line for line in common if not line["qid"] % 2])


def predict(number: int, *windows: Window) -> dict[str, Any]:
    return {"qid": number, "pred_relevant_windows": windows}


RIGHT = [(6.0, 12.0, 0.9), (30.0, 36.0, 0.8)]


def test_one_command_scores_predictions_beside_the_prior(queries: Path, tmp_path: Path) -> None:
    lines = [predict(number, *([] if number % 2 else RIGHT)) for number in range(8)]
    path = write(tmp_path / "predictions.jsonl", lines)
    ended = segue_here("eval", path, queries, "--out", tmp_path / "out", "--json")
    found = json.loads(ended.stdout.splitlines()[-1])
    assert set(found) == {
        *("moments_r1@0.5", "moments_r1@0.7", "moments_map"),
        *("moments_absent", "moments_presence"),
    }
    for metric in found.values():
        assert metric["value"] == 1
        assert metric["chance"] <= 0.5
    # The windows are always the same here.
    assert found["moments_r1@0.5"]["prior"] == found["moments_map"]["prior"] == 1
    assert found["moments_presence"]["prior"] == 0.5
    assert "windows alone" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    # Reports that read these results have it, too.
    (tmp_path / "run").mkdir()
    (tmp_path / "out").rename(tmp_path / "run" / "eval-moments")
    (tested,) = read_evaluations(tmp_path / "run")
    assert tested.metrics["moments_presence"].prior == 0.5
    prior = score_moments(Path("prior"), queries)
    assert all(one.value == one.prior for one in prior.metrics.values())
    with pytest.raises(SpecError, match="--seed -1: expected a seed"):
        score_moments(Path("prior"), queries, seed=-1)
    assert prior.facts["windows alone"].endswith("the other half of the groups")


def test_the_prior_learns_from_the_training_part(queries: Path, tmp_path: Path) -> None:
    own = {"query": "x", "duration": 30.0, "relevant_windows": [[3.0, 6.0]]}
    write(tmp_path / "train.jsonl", [{"qid": "a", "vid": "t", **own}])
    found = score_moments(Path("prior"), queries)
    assert found.metrics["moments_r1@0.7"].value == 1, "the same share of a longer recording"
    assert found.metrics["moments_map"].value == 0.5, "one of two windows"
    assert found.facts["windows alone"].endswith("train.jsonl")


def test_the_most_frequent_windows_come_first() -> None:
    windows = [(0, 10), (1, 10), (0, 9), (30, 40), (31, 40), (50, 51)]
    queries = [
        Query(qid=str(number), duration=60, vid="v", relevant_windows=[window])
        for number, window in enumerate(windows)
    ]
    prior = learn_prior(queries) * [60, 60, 6]
    assert prior.round(6).tolist() == [[0, 10, 3], [30, 40, 2], [50, 51, 1]]
    assert learn_prior([]).shape == (0, 3)


def test_absent_sounds_count_only_where_they_were_asked_for(queries: Path, tmp_path: Path) -> None:
    lines = [predict(number, *RIGHT) for number in range(0, 8, 2)]
    found = score_moments(write(tmp_path / "p.jsonl", lines), queries)
    assert set(found.metrics) == {"moments_r1@0.5", "moments_r1@0.7", "moments_map"}
    assert list(found.left_out.values()) == [4]


@cases(
    ("options", "said"),
    [
        (["--task", "bat"], "error: --task: counts for nothing beside predicted windows"),
        (["--split", "test"], "error: --split: counts for nothing beside predicted windows"),
        (["--seed", "1"], "test_absent.jsonl is missing"),
    ],
)
def test_what_does_not_count_is_told(queries: Path, options: list[str], said: str) -> None:
    (queries.parent / "test_absent.jsonl").unlink(missing_ok=True)
    ended = segue_here("eval", "prior", queries, *options)
    assert said in ended.stderr


@cases(("text", "message"), read_data("bench/faulty_predictions.yaml"))
def test_wrong_predictions_are_told(queries: Path, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "faulty.jsonl"
    path.write_text(text, encoding="utf-8")
    if not text:
        os.truncate(path, MAX_LINE + 1)
    with pytest.raises(SegueError, match=message) as caught:
        score_moments(path, queries)
    assert caught.value.fix


@cases(
    ("name", "message", "fix"),
    [
        ("run", "run: a run or model predicts no windows", "give a file of predictions: JSON li"),
        ("p.jsonl", "is missing among qid, pred_windows", "rename 'pred_windows' to 'pred_relev"),
    ],
)
def test_what_is_no_file_of_predictions_has_its_fix(
    queries: Path, tmp_path: Path, name: str, message: str, fix: str
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "p.jsonl").write_text('{"qid": 0, "pred_windows": []}\n', encoding="utf-8")
    with pytest.raises(SegueError, match=message) as caught:
        score_moments(tmp_path / name, queries)
    assert caught.value.fix.startswith(fix)


def test_windows_are_taken_by_their_scores() -> None:
    windows = [(9, 12, 0.2), (1, 4, 0.7), (5, 6, 0.7)]
    line = Prediction(qid="0", pred_relevant_windows=windows)
    assert line.windows.tolist() == [list(windows[at]) for at in (1, 2, 0)]


def test_windows_of_any_length_have_one() -> None:
    ((start, end, _),) = Prediction(qid="a", pred_relevant_windows=[(-1e308, 1e308, 0.5)]).windows
    assert start < 0 < end < end - start < np.inf


@cases("windows", [[[5, 3]], [[5, 5]], [[0, 61]], [[1, 5], [4, 9]], [[-1, 2]]])
def test_faulty_queries_are_named(tmp_path: Path, windows: list[list[float]]) -> None:
    line = {"qid": 1, "vid": "v", "duration": 60, "relevant_windows": windows}
    with pytest.raises(SegueError, match="line 1"):
        score_moments(Path("prior"), write(tmp_path / "test.jsonl", [line]))


# When sounds are heard: scores of frames, and what is made of them.


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
