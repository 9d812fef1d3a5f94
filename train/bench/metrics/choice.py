"""Choices among several texts or sounds: of a sample, a pair, a group, or a block of pairs."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

from train.bench.metrics.measure import (
    Metric,
    check_correct,
    check_similarity,
    mean_of,
    measure,
)


def choose_one(
    similarity: Float[np.ndarray, "units options"],
    correct: Bool[np.ndarray, "units options"],
    groups: Int[np.ndarray, " units"] | None = None,
    seed: int = 0,
) -> Metric:
    """Top-1 accuracy: the share of units whose closest option is a right one.

    Tied best options share the point. Chance is the mean share of right options.
    """
    check_similarity(similarity, (None, None))
    check_correct(similarity, correct)
    if not correct.any(axis=1).all():
        raise ValueError("a unit without a right option cannot be judged")
    points = _share_point(similarity, correct)
    chance = float(correct.mean()) if correct.size else math.nan
    return measure(mean_of(points), len(points), groups, chance, seed)


def _share_point(
    similarity: Float[np.ndarray, "*units options"], correct: Bool[np.ndarray, "*units options"]
) -> Float[np.ndarray, "*units"]:
    """The share of a unit's tied best options that are right."""
    best = similarity == similarity.max(axis=-1, keepdims=True, initial=-np.inf)
    points: np.ndarray = (best & correct).sum(axis=-1) / np.maximum(best.sum(axis=-1), 1)
    return points


def choose_two(
    similarity: Float[np.ndarray, "units options"],
    correct: Bool[np.ndarray, "units options"],
    groups: Int[np.ndarray, " units"] | None = None,
    seed: int = 0,
) -> dict[str, Metric]:
    """ZSTE T2 and T5: the two closest options, of which two are right.

    Returns:
        With n options, chance in brackets: `strict`, both chosen are right (1 / (n over 2));
        `half_credit`, a point for two and half a point for one (2 / n); `any`, at least one is
        right (1 - (n - 2 over 2) / (n over 2)).
    """
    check_similarity(similarity, (None, None))
    check_correct(similarity, correct)
    units, options = similarity.shape
    if options < 2 or (correct.sum(axis=1) != 2).any():
        raise ValueError("two options of every unit must be right")
    both, either, count = (
        _score_two(similarity, correct) if units else (np.zeros(0), np.zeros(0), np.zeros(0))
    )
    pairs = options * (options - 1)
    chances = {
        "strict": (both, 2 / pairs),
        "half_credit": (count / 2, 2 / options),
        "any": (either, 1 - (options - 2) * (options - 3) / pairs),
    }
    return {
        name: measure(mean_of(points), units, groups, chance, seed)
        for name, (points, chance) in chances.items()
    }


def _score_two(
    similarity: Float[np.ndarray, "units options"], correct: Bool[np.ndarray, "units options"]
) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, " units"], Float[np.ndarray, " units"]]:
    """Chances that both and that any of two chosen options are right, and how many on average."""
    edge = np.partition(similarity, -2, axis=1)[:, -2, None]
    above, tied = similarity > edge, similarity == edge
    # Either one option is above the edge and one of the tied ones fills the other place, or none
    # is above and two of the tied ones are drawn.
    sure = (above & correct).sum(axis=1)
    right, drawn_from = (tied & correct).sum(axis=1), tied.sum(axis=1)
    share = right / drawn_from
    one_place = above.any(axis=1)
    ways = np.maximum(drawn_from * (drawn_from - 1), 1)
    wrong = drawn_from - right
    both = np.where(one_place, sure * share, right * (right - 1) / ways)
    either = np.where(one_place, np.where(sure > 0, 1.0, share), 1 - wrong * (wrong - 1) / ways)
    count = np.where(one_place, sure + share, 2 * share)
    return both, either, count


def pair_accuracy(
    similarity: Float[np.ndarray, "pairs 2"],
    groups: Int[np.ndarray, " pairs"] | None = None,
    seed: int = 0,
) -> Metric:
    """The share of pairs whose true text (column 0) is closer than the false one; chance is 1/2.

    A tie counts one half. Vasilakis et al., section 3.2, call it triplet accuracy: an audio, a more
    and a less relevant caption.
    """
    check_similarity(similarity, (None, 2))
    return choose_one(similarity, _first_is_right(similarity), groups, seed)


def _first_is_right(similarity: Float[np.ndarray, "pairs 2"]) -> Bool[np.ndarray, "pairs 2"]:
    return np.broadcast_to([True, False], similarity.shape)


def bat(
    similarity: Float[np.ndarray, "samples 2"],
    is_after: Bool[np.ndarray, " samples"],
    groups: Int[np.ndarray, " samples"] | None = None,
    seed: int = 0,
) -> Metric:
    """Before/after test (ACBA, section 3.2): is the own text closer than the exchanged one?

    The mean over the two words, so that a liking for one of them earns nothing. Where one word is
    missing, the other's share is the value. A tie counts one half; chance is 1/2.

    Args:
        similarity: To the own text (column 0) and to the one with the word exchanged (column 1).
        is_after: Whether the own text says "after" (else "before").
    """
    check_similarity(similarity, (None, 2))
    if is_after.shape != similarity.shape[:1]:
        raise ValueError(f"is_after has shape {is_after.shape} for {len(similarity)} samples")
    points = _share_point(similarity, _first_is_right(similarity))

    def average_words(chosen: np.ndarray) -> float:
        drawn, after = points[chosen], is_after[chosen]
        return float(np.mean([side.mean() for side in (drawn[~after], drawn[after]) if len(side)]))

    return measure(average_words, len(points), groups, 0.5, seed)


def triplet_accuracy(similarity: Float[np.ndarray, "groups 3 3"], seed: int = 0) -> Metric:
    """Forward, reversed or together (TeminAL, T3): each audio chooses among its group's texts.

    Args:
        similarity: Of audio m of a group to text m' of the same group; the right choice is m = m'.
    """
    check_similarity(similarity, (None, 3, 3))
    own = np.broadcast_to(np.eye(3, dtype=bool), similarity.shape)
    points = _share_point(similarity, own).mean(axis=1)
    return measure(mean_of(points), len(points), None, 1 / 3, seed)


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
    two, three = _score_instances(pairs), _score_instances(triplets)
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


def _score_instances(similarity: Float[np.ndarray, "instances k k"]) -> dict[str, np.ndarray]:
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


def block_scores(
    similarity: Float[np.ndarray, "blocks 2 2"],
    groups: Int[np.ndarray, " blocks"] | None = None,
) -> dict[str, Metric]:
    """Score blocks both ways, and as a whole.

    Whatever prefers a caption without hearing gets exactly one half in `text`; whatever prefers a
    sound without reading gets exactly one half in `audio`; neither gets a block as a whole.

    Args:
        similarity: Of sound m of a block to caption m' of it; the right ones are m = m'.

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
        "text": pair_accuracy(np.stack([own, other], axis=2).reshape(-1, 2), of_pairs),
        "audio": pair_accuracy(np.stack([own, by_caption], axis=2).reshape(-1, 2), of_pairs),
        "group": measure(mean_of(whole), len(whole), groups, CHANCES[2]["group"], 0),
    }
