"""An observer that remembers what it is told."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Phases:
    """Units of each phase: all, those that were done before, those that were counted.

    Args:
        total: By phase.
        before: By phase.
        counted: By phase.
        ended: The phases that have ended, in order.
    """

    total: dict[str, int] = field(default_factory=dict)
    before: dict[str, int] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)

    def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
        self.total[phase], self.before[phase], self.counted[phase] = total, done or 0, 0

    def advance(self, phase: str, units: int = 1, note: str = "") -> None:
        self.counted[phase] += units

    def finish(self, phase: str, note: str = "") -> None:
        assert self.before[phase] + self.counted[phase] == self.total[phase], phase
        self.ended.append(phase)
