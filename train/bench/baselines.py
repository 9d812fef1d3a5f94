"""Models that a score is compared with, by name: `random`, and `bag-of-words:MODEL`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from synth.audio.dsp import Audio
from synth.base.errors import SpecError
from synth.base.rng import Randomness
from train.bench.embedder import Embedder, Embeddings

RANDOM: Final = "random"
BAG_OF_WORDS: Final = "bag-of-words"
_DIM: Final = 64
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class RandomModel:
    """A model that knows nothing: a random vector for each sound and for each text."""

    sample_rate: int = 16_000
    longest: int | None = None
    digest: str = RANDOM

    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """A vector by the sound's samples."""
        return np.stack([_draw("audio", each.tobytes()) for each in waveforms])

    def texts(self, texts: Sequence[str]) -> Embeddings:
        """A vector by the text."""
        return np.stack([_draw("text", each.encode()) for each in texts])


@dataclass(frozen=True)
class BagOfWords:
    """A model that is given the words of each text in alphabetical order."""

    model: Embedder

    @property
    def sample_rate(self) -> int:
        """Of the model, in Hz."""
        return self.model.sample_rate

    @property
    def longest(self) -> int | None:
        """Of the model."""
        return self.model.longest

    @property
    def tokenizer(self) -> object:
        """Of the model."""
        return getattr(self.model, "tokenizer", None)

    @property
    def digest(self) -> str:
        """Of the model, marked."""
        weights = getattr(self.model, "digest", "")
        return weights and f"{BAG_OF_WORDS}:{weights}"

    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """As the model hears them."""
        return self.model.audio(waveforms)

    def texts(self, texts: Sequence[str]) -> Embeddings:
        """The words, sorted."""
        return self.model.texts([" ".join(sorted(_WORD.findall(each.lower()))) for each in texts])


def open_random() -> RandomModel:
    """The random model."""
    return RandomModel()


def open_bag_of_words(model: str = "") -> BagOfWords:
    """A model that loses the order of words.

    Args:
        model: As `segue eval` takes it.
    """
    if not model:
        raise SpecError(f"{BAG_OF_WORDS}: of which model?", fix=f"give {BAG_OF_WORDS}:MODEL")
    from train.bench.opening import open_embedder

    return BagOfWords(open_embedder(Path(model)))


def _draw(side: str, content: bytes) -> np.ndarray:
    number = int.from_bytes(hashlib.sha256(content).digest()[:8], "big")
    vector: np.ndarray = Randomness(0).at(f"bench/random/{side}", number).normal(size=_DIM)
    return vector
