"""The library of sounds of an experiment, and its parts that are never heard in training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, TypeVar

from experiments.harness.experiment import Scale
from pipelines.cli.common.source import parse_source
from pipelines.config.spec import Spec
from synth.base.choice import check_values
from synth.base.errors import SegueError, SpecError
from synth.sources import SourceChoice, open_source
from synth.sources.reading.base import ClipRef

_SEED: Final = 7
_FIX: Final = "give --source NAME:PATH"

_Steps = TypeVar("_Steps")

SHARES: Final = {"train": 0.6, "val": 0.15, "test": 0.25}
"""Of the recordings of a library that has neither splits nor folds."""
OWN_SPLITS: Final = {
    "train": {"train", "development"},
    "val": {"val", "validation"},
    "test": {"test", "evaluation", "eval"},
}
"""What libraries call them."""
_ENOUGH_TO_TEST: Final = 2
_ENOUGH_TO_VALIDATE: Final = 5


@dataclass(frozen=True)
class SoundLibrary:
    """A source by name.

    Args:
        known_splits: As a spec's `splits`; None to find them in what the library lists.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    known_splits: Mapping[str, Any] | None = None

    @classmethod
    def parse(cls, text: str) -> SoundLibrary:
        """From `NAME:PATH`, or the name of a source that reads no files."""
        try:
            source = parse_source(text)
        except SegueError as error:
            raise SpecError(
                f"--source: {error.message}", fix=error.fix or "give NAME:PATH, as in esc10:ESC-10"
            ) from error
        name = str(source.name)  # type: ignore[attr-defined]
        return cls(name, source.model_dump(mode="json", exclude_defaults=True))

    @cached_property
    def source(self) -> dict[str, dict[str, Any]]:
        """As a spec's `source`."""
        return {self.name: dict(self.settings)}

    @cached_property
    def splits(self) -> dict[str, Any]:
        """As a spec's `splits`: the library's own, or shares of its recordings where it has none.

        Of folds the last is for tests, and of five or more the last but one for validation.
        """
        if self.known_splits is not None:
            return dict(self.known_splits)
        splits = {ref.split for ref in self._refs}
        by_split = {split: sorted(splits & set(names)) for split, names in OWN_SPLITS.items()}
        if by_split["train"] and by_split["test"]:
            return {split: names for split, names in by_split.items() if names}
        folds = sorted(filter(str.isdecimal, splits))
        if len(folds) < _ENOUGH_TO_TEST:
            return dict(SHARES)
        *train, test = folds
        if len(folds) < _ENOUGH_TO_VALIDATE:
            return {"train": train, "test": [test]}
        return {"train": train[:-1], "val": train[-1:], "test": [test]}

    def hold_out_val(self) -> SoundLibrary:
        """The same with a split `val`: the last fold of training, where there is none."""
        train = self.splits["train"]
        if "val" in self.splits or len(train) < _ENOUGH_TO_TEST:
            return self
        return replace(self, known_splits={**self.splits, "train": train[:-1], "val": train[-1:]})

    @cached_property
    def is_labelled(self) -> bool:
        """Whether its clips bear labels, rather than captions alone."""
        return any(ref.labels for ref in self._refs)

    @cached_property
    def is_tagged(self) -> bool:
        """Whether its clips bear tags."""
        return any(ref.tags for ref in self._refs)

    @cached_property
    def _refs(self) -> tuple[ClipRef, ...]:
        chosen: Any = check_values(SourceChoice, self.source, "--source", _FIX).chosen
        return tuple(open_source(chosen).refs())

    def list_by_split(self, **counts: int) -> dict[str, int]:
        """The counts of those splits that this library has."""
        return {split: count for split, count in counts.items() if split in self.splits}

    def make_spec(self, corpus: str, **values: Any) -> Spec:
        """A spec over this library and its splits; its corpus is named after the library, too."""
        name = f"{corpus}-{self.name.replace('_', '-')}"
        where = {"source": self.source, "splits": self.splits}
        whole = {"corpus": name, "seed": _SEED, **where, **values}
        return check_values(Spec, whole, name, _FIX)


def choose_steps(
    scale: Scale, library: SoundLibrary | None, steps: Mapping[Scale, _Steps], recordings: _Steps
) -> _Steps:
    """The steps at a scale; at `tiny` over a library that was given, `recordings`."""
    return steps[scale] if library is None or scale is not Scale.TINY else recordings


def choose_audio(scale: Scale, short_s: float) -> dict[str, Any]:
    """Sample rate and length of samples as values of a spec: `short_s` seconds on a CPU."""
    if scale.runs_on_cpu:
        return {"sample_rate": 16_000, "length": f"exact {short_s:g} s"}
    return {"sample_rate": 48_000 if scale is Scale.PAPER else 16_000, "length": "exact 10 s"}


# The embedded sounds and music as experiments hear them, where no other library is given.


TINY_CLASSES: Final = (
    "car_horn",
    "cat",
    "church_bells",
    "crickets",
    "crow",
    "dog",
    "footsteps",
    "helicopter",
    "laughing",
    "rain",
    "siren",
    "water_drops",
)

_JAM_SPLITS: Final = {"train": ["1", "2", "3"], "val": ["4"], "test": ["5"]}


def make_foley(scale: Scale) -> SoundLibrary:
    """Half of the classes, 40 recordings of each, at `tiny`; else all of them, 200 of each."""
    if scale is Scale.TINY:
        return SoundLibrary("foley", {"classes": TINY_CLASSES, "takes": 40})
    return SoundLibrary("foley", {"takes": 200})


def make_jam(tracks: int) -> SoundLibrary:
    """So many tracks; they need not be composed to know their folds."""
    return SoundLibrary("jam", {"tracks": tracks}, _JAM_SPLITS)
