"""Built in: sounds and loops of tagged music that Segue computes; nothing to download."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import ClassVar, Final

from pydantic import Field, field_validator

from synth.audio.dsp import Audio
from synth.base.rng import Randomness
from synth.sources.procedural import foley, jam
from synth.sources.reading.base import ClipRef, Recording, Settings

FOLDS: Final = 5


def _record(audio: Audio, rate: int) -> Recording:
    return Recording(audio, rate, 1, hashlib.sha256(audio.tobytes()).hexdigest())


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
        return _record(foley.synthesize(label, rng), foley.RATE)


class Jam(Settings):
    """Seeded loops of every genre in turn.

    Args:
        tracks: How many loops.
        seed: Another seed gives other loops.
    """

    name: ClassVar[str] = "jam"
    reads_files: ClassVar[bool] = False
    tracks: int = Field(default=200, ge=1, le=100_000)
    seed: int = Field(default=0, ge=0, lt=2**63)

    def refs(self) -> Iterator[ClipRef]:
        """One clip a loop; each genre's are dealt to the folds 1 to 5 in turn. Makes no sound."""
        library = f"jam/{self.seed}" if self.seed else "jam"
        for track in range(self.tracks):
            yield ClipRef(
                id=f"jam/{track:05d}",
                location=str(track),
                labels=("music",),
                recording=f"{library}/{track:05d}",
                licence="CC0-1.0",
                attribution="Segue procedural library",
                split=str(track // len(jam.GENRES) % FOLDS + 1),
                tags=jam.tags(self._tune(track)),
            )

    def stamp(self, ref: ClipRef) -> str:
        """The seed and the library's version: loops never change otherwise."""
        return f"{self.seed}:{jam.VERSION}"

    def load(self, ref: ClipRef) -> Recording:
        """Play one loop."""
        track = int(ref.location)
        audio = jam.perform(self._tune(track), Randomness(self.seed).at("jam/perform", track))
        return _record(audio, jam.RATE)

    def _tune(self, track: int) -> jam.Tune:
        genre = jam.GENRES[track % len(jam.GENRES)]
        return jam.compose(Randomness(self.seed).at("jam/compose", track), genre)
