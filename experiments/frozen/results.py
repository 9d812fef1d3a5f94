"""Scores in files: one for each model and set, so that what is scored is not scored again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from experiments.frozen.score import BACKWARDS, SCORES
from pipelines.frozen.description import Backwards, BuiltSet
from pipelines.look.page import Page, render_page
from synth.base.atomic import write_text
from synth.base.doors import read_json
from synth.base.errors import CorpusError
from synth.base.rng import digest
from train.bench.figures import format_value
from train.bench.heard import HEARD, heard_warning
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


# One page that compares models on frozen test sets.


_PACKAGES: Final = {"frozen": "experiments.frozen"}
MEANINGS: Final = {
    "text": "share of sounds that are closer to their own caption than to the other one",
    "audio": "share of captions that are closer to their own sound than to the other one",
    "group": "share of blocks of two sounds and two captions with all four choices right",
}


def compare_page(results: Sequence[Result]) -> Page:
    """The page of some results; equal results give equal pages.

    Args:
        results: At least one, sorted by set.
    """
    by_set: dict[str, list[Result]] = {}
    for each in results:
        by_set.setdefault(each.set.corpus, []).append(each)
    models = list(dict.fromkeys(each.model for each in results))
    html = render_page(
        "frozen/compare.html",
        _PACKAGES,
        by_set=by_set,
        models=models,
        best=set(_find_best(by_set)),
        cells={(each.set.corpus, each.model): each for each in results},
        scores=SCORES,
        backwards=BACKWARDS,
        meanings=MEANINGS,
        format_value=format_value,
        warnings={
            (each.set.corpus, each.model): heard_warning({HEARD: each.heard}) for each in results
        },
    )
    return Page("comparison", html, {"models": models, "sets": list(by_set)})


def _find_best(by_set: Mapping[str, Sequence[Result]]) -> Iterator[tuple[str, str, str]]:
    """Score, set and model wherever a set's highest score is above chance."""
    for corpus, found in by_set.items():
        for name in SCORES:
            highest = max(each.scores[name].value for each in found)
            for each in found:
                one = each.scores[name]
                if one.value == highest and one.low > one.chance:
                    yield name, corpus, each.model
