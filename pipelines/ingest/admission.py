"""Admission: which catalogued clips a corpus may use, in which split, and why not the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pipelines.spec.intake import Intake
from synth.sources.block import Block, Blocked, tally, withdraw_blocked
from synth.sources.catalogue import SplitRule, assign_splits, withdraw_copies
from synth.sources.licence_filter import Allowed, withdraw_unlicensed

Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AdmittedClips:
    """What became of clips.

    Args:
        rows: Rows of `schema.CLIPS` to keep.
        withdrawn: Rows of `schema.QUARANTINE` for the others.
        blocked: What each block list did.
    """

    rows: list[Row]
    withdrawn: list[dict[str, str]]
    blocked: tuple[Blocked, ...]


@dataclass(frozen=True, slots=True)
class Admission:
    """What a spec asks of clips.

    Args:
        allowed: The licences they may have, None for any.
        blocks: Lists of what may not be used.
        split_rules: How they are dealt to splits.
        seed: Of the splits.
    """

    allowed: Allowed | None
    blocks: Sequence[Block]
    split_rules: Sequence[SplitRule]
    seed: int

    @classmethod
    def of(cls, intake: Intake) -> Admission:
        """Read the block lists.

        Raises:
            SpecError: If a licence is not known.
            SourceError: If a block list is missing or cannot be read.
        """
        return cls(
            allowed=None if intake.licences is None else Allowed.of(intake.licences),
            blocks=tuple(Block.open(path) for path in intake.block),
            split_rules=intake.split_rules,
            seed=intake.seed,
        )

    @property
    def weakness(self) -> str:
        """Which lists block less than they could, and why; "" where none does."""
        return "; ".join(block.weakness for block in self.blocks if block.weakness)

    def admit(self, rows: list[Row]) -> AdmittedClips:
        """Keep the clips that may be used, and set their splits.

        Licences are judged first, then block lists, then copies: of two equal files the one that
        may be used stays.

        Args:
            rows: Rows of `schema.CLIPS`, with splits unset.
        """
        every = rows
        blocked: list[dict[str, str]] = []
        withdrawn: list[dict[str, str]] = []
        if self.allowed is not None:
            rows, unlicensed = withdraw_unlicensed(rows, self.allowed)
            withdrawn += unlicensed
        if self.blocks:
            rows, blocked = withdraw_blocked(rows, self.blocks)
            withdrawn += blocked
        rows, copies = withdraw_copies(rows)
        divided = assign_splits(rows, self.split_rules, self.seed)
        outside = {row["id"] for row in divided}
        return AdmittedClips(
            [row for row in rows if row["id"] not in outside],
            withdrawn + copies + divided,
            tally(self.blocks, every, blocked) if self.blocks else (),
        )
