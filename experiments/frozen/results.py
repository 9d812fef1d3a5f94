"""Scores in files: one for each model and set, so that what is scored is not scored again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from pipelines.frozen.description import Backwards
from pipelines.frozen.record import BuiltSet
from synth.base.atomic import write_text
from synth.base.doors import read_json
from synth.base.errors import CorpusError
from synth.base.rng import digest
from train.bench.metrics import Metric

SCORES_FOLDER: Final = "scores"
_LETTERS: Final = 8
_MEND: Final = "remove it, and score again"


class Score(BaseModel):
    """A measured value, as `metrics.Metric` has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    value: float
    low: float
    high: float
    chance: float
    n: int

    @classmethod
    def of(cls, metric: Metric) -> Score:
        """The same as it is written to a file."""
        return cls(**metric.to_json())


class Result(BaseModel):
    """The scores of one model on one set.

    Args:
        model: As it was given.
        weights: Digest of its weights; "" where it tells none.
        pad: What filled up its input behind a sound.
        heard: How many of the set's recordings it was trained on, in words.
        set: What it was scored on.
        scores: By name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    model: str
    weights: str
    pad: str
    heard: str
    set: BuiltSet
    scores: dict[str, Score]

    @property
    def control(self) -> str:
        """What the sounds played backwards say of the score; "" where it is no better than chance.

        A model must fall to chance or below where the answers flip, and stay above it where they
        do not.
        """
        forwards, back = self.scores["text"], self.scores["backwards_text"]
        if forwards.low <= forwards.chance:
            return ""
        if self.set.backwards is Backwards.FLIPS:
            return "as it should be" if back.low <= back.chance else "does not flip"
        return "as it should be" if back.low > back.chance else "is lost"


def result_path(folder: Path, model: str, corpus: str) -> Path:
    """Where the scores of a model on a set lie."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", model).strip("-")[-40:]
    return folder / SCORES_FOLDER / f"{corpus}--{plain}-{digest(model)[:_LETTERS]}.json"


def write_result(result: Result, folder: Path) -> None:
    """Write the scores; equal scores give equal bytes."""
    path = result_path(folder, result.model, result.set.corpus)
    write_text(path, result.model_dump_json(indent=1) + "\n")


def read_results(folder: Path) -> tuple[Result, ...]:
    """All scores of a folder, by set and model."""
    return tuple(map(_read, sorted((folder / SCORES_FOLDER).glob("*.json"))))


def find_result(folder: Path, built: BuiltSet, model: str, weights: str, pad: str) -> Result | None:
    """The scores of a model on a set, where they are known; of unknown weights they never are."""
    path = result_path(folder, model, built.corpus)
    if not weights or not path.is_file():
        return None
    found = _read(path)
    same = (found.weights, found.pad, found.set) == (weights, pad, built)
    return found if same else None


def _read(path: Path) -> Result:
    try:
        return Result.model_validate(read_json(path, fix=_MEND))
    except ValidationError as error:
        raise CorpusError(f"{path}: holds no scores of `segue bench run`", fix=_MEND) from error
