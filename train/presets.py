"""Ready-made settings."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from synth.caption import Connective
from synth.corpus import Corpus
from train.config import HeadConfig, HeadKind, ModelConfig, Stage, TrainConfig
from train.data import TRAIN

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
    relations = Corpus.open(corpus).samples(TRAIN, columns=["relation"])["relation"]
    if _BEFORE in relations.unique().to_pylist():
        return config
    return config.model_copy(update={"stages": (Stage(steps=config.steps, negatives=True),)})


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
            Stage(steps=400, relations=(_BEFORE,), negatives=True),
            Stage(steps=1000, negatives=True),
        ),
        keep_groups=True,
    )
