"""What is watched while a run learns: validation, numbers that are not finite, the meter."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from tests.kit.runs import equal, lines
from train.config.run import Precision, TrainConfig
from train.data.batch import Batch
from train.data.split import VAL, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine import loop, step
from train.engine.checkpoint import State, create_state
from train.engine.log import Meter
from train.engine.loop import train
from train.engine.ranks import RankProcess
from train.engine.run_folder import load_tensors
from train.engine.step import Encoder, Parts, compute_loss, load_parts
from train.engine.validation import Validator
from train.losses.batch import World
from train.model.network import Clap

Settings = Callable[..., TrainConfig]
ALONE = RankProcess(0, 1, torch.device("cpu"))


def validator(config: TrainConfig) -> tuple[Validator, Clap]:
    torch.manual_seed(0)
    corpus = Corpus.open(config.corpus)
    tokenizer = TextTokenizer.of_texts(SplitData(corpus, VAL, config.mode).vocabulary())
    model = create_state(config, corpus.sample_rate, len(tokenizer), ALONE).model.eval()
    found = Validator.of(corpus, tokenizer, config, model)
    assert found is not None
    return found, model


@torch.no_grad()
def loss_of_part(of: Validator, model: Clap, positions: list[int]) -> float:
    """The loss of one batch, without the validator's own arithmetic."""
    batch = of.assembler.batch(positions, of.config.stages[-1], of.config.steps - 1)
    (load,) = load_parts(batch, model, of.cache)
    outputs = Encoder(model, of.config.precision)(*load())
    return compute_loss(outputs, batch, of.config, World()).item()


@pytest.mark.parametrize(
    ("samples", "batch", "sizes"),
    [(5, 4, [3, 2]), (11, 4, [4, 4, 3]), (8, 4, [4, 4]), (7, 2, [3, 2, 2]), (2, 9, [2])],
)
def test_the_loss_is_that_of_batches_of_equal_size(
    settings: Settings, samples: int, batch: int, sizes: list[int]
) -> None:
    """A last batch of one would be told apart from nothing: its loss is 0, and says nothing."""
    made, model = validator(settings(batch=batch))
    pool = made.pool[:samples]
    assert len(pool) == samples
    parts, start = [], 0
    for size in sizes:
        parts.append(pool[start : start + size].tolist())
        start += size
    losses = [loss_of_part(made, model, part) for part in parts]
    assert all(loss > 0.1 for loss in losses)
    expected = sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / samples
    assert replace(made, pool=pool).loss(model, ALONE) == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_all_processes_validate_and_find_what_one_finds(settings: Settings, tmp_path: Path) -> None:
    """Were it one, the others would wait for it in a collective call, which ends in a timeout."""
    config = settings(batch=4)
    (tmp_path / "config.json").write_text(config.model_dump_json())
    script = Path(__file__).with_name("two_validators.py")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, script, tmp_path], stderr=subprocess.PIPE, env=environment, text=True
    )
    assert done.returncode == 0, done.stderr
    facts = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    assert facts[0]["loss"] == facts[1]["loss"] == facts[0]["alone"]
    assert facts[0]["wrote"]
    assert not facts[1]["wrote"]
    assert sorted(facts[0]["positions"] + facts[1]["positions"]) == facts[0]["pool"]
    assert facts[0]["positions"]
    assert facts[1]["positions"]


# A gradient or weight that is not finite stops a run before it harms what is on disk.


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


def test_a_fault_is_told_with_figures(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
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


# The meter tells how fast a run is, and when other work holds it up.


@dataclass
class Clocks:
    """Time as the test has it pass."""

    wall: float = 0.0
    ran: float = 0.0

    def step(self, meter: Meter, seconds: float, share: float) -> None:
        with meter.learn(8):
            self.wall += seconds
            self.ran += seconds * share


def test_a_meter_tells_of_what_holds_it_up_alone() -> None:
    clocks = Clocks()
    meter = Meter(lambda: clocks.wall, lambda: clocks.ran)
    for _ in range(5):
        clocks.step(meter, 1.9, 0.1)
    assert not meter.warning  # too early to tell
    clocks.step(meter, 1.9, 0.1)
    assert meter.warning.startswith("0.53 steps/s: other work leaves this process 10% of a")
    assert str(meter).endswith("held up by other work")
    for _ in range(200):
        clocks.step(meter, 0.1, 0.97)
    assert not meter.warning
    assert meter.samples == 206 * 8
    clocks = Clocks()
    meter = Meter(lambda: clocks.wall)
    for _ in range(50):
        clocks.step(meter, 1.0, 0.01)
    assert not meter.warning
    assert meter.samples_per_s == pytest.approx(8)


@pytest.mark.parametrize(
    ("threads", "helps"), [(8, "OMP_NUM_THREADS=4"), (2, "OMP_NUM_THREADS=1"), (1, "stop the")]
)
def test_fewer_threads_may_help(monkeypatch: pytest.MonkeyPatch, threads: int, helps: str) -> None:
    monkeypatch.setattr("torch.get_num_threads", lambda: threads)
    clocks = Clocks()
    meter = Meter(lambda: clocks.wall, lambda: clocks.ran)
    clocks.step(meter, 12.0, 0.25)
    assert helps in meter.warning
    assert ("OMP_NUM_THREADS" in meter.warning) == (threads > 1)
