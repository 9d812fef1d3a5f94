"""CLAP from settings: its towers and the heads over them, and the settings of a plain ClapModel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from torch import nn

from synth.base.entry_points import find_entry_points, load_class
from synth.base.errors import SegueError, SpecError
from train.config.model import (
    TOWERS,
    AudioConfig,
    HeadConfig,
    HeadKind,
    ModelConfig,
    TextConfig,
    TokenKind,
    TowerKind,
)
from train.model.features import ClapInput
from train.model.freezing import add_adapters, freeze
from train.model.heads import MeanPoolHead, ProjectionHead, TransformerHead
from train.model.loading import explain, feature_extractor, load_config, transformers_model
from train.model.network import Clap
from train.model.towers.base import (
    AudioTower,
    EmbeddingTower,
    TextTower,
    Tower,
    cnn_tower,
)
from train.model.towers.frames import FRAME_KINDS, frame_tower
from train.model.towers.spectrogram import spectrogram_tower
from train.model.towers.text import text_model
from train.model.towers.waveform import waveform_tower

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
            fix="correct the settings or files; --debug shows where it fails",
        ) from error


def _build_model(
    config: ModelConfig, sample_rate: int, vocabulary: int, library: ModelLibrary
) -> Clap:
    """The model that a config describes; weights that are not loaded are drawn anew.

    With heads of kind `projection`, those of a CLAP that gives a tower are loaded too, and its
    temperature where it gives both.

    Args:
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
    """The settings by which a plain ClapModel is opened, as it is."""
    facts = load_config(folder)
    if facts.model_type != "clap":
        raise SpecError(
            f"{folder!r} is not a CLAP",
            fix="give the folder of a ClapModel (config.json of type clap, model.safetensors, "
            "preprocessor_config.json, tokenizer files), or such a name on huggingface.co",
        )
    return clap_settings(facts, folder)


def clap_settings(facts: Any, name: str) -> ModelConfig:
    """The settings by which a ClapModel is opened, as it is."""
    return ModelConfig(
        dim=facts.projection_dim,
        head=HeadConfig(kind=HeadKind.PROJECTION),
        audio=AudioConfig(kind=TowerKind.TRANSFORMERS, name=name, tokens=TokenKind.POOLED),
        text=TextConfig(kind=TowerKind.TRANSFORMERS, name=name),
        temperature=min(1 / facts.logit_scale_init_value, 1.0),
    )


_Tower = TypeVar("_Tower", bound=Tower)

_DEFAULT_ACTIVATION = "relu"
_CLAPS: Final = frozenset({"clap", "clap_audio_model"})
_SUMMARIES: Final = _CLAPS | {"audio-spectrogram-transformer"}


@dataclass(frozen=True, slots=True)
class ModelLibrary:
    """Models of transformers, each loaded once: both halves of a CLAP come from one.

    Args:
        models: By name or folder; those that are at hand already are not looked for.
    """

    models: dict[str, Any] = field(default_factory=dict)
    inputs: dict[str, ClapInput] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """A model by name or folder."""
        if name not in self.models:
            self.models[name] = transformers_model(name)
        return self.models[name]

    def clap_input(self, name: str) -> ClapInput:
        """What a CLAP takes, by its name or folder."""
        if name not in self.inputs:
            self.inputs[name] = ClapInput.of_extractor(feature_extractor(name))
        return self.inputs[name]

    def projection(self, name: str, half: str) -> nn.Module | None:
        """CLAP's own projection of a half; None where the model is not a whole CLAP."""
        model = self.models.get(name)
        if model is None or model.config.model_type != "clap":
            return None
        return getattr(model, f"{half}_projection")  # type: ignore[no-any-return]


def audio_tower(config: ModelConfig, sample_rate: int, library: ModelLibrary) -> AudioTower:
    """The audio tower that a config describes."""
    audio = config.audio
    if audio.kind == TowerKind.SMALL:
        _check_summary(config.head, False, "the small audio tower")
        return cnn_tower(audio, sample_rate, config.dim)
    if audio.kind != TowerKind.TRANSFORMERS:
        tower = _offered(audio.kind, AudioTower).build(audio, sample_rate)
        _check_summary(config.head, tower.pooled, f"audio tower {audio.kind!r}")
        return tower
    model = library.get(audio.name)
    kind = model.config.model_type
    _check_summary(config.head, kind in _SUMMARIES, f"audio model {audio.name!r} ({kind})")
    if config.head.kind is HeadKind.PROJECTION and audio.tokens is not TokenKind.POOLED:
        raise SpecError(
            f"a `projection` head takes one token, and `tokens: {audio.tokens}` gives many",
            fix="choose `tokens: pooled` for audio, or a head of kind `mlp` or `transformer`",
        )
    if kind in _CLAPS:
        half = model.audio_model if kind == "clap" else model
        return spectrogram_tower(half, audio, sample_rate, library.clap_input(audio.name))
    if kind in FRAME_KINDS:
        return frame_tower(model, audio, sample_rate)
    if hasattr(model.config, "conv_kernel"):
        return waveform_tower(model, audio, sample_rate)
    raise SpecError(
        f"model {audio.name!r} ({kind}) is no audio tower",
        fix="use a CLAP, AST, Whisper or wav2vec2-BERT, or wav2vec2, hubert, wavlm, mert or a "
        "model of that family, or the tower of kind `small`",
    )


def text_tower(config: ModelConfig, vocabulary: int, library: ModelLibrary) -> TextTower:
    """The text tower that a config describes."""
    text = config.text
    if text.kind == TowerKind.SMALL:
        _check_summary(config.head, False, "the small text tower")
        return EmbeddingTower(vocabulary, config.dim)
    if text.kind != TowerKind.TRANSFORMERS:
        tower = _offered(text.kind, TextTower).build(text, vocabulary)
        _check_summary(config.head, tower.pooled, f"text tower {text.kind!r}")
        return tower
    model = library.get(text.name)
    if model.config.model_type in ("clap", "clip"):
        model = model.text_model
    return text_model(model, text.name, config.head.kind is HeadKind.PROJECTION)


def _offered(kind: str, base: type[_Tower]) -> type[_Tower]:
    """The tower that another package offers under a name; the settings have looked for it."""
    return load_class(find_entry_points(TOWERS, ())[kind], base, SpecError)


def head(config: HeadConfig, tower: Tower, dim: int, projection: nn.Module | None) -> nn.Module:
    """The head over a tower."""
    if config.kind is HeadKind.MLP:
        return MeanPoolHead(tower.dim, dim, config.dropout)
    if config.kind is HeadKind.TRANSFORMER:
        return TransformerHead(tower.dim, dim, config.layers, config.heads, config.dropout)
    if projection is None:
        return ProjectionHead(tower.dim, dim, _DEFAULT_ACTIVATION)
    facts: Any = projection.config
    if facts.projection_dim != dim:
        raise SpecError(
            f"the CLAP projects to {facts.projection_dim} numbers, the model's `dim` is {dim}",
            fix=f"choose `dim: {facts.projection_dim}`",
        )
    projection_head = ProjectionHead(tower.dim, dim, facts.projection_hidden_act)
    projection_head.load_state_dict(projection.state_dict())
    return projection_head


def _check_summary(head: HeadConfig, pooled: bool, what: str) -> None:
    """Check that a tower gives one token where the head takes no more."""
    if head.kind is HeadKind.PROJECTION and not pooled:
        raise SpecError(
            f"{what} has no summary token for a `projection` head",
            fix="choose a head of kind `mlp` or `transformer`, or the tower of a CLAP "
            "with `tokens: pooled`",
        )
