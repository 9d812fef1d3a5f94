"""The models of `scenes`: the paper's towers, and frame labels on top of any."""

from __future__ import annotations

from typing import Any, Final

from train.config.model import (
    AudioConfig,
    HeadConfig,
    HeadKind,
    ModelConfig,
    TextConfig,
    TokenKind,
    TowerKind,
)
from train.config.run import TrainConfig

FRAMES_WEIGHT: Final = 3.0
"""Of the frame-wise loss, chosen on validation recordings."""
PAPER_AUDIO: Final = "laion/clap-htsat-unfused"
PAPER_TEXT: Final = "google/flan-t5-large"


def learn_frames(config: TrainConfig) -> TrainConfig:
    """The same run, in which each token of audio also learns which sounds it holds."""
    stages = [stage.model_copy(update={"frames": FRAMES_WEIGHT}) for stage in config.stages]
    model = config.model.model_copy(update={"frames": True})
    if model.audio.tokens is TokenKind.POOLED:  # one token for all: nothing to tell frames by
        over_time = model.audio.model_copy(update={"tokens": TokenKind.MAP, "chunk_s": 1.0})
        model = model.model_copy(update={"audio": over_time})
    return config.model_copy(update={"stages": tuple(stages), "model": model})


def set_up_paper() -> dict[str, Any]:
    """The paper's model and training as values of a config (appendix B.7)."""
    return {"model": _make_paper_model(), "lr": 1e-4, "warmup": 0.02, "batch": 24}


def _make_paper_model() -> ModelConfig:
    """Towers as the paper's, and heads as CLAP's."""
    audio = AudioConfig(kind=TowerKind.TRANSFORMERS, name=PAPER_AUDIO, tokens=TokenKind.POOLED)
    return ModelConfig(
        dim=512,
        head=HeadConfig(kind=HeadKind.MLP),
        audio=audio,
        text=TextConfig(kind=TowerKind.TRANSFORMERS, name=PAPER_TEXT),
    )
