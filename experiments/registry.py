"""The experiments by name; each is imported when it is asked for."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import Final, TypeVar

from experiments.harness.experiment import PAPERS_SCALES, ExamSplit, Experiment, Scale
from experiments.harness.library import SoundLibrary
from synth.base.errors import SpecError, suggestion

EXPERIMENTS: Final = {
    "acba": "experiments.acba",
    "triplets": "experiments.triplets",
    "scenes": "experiments.scenes.scenes",
    "tag-captions": "experiments.tag_captions",
    "negation": "experiments.negation",
    "additions": "experiments.additions",
    "together": "experiments.together",
}

_Choice = TypeVar("_Choice", bound=StrEnum)


def find_experiment(name: str, scale: str, library: SoundLibrary | None = None) -> Experiment:
    """The experiment of a name at a scale."""
    if name not in EXPERIMENTS:
        raise SpecError(f"no experiment {name!r}", fix=suggestion(name, EXPERIMENTS))
    chosen = _parse_member(Scale, scale, "--scale")
    if name != "together" and chosen not in PAPERS_SCALES:
        raise SpecError(
            f"--scale {scale}: {name} has no such scale",
            fix=f"choose {', '.join(PAPERS_SCALES)}; `together` has {scale}",
        )
    experiment: Experiment = import_module(EXPERIMENTS[name]).build_experiment(chosen, library)
    return experiment


def parse_exam_split(name: str) -> ExamSplit:
    """The split of a name."""
    return _parse_member(ExamSplit, name, "--split")


def _parse_member(kind: type[_Choice], name: str, option: str) -> _Choice:
    known = [member.value for member in kind]
    if name not in known:
        raise SpecError(
            f"{option} {name}: no such {option.strip('-')}", fix=suggestion(name, known)
        )
    return kind(name)
