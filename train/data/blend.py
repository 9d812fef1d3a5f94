"""How many samples of each corpus a step sees, so that every corpus keeps to its weight."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

import numpy as np
from jaxtyping import Int

from synth.base.errors import SpecError

_LONGEST_CYCLE: Final = 100_000


@dataclass(frozen=True)
class Blend:
    """The share of every corpus in each batch: a pure function of the step.

    After any number of samples, each corpus has given less than one sample more or less than its
    weight asks for. That is the earliest-deadline-first schedule of Tijdeman's chairman assignment
    problem (Discrete Mathematics 32, 1980; Baruah et al., Algorithmica 15, 1996): sample j of a
    corpus with share w is due from floor(j / w) on and before ceil((j + 1) / w). It repeats, and
    one cycle is kept.

    Args:
        shares: Of each corpus; together 1.
        batch: Samples of a batch.
    """

    shares: tuple[Fraction, ...]
    batch: int

    @classmethod
    def of(cls, weights: Sequence[float | Fraction], batch: int) -> Blend:
        """The blend of corpora with these weights, which need not sum to 1."""
        told = ", ".join(map(str, weights))
        if batch < 1:
            raise SpecError(f"a batch of {batch} samples: expected 1 or more")
        if not weights:
            raise SpecError("nothing is to be blended", fix="name a corpus")
        if not all(math.isfinite(weight) and weight > 0 for weight in weights):
            raise SpecError(f"weights {told}: expected numbers above 0", fix="drop that corpus")
        exact = [Fraction(str(weight)) for weight in weights]  # as written, not as stored
        found = cls(tuple(weight / sum(exact) for weight in exact), batch)
        if found._cycle > _LONGEST_CYCLE:
            raise SpecError(
                f"weights {told} are too fine: their pattern has {found._cycle:,} samples, and the "
                f"longest has {_LONGEST_CYCLE:,}",
                fix="round them, as to shares that sum to 1 and have four decimals at most",
            )
        return found

    def before(self, step: int) -> list[int]:
        """How many samples each corpus gives in all steps before this one."""
        cycles, rest = divmod(step * self.batch, self._cycle)
        return (cycles * self._counts[-1] + self._counts[rest]).tolist()  # type: ignore[no-any-return]

    @cached_property
    def extremes(self) -> tuple[list[int], list[int]]:
        """Fewest and most samples of each corpus in a batch."""
        steps = np.arange(self._cycle // math.gcd(self._cycle, self.batch))
        cycles, rests = np.divmod(np.append(steps, len(steps)) * self.batch, self._cycle)
        counts = np.diff(cycles[:, np.newaxis] * self._counts[-1] + self._counts[rests], axis=0)
        return counts.min(axis=0).tolist(), counts.max(axis=0).tolist()

    @property
    def _cycle(self) -> int:
        return math.lcm(*(share.denominator for share in self.shares))

    @cached_property
    def _counts(self) -> Int[np.ndarray, "prefixes corpora"]:
        """Samples of each corpus among the first 0, 1, ... of a cycle."""
        given = np.zeros((self._cycle + 1, len(self.shares)), dtype=np.int64)
        coming = [(0, corpus, 0) for corpus in range(len(self.shares))]  # released, corpus, sample
        due: list[tuple[int, int, int]] = []  # deadline, corpus, sample
        for place in range(self._cycle):
            while coming and coming[0][0] <= place:
                _, corpus, sample = heapq.heappop(coming)
                heapq.heappush(due, (-(-(sample + 1) // self.shares[corpus]), corpus, sample))
            _, corpus, sample = heapq.heappop(due)
            given[place + 1, corpus] = 1
            heapq.heappush(coming, ((sample + 1) // self.shares[corpus], corpus, sample + 1))
        return given.cumsum(axis=0)
