"""Any CLAP: tested as it is, fine-tuned, tested again, exported, and tested as exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from synth.base.progress import Silent
from tests.kit.builds import segue_here
from tests.kit.tiny_models import CLAP_RATE, CLAP_SECONDS, save_clap
from train.cli.eval import eval_command
from train.cli.export import export_command
from train.cli.train import train_command
from train.config.model import HeadKind, TokenKind
from train.engine.run_folder import load_run
from train.export.files import ModelFormat
from train.export.opening import open_clap, open_model
from train.report.results import read_evaluations


@pytest.fixture(scope="module")
def clap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_clap(tmp_path_factory.mktemp("clap"))


@pytest.fixture(scope="module")
def sounds(build_corpus: Callable[..., Path]) -> Path:
    audio = {"sample_rate": CLAP_RATE, "length": f"exact {CLAP_SECONDS} s"}
    return build_corpus(audio=audio)


def test_a_clap_is_fine_tuned_exported_and_tested(clap: Path, sounds: Path, tmp_path: Path) -> None:
    from transformers import ClapModel

    before = set(clap.iterdir())
    found = eval_command(clap, sounds, observer=Silent()).facts
    assert {"bat", "triplets", "audio_to_text_r1"} <= found.keys()
    assert set(clap.iterdir()) == before  # no run of ours: nothing is written there
    run, exported = tmp_path / "run", tmp_path / "exported"
    train_command(sounds, clap=str(clap), steps=4, out=run, observer=Silent())
    tuned = eval_command(run, sounds, observer=Silent()).facts
    (tested,) = read_evaluations(run)
    assert {name: each.to_json() for name, each in tested.metrics.items()} == tuned
    assert tested.name == f"eval-{sounds.name}-test"
    told: Any = export_command(run, exported, ModelFormat.TRANSFORMERS, observer=Silent()).facts
    assert (told["out"], told["format"]) == (str(exported), "transformers")
    assert told["bytes"] == sum((exported / name).stat().st_size for name in told["files"])
    results = tmp_path / "results"
    assert eval_command(exported, sounds, out=results, observer=Silent()).facts == tuned
    assert json.loads((results / "metrics.json").read_text()) == tuned
    weights = [ClapModel.from_pretrained(folder).state_dict() for folder in (clap, exported)]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_head_of_ours_hears_a_claps_feature_map(clap: Path, sounds: Path, tmp_path: Path) -> None:
    run, results = tmp_path / "run", tmp_path / "results"
    train_command(
        sounds, clap=str(clap), head=HeadKind.TRANSFORMER, steps=2, out=run, observer=Silent()
    )
    assert load_run(run).config.model.audio.tokens is TokenKind.MAP
    done = segue_here("eval", run, sounds, "--task", "bat", "--out", results)
    assert done.returncode == 0, done.stderr
    assert "bat" in done.stdout
    assert json.loads((results / "metrics.json").read_text()).keys() == {"bat"}
    assert (results / "report.png").stat().st_size > 0


def test_a_plain_clap_is_what_transformers_makes_of_it(clap: Path) -> None:
    opened = open_model(clap)
    assert opened.sample_rate == CLAP_RATE
    assert torch.equal(opened.encode_text(["a dog"]), open_clap(str(clap)).encode_text(["a dog"]))
