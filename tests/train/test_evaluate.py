"""What of a split's rows is judged, from embeddings that know the meanings."""

from __future__ import annotations

import json

import numpy as np
import pytest

from train.data import meaning
from train.evaluate import _retrieval


def row(group: str, caption: str, first: str, second: str, way: str) -> dict[str, str]:
    claim = {way: [{"event": first}, {"event": second}]}
    return {"group": group, "caption": caption, "claim": json.dumps(claim)}


ROWS = [
    row("a", "dog before rain", "dog", "rain", "sequence"),
    row("a", "rain after dog", "dog", "rain", "sequence"),
    row("a", "dog while rain", "dog", "rain", "overlay"),
    row("b", "rain while dog", "rain", "dog", "overlay"),
    row("b", "rain before dog", "rain", "dog", "sequence"),
    row("b", "rain before dog", "rain", "dog", "sequence"),
]


def test_every_sample_that_means_the_same_is_right() -> None:
    known = sorted({meaning(one["claim"]) for one in ROWS})
    assert len(known) == 3
    audio = np.eye(3)[[known.index(meaning(one["claim"])) for one in ROWS]]
    texts = {one["caption"]: sound for one, sound in zip(ROWS, audio, strict=True)}
    found = _retrieval(ROWS, audio, texts)
    assert {found["audio_to_text_r1"].value, found["text_to_audio_r1"].value} == {1.0}
    assert (found["audio_to_text_r1"].n, found["text_to_audio_r1"].n) == (6, 5)
    # Of five texts, two, two or one are right; of six sounds, two are.
    expected = np.mean([2, 2, 2, 2, 1, 1]) / 5
    assert found["audio_to_text_r1"].chance == pytest.approx(expected)
    assert found["text_to_audio_r1"].chance == pytest.approx(2 / 6)
