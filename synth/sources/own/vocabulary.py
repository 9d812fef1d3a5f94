"""Labels without recordings, with drawn lengths: for planning only."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from synth.base.rng import Randomness
from synth.base.shipped import shipped_path
from synth.base.units import Seconds
from synth.sources.reading.base import ClipRef, Settings
from synth.sources.reading.collected import unheard_row


class VocabularySource(Settings):
    """Labels with a few drawn lengths each.

    Args:
        labels: `audioset` (527), `esc50`, or a list.
        takes: Clips per label.
        seconds: Shortest and longest; lengths are spread evenly over the logarithm.
        seed: Another seed draws other lengths.
    """

    name: ClassVar[str] = "vocabulary"
    labels: Literal["audioset", "esc50"] | tuple[str, ...] = "audioset"
    takes: int = Field(default=5, ge=1, le=10_000)
    seconds: tuple[Seconds, Seconds] = (0.5, 10.0)
    seed: int = Field(default=0, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _in_order(self) -> VocabularySource:
        shortest, longest = self.seconds
        if not 0 < shortest <= longest:
            raise ValueError(f"seconds: expected 0 < shortest <= longest, got {self.seconds}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The labels."""
        if not isinstance(self.labels, str):
            return self.labels
        path = shipped_path(f"lexicons/sources/{self.labels}.csv")
        rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
        return tuple(row["label"] for row in rows)

    def refs(self) -> Iterator[ClipRef]:
        """One clip a take."""
        for label in self.names:
            for take in range(self.takes):
                name = f"vocabulary/{label}-{take:05d}"
                yield ClipRef(name, f"{label}/{take}", (label,), recording=name, licence="CC0-1.0")

    def row(self, ref: ClipRef) -> dict[str, Any]:
        """What the catalogue would say of a clip, had it been recorded."""
        label, take = ref.location.rsplit("/", 1)
        rng = Randomness(self.seed).at(f"vocabulary/{label}", int(take))
        low, high = np.log(self.seconds)
        return unheard_row(float(np.exp(rng.uniform(low, high))), self.name, str(self.seed), ref.id)
