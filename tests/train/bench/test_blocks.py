"""Blocks of two sounds and two captions: which there are, and how they are scored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from train.bench.metrics import block_scores
from train.bench.tasks.choosing import Block, find_blocks, score_blocks


def naive_scores(blocks: list[np.ndarray]) -> dict[str, float]:
    """One choice after the other, by plain comparisons."""
    text, audio, group = [], [], []
    for block in blocks:
        right = []
        for own in (0, 1):
            for points, rival in (
                (text, block[own][1 - own]),
                (audio, block[1 - own][own]),
            ):
                mine = block[own][own]
                points.append(1.0 if mine > rival else 0.5 if mine == rival else 0.0)
                right.append(mine > rival)
        group.append(float(all(right)))
    return {
        name: sum(each) / len(each)
        for name, each in (("text", text), ("audio", audio), ("group", group))
    }


def test_scores_equal_those_of_plain_comparisons() -> None:
    rng = np.random.default_rng(0)
    blocks = rng.integers(0, 4, size=(200, 2, 2)).astype(float)  # whole numbers, so that some tie
    found = block_scores(blocks, rng.integers(0, 40, size=200))
    assert {name: one.value for name, one in found.items()} == pytest.approx(
        naive_scores(list(blocks))
    )


def test_chance_is_what_random_similarities_give() -> None:
    found = block_scores(np.random.default_rng(1).normal(size=(20_000, 2, 2)))
    for one in found.values():
        assert one.value == pytest.approx(one.chance, abs=0.01)


@pytest.mark.parametrize("axis", [1, 2])
def test_a_liking_for_a_caption_or_a_sound_earns_nothing(axis: int) -> None:
    """Whoever only reads has one row twice, whoever only hears one column."""
    liked = np.random.default_rng(2).normal(size=(50, 2))
    found = block_scores(np.stack([liked, liked], axis=axis))
    assert found["text"].value == 0.5
    assert found["audio"].value == 0.5
    assert found["group"].value == 0


def row(group: str, caption: str, *negatives: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "group": group,
        "caption": caption,
        "negatives": [
            {"kind": kind, "text": false, "against": true} for kind, false, true in negatives
        ],
    }


ROWS = [
    row("g", "A then B", ("reorder", "B then A", "A then B"), ("relation", "A with B", "B, A")),
    row("g", "B then A", ("reorder", "A then B", "B then A")),
    row("g", "A with B", ("relation", "B, A", "A with B"), ("relation", "C", "A with B")),
    row("h", "B then A", ("reorder", "A then B", "B then A")),
]


def test_a_block_is_two_samples_with_two_captions_the_other_way_round() -> None:
    assert find_blocks(ROWS, ["reorder"]) == [Block((0, 1), ("A then B", "B then A"), "g")]
    assert find_blocks(ROWS, ["relation"]) == [Block((0, 2), ("B, A", "A with B"), "g")]
    assert len(find_blocks(ROWS, ["reorder", "relation"])) == 2
    assert not find_blocks(ROWS, ["count"])


def test_blocks_are_scored_by_dot_products_of_their_own_embeddings() -> None:
    rng = np.random.default_rng(3)
    texts = ["A then B", "B then A", "A with B", "B, A"]
    audio = rng.normal(size=(3, 5))
    said = {text: rng.normal(size=5) for text in texts}
    blocks = find_blocks(ROWS, ["reorder", "relation"])
    at = {2: 0, 0: 1, 1: 2}
    similarity = [
        np.array(
            [[float(audio[at[sound]] @ said[text]) for text in each.texts] for sound in each.sounds]
        )
        for each in blocks
    ]
    found = score_blocks(blocks, audio, said, at)
    assert {name: one.value for name, one in found.items()} == pytest.approx(
        naive_scores(similarity)
    )
    assert [each.n for each in found.values()] == [4, 4, 2]
