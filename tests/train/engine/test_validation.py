"""The validation loss: of batches of equal size, measured by all processes together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from synth.corpus.corpus import Corpus
from train.config.run import TrainConfig
from train.data.split import VAL, SplitData
from train.data.tokenizer import TextTokenizer
from train.engine.checkpoint import create_state
from train.engine.ranks import RankProcess
from train.engine.step import Encoder, compute_loss, load_parts
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
