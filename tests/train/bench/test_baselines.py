"""The models that others are compared with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from synth.base.errors import SpecError
from train.bench.embedder import embed_texts
from train.bench.opening import BagOfWords, Foreign, open_embedder


def test_random_is_opened_by_its_name_and_gives_the_same_vectors_again() -> None:
    model = open_embedder(Path("random"))
    assert isinstance(model, Foreign)
    sounds = [np.full(9, 0.1, dtype=np.float32), np.full(9, 0.2, dtype=np.float32)]
    first = model.audio(sounds)
    assert np.allclose(first, open_embedder(Path("random")).audio(sounds))
    assert abs(float(first[0] @ first[1])) < 0.9
    assert model.digest == "random"


def test_a_bag_of_words_cannot_tell_the_order_of_words(tones: object) -> None:
    bag = BagOfWords(tones)  # type: ignore[arg-type]
    said = embed_texts(bag, ["low, then high", "High then low.", "mid"])
    assert np.array_equal(said["low, then high"], said["High then low."])
    assert not np.array_equal(said["low, then high"], said["mid"])


def test_a_bag_of_words_is_of_a_model() -> None:
    with pytest.raises(SpecError, match="of which model"):
        open_embedder(Path("bag-of-words"))
