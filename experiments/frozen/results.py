"""Scores in files: one for each model and set, so that what is scored is not scored again."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markupsafe import Markup
from pydantic import ValidationError, field_validator

from experiments.frozen.score import BACKWARDS, SCORES
from pipelines.frozen.description import Backwards, BaselineScore, BuiltSet
from pipelines.look.page import Page, render_page
from synth.base.atomic import write_text
from synth.base.choice import StrictModel
from synth.base.doors import read_json
from synth.base.errors import CorpusError
from synth.base.rng import digest
from train.bench.plan import HEARD, heard_warning
from train.bench.verdicts import format_value

SCORES_FOLDER: Final = "scores"
_LETTERS: Final = 8
_MEND: Final = "remove it, and score again"


class Score(BaselineScore):
    """A measured value, as `metrics.Metric` has it."""

    chance: float
    n: int


class Result(StrictModel):
    """The scores of one model on one set.

    Args:
        weights: Digest of its weights; "" where it tells none.
        heard: How many of the set's recordings it was trained on, in words.
    """

    model: str
    weights: str
    pad: str
    heard: str
    set: BuiltSet
    scores: dict[str, Score]

    @field_validator("scores")
    @classmethod
    def _check_scores(cls, scores: dict[str, Score]) -> dict[str, Score]:
        if scores.keys() != {way + name for way in ("", BACKWARDS) for name in SCORES}:
            raise ValueError(f"expected {', '.join(SCORES)}, and the same backwards")
        for score in scores.values():
            if not 0 <= score.low <= score.high <= 1 or not 0 <= score.value <= 1:
                raise ValueError("expected shares, and intervals in order")
        return scores

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
    result = _read(path)
    same = (result.weights, result.pad, result.set) == (weights, pad, built)
    return result if same else None


def _read(path: Path) -> Result:
    try:
        return Result.model_validate(read_json(path, fix=_MEND))
    except ValidationError as error:
        raise CorpusError(f"{path}: has no scores of `segue bench run`", fix=_MEND) from error


# One page that compares models on frozen test sets.


_PACKAGES: Final = {"frozen": "experiments.frozen"}
MANY: Final = 12
"""Of more models the page has a filter, and details are folded."""
_SEED: Final = re.compile(r"[-_]seed[-_]?\d+$")
_FILTER: Final = """
const field = document.getElementById("filter");
field.addEventListener("input", () => {
  const wanted = field.value.trim().toLowerCase();
  for (const row of document.querySelectorAll("tr[data-name]")) {
    const group = row.parentElement.dataset.name || "";
    row.hidden = !(group + " " + row.dataset.name).toLowerCase().includes(wanted);
  }
  for (const body of document.querySelectorAll("tbody[data-name]")) {
    body.hidden = !body.querySelector("tr[data-name]:not([hidden])");
  }
});
"""
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
    for result in results:
        by_set.setdefault(result.set.corpus, []).append(result)
    models = list(dict.fromkeys(result.model for result in results))
    cells = {(result.set.corpus, result.model): result for result in results}
    groups = _group(models)
    html = render_page(
        "frozen/compare.html",
        _PACKAGES,
        by_set=by_set,
        models=models,
        groups=groups,
        many=MANY,
        best=set(_find_best(by_set, [row for rows in groups.values() for row in rows], cells)),
        cells=cells,
        scores=SCORES,
        backwards=BACKWARDS,
        meanings=MEANINGS,
        format_value=format_value,
        warnings={key: heard_warning({HEARD: result.heard}) for key, result in cells.items()},
        script=Markup(_FILTER),
        script_hash=b64encode(hashlib.sha256(_FILTER.encode()).digest()).decode(),
    )
    return Page("comparison", html, {"models": models, "sets": list(by_set)})


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A row of the overview: a model, or the seeds of one."""

    name: str
    models: tuple[str, ...]

    def list_scores(
        self, score: str, corpus: str, cells: Mapping[tuple[str, str], Result]
    ) -> list[Score]:
        """A score of each seed that was scored on a set."""
        keys = ((corpus, model) for model in self.models)
        return [cells[key].scores[score] for key in keys if key in cells]

    def mean(
        self, score: str, corpus: str, cells: Mapping[tuple[str, str], Result]
    ) -> float | None:
        """The mean of a score on a set; None where no seed was scored."""
        values = [score.value for score in self.list_scores(score, corpus, cells)]
        return sum(values) / len(values) if values else None


def _group(models: Sequence[str]) -> dict[str, list[ModelRow]]:
    """Rows by the folder that several models share, seeds of a model in one row."""
    folders: dict[str, list[str]] = {}
    for model in models:
        folders.setdefault(model.rpartition("/")[0], []).append(model)
    groups: dict[str, list[ModelRow]] = {"": []}
    for folder, inside in folders.items():
        seeds: dict[str, list[str]] = {}
        for model in inside:
            seeds.setdefault(_SEED.sub("", model), []).append(model)
        rows = [
            ModelRow(stem if len(same) > 1 else same[0], tuple(same))
            for stem, same in seeds.items()
        ]
        if folder and len(rows) > 1:
            cut = len(folder) + 1
            groups[folder] = [ModelRow(row.name[cut:], row.models) for row in rows]
        else:
            groups[""] += rows
    return {folder: rows for folder, rows in groups.items() if rows}


def _find_best(
    by_set: Mapping[str, Sequence[Result]],
    rows: Sequence[ModelRow],
    cells: Mapping[tuple[str, str], Result],
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Score, set and row wherever a set's highest mean has seeds that are all above chance."""
    for corpus in by_set:
        for name in SCORES:
            means = {row: row.mean(name, corpus, cells) for row in rows}
            highest = max(mean for mean in means.values() if mean is not None)
            for row, mean in means.items():
                scores = row.list_scores(name, corpus, cells)
                if mean == highest and all(score.low > score.chance for score in scores):
                    yield name, corpus, row.models
