"""A loss is not trained on a corpus that gives it nothing to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from train.config.loss import InfoNce, Loss, TeminalA, TeminalB, TextSwap
from train.config.run import AudioMode, Stage, TrainConfig
from train.data.loader import refuse_unsuitable
from train.data.split import SplitData
from train.engine.loop import train

STAGE_A = {"triplets": {"stage_a": True, "max_event_s": 1.0}}
ACBA = {"acba": {"pairs": {"train": 12}, "relations": ["then"], "crossfade_s": 0.25}}


def opened(folder: Path) -> SplitData:
    return SplitData(Corpus.open(folder), "train", AudioMode.SHARDS)


def stage(loss: Loss, **changes: Any) -> Stage:
    return Stage(steps=1, loss=loss, **changes)


def test_what_a_loss_is_about_must_be_there(
    corpus: Path, build_corpus: Callable[..., Path]
) -> None:
    triplets = opened(corpus)
    singles = opened(build_corpus(recipe=STAGE_A))
    pairs = opened(build_corpus(recipe=ACBA, splits={"train": [1, 2, 3]}))
    refuse_unsuitable(triplets, stage(TeminalB()))
    refuse_unsuitable(singles, stage(TeminalA()))
    refuse_unsuitable(triplets, stage(TextSwap()))
    for data, loss in ((triplets, TeminalA()), (pairs, TeminalA())):
        with pytest.raises(SpecError, match="needs single and combined sounds"):
            refuse_unsuitable(data, stage(loss, relations=("before", "after")))
    for data in (singles, pairs):
        with pytest.raises(SpecError, match="needs triplets"):
            refuse_unsuitable(data, stage(TeminalB()))
    with pytest.raises(SpecError, match="needs fully negated captions") as error:
        refuse_unsuitable(triplets, stage(InfoNce(), dissimilarity=0.1))
    assert "negation" in error.value.fix


def test_a_run_is_refused_before_it_writes(settings: Callable[..., TrainConfig]) -> None:
    config = settings(stages=(stage(InfoNce(), dissimilarity=0.1),))
    with pytest.raises(SpecError, match="fully negated"):
        train(config)
    assert not config.out.exists()


def test_patience_needs_validation(
    settings: Callable[..., TrainConfig], build_corpus: Callable[..., Path]
) -> None:
    without = build_corpus(splits={"train": [1, 2, 3]})
    with pytest.raises(SpecError, match="`patience` needs validation"):
        train(settings(corpus=without, patience=2))
