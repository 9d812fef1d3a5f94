"""CompA: text, audio and group score of instances with two or three audios and captions."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

from train.bench.metrics.measure import Metric, check_similarity, mean_of, measure

SCORES: Final = ("text", "audio", "group")
CHANCES: Final = {
    2: {"text": 1 / 4, "audio": 1 / 4, "group": 1 / 6},
    3: {"text": 1 / 27, "audio": 1 / 27, "group": 1 / 60},
}
"""By number of audios. The group scores count the orders of 4 and of 9 similarities that pass."""


def compa(
    pairs: Float[np.ndarray, "instances 2 2"],
    triplets: Float[np.ndarray, "threefold 3 3"] | None = None,
    threefold: Int[np.ndarray, " threefold"] | None = None,
    seed: int = 0,
) -> dict[str, Metric]:
    """Text, audio and group score (CompA, section 2.4, equations 1 to 3).

    Text: every audio is strictly closer to its own caption than to the others. Audio: every caption
    is strictly closer to its own audio. Group: both. A tie fails.

    Args:
        pairs: Of audio m of an instance to caption m' of the same instance.
        triplets: The same for the instances that have a third audio and caption.
        threefold: Position among `pairs` of each of them.
        seed: Of the bootstrap, over instances.

    Returns:
        `pairs_text`, `pairs_audio`, `pairs_group` over all instances taken as pairs; `triplets_*`
        over those with a third; `all_*` over all instances, each taken whole, as the paper's random
        row counts (19.70 % = 300 pairs at 1/4 and 100 triplets at 1/27).
    """
    check_similarity(pairs, (None, 2, 2))
    triplets = np.zeros((0, 3, 3)) if triplets is None else triplets
    threefold = np.zeros(0, dtype=np.int64) if threefold is None else threefold
    check_similarity(triplets, (None, 3, 3))
    if len(threefold) != len(triplets) or len(set(threefold.tolist())) != len(triplets):
        raise ValueError(f"{len(triplets)} triplets, and positions of {len(set(threefold))}")
    if len(triplets) and not 0 <= threefold.min() <= threefold.max() < len(pairs):
        raise ValueError("a triplet of an instance that is not among the pairs")
    two, three = _points(pairs), _points(triplets)
    metrics = {}
    for score in SCORES:
        whole = two[score].copy()
        whole[threefold] = three[score]
        share = len(triplets) / len(pairs) if len(pairs) else math.nan
        by_two, by_three = CHANCES[2][score], CHANCES[3][score]
        for name, points, chance in (
            ("pairs", two[score], by_two),
            ("triplets", three[score], by_three),
            ("all", whole, (1 - share) * by_two + share * by_three),
        ):
            metrics[f"{name}_{score}"] = measure(mean_of(points), len(points), None, chance, seed)
    return metrics


def _points(similarity: Float[np.ndarray, "instances k k"]) -> dict[str, np.ndarray]:
    own = np.eye(similarity.shape[1], dtype=bool)
    diagonal = similarity[:, own]
    text = _is_ahead(diagonal[:, :, None], similarity, own)
    audio = _is_ahead(diagonal[:, None, :], similarity, own)
    return {
        "text": text.astype(float),
        "audio": audio.astype(float),
        "group": (text & audio).astype(float),
    }


def _is_ahead(
    own: np.ndarray, similarity: Float[np.ndarray, "instances k k"], ignored: np.ndarray
) -> Bool[np.ndarray, " instances"]:
    beaten: np.ndarray = ((own > similarity) | ignored).all(axis=(1, 2))
    return beaten
