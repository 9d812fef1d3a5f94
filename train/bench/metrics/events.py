"""When sounds are heard, frame by frame: PSDS, event F1 and the AUROC of frames.

A frame in which a sound is faint is neither right nor wrong. It is left out of the AUROC, and cut
out of the sample where events of that sound are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Int8

from synth.base.errors import SpecError
from synth.base.rng import Randomness
from synth.truth.frames import FRAMES_PER_S, Audibility, find_runs
from train.bench.metrics.measure import Metric, Positions, Statistic, measure

PSDS: Final = {"dtc_threshold": 0.7, "gtc_threshold": 0.7, "alpha_ct": 0.0, "alpha_st": 1.0}
"""PSDS 1 of DCASE task 4, up to 100 false events an hour."""
COLLARS: Final = {"onset_collar": 0.2, "offset_collar": 0.2, "offset_collar_rate": 0.2}
"""Event F1 of DCASE task 4: within 0.2 s, or at the end a fifth of the event if that is more."""

FrameStates: TypeAlias = Int8[np.ndarray, "_frames _texts"]
FrameScores: TypeAlias = Float[np.ndarray, "_frames _texts"]
_Event: TypeAlias = tuple[float, float, str]


def refuse_missing() -> None:
    """Check that the package that scores events is there."""
    try:
        import sed_scores_eval  # noqa: F401
    except ImportError as error:
        raise SpecError(
            "localisation is scored by sed_scores_eval, which is not installed",
            fix="pip install 'segue-audio[localisation]', which needs a C++ compiler",
        ) from error


class _Table(pd.DataFrame):
    """A table with arrays that can be written to; pandas 3 has none, sed_scores_eval needs them."""

    @property
    def _constructor(self) -> type[_Table]:
        return _Table

    def to_numpy(self, *args: Any, **kwargs: Any) -> np.ndarray:
        array: np.ndarray = super().to_numpy(*args, **kwargs).copy()
        return array


@dataclass(frozen=True)
class Events:
    """When the sounds of samples are heard, in the words of sed_scores_eval.

    Frames in which a sound is faint are cut out, for that sound, and what follows moves up: begin
    and end may lie anywhere in them. (To find nothing there would show where an event ends.)

    Args:
        states: How each text's sound is heard in the frames of each sample; faint ones, moved to
            the end, stand for silence.
        order: Where each of those frames was.
        events: Onset and offset in seconds, and name, of each clear stretch of each sample.
    """

    states: Sequence[FrameStates]
    order: Sequence[Int[np.ndarray, "_frames _texts"]]
    names: tuple[str, ...]
    events: tuple[tuple[_Event, ...], ...]

    @classmethod
    def of(cls, states: Sequence[FrameStates]) -> Events:
        """Those of samples with at least one text, whose sound is clear in one of them."""
        order = [(state == Audibility.FAINT).argsort(axis=0, kind="stable") for state in states]
        states = [
            np.take_along_axis(state, places, axis=0)
            for state, places in zip(states, order, strict=True)
        ]
        names = tuple(f"t{number}" for number in range(states[0].shape[1]))
        events = tuple(
            tuple(
                (onset / FRAMES_PER_S, offset / FRAMES_PER_S, name)
                for name, column in zip(names, state.T, strict=True)
                for onset, offset in find_runs(column, Audibility.CLEAR)
            )
            for state in states
        )
        return cls(states, order, names, events)

    def psds(self, scores: Sequence[FrameScores]) -> Statistic:
        """The polyphonic sound detection score of a draw of samples, 0 to 1."""
        from sed_scores_eval import intersection_based

        tolerance = {name: PSDS[name] for name in ("dtc_threshold", "gtc_threshold")}
        deltas = intersection_based.intermediate_statistics_deltas(
            self._tables(scores), self._named_events(), cttc_threshold=None, **tolerance
        )

        def statistic(chosen: Positions) -> float:
            draw = self._draw(deltas, chosen)
            score = intersection_based.psds(scores=None, audio_durations=draw[1], **draw[0], **PSDS)
            return float(score[0])

        return statistic

    def best_f1(self, scores: Sequence[FrameScores]) -> Statistic:
        """The mean over texts of the best event F1 that a threshold gives on a draw of samples."""
        from sed_scores_eval import collar_based

        deltas = collar_based.intermediate_statistics_deltas(
            self._tables(scores), self._named_events(), **COLLARS
        )

        def statistic(chosen: Positions) -> float:
            draw, _ = self._draw(deltas, chosen)
            best = collar_based.best_fscore(scores=None, **draw, **COLLARS)[0]
            return float(best["macro_average"])

        return statistic

    def _tables(self, scores: Sequence[FrameScores]) -> dict[str, _Table]:
        """The scores in the order of the states, with nothing found in the silence at the end."""
        floor = min(float(score.min()) for score in scores) - 1
        tables = {}
        rows = zip(scores, self.states, self.order, strict=True)
        for number, (score, states, order) in enumerate(rows):
            times = np.arange(len(score) + 1) / FRAMES_PER_S
            moved = np.take_along_axis(score, order, axis=0).astype(np.float64)
            judged = np.where(states == Audibility.FAINT, floor, moved)
            table = np.column_stack([times[:-1], times[1:], judged])
            tables[str(number)] = _Table(table, columns=["onset", "offset", *self.names])
        return tables

    def _named_events(self) -> dict[str, list[_Event]]:
        return {str(number): list(events) for number, events in enumerate(self.events)}

    def _draw(self, deltas: Any, chosen: Positions) -> tuple[dict[str, Any], dict[str, float]]:
        """What tells of a draw: of the texts with an event in it, samples again under new names."""
        used = {name for number in chosen for _, _, name in self.events[number]}
        drawn = {
            str(place): {name: delta for name, delta in deltas[str(number)].items() if name in used}
            for place, number in enumerate(chosen)
        }
        truth = {str(place): list(self.events[number]) for place, number in enumerate(chosen)}
        lengths = {
            str(place): len(self.states[number]) / FRAMES_PER_S
            for place, number in enumerate(chosen)
        }
        return {"deltas": drawn, "ground_truth": truth}, lengths


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
        seed: Of the bootstrap, and of the draws of chance.
    """
    refuse_missing()
    if [table.shape for table in scores] != [table.shape for table in states]:
        raise ValueError("scores and states differ in shape")
    borne = np.any([(table == Audibility.CLEAR).any(axis=0) for table in states], axis=0)
    if not borne.any():
        raise ValueError("no sound is ever clear")
    states = [table[:, borne] for table in states]
    events = Events.of(states)
    random = Randomness(seed).at("localisation", 0)
    scores = [table[:, borne] for table in scores]
    noise = [np.where(table == SILENT, SILENT, random.random(table.shape)) for table in scores]
    prepared: dict[str, Callable[[Sequence[FrameScores]], Statistic]] = {
        "psds": events.psds,
        "event_f1": events.best_f1,
        "frame_auroc": lambda scores: FrameRanking.of(scores, states).auroc,
    }
    metrics: dict[str, Metric] = {}
    for name, prepare in prepared.items():
        chance = prepare(noise)(np.arange(len(states)))
        statistic = prepare(scores)
        metrics[f"localisation_{name}"] = measure(
            statistic, len(states), groups, chance, seed, FEWER_DRAWS
        )
    return metrics


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
        sample = np.repeat(np.arange(len(states)), [len(table) for table in states])
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
        count = max(numbers.max(initial=-1) for numbers in self.samples) + 1
        times = np.bincount(chosen, minlength=count).astype(np.float64)
        areas = []
        for sample, rank, clear in zip(self.samples, self.ranks, self.clear, strict=True):
            weight = times[sample]
            with_it = np.bincount(rank, weight * clear)
            without = np.bincount(rank, weight * ~clear)
            pairs = with_it.sum() * without.sum()
            if pairs:
                below = without.cumsum() - without / 2
                areas.append(float(with_it @ below) / pairs)
        return float(np.mean(areas)) if areas else np.nan
