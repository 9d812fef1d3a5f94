"""What ingest is given: a library, and which of its clips are wanted in which form."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from synth.sources import Source, Unheard
from synth.sources.catalogue import Acceptance
from synth.sources.splits import SplitRule
from synth.truth.ear import Ear


@dataclass(frozen=True, slots=True)
class Intake:
    """A sound library to ingest.

    Args:
        acceptance: Which recordings can be used.
        split_rules: How clips are dealt to splits.
        limit: Take the first so many clips only, None for all.
        licences: The licences that clips may have, None for any; see `licence_filter.Allowed`.
        block: Lists of what may not be used; see `leakage.block.Block`.
        ear: What of a clip counts as audible; files are not read again for another.
    """

    source: Source | Unheard
    rate: int
    acceptance: Acceptance = field(default_factory=Acceptance)
    split_rules: tuple[SplitRule, ...] = (SplitRule("train", 1.0),)
    seed: int = 0
    limit: int | None = None
    licences: tuple[str, ...] | None = None
    block: tuple[Path, ...] = ()
    ear: Ear = field(default_factory=Ear)
