"""Groups that workers draft in tests: they are forks of others, so they import them from here."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.builder.drafting import Drafter
from pipelines.builder.usable import Shortage
from pipelines.config.enrich import Enrichment
from pipelines.config.spec import AudioSpec
from synth.base.errors import LeftOutError, PlanError
from synth.captions.caption import Caption, Provenance
from synth.captions.contrast import CaptionSet
from synth.recipes.base import Draft, Groups
from synth.scene.scene import Event, Excerpt
from synth.truth.ear import Ear
from synth.truth.listener import Listener
from tests.kit.envelopes import envelope

RATE = 16_000


@dataclass(frozen=True)
class Uneven:
    """Groups of one to four samples, whose captions tell which they are."""

    count: int

    def __len__(self) -> int:
        return self.count

    def group(self, index: int) -> Sequence[Draft]:
        scene = Event("dog", Excerpt("dog", 0, RATE, 0.0))
        said = [f'"id":"","index":0, of {index}/{at}' for at in range(1 + index * 7 % 4)]
        captions = [Caption(text, Event("dog"), "", Provenance.of_rule("test")) for text in said]
        return [Draft(scene, CaptionSet(each, (), ())) for each in captions]


@dataclass(frozen=True)
class Failing(Uneven):
    """The same, but for groups from some number on."""

    first: int

    def group(self, index: int) -> Sequence[Draft]:
        if index >= self.first:
            raise PlanError(f"group {index} cannot be made", fix="add clips")
        return super().group(index)


@dataclass(frozen=True)
class Sparse(Uneven):
    """The same, but only every so many can be made; 0 for none."""

    every: int

    def group(self, index: int) -> Sequence[Draft]:
        if not self.every or index % self.every:
            raise LeftOutError("too few clips", example=f"kind {index % 20}", fix="add clips")
        return super().group(index)


@dataclass(frozen=True)
class Deadly(Uneven):
    """The same, but for one that ends its process."""

    deadly: int

    def group(self, index: int) -> Sequence[Draft]:
        if index == self.deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().group(index)


def drafter_of(groups: Mapping[str, Groups]) -> Drafter:
    """A drafter over one clip."""
    listener = Listener(Ear(), RATE, {"dog": envelope(RATE)})
    audio = AudioSpec(sample_rate=RATE)
    return Drafter("tiny", "test", groups, listener, audio, Enrichment({}, 0), Shortage("", ""))
