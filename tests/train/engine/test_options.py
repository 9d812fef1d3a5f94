"""What a run can be asked for, each resumed to equal bits after it was killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import Tensor

from synth.base.errors import SpecError
from tests.kit.runs import Dies, equal, lines, weights
from tests.kit.waiting import wait_for
from train.config.loss import InfoNce, Modular, TeminalB
from train.config.model import Group, HeadConfig
from train.config.run import Precision, Stage, TrainConfig
from train.engine.loop import train
from train.engine.run_folder import load_run

Settings = Callable[..., TrainConfig]


SLOW_OPTIONS: dict[str, dict[str, Any]] = {
    "in parts": {"accumulate": 3},
    "average": {"ema": 0.9},
    "bfloat16": {"precision": Precision.BFLOAT16},
    "cropped": {"crop_s": 1.0},
    "modular": {"stages": (Stage(steps=12, loss=Modular()),)},
}
OPTIONS = SLOW_OPTIONS | {"teminal": {"stages": (Stage(steps=12, loss=TeminalB(alpha_ct=0.0)),)}}


@pytest.mark.parametrize(
    "name", ["teminal", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_OPTIONS)]
)
def test_each_option_resumes_to_equal_bits(
    settings: Settings, undisturbed: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    broken = settings(out=tmp_path / "broken", **OPTIONS[name])
    with pytest.raises(RuntimeError, match="killed"):
        train(broken, Dies(6))
    assert train(broken, resume=True).finished
    whole = undisturbed(**OPTIONS[name])
    assert equal(whole, broken.out)
    assert not equal(whole, undisturbed()), "the option changes nothing"


def command(config: TrainConfig, file: Path) -> list[str]:
    file.write_text(yaml.safe_dump(config.model_dump(mode="json")))
    return [
        *(sys.executable, "-m", "pipelines.cli", "train", str(config.corpus)),
        *("--config", str(file), "--out", str(config.out)),
    ]


@pytest.mark.slow
def test_kill_9_at_any_moment_costs_nothing(settings: Settings, tmp_path: Path) -> None:
    options = {"accumulate": 2, "ema": 0.9, "crop_s": 1.0, "workers": 2, "checkpoint_every": 5}
    whole = settings(out=tmp_path / "whole", **options).scale_steps(24)
    train(whole)
    broken = whole.model_copy(update={"out": tmp_path / "broken"})
    log = broken.out / "log.jsonl"
    process = subprocess.Popen(command(broken, tmp_path / "train.yaml"), stdout=subprocess.DEVNULL)
    assert wait_for(lambda: log.is_file() and len(log.read_text().splitlines()) > 11)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (broken.out / "model.pt").exists()
    assert train(broken, resume=True).finished
    assert equal(whole.out, broken.out)
    steps = [line["step"] for line in lines(broken.out) if "loss" in line]
    assert steps == list(range(1, 25))


@pytest.mark.slow
def test_a_compiled_model_learns_the_same(settings: Settings, tmp_path: Path) -> None:
    # Few steps without validation: compiling is most of the time, once for each shape of a batch.
    plain = settings(out=tmp_path / "plain", stages=(Stage(steps=3),), eval_every=0)
    # Its texts are wider, so that dropout would draw other units.
    kept = plain.model.model_copy(update={"head": HeadConfig()})
    plain = plain.model_copy(update={"model": kept})
    train(plain)
    # In a process of its own: what checks types in tests cannot be compiled. Traced and run as it
    # is: what backends make of it is theirs to test, and takes twice as long.
    compiled = plain.model_copy(update={"out": tmp_path / "compiled", "compile": "eager"})
    subprocess.run(command(compiled, tmp_path / "train.yaml"), check=True, capture_output=True)
    losses = [
        [line["loss"] for line in lines(config.out) if "loss" in line]
        for config in (plain, compiled)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.slow
def test_the_average_is_what_is_kept(settings: Settings, tmp_path: Path) -> None:
    plain = settings(out=tmp_path / "plain", eval_every=0, stages=(Stage(steps=6),), ema=0.0)
    slow = plain.model_copy(update={"out": tmp_path / "slow", "ema": 0.999})
    train(plain)
    train(slow)
    start = load_start(plain)
    moved = [
        sum(float((weights(run.out)[name] - start[name]).abs().sum()) for name in start)
        for run in (plain, slow)
    ]
    assert 0 < moved[1] < 0.8 * moved[0]


def load_start(config: TrainConfig) -> dict[str, Tensor]:
    from train.model.clap import build_model

    run = load_run(config.out)
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        model = build_model(config.model, run.sample_rate, len(run.tokenizer))
    return {name: value.detach() for name, value in model.named_parameters()}


def test_training_stops_when_validation_finds_nothing_better(
    settings: Settings, tmp_path: Path
) -> None:
    config = settings(stages=(Stage(steps=100),), eval_every=1, patience=3, lr=0.05)
    result = train(config)
    assert result.finished
    assert result.step == result.best_step + 3 < 100
    losses = {line["step"]: line["val_loss"] for line in lines(config.out) if "val_loss" in line}
    assert min(losses, key=lambda step: losses[step]) == result.best_step
    again = train(config, resume=True)
    assert (again.step, again.best_step) == (result.step, result.best_step)


@pytest.mark.slow
def test_an_early_stage_does_not_use_up_the_patience_of_the_last(settings: Settings) -> None:
    before = Stage(steps=20, relations=("before",))
    config = settings(stages=(before, Stage(steps=4)), eval_every=1, patience=2, lr=0.05)
    assert train(config).step > 20


def test_only_the_named_groups_learn(settings: Settings) -> None:
    learning = (Group.AUDIO_HEAD, Group.TEXT_HEAD)
    base = settings()
    config = base.model_copy(
        update={"model": base.model.model_copy(update={"trainable": learning})}
    )
    train(config)
    start, end = load_start(config), weights(config.out)
    changed = {name.split(".")[0] for name in start if not torch.equal(start[name], end[name])}
    assert changed == {"audio_head", "text_head"}


def test_tensorboard_shows_the_log_and_nothing_twice(settings: Settings) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = settings(tensorboard=True)
    with pytest.raises(RuntimeError, match="killed"):
        train(config, Dies(6))
    train(config, resume=True)
    events = EventAccumulator(str(config.out / "tensorboard"))
    events.Reload()
    shown = {event.step: event.value for event in events.Scalars("loss")}
    logged = {line["step"]: line["loss"] for line in lines(config.out) if "loss" in line}
    assert len(events.Scalars("loss")) == 12
    assert shown == pytest.approx(logged, rel=1e-6)
    assert [event.step for event in events.Scalars("val_loss")] == [4, 8, 12]


def test_a_missing_logger_is_told_before_training(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(SpecError, match="wandb is not installed") as error:
        train(settings(wandb="segue"))
    assert "pip install wandb" in error.value.fix


def test_the_loss_of_a_stage_is_the_one_asked_for(settings: Settings, tmp_path: Path) -> None:
    first = []
    for loss in (InfoNce(), Modular()):
        config = settings(out=tmp_path / loss.name, stages=(Stage(steps=1, loss=loss),))
        train(config)
        first.append(lines(config.out)[0]["loss"])
    assert first[0] < first[1]
