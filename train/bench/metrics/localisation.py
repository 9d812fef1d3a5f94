"""When sounds are heard, frame by frame: PSDS, event F1 and the AUROC of frames.

A frame in which a sound is faint is neither right nor wrong. It is left out of the AUROC, and cut
out of the sample where events of that sound are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from jaxtyping import Bool, Int

from synth.base.rng import Randomness
from synth.truth.frames import Audibility
from train.bench.metrics.events import Events, FrameScores, FrameStates, refuse_missing
from train.bench.metrics.measure import Metric, Positions, Statistic, measure

SILENT: Final = -1.0
"""The score of digital silence, in which any model may know that nothing is heard."""
FEWER_DRAWS: Final = 100
"""Of the bootstrap: one takes as long as many of other metrics."""


def localisation(
    scores: Sequence[FrameScores],
    states: Sequence[FrameStates],
    groups: Int[np.ndarray, " samples"],
    seed: int = 0,
) -> dict[str, Metric]:
    """`localisation_psds`, `localisation_event_f1` and `localisation_frame_auroc`.

    Each is a mean over the texts that are clear in some frame. Chance is what scores drawn at
    random for every frame give, but for those of digital silence: one such draw. F1 is that of the
    best threshold of each text on these samples, so it shows what a model could reach.

    Args:
        scores: Of the frames of every sample, for each text; larger means closer.
        states: How each text's sound is heard in them, as values of `Audibility`.
        groups: Number of each sample's group.
        seed: Of the bootstrap, and of the draws of chance.
    """
    refuse_missing()
    if [each.shape for each in scores] != [each.shape for each in states]:
        raise ValueError("scores and states differ in shape")
    borne = np.any([(each == Audibility.CLEAR).any(axis=0) for each in states], axis=0)
    if not borne.any():
        raise ValueError("no sound is ever clear")
    states = [each[:, borne] for each in states]
    events = Events.of(states)
    random = Randomness(seed).at("localisation", 0)
    own = [each[:, borne] for each in scores]
    noise = [np.where(each == SILENT, SILENT, random.random(each.shape)) for each in own]
    prepared: dict[str, Callable[[Sequence[FrameScores]], Statistic]] = {
        "psds": events.psds,
        "event_f1": events.best_f1,
        "frame_auroc": lambda given: FrameRanking.of(given, states).auroc,
    }
    found: dict[str, Metric] = {}
    for name, prepare in prepared.items():
        chance = prepare(noise)(np.arange(len(states)))
        statistic = prepare(own)
        found[f"localisation_{name}"] = measure(
            statistic, len(states), groups, chance, seed, FEWER_DRAWS
        )
    return found


@dataclass(frozen=True)
class FrameRanking:
    """The judged frames of each text, ranked once, so that any draw of samples is judged quickly.

    Args:
        samples: Which sample each of a text's frames is of.
        ranks: Its place among the different scores of the text, from 0.
        clear: Whether the sound is clear in it, else it is absent.
    """

    samples: tuple[Int[np.ndarray, " _frames"], ...]
    ranks: tuple[Int[np.ndarray, " _frames"], ...]
    clear: tuple[Bool[np.ndarray, " _frames"], ...]

    @classmethod
    def of(cls, scores: Sequence[FrameScores], states: Sequence[FrameStates]) -> FrameRanking:
        """That of the frames in which a text's sound is clear or absent."""
        sample = np.repeat(np.arange(len(states)), [len(each) for each in states])
        score, state = np.concatenate(list(scores)), np.concatenate(list(states))
        samples, ranks, clear = [], [], []
        for text in range(state.shape[1]):
            judged = state[:, text] != Audibility.FAINT
            samples.append(sample[judged])
            ranks.append(np.unique(score[judged, text], return_inverse=True)[1])
            clear.append(state[judged, text] == Audibility.CLEAR)
        return cls(tuple(samples), tuple(ranks), tuple(clear))

    def auroc(self, chosen: Positions) -> float:
        """Of a draw of samples, repeats among them: the mean over texts with both kinds of frames.

        It is the chance that a frame with the sound scores higher than one without; a tie counts
        one half.
        """
        count = max(each.max(initial=-1) for each in self.samples) + 1
        times = np.bincount(chosen, minlength=count).astype(np.float64)
        found = []
        for sample, rank, clear in zip(self.samples, self.ranks, self.clear, strict=True):
            weight = times[sample]
            with_it = np.bincount(rank, weight * clear)
            without = np.bincount(rank, weight * ~clear)
            pairs = with_it.sum() * without.sum()
            if pairs:
                below = without.cumsum() - without / 2
                found.append(float(with_it @ below) / pairs)
        return float(np.mean(found)) if found else np.nan
