"""The samples of a corpus as a stream without end, as a pure function of the place in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int

from synth.base.errors import SpecError
from synth.base.rng import Randomness
from train.data.order import EpochCache


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Some samples over and over, each time all of them in another order.

    No sample is twice in a batch, even where one order ends and the next begins in it, if there
    are three times as many as `most`.

    Args:
        most: Most of them that are taken for one batch.
        name: Tells apart the streams of one run.
    """

    samples: Int[np.ndarray, " samples"]
    most: int
    seed: int
    name: str
    _drawn: EpochCache[Int[np.ndarray, " samples"]] = field(default_factory=EpochCache, init=False)

    @classmethod
    def of(
        cls, samples: Sequence[int] | np.ndarray, most: int, seed: int, name: str, where: str
    ) -> Stream:
        """The stream of the samples of a corpus, which `where` names in an error."""
        if len(samples) < most:
            raise SpecError(
                f"{where}: has {len(samples)} samples in play, a batch takes {most}",
                fix="give another weight or a smaller batch, or build a larger corpus",
            )
        return cls(np.asarray(samples), most, seed, name)

    def take(self, start: int, stop: int) -> Int[np.ndarray, " taken"]:
        """The samples at places `start` to `stop - 1`."""
        size = len(self.samples)
        parts = [self.samples[:0]]
        while start < stop:
            epoch, first = divmod(start, size)
            order = self._drawn.get(epoch, self._draw)
            parts.append(order[first : first + stop - start])
            start += len(parts[-1])
        return np.concatenate(parts)

    def _draw(self, epoch: int) -> Int[np.ndarray, " samples"]:
        order = self._shuffle(epoch)
        if epoch == 0 or len(order) < 3 * self.most:
            return order
        # What came last in the epoch before does not come first; the end stays as it was drawn.
        front, back = order[: -self.most], order[-self.most :]
        was_last = np.isin(front, self._shuffle(epoch - 1)[-self.most :])
        return np.concatenate([front[~was_last], front[was_last], back])

    def _shuffle(self, epoch: int) -> Int[np.ndarray, " samples"]:
        random = Randomness(self.seed).at(f"order/{self.name}", epoch)
        return self.samples[random.permutation(len(self.samples))]
