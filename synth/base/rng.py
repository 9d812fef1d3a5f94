"""Counter-based randomness: any draw is a pure function of (seed, operation, index)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np

T = TypeVar("T")


def digest(*parts: str) -> str:
    """Hex SHA-256 of text parts, each framed by its length so that no two lists collide."""
    return digest_all(parts)


def digest_all(parts: Iterable[str]) -> str:
    """The same of parts that are not held at once."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode()
        state.update(f"{len(data)}:".encode())
        state.update(data)
    return state.hexdigest()


def digest_pieces(pieces: Callable[[], Iterable[str]]) -> str:
    """`digest` of the one text that pieces make together; they are asked for twice."""
    length = sum(len(piece.encode()) for piece in pieces())
    state = hashlib.sha256(f"{length}:".encode())
    for piece in pieces():
        state.update(piece.encode())
    return state.hexdigest()


def uniform_hash(*parts: str) -> float:
    """A number in [0, 1) that depends on nothing but `parts`."""
    return int(digest(*parts)[:13], 16) / 16**13


@dataclass(frozen=True, slots=True)
class Randomness:
    """The only source of randomness in a build.

    Philox keyed by the seed; the operation's name and the item's index are the upper half of its
    counter, so streams of different items never overlap and any item can be computed alone.

    Args:
        seed: The corpus seed, 0 to 2**64 - 1.
    """

    seed: int

    def at(self, operation: str, index: int) -> np.random.Generator:
        """The generator of item `index` of `operation`."""
        import numpy as np

        counter = np.array([0, 0, _number(operation), index], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(_find_key(self.seed), counter=counter))


@lru_cache(maxsize=64)
def _number(operation: str) -> int:
    return int(digest(operation)[:16], 16)


@cache
def _find_key(seed: int) -> Any:  # numpy takes what its types refuse
    """The seed as Philox's key; without one, Philox asks the system for entropy, which is slow."""
    import numpy as np
    from numpy.random.bit_generator import ISeedSequence

    class Key(ISeedSequence):
        def generate_state(self, n_words: int, dtype: object = np.uint32) -> np.ndarray:
            return np.array([seed, 0], dtype=np.uint64)

    return Key()


def pick(options: Sequence[T], rng: np.random.Generator) -> T:
    """One of the options, each as likely as the others."""
    return options[int(rng.integers(len(options)))]


def shuffle(values: Sequence[T], rng: np.random.Generator) -> list[T]:
    """The values in random order."""
    return [values[at] for at in rng.permutation(len(values))]
