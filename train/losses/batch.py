"""What a loss sees of a batch, and where the batch's other rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Extras:
    """Texts beside the captions, of unequally many rows.

    Args:
        values: Unit-length embeddings, flat.
        owner: Row of this process's batch that each belongs to; a row may have none or several.
    """

    values: Float[Tensor, "texts dim"]
    owner: Int[Tensor, " texts"]


@dataclass(frozen=True, slots=True)
class Embedded:
    """A batch after the towers: the rows of this process.

    Args:
        audio: Unit-length embeddings.
        captions: Of one true caption a row.
        positives: Further true captions.
        negatives: False captions.
        denied: Fully negated captions, at most one a row.
        texts: Number of each caption's text, equal where texts are equal, on every process.
        meanings: Number of what each caption claims, equal where claims are equal.
        views: Composition of each row: forward, reversed and overlay are 0, 1 and 2 in a corpus of
            triplets; single and combined 0 and 1 in one of its stage A; -1 in any other.
        groups: Number of each row's minimal-pair group, equal where groups are, on every process.
        classes: Numbers of the first and the last label heard in each row, equal where labels are,
            on every process; twice the same for a single sound.
        scale: Factor from cosine to logit, one over the temperature.
        bias: Added to every logit of the sigmoid loss.
    """

    audio: Float[Tensor, "batch dim"]
    captions: Float[Tensor, "batch dim"]
    positives: Extras
    negatives: Extras
    denied: Extras
    texts: Int[Tensor, " batch"]
    meanings: Int[Tensor, " batch"]
    views: Int[Tensor, " batch"]
    groups: Int[Tensor, " batch"]
    classes: Int[Tensor, "batch 2"]
    scale: Float[Tensor, ""]
    bias: Float[Tensor, ""]


@runtime_checkable
class World(Protocol):
    """The processes that share a batch, each holding some of its rows.

    Every process must call the same methods in the same order, also where it holds no row.
    """

    def gather(self, rows: Tensor) -> Tensor:
        """The rows of all processes, in order; gradients of floats flow back to their owners.

        Processes may hold unequally many rows, alike in all else.
        """
        ...

    def first(self, rows: int) -> int:
        """Where this process's rows begin among all, given how many it holds."""
        ...

    def mean(self, rows: Float[Tensor, " rows"]) -> Float[Tensor, ""]:
        """This process's part of the mean over the rows of all processes.

        The average of the parts over the processes, which is what DDP makes of gradients, is the
        mean: rows may be spread unequally. Without any row anywhere it is 0.
        """
        ...


class Alone:
    """One process that holds the whole batch."""

    def gather(self, rows: Tensor) -> Tensor:
        """The same rows."""
        return rows

    def first(self, rows: int) -> int:
        """Zero."""
        return 0

    def mean(self, rows: Float[Tensor, " rows"]) -> Float[Tensor, ""]:
        """The mean, 0 of none."""
        return rows.sum() / max(len(rows), 1)
