"""Ready-made settings."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from synth.captions.caption import Connective
from synth.corpus.corpus import Corpus
from train.config.model import HeadConfig, HeadKind, ModelConfig, TokenKind
from train.config.run import Stage, TrainConfig
from train.data.split import TRAIN
from train.model.clap import clap_config

FINE_TUNING_RATE: Final = 3e-5
_BEFORE: Final = Connective.BEFORE.value


def default(corpus: Path, out: Path) -> TrainConfig:
    """The demo's settings, in a single stage with all relations where nothing says "before".

    Args:
        corpus: Manifest folder of the corpus.
        out: Run folder.

    Raises:
        CorpusError: If there is no such corpus.
    """
    config = demo(corpus, out)
    parts = Corpus.open(corpus).read_in_parts(TRAIN, ["relation"])
    if any(_BEFORE in part["relation"].unique().to_pylist() for part in parts):
        return config
    return config.model_copy(update={"stages": (Stage(steps=config.steps),)})


def demo(corpus: Path, out: Path, head: HeadKind = HeadKind.TRANSFORMER) -> TrainConfig:
    """A small model that learns before, after and while in about a minute on two CPU cores.

    Mixed from the start, the relations are not told apart. "Before" alone, against itself with the
    sounds exchanged, lets both sides find order; then word-swapped and clause-swapped captions as
    hard negatives give every relation its direction.

    Args:
        corpus: Manifest folder of the corpus.
        out: Run folder.
        head: With `mlp`, a mean over tokens, order cannot be heard.
    """
    return TrainConfig(
        corpus=corpus,
        out=out,
        model=ModelConfig(head=HeadConfig(kind=head)),
        stages=(
            Stage(steps=400, relations=(_BEFORE,)),
            Stage(steps=1000),
        ),
        keep_groups=True,
    )


def fine_tuning(corpus: Path, out: Path, clap: str, head: HeadKind) -> TrainConfig:
    """Settings that fine-tune a CLAP: with its own projections, or with a head over its tokens.

    Args:
        corpus: Manifest folder of the corpus.
        out: Run folder.
        clap: Folder of a ClapModel, or its name on huggingface.co.
        head: `projection` keeps the model whole; others hear its feature map a second at a time.

    Raises:
        SpecError: If there is no such CLAP.
        CorpusError: If there is no such corpus.
    """
    config, model = default(corpus, out), clap_config(clap)
    if head is not HeadKind.PROJECTION:
        audio = model.audio.model_copy(update={"tokens": TokenKind.MAP, "chunk_s": 1.0})
        model = model.model_copy(update={"audio": audio, "head": HeadConfig(kind=head)})
    return config.model_copy(update={"model": model, "lr": FINE_TUNING_RATE})
