"""The experiments by name; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from pipelines.experiments.experiment import Experiment, Scale
from pipelines.experiments.library import Library
from synth.errors import SpecError
from synth.names import suggestion

EXPERIMENTS: Final = {
    "acba": "pipelines.experiments.acba",
    "triplets": "pipelines.experiments.triplets",
    "scenes": "pipelines.experiments.scenes",
    "tag-captions": "pipelines.experiments.tag_captions",
    "negation": "pipelines.experiments.negation",
}


def experiment_of(name: str, scale: str, library: Library | None = None) -> Experiment:
    """The experiment of a name at a scale.

    Args:
        name: One of `EXPERIMENTS`.
        scale: One of `Scale`.
        library: Of sounds; the experiment's own by default.

    Raises:
        SpecError: If there is no such experiment or scale, or the library does not suit it.
    """
    if name not in EXPERIMENTS:
        raise SpecError(f"no experiment {name!r}", mend=suggestion(name, EXPERIMENTS))
    scales = [each.value for each in Scale]
    if scale not in scales:
        raise SpecError(f"--scale {scale}: no such scale", mend=suggestion(scale, scales))
    made: Experiment = import_module(EXPERIMENTS[name]).experiment(Scale(scale), library)
    return made
