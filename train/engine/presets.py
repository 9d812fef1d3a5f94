"""Ready-made settings."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Final

import torch

from synth.corpus.corpus import Corpus
from synth.labels.connective import Connective
from synth.recipes.clips import Clips
from train.config.loss import HardNegatives
from train.config.model import (
    ALL_GROUPS,
    AudioConfig,
    Group,
    HeadConfig,
    HeadKind,
    LastLayers,
    ModelConfig,
    TokenKind,
)
from train.config.run import Stage, TrainConfig
from train.data.split import TRAIN, VAL, find_labelled
from train.model.clap import clap_config
from train.model.loading import load_config

FINE_TUNING_RATE: Final = 3e-5
FRAMES_WEIGHT: Final = 3.0
"""Of the frame-wise loss, chosen on validation recordings."""
_BEFORE: Final = Connective.BEFORE.value
_HARD: Final = HardNegatives(weight=32)
"""Of what tells a group's members apart; the weight was chosen on ESC-10's fold 3."""
_STEPS: Final = (400, 1000)
"""With "before" alone, and with all relations."""
_EPOCHS: Final = 20
_LEAST_STEPS: Final = 100
_LAST: Final = (Group.AUDIO_TOWER_LAST, Group.TEXT_TOWER_LAST, *ALL_GROUPS[2:])


def default(corpus: Path, out: Path) -> TrainConfig:
    """The demo's settings, as far as they suit a corpus.

    There is one stage with all relations where nothing says "before", and no frame-wise loss where
    the corpus does not tell when each sound is heard.
    """
    config = _make_small(corpus, out, _choose_stages(corpus, _HARD))
    tells_times = any(part.any() for part in find_labelled(Corpus.open(corpus), TRAIN))
    return learn_frames(config) if tells_times else config


def demo(corpus: Path, out: Path, head: HeadKind = HeadKind.TRANSFORMER) -> TrainConfig:
    """A small model that learns before, after and while in some minutes on two CPU cores.

    Mixed from the start, the relations are not told apart. "Before" alone, against itself with the
    sounds exchanged, lets both sides find order; then word-swapped and clause-swapped captions as
    hard negatives give every relation its direction. Learning when each sound is heard helps both.

    Args:
        head: With `mlp`, a mean over tokens, order cannot be heard.
    """
    return learn_frames(_make_small(corpus, out, _make_stages(_HARD), head))


def learn_frames(config: TrainConfig) -> TrainConfig:
    """The same run, in which each token of audio also learns which sounds it holds.

    A tower that gave one token for all then gives one a second.
    """
    stages = [stage.model_copy(update={"frames": FRAMES_WEIGHT}) for stage in config.stages]
    model = config.model.model_copy(update={"frames": True})
    if model.audio.tokens is TokenKind.POOLED:
        model = model.model_copy(update={"audio": _token_per_second(model.audio)})
    return config.model_copy(update={"stages": tuple(stages), "model": model})


def fine_tuning(corpus: Path, out: Path, clap: str, head: HeadKind) -> TrainConfig:
    """Settings that fine-tune a CLAP: with its own projections, or with a head over its tokens.

    Args:
        clap: Folder of a ClapModel, or its name on huggingface.co.
        head: `projection` keeps the model whole; others hear its feature map a second at a time.
    """
    # It is to keep what it knows: strangers weigh as much as the group.
    stages = _choose_stages(corpus, HardNegatives())
    config, model = _make_small(corpus, out, stages), clap_config(clap)
    if head is HeadKind.PROJECTION and Corpus.open(corpus).facts["recipe"] == Clips.name:
        return _tune_on_clips(config, model)
    if head is not HeadKind.PROJECTION:
        audio = _token_per_second(model.audio)
        model = model.model_copy(update={"audio": audio, "head": HeadConfig(kind=head)})
    return config.model_copy(update={"model": model, "lr": FINE_TUNING_RATE})


def _tune_on_clips(config: TrainConfig, model: ModelConfig) -> TrainConfig:
    """The settings of docs/training.md for captioned sounds, in so many steps as these suit."""
    facts = load_config(model.audio.name)
    layers = LastLayers(
        audio_tower=min(2, len(facts.audio_config.depths)),
        text_tower=min(4, facts.text_config.num_hidden_layers),
    )
    splits = Corpus.open(config.corpus).facts["splits"]
    batch = min(256, max(splits[TRAIN]["samples"], 2))
    epoch = splits[TRAIN]["samples"] // batch or 1
    return config.model_copy(
        update={
            "model": model.model_copy(update={"trainable": _LAST, "last_layers": layers}),
            "stages": (Stage(steps=max(_EPOCHS * epoch, _LEAST_STEPS)),),
            "batch": batch,
            "accumulate": ceil(batch / 64),
            "lr": 1e-4,
            "lr_of": {Group.AUDIO_TOWER_LAST: 1e-5, Group.TEXT_TOWER_LAST: 1e-5},
            "layer_decay": 0.9,
            "weight_decay": 0.1,
            "betas": (0.9, 0.98),
            "eps": 1e-6,
            "eval_every": max(epoch, _LEAST_STEPS // _EPOCHS),
            "patience": 5 if splits.get(VAL, {"samples": 0})["samples"] > 1 else 0,
            "device": "cuda" if torch.cuda.is_available() else "cpu",
        }
    )


def _make_small(
    corpus: Path,
    out: Path,
    stages: tuple[Stage, ...],
    head: HeadKind = HeadKind.TRANSFORMER,
) -> TrainConfig:
    model = ModelConfig(head=HeadConfig(kind=head))
    return TrainConfig(corpus=corpus, out=out, model=model, stages=stages, keep_groups=True)


def _make_stages(loss: HardNegatives) -> tuple[Stage, ...]:
    first, second = _STEPS
    return Stage(steps=first, relations=(_BEFORE,), loss=loss), Stage(steps=second, loss=loss)


def _choose_stages(corpus: Path, loss: HardNegatives) -> tuple[Stage, ...]:
    """Those of the demo where "before" is told; else one, in which all weigh alike."""
    parts = Corpus.open(corpus).read_in_parts(TRAIN, ["relation"])
    says_before = any(_BEFORE in part["relation"].unique().to_pylist() for part in parts)
    return _make_stages(loss) if says_before else (Stage(steps=sum(_STEPS)),)


def _token_per_second(audio: AudioConfig) -> AudioConfig:
    """A tower that gives a token a second."""
    return audio.model_copy(update={"tokens": TokenKind.MAP, "chunk_s": 1.0})
