"""Groups that a plan goes without: how many of each split, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from pipelines.build.coverage import SHOWN
from pipelines.build.drafting import DraftedRows
from pipelines.build.usable import Shortage
from synth.base.errors import LeftOutError

LEFT_OUT: Final = "left_out"
"""Names them in the metadata of the plan."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Groups of one split that are left out for one reason.

    Args:
        of: Groups of the split.
        kinds: How many of them differ.
    """

    split: str
    groups: int
    of: int
    reason: str
    kinds: int
    examples: Sequence[str]

    @property
    def line(self) -> str:
        """For people."""
        more = self.kinds - len(self.examples)
        rest = f"; and {more:,} more" if more else ""
        return (
            f"split {self.split}: {self.groups:,} of {self.of:,} groups left out: {self.reason}: "
            f"{'; '.join(self.examples)}{rest}"
        )


@dataclass
class Tally:
    """Counts the groups that are left out while a plan is drafted.

    Args:
        groups: Of each split.
        shortage: Tells why clips are missing.
    """

    groups: Mapping[str, int]
    shortage: Shortage
    _found: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    _last: dict[str, LeftOutError] = field(default_factory=dict)
    _made: Counter[str] = field(default_factory=Counter)

    def count(self, drafted: DraftedRows) -> None:
        """Count those of a run."""
        self._made[drafted.split] += len(drafted.texts)
        for error in drafted.left_out:
            kinds = self._found.setdefault((drafted.split, error.reason), Counter())
            kinds[error.example] += 1
            self._last[drafted.split] = error

    def conclude(self) -> list[LeftOut]:
        """What is left out."""
        for split, error in self._last.items():
            if not self._made[split]:
                with self.shortage.explained(by_ear=True):
                    raise LeftOutError(
                        error.reason,
                        example=f"split {split}: no group can be made; {error.example}",
                        fix=error.fix,
                    )
        return [
            LeftOut(split, sum(kinds.values()), self.groups[split], reason, len(kinds), first)
            for (split, reason), kinds in self._found.items()
            for first in ([*kinds][:SHOWN],)
        ]


def to_json(found: Iterable[LeftOut]) -> list[dict[str, Any]]:
    """As JSON values."""
    return [asdict(each) for each in found]
