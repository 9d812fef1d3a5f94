"""The paper's model of `scenes`."""

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

PAPER_AUDIO: Final = "laion/clap-htsat-unfused"
PAPER_TEXT: Final = "google/flan-t5-large"


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
