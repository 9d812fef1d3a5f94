"""One page that compares models on frozen test sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from experiments.frozen.results import Result
from experiments.frozen.score import BACKWARDS, SCORES
from pipelines.look.page import Page, render_page
from train.bench.figures import format_value
from train.bench.heard import HEARD, heard_warning

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
