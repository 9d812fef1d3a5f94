"""Built in: everyday sounds that Segue computes; nothing to download."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import ClassVar, Final

from pydantic import Field, field_validator

from synth.base.rng import Randomness
from synth.sources.procedural import foley
from synth.sources.reading.base import ClipRef, Recording, Settings

FOLDS: Final = 5


class Foley(Settings):
    """Seeded takes of each class.

    Args:
        classes: Classes to use; all by default.
        takes: Distinct recordings per class.
        seed: Another seed gives other recordings.
    """

    name: ClassVar[str] = "foley"
    reads_files: ClassVar[bool] = False
    classes: tuple[str, ...] = foley.CLASSES
    takes: int = Field(default=40, ge=1, le=100_000)
    seed: int = Field(default=0, ge=0, lt=2**63)

    @field_validator("classes")
    @classmethod
    def _check_known(cls, classes: tuple[str, ...]) -> tuple[str, ...]:
        unknown = sorted(set(classes) - set(foley.CLASSES))
        if unknown:
            raise ValueError(f"no class {', '.join(unknown)}; there are {', '.join(foley.CLASSES)}")
        return classes

    def refs(self) -> Iterator[ClipRef]:
        """One clip a take; takes are dealt to the folds 1 to 5 in turn."""
        library = f"foley/{self.seed}" if self.seed else "foley"
        for label in self.classes:
            for take in range(self.takes):
                yield ClipRef(
                    id=f"foley/{label}-{take:05d}",
                    location=f"{label}/{take}",
                    labels=(label,),
                    recording=f"{library}/{label}-{take:05d}",
                    licence="CC0-1.0",
                    attribution="Segue procedural library",
                    split=str(take % FOLDS + 1),
                )

    def stamp(self, ref: ClipRef) -> str:
        """The seed and the library's version: takes never change otherwise."""
        return f"{self.seed}:{foley.VERSION}"

    def load(self, ref: ClipRef) -> Recording:
        """Synthesise one take."""
        label, take = ref.location.split("/")
        rng = Randomness(self.seed).at(f"foley/{label}", int(take))
        audio = foley.synthesize(label, rng)
        digest = hashlib.sha256(audio.tobytes()).hexdigest()
        return Recording(audio, foley.RATE, 1, digest)
