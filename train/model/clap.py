"""CLAP from settings: build_model, and the settings of a plain ClapModel."""

from __future__ import annotations

from typing import Any

from synth.base.errors import SegueError, SpecError
from train.config.model import (
    AudioConfig,
    HeadConfig,
    HeadKind,
    ModelConfig,
    TextConfig,
    TokenKind,
    TowerKind,
)
from train.model.assembly import ModelLibrary, audio_tower, head, text_tower
from train.model.freezing import freeze
from train.model.loading import explain, load_config
from train.model.lora import add_adapters
from train.model.network import Clap

__all__ = ["Clap", "build_model", "clap_config", "clap_settings"]


def build_model(
    config: ModelConfig, sample_rate: int, vocabulary: int, library: ModelLibrary | None = None
) -> Clap:
    """`_build_model`, where whatever else the files of named models make it raise is told."""
    try:
        return _build_model(config, sample_rate, vocabulary, library or ModelLibrary())
    except (SegueError, OSError, MemoryError):
        raise
    except Exception as error:
        names = " and ".join(dict.fromkeys(filter(None, (config.audio.name, config.text.name))))
        raise SpecError(
            f"the settings{f' and the files of {names}' if names else ''} make no model: "
            f"{explain(error)}",
            fix="correct them; --debug shows where it fails",
        ) from error


def _build_model(
    config: ModelConfig, sample_rate: int, vocabulary: int, library: ModelLibrary
) -> Clap:
    """The model that a config describes; weights that are not loaded are drawn anew.

    With heads of kind `projection`, those of a CLAP that gives a tower are loaded too, and its
    temperature where it gives both.

    Args:
        config: Towers and heads, and what learns.
        vocabulary: Number of words, for a text tower that learns its own.
        library: Models that are at hand; the others are looked for by their names.
    """
    audio = audio_tower(config, sample_rate, library)
    text = text_tower(config, vocabulary, library)
    if config.frames and (audio.pooled or config.head.kind is HeadKind.PROJECTION):
        raise SpecError(
            "`model.frames` needs tokens over time, and this audio tower gives one summary",
            fix="choose `tokens: map` or `tokens: chunks` for audio, and a head of kind `mlp` or "
            "`transformer`",
        )
    model = Clap(
        audio,
        text,
        head(config.head, audio, config.dim, library.projection(config.audio.name, "audio")),
        head(config.head, text, config.dim, library.projection(config.text.name, "text")),
        config.temperature,
        config.bias,
        config.frames,
    )
    whole: Any = library.models.get(config.audio.name)
    projected = config.head.kind is HeadKind.PROJECTION
    if projected and config.audio.name == config.text.name and hasattr(whole, "logit_scale_a"):
        model.scale.log.data.copy_(whole.logit_scale_a)
    for side, tower, settings in (
        ("audio", audio, config.audio.lora),
        ("text", text, config.text.lora),
    ):
        if settings is not None:
            add_adapters(tower, settings, side)
    freeze(model, config.trainable, config.last_layers)
    return model


def clap_config(folder: str) -> ModelConfig:
    """The settings by which a plain ClapModel is opened, as it is.

    Args:
        folder: Its folder, or its name on huggingface.co.
    """
    facts = load_config(folder)
    if facts.model_type != "clap":
        raise SpecError(
            f"{folder!r} is not a CLAP",
            fix="give the folder of a ClapModel (config.json of type clap, model.safetensors, "
            "preprocessor_config.json, tokenizer files), or such a name on huggingface.co",
        )
    return clap_settings(facts, folder)


def clap_settings(facts: Any, name: str) -> ModelConfig:
    """The settings by which a ClapModel is opened, as it is.

    Args:
        facts: Its ClapConfig.
        name: What a `ModelLibrary` knows it by.
    """
    return ModelConfig(
        dim=facts.projection_dim,
        head=HeadConfig(kind=HeadKind.PROJECTION),
        audio=AudioConfig(kind=TowerKind.TRANSFORMERS, name=name, tokens=TokenKind.POOLED),
        text=TextConfig(kind=TowerKind.TRANSFORMERS, name=name),
        temperature=min(1 / facts.logit_scale_init_value, 1.0),
    )
