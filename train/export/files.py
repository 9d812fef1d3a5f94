"""What an exported folder holds, and the names of models; no torch."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Final

SETTINGS_FILE: Final = "segue.json"
FORMAT: Final = 2
WEIGHTS_FILE: Final = "model.safetensors"
HEADS_FILE: Final = "segue_heads.safetensors"
# Weights of a model that a ClapModel has no place for, where its heads are ours.
HEAD_PREFIXES: Final = ("audio_head.", "text_head.", "scale.", "bias")
AUDIO_GRAPH: Final = "audio.onnx"
TEXT_GRAPH: Final = "text.onnx"
_CHECKPOINTS: Final = frozenset({".pt", ".pth", ".ckpt"})
_ROBERTA: Final = "FacebookAI/roberta-base"
_TOKENIZERS: Final = ("tokenizer.json", "vocab.json")
_HUB_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")

ACCEPTED: Final = (
    "give the folder of a run or of an export, a ClapModel or PeAudioModel by its folder or as "
    "OWNER/NAME on huggingface.co, a CLAP of open_clip by its folder, as hf-hub:OWNER/NAME or as "
    "open_clip:MODEL:CHECKPOINT, a LAION-CLAP checkpoint (.pt), or module:factory of an embedder"
)


class ModelFormat(StrEnum):
    """What a run is exported to."""

    TRANSFORMERS = "transformers"
    SAFETENSORS = "safetensors"
    ONNX = "onnx"


def is_hub_name(model: Path) -> bool:
    """Whether a model is to be asked for at huggingface.co: OWNER/NAME, with no folder OWNER here.

    Anything else is a place on this machine, whether something is there or not.
    """
    return bool(_HUB_NAME.fullmatch(model.as_posix())) and not model.parent.exists()


def is_checkpoint(model: Path) -> bool:
    """Whether a model is a file of weights and their names, as LAION-CLAP saves them."""
    return model.suffix.lower() in _CHECKPOINTS and model.is_file()


def checkpoint_tokenizer(checkpoint: Path, given: str | None) -> str:
    """The tokenizer of a checkpoint, which does not hold it.

    Returns:
        The given one; else the folder of the checkpoint, if it holds one; else RoBERTa's by name.
    """
    if given is not None:
        return given
    has_tokenizer = any((checkpoint.parent / name).is_file() for name in _TOKENIZERS)
    return str(checkpoint.parent) if has_tokenizer else _ROBERTA
