"""Acoustics: how a sound sounds, beside when it is heard."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from synth.base.errors import SceneError
from synth.base.units import Decibels


@dataclass(frozen=True, slots=True)
class Acoustics:
    """How loud a sound is by itself, and what was done to its recording.

    Args:
        mean_dba: A-weighted level in dBFS over the whole excerpt, with gain and crossfades (LAeq).
        peak_dba: The same of the loudest 50 ms.
        thirds_dba: The same of its first, second and last third.
        recording: Id of the clip, without its treatment; "" where only a part of it is heard.
        treatment: How the clip was treated (`synth.labels.treatment`), "" for as it was recorded.
    """

    mean_dba: Decibels
    peak_dba: Decibels
    thirds_dba: tuple[Decibels, Decibels, Decibels]
    recording: str
    treatment: str = ""

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `from_json` is its inverse."""
        return asdict(self) | {"thirds_dba": list(self.thirds_dba)}

    @classmethod
    def from_json(cls, value: Any) -> Acoustics:
        """The acoustics that `to_json` gave."""
        match value:
            case {
                "mean_dba": mean,
                "peak_dba": peak,
                "thirds_dba": [first, second, last],
                "recording": str(recording),
                "treatment": str(treatment),
            } if all(_is_level(each) for each in (mean, peak, first, second, last)):
                return cls(mean, peak, (first, second, last), recording, treatment)
        raise SceneError(
            f"not the acoustics of a sound: {value!r:.200}",
            fix='expected "mean_dba", "peak_dba", "thirds_dba", "recording" and "treatment"',
        )


def _is_level(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
