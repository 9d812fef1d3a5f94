"""A gradient or weight that is not finite stops a run before it harms what is on disk."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from synth.base.errors import SpecError
from tests.kit.runs import equal, lines
from train.config.run import Precision, TrainConfig
from train.data.batch import Batch
from train.engine import loop, step
from train.engine.checkpoint import State
from train.engine.loop import train
from train.engine.run_folder import load_tensors
from train.engine.step import Parts
from train.losses.batch import World

Settings = Callable[..., TrainConfig]
AT = 6


def spoil_gradient(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    """Put `value` into a gradient of step AT, whose loss stays finite."""
    backward = step.backward

    def spoils(
        encoder: nn.Module, parts: Parts, batch: Batch, config: TrainConfig, world: World
    ) -> Tensor:
        loss = backward(encoder, parts, batch, config, world)
        if batch.step == AT:
            gradient = next(one.grad for one in encoder.parameters() if one.grad is not None)
            gradient.view(-1)[0] = value
        assert loss.isfinite()
        return loss

    monkeypatch.setattr(step, "backward", spoils)


def assert_sound(folder: Path) -> None:
    """Everything in the checkpoint is finite, and no weights are published."""
    saved = load_tensors(folder / "checkpoint.pt", torch.device("cpu"))
    assert saved["step"] == 4
    assert all(value.isfinite().all() for value in saved["model"].values())
    assert not (folder / "model.pt").exists()


@pytest.mark.parametrize(
    ("value", "changes", "fix"),
    [
        *((value, {}, "lower learning rate `lr`") for value in (math.nan, -math.inf)),
        *(
            pytest.param(value, changes, fix, marks=pytest.mark.slow)
            for value, changes, fix in (
                (math.nan, {"accumulate": 3, "ema": 0.5}, "lower learning rate `lr`"),
                (math.inf, {"precision": Precision.BFLOAT16}, "precision: float32"),
            )
        ),
    ],
)
def test_a_gradient_that_is_not_finite_is_never_applied(
    settings: Settings,
    undisturbed: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    value: float,
    changes: dict[str, object],
    fix: str,
) -> None:
    broken = settings(out=tmp_path / "broken", **changes)
    with monkeypatch.context() as patch:
        spoil_gradient(patch, value)
        with pytest.raises(SpecError, match=f"gradient is not finite at step {AT}") as error:
            train(broken)
    assert fix in error.value.fix
    assert_sound(broken.out)
    assert (
        max(line["step"] for line in lines(broken.out)) == AT
    )  # steps done: AT itself is the seventh
    if not changes:
        train(broken, resume=True)
        assert equal(undisturbed(), broken.out)


def test_a_fault_is_told_when_figures_are_read_and_nothing_after_it_is_applied(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then nobody waits for the device: it leaves out the step, and those that follow."""
    learn, seen = loop.train_step, list[list[Tensor]]()

    def looks(batch: Batch, config: TrainConfig, state: State, *rest: object) -> object:
        figures = learn(batch, config, state, *rest)  # type: ignore[arg-type]
        moments = [one for kept in state.optimizer.state.values() for one in kept.values()]
        seen.append([one.detach().clone() for one in (*state.model.parameters(), *moments)])
        return figures

    spoil_gradient(monkeypatch, math.nan)
    monkeypatch.setattr(loop, "train_step", looks)
    config = settings(log_every=5, eval_every=0, checkpoint_every=9)
    with pytest.raises(SpecError, match=f"gradient is not finite at step {AT}; the step was not"):
        train(config)
    assert len(seen) == 9  # it would have been kept then
    assert not (config.out / "checkpoint.pt").exists()
    assert [line["step"] for line in lines(config.out)] == [5]
    last = seen[AT - 1]
    for after in seen[AT:]:
        assert all(torch.equal(one, other) for one, other in zip(last, after, strict=True))
    assert not all(torch.equal(one, other) for one, other in zip(seen[0], last, strict=True))


@pytest.mark.parametrize(
    ("where", "at"), [("weight", 12), ("statistic", 8), ("average", 12), ("moment", 8)]
)
def test_weights_that_are_not_finite_are_never_written(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, where: str, at: int
) -> None:
    learn = loop.train_step

    def spoils(batch: Batch, config: TrainConfig, state: State, *rest: object) -> object:
        facts = learn(batch, config, state, *rest)  # type: ignore[arg-type]
        if state.step == at:
            assert state.average is not None
            parameter = next(iter(state.optimizer.state))
            spoilt = {
                "weight": parameter,
                "statistic": next(
                    one for name, one in state.model.named_buffers() if "running_var" in name
                ),
                "average": next(state.average.parameters()),
                "moment": state.optimizer.state[parameter]["exp_avg_sq"],
            }[where]
            spoilt.detach().view(-1)[0] = math.inf
        return facts

    monkeypatch.setattr(loop, "train_step", spoils)
    config = settings(ema=0.5, checkpoint_every=8)
    with pytest.raises(SpecError, match=f"not finite after step {at}") as error:
        train(config)
    assert "lr" in error.value.fix
    path = config.out / "checkpoint.pt"
    assert path.exists() == (at == 12)
    if path.exists():
        saved = load_tensors(path, torch.device("cpu"))
        assert saved["step"] == 8
        assert all(value.isfinite().all() for value in saved["model"].values())
    assert not (config.out / "model.pt").exists()
