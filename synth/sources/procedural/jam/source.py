"""Built in: loops of tagged music that Segue computes; nothing to download."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import ClassVar, Final

from pydantic import Field

from synth.base.rng import Randomness
from synth.sources.procedural import jam
from synth.sources.reading.base import ClipRef, Recording, Settings

FOLDS: Final = 5


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
        digest = hashlib.sha256(audio.tobytes()).hexdigest()
        return Recording(audio, jam.RATE, 1, digest)

    def _tune(self, track: int) -> jam.Tune:
        genre = jam.GENRES[track % len(jam.GENRES)]
        return jam.compose(Randomness(self.seed).at("jam/compose", track), genre)
