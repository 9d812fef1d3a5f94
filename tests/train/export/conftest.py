"""Finished runs of tiny models, as the trainer leaves them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.kit.tiny_models import CLAP_RATE
from train.config.model import ModelConfig
from train.config.run import TrainConfig
from train.data.tokenizer import TextTokenizer
from train.engine.run_folder import MODEL_FILE, save_settings, save_tensors
from train.model.clap import build_model

MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Builds a model, moves its weights as training would, and saves it as a finished run."""

    def make(config: ModelConfig, rate: int = CLAP_RATE) -> Path:
        folder = tmp_path / "run"
        name = config.text.name
        tokenizer = TextTokenizer.of_model(name) if name else TextTokenizer.of_texts(["a dog"])
        with torch.random.fork_rng():
            torch.manual_seed(3)
            model = build_model(config, rate, len(tokenizer))
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(0.05 * torch.randn_like(parameter))
                for buffer in model.buffers():
                    if buffer.dim() and buffer.is_floating_point():
                        buffer.mul_(1.05)
        folder.mkdir()
        save_settings(
            folder, TrainConfig(corpus=tmp_path, out=folder, model=config), rate, tokenizer
        )
        save_tensors(folder / MODEL_FILE, {"model": model.state_dict()})
        return folder

    return make
