"""Minimal-pair blocks: two sounds and two captions, each caption true of one sound."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from train.bench.metrics.compositional import CHANCES
from train.bench.metrics.measure import Metric, check_similarity, mean_of, measure
from train.bench.metrics.pairs import pair_accuracy


def block_scores(
    similarity: Float[np.ndarray, "blocks 2 2"],
    groups: Int[np.ndarray, " blocks"] | None = None,
    seed: int = 0,
) -> dict[str, Metric]:
    """Score blocks both ways, and as a whole.

    Whatever prefers a caption without hearing gets exactly one half in `text`; whatever prefers a
    sound without reading gets exactly one half in `audio`; neither gets a block as a whole.

    Args:
        similarity: Of sound m of a block to caption m' of it; the right ones are m = m'.
        groups: Number of each block's group; without, each stands alone.
        seed: Of the bootstrap, over groups.

    Returns:
        `text`: share of sounds that are closer to their own caption, chance 1/2. `audio`: share of
        captions that are closer to their own sound, chance 1/2. A tie counts one half in both.
        `group`: share of blocks with all four choices right, chance 1/6; a tie fails.
    """
    check_similarity(similarity, (None, 2, 2))
    own, other = similarity[:, [0, 1], [0, 1]], similarity[:, [0, 1], [1, 0]]
    by_caption = similarity[:, [1, 0], [0, 1]]
    of_pairs = np.repeat(np.arange(len(similarity)) if groups is None else groups, 2)
    whole = ((own > other) & (own > by_caption)).all(axis=1).astype(float)
    return {
        "text": pair_accuracy(np.stack([own, other], axis=2).reshape(-1, 2), of_pairs, seed),
        "audio": pair_accuracy(np.stack([own, by_caption], axis=2).reshape(-1, 2), of_pairs, seed),
        "group": measure(mean_of(whole), len(whole), groups, CHANCES[2]["group"], seed),
    }
