"""Composed sets: a sound and an instruction, and two edits of the sound, one of which is meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float

from pipelines.frozen.description import SPLIT, BaselineScore
from synth.audio.dsp import from_pcm
from synth.base.errors import CorpusError
from synth.corpus.corpus import Corpus
from synth.derived.edits import EditChoice, find_choices
from synth.export.base import RANDOMNESS
from synth.export.items import list_shards
from synth.scene.scene import from_text, labels
from synth.shortcuts.audio import read_recordings
from synth.shortcuts.figures import RivalSet, measure_choices
from synth.truth.change import find_change

BY_CONSTRUCTION: Final = BaselineScore(value=0.5, low=0.5, high=0.5)
"""What the instruction scores alone, and source and targets without it; see `score_choices`."""
_WINDOW_S: Final = 0.04
_LOWEST_HZ: Final = 200
_BANDS: Final = 16
_SILENCE: Final = 1e-10
_WANTED: Final[Mapping[str, tuple[int, ...]]] = {
    **{"add": (1,), "remove": (-1,), "replace": (-1, 1)},
    **{"quieter": (-1,), "louder": (1,), "swap": (0, 0)},
}
"""Whether there is more or less of the sounds that a change names."""


def list_choices(corpus: Corpus, kinds: Collection[str]) -> list[EditChoice]:
    """The choices among edits of a built set, in the plan's order."""
    choices: list[EditChoice] = []
    for shard in list_shards(corpus, [SPLIT]):
        rows = {row["id"]: row for row in shard.rows()}
        choices += find_choices(shard.subjects([*rows.values()]), rows, kinds, RANDOMNESS)
    if not choices:
        raise CorpusError(
            f"{corpus.name}: no sample has two edits of one kind",
            fix="use recipe edits with `choices: 2` or more, and name kinds that it makes",
        )
    return choices


# What is told without the sound that the instruction is about.


def measure_baselines(corpus: Corpus, choices: Sequence[EditChoice]) -> dict[str, BaselineScore]:
    """How often instruction and target alone tell what is meant; chance is 1/2.

    By labels: a target has the sound that comes, or lacks the one that goes; of levels they tell
    nothing. By spectrum: how much like such a sound it is, as learned from other recordings.
    """
    columns = ["id", "group", "scene", "clips", "shard", "offset", "size"]
    rows = corpus.samples(SPLIT, columns=columns).to_pylist()
    scenes = {row["id"]: from_text(row["scene"]) for row in rows}
    sounds = sorted({label for scene in scenes.values() for label in labels(scene)})
    present = np.array([[label in labels(scene) for label in sounds] for scene in scenes.values()])
    tables = {"labels": present.astype(np.float64), "spectrum": guess_sounds(corpus, rows, present)}
    numbers = {name: at for at, name in enumerate(scenes)}

    def measure(table: Float[np.ndarray, "samples sounds"]) -> BaselineScore:
        def prefer(choice: EditChoice, instruction: int, at: int) -> float:
            change = find_change(scenes[choice.source], scenes[choice.targets[instruction]])
            assert change is not None
            target = table[numbers[choice.targets[at]]]
            signs = zip(_WANTED[change.kind], change.sounds, strict=True)
            return sum(sign * float(target[sounds.index(label)]) for sign, label in signs)

        return score_choices(choices, prefer)

    return {f"without the source, by {basis}": measure(table) for basis, table in tables.items()}


def guess_sounds(
    corpus: Corpus, rows: Sequence[Mapping[str, Any]], present: Bool[np.ndarray, "samples sounds"]
) -> Float[np.ndarray, "samples sounds"]:
    """How likely each sample's spectrum makes each sound, by groups without its recordings."""
    spectra = np.stack([_measure_spectrum(corpus, row) for row in rows])
    spectra = (spectra - spectra.mean(axis=0)) / spectra.std(axis=0)
    recordings = read_recordings(corpus)
    used: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        used[row["group"]].update(recordings[clip] for clip in row["clips"])
    likely = np.zeros(present.shape)
    for group, sources in used.items():
        rest = np.array([sources.isdisjoint(used[row["group"]]) for row in rows])
        judged = np.array([row["group"] == group for row in rows])
        train = spectra[rest]
        fitted = np.linalg.solve(train.T @ train + np.eye(train.shape[1]), train.T @ present[rest])
        likely[judged] = spectra[judged] @ fitted
    return likely


def _measure_spectrum(corpus: Corpus, row: Mapping[str, Any]) -> Float[np.ndarray, " bands"]:
    """Its level in bands of equal ratio, in dB."""
    pcm = corpus.stored_pcm(SPLIT, row["shard"], row["offset"], row["size"])
    width = round(_WINDOW_S * corpus.sample_rate)
    blocks = from_pcm(pcm)[: len(pcm) // width * width].reshape(-1, width)
    powers = np.square(np.abs(np.fft.rfft(blocks * np.hanning(width), axis=1))).mean(axis=0)
    edges = np.geomspace(_LOWEST_HZ, corpus.sample_rate / 2, _BANDS + 1)[:-1]
    starts = (edges * _WINDOW_S).astype(int)
    return np.asarray(10 * np.log10(np.add.reduceat(powers, starts) + _SILENCE))


def score_choices(
    choices: Sequence[EditChoice], prefer: Callable[[EditChoice, int, int], float]
) -> BaselineScore:
    """The share of right answers, a tie counting one half, and its interval over whole groups.

    Args:
        prefer: How well a target fits an instruction, both by number. What does not depend on
            both is right in exactly one half.
    """
    numbers = {name: at for at, name in enumerate(dict.fromkeys(edit.group for edit in choices))}
    questions = [(choice, at) for choice in choices for at in (0, 1)]
    leads = [prefer(choice, at, at) - prefer(choice, at, 1 - at) for choice, at in questions]
    rivals = [RivalSet(numbers[choice.group], "", at, (1 - at,)) for choice, at in questions]
    (figure,) = measure_choices(SPLIT, "", np.array(leads, dtype=float), rivals)
    return BaselineScore(
        value=round(figure.value, 4), low=round(figure.low, 4), high=round(figure.high, 4)
    )
