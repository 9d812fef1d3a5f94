"""Training: exact resume, what is left on disk, and what is learnt."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from synth.base.errors import CorpusError, DiskFullError, SegueError, SpecError
from synth.corpus.corpus import Corpus
from tests.kit.runs import Dies, equal, lines, weights
from train.bench.evaluate import evaluate
from train.config.model import HeadConfig, HeadKind
from train.config.run import AudioMode, Stage, TrainConfig
from train.engine.loop import train
from train.engine.ranks import RankProcess
from train.engine.run_folder import (
    CHECKPOINT_FILE,
    EARLIER_FILE,
    load_run,
    load_tensors,
    read_tensors,
    save_tensors,
)
from train.engine.validation import Validator
from train.model.network import Clap
from train.model.weights import RECEIPTS_FILE
from train.report.run import describe_run

Settings = Callable[..., TrainConfig]
TIMES = ("samples_per_s", "data_wait")


class PressesInterrupt(Dies):
    """Presses Ctrl-C when a step is done."""

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(
    "step", [4, *(pytest.param(step, marks=pytest.mark.slow) for step in (2, 11))]
)
def test_a_killed_run_resumes_to_equal_bits(
    settings: Settings, undisturbed: Callable[..., Path], tmp_path: Path, step: int
) -> None:
    whole = undisturbed()
    broken = settings(out=tmp_path / "broken")
    with pytest.raises(RuntimeError, match="killed"):
        train(broken, Dies(step))
    with pytest.raises(CorpusError, match="no trained model"):
        load_run(broken.out)
    torch.rand(3)  # the caller's random state must not matter
    result = train(broken, resume=True)
    assert result.finished
    assert equal(whole, broken.out)
    logs = [
        [
            {name: value for name, value in line.items() if name not in TIMES}
            for line in lines(folder)
        ]
        for folder in (whole, broken.out)
    ]
    assert logs[0] == logs[1]


def test_ctrl_c_ends_cleanly_and_resumes(
    settings: Settings, undisturbed: Callable[..., Path], tmp_path: Path
) -> None:
    stopped = settings(out=tmp_path / "stopped")
    result = train(stopped, PressesInterrupt(6))
    assert (result.finished, result.step) == (False, 6)
    assert train(stopped, resume=True).finished
    assert equal(undisturbed(), stopped.out)


def test_one_process_at_a_time_trains_a_run(
    settings: Settings, undisturbed: Callable[..., Path], tmp_path: Path
) -> None:
    config = settings(out=tmp_path / "shared")

    class TrainsAgain(Dies):
        def die(self) -> None:
            for way in ({"resume": True}, {"overwrite": True}, {}):
                with pytest.raises(SpecError, match="another process is training"):
                    train(config, **way)

    assert train(config, TrainsAgain(1)).finished
    assert equal(undisturbed(), config.out)


def test_streaming_and_virtual_shards_give_the_same_run_as_the_cache(
    settings: Settings, undisturbed: Callable[..., Path], tmp_path: Path
) -> None:
    cached = undisturbed()
    streamed = settings(out=tmp_path / "streamed", cache_mb=0, workers=2)
    virtual = settings(out=tmp_path / "virtual", mode=AudioMode.VIRTUAL)
    for config in (streamed, virtual):
        train(config)
    assert equal(cached, virtual.out)
    for left, right in zip(weights(cached).values(), weights(streamed.out).values(), strict=True):
        assert torch.allclose(left.float(), right.float(), atol=1e-3)


def test_a_run_is_neither_overwritten_nor_changed_unasked(settings: Settings) -> None:
    before = torch.get_rng_state()
    train(settings())
    assert torch.equal(before, torch.get_rng_state()), "the caller's random state is left alone"
    with pytest.raises(SpecError, match="holds a run"):
        train(settings())
    with pytest.raises(SpecError, match="other settings: lr"):
        train(settings(lr=0.5), resume=True)
    assert train(settings(lr=2e-3), overwrite=True).finished


def test_nothing_that_is_there_is_destroyed(settings: Settings, tmp_path: Path) -> None:
    config = settings()
    train(config)
    (config.out / "checkpoint.pt").unlink()
    for resume in (False, True):
        with pytest.raises(SpecError, match="whose checkpoint is gone"):
            train(config, resume=resume)
    assert load_run(config.out).config == config
    with pytest.raises(SpecError, match="--resume and --overwrite"):
        train(config, resume=True, overwrite=True)
    with pytest.raises(SpecError, match="does not fit a batch of 2"):
        train(settings(batch=2), overwrite=True)
    assert load_run(config.out).config == config
    other = tmp_path / "clap"
    other.mkdir()
    (other / "config.json").write_text('{"model_type": "clap"}')
    for overwrite in (False, True):
        with pytest.raises(SpecError, match="holds another model"):
            train(settings(out=other), overwrite=overwrite)
    assert json.loads((other / "config.json").read_text()) == {"model_type": "clap"}


def test_files_of_a_run_that_are_damaged_or_no_files_are_told(settings: Settings) -> None:
    config = settings().scale_steps(2)
    train(config)
    for name in ("model.pt", "tokenizer.json", "config.json"):
        path = config.out / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-3] if name == "model.pt" else b"{")
        with pytest.raises(CorpusError, match=name):
            load_run(config.out)
        path.unlink()
        os.mkfifo(path)
        for use in (load_run, describe_run, lambda _: train(config, resume=True)):
            with pytest.raises(CorpusError, match=f"{name}: is not a regular file"):
                use(config.out)
        path.unlink()
        path.write_bytes(whole)


def _flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", [_flip, lambda data: data[:-100]])
def test_the_whole_checkpoint_before_a_damaged_one_is_resumed_to_equal_bits(
    settings: Settings,
    undisturbed: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[bytes], bytes],
) -> None:
    config = settings()
    with pytest.raises(RuntimeError, match="killed"):
        train(config, Dies(10))
    newest, earlier = config.out / CHECKPOINT_FILE, config.out / EARLIER_FILE
    assert read_tensors(earlier, torch.device("cpu"))["step"] == 4
    newest.write_bytes(damage(newest.read_bytes()))
    assert train(config, resume=True).finished
    assert f"{newest}: missing or damaged; resuming from the checkpoint" in capsys.readouterr().err
    assert equal(config.out, undisturbed())
    assert not earlier.exists()
    newest.write_bytes(damage(newest.read_bytes()))
    with pytest.raises(CorpusError, match="no whole checkpoint before it is left"):
        train(config, resume=True)


CONTRADICTIONS: list[tuple[str, object]] = [
    *(("step", wrong) for wrong in (-4, 99, "4")),
    *(("config", wrong) for wrong in ("{}", "[")),
    *(("best_step", 8), ("rng", None), ("optimizer", {}), ("loss", "low"), ("model", None)),
]


def test_a_checkpoint_that_contradicts_itself_is_refused(settings: Settings) -> None:
    config = settings().scale_steps(2)
    train(config)
    path = config.out / CHECKPOINT_FILE
    saved = load_tensors(path, torch.device("cpu"))
    for name, wrong in CONTRADICTIONS:
        save_tensors(path, saved | {name: wrong})
        with pytest.raises(SegueError, match=CHECKPOINT_FILE):
            train(config, resume=True)
    save_tensors(path, saved | {"origin": saved["origin"] | {"tokenizer": "0"}})
    with pytest.raises(SpecError, match="another tokenizer"):
        train(config, resume=True)


def test_a_run_without_receipts_resumes_and_says_so(
    settings: Settings, undisturbed: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    config = settings()
    with pytest.raises(RuntimeError, match="killed"):
        train(config, Dies(10))
    (config.out / RECEIPTS_FILE).unlink()
    assert train(config, resume=True).finished
    assert "has no receipt" in capsys.readouterr().err
    assert equal(config.out, undisturbed())


def test_a_full_disk_ends_in_one_line(settings: Settings, undisturbed: Callable[..., Path]) -> None:
    config = settings()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(DiskFullError, match=f"{CHECKPOINT_FILE}: exceeds") as error:
            train(config)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "--resume" in error.value.fix
    assert train(config, resume=True).finished
    assert equal(config.out, undisturbed())


def test_a_run_is_resumed_on_its_own_corpus_wherever_that_lies(
    settings: Settings, build_corpus: Callable[..., Path], tmp_path: Path
) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(settings().corpus.parents[1], moved)
    with pytest.raises(RuntimeError, match="killed"):
        train(settings(), Dies(6))
    with pytest.raises(SpecError, match=r"another corpus.*--overwrite"):
        train(settings(corpus=build_corpus(seed=8)), resume=True)
    config = settings(corpus=moved / "data_manifests" / "tiny")
    assert train(config, resume=True).finished


@pytest.mark.slow
def test_too_few_samples_for_validation_leave_the_last_weights(
    settings: Settings, build_corpus: Callable[..., Path]
) -> None:
    acba = {"pairs": {"train": 12, "val": 1}, "relations": ["then", "followed by"]}
    corpus = build_corpus(
        recipe={"acba": acba | {"crossfade_s": 0.25}}, splits={"train": [1, 2, 3], "val": [4]}
    )
    relations = Corpus.open(corpus).samples("val")["relation"].to_pylist()
    assert len(relations) == 1
    config = settings(corpus=corpus, stages=(Stage(steps=5, relations=tuple(relations)),))
    result = train(config)
    assert (result.finished, result.best_step) == (True, 5)
    assert load_run(config.out).config == config
    # The run was cleared before patience was found to have nothing to watch.
    with pytest.raises(SpecError, match="patience"):
        train(config.model_copy(update={"patience": 1, "eval_every": 1}), overwrite=True)
    assert load_run(config.out).config == config


def test_a_run_that_dies_in_validation_goes_on_from_there(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = settings(out=tmp_path / "whole"), settings(out=tmp_path / "broken")
    train(whole)
    loss = Validator.loss

    def dies(self: Validator, model: Clap, process: RankProcess) -> float:
        if (broken.out / "log.jsonl").read_text().count("val_loss") == 2:
            raise RuntimeError("killed")
        return loss(self, model, process)

    with monkeypatch.context() as patch:
        patch.setattr(Validator, "loss", dies)
        with pytest.raises(RuntimeError, match="killed"):
            train(broken)
    saved = load_tensors(broken.out / "checkpoint.pt", torch.device("cpu"))
    assert saved["step"] == broken.steps
    result = train(broken, resume=True)
    assert result == replace(
        train(whole, resume=True),
        folder=broken.out,
        samples_per_s=result.samples_per_s,
        data_wait=result.data_wait,
    )
    assert equal(whole.out, broken.out)
    steps = [(row["step"], "val_loss" in row) for row in lines(broken.out)]
    assert len(steps) == len(set(steps)) == 12 + 3


def test_the_best_weights_on_validation_are_kept(settings: Settings) -> None:
    config = settings()
    result = train(config)
    losses = {row["step"]: row["val_loss"] for row in lines(config.out) if "val_loss" in row}
    assert set(losses) == {4, 8, 12}
    assert result.best_step == min(losses, key=lambda step: losses[step])


def test_the_loss_falls_and_the_run_can_be_evaluated(settings: Settings) -> None:
    config = settings(
        stages=settings().stages[1:],
        lr=5e-3,
        model=settings().model.model_copy(update={"head": HeadConfig(kind=HeadKind.MLP)}),
    ).scale_steps(60)
    train(config)
    losses = [row["loss"] for row in lines(config.out) if "loss" in row]
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
    metrics = evaluate(config.out, config.corpus, "test")
    assert {"bat", "triplets", "audio_to_text_r1", "text_to_audio_median_rank"} <= set(metrics)
    assert metrics["bat"].n == 24
    assert metrics["triplets"].n == 12
    assert metrics["bat"].chance == 0.5
    again = evaluate(config.out, config.corpus, "test", mode=AudioMode.VIRTUAL)
    assert metrics == again


def test_an_absent_or_unknown_device_is_told(settings: Settings, tmp_path: Path) -> None:
    absent = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(SpecError, match="has no such device") as error:
        train(settings(device=absent))
    assert error.value.fix
    train(settings().scale_steps(2))
    for device in (absent, "toaster", "meta"):
        with pytest.raises(SpecError, match=device) as error:
            evaluate(settings().out, settings().corpus, device=device)
        assert error.value.fix


def test_weights_of_another_model_are_told(settings: Settings) -> None:
    config = settings().scale_steps(2)
    train(config)
    for name in ("model.pt", "checkpoint.pt"):
        saved = load_tensors(config.out / name, torch.device("cpu"))
        first = next(iter(saved["model"]))
        saved["model"][first] = torch.zeros(3, 5)
        save_tensors(config.out / name, saved)
    with pytest.raises(CorpusError, match=r"do not fit.*train it again"):
        load_run(config.out)
    with pytest.raises(CorpusError, match="do not fit"):
        train(config, resume=True)


def test_what_does_not_fit_is_told(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no finished corpus"):
        train(settings(corpus=tmp_path))
    with pytest.raises(CorpusError, match="segue train"):
        evaluate(tmp_path, settings().corpus)
