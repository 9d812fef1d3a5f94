"""Composed sets: a sound and an instruction, and two edits of the sound, one of which is meant."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from jaxtyping import Float

from pipelines.frozen.description import SPLIT, BaselineScore
from synth.audio.dsp import Audio, from_pcm
from synth.base.errors import CorpusError
from synth.corpus.corpus import Corpus
from synth.derived.edits import EditChoice, find_choices
from synth.export.base import RANDOMNESS
from synth.export.items import list_shards
from synth.shortcuts.figures import RivalSet, measure_choices

TEXT: Final = "instruction alone"
_WINDOW_S: Final = 0.04
_LOWEST_HZ: Final = 200
_BANDS: Final = 16
_SILENCE: Final = 1e-10
_ACTIVE_DB: Final = 35.0


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


# What is told without putting the two together; each choice has one right answer an instruction.


def measure_baselines(corpus: Corpus, choices: Sequence[EditChoice]) -> dict[str, BaselineScore]:
    """How often each baseline finds what is meant; chance is 1/2.

    `TEXT` prefers the longer instruction. The others prefer one of two sounds: the one that is more
    like the source, sounds for longer, or has the higher spectrum.
    """
    columns = ["id", "shard", "offset", "size"]
    rows = {row.pop("id"): row for row in corpus.samples(SPLIT, columns=columns).to_pylist()}

    @lru_cache(maxsize=64)
    def hear(sample: str) -> Float[np.ndarray, "blocks bands"]:
        return _measure_bands(
            from_pcm(corpus.stored_pcm(SPLIT, **rows[sample])), corpus.sample_rate
        )

    def resemble(choice: EditChoice, at: int) -> float:
        return -float(np.abs(hear(choice.source) - hear(choice.targets[at])).mean())

    def last(choice: EditChoice, at: int) -> float:
        loudest = hear(choice.targets[at]).max(axis=1)
        return float((loudest >= loudest.max() - _ACTIVE_DB).mean())

    def place(choice: EditChoice, at: int) -> float:
        powers = 10 ** (hear(choice.targets[at]) / 10)
        return float(powers.sum(axis=0) @ np.arange(_BANDS) / powers.sum())

    scorers: dict[str, Callable[[EditChoice, int], float]] = {
        TEXT: lambda choice, at: len(choice.instructions[at]),
        "source alone": resemble,
        "length": last,
        "spectrum": place,
    }
    return {name: _score(choices, prefer) for name, prefer in scorers.items()}


def _measure_bands(audio: Audio, rate: int) -> Float[np.ndarray, "blocks bands"]:
    """Level of each block in bands of equal ratio, in dB."""
    width = round(_WINDOW_S * rate)
    blocks = audio[: len(audio) // width * width].reshape(-1, width)
    powers = np.square(np.abs(np.fft.rfft(blocks * np.hanning(width), axis=1)))
    starts = (np.geomspace(_LOWEST_HZ, rate / 2, _BANDS + 1)[:-1] * _WINDOW_S).astype(int)
    return np.asarray(10 * np.log10(np.add.reduceat(powers, starts, axis=1) + _SILENCE))


def _score(
    choices: Sequence[EditChoice], prefer: Callable[[EditChoice, int], float]
) -> BaselineScore:
    """The share of right answers, a tie counting one half, and its interval over whole groups."""
    numbers = {name: at for at, name in enumerate(dict.fromkeys(each.group for each in choices))}
    leads = [prefer(choice, 0) - prefer(choice, 1) for choice in choices]
    margins = np.array([margin for lead in leads for margin in (lead, -lead)], dtype=float)
    asked = [
        RivalSet(numbers[choice.group], "", at, (1 - at,)) for choice in choices for at in (0, 1)
    ]
    (figure,) = measure_choices(SPLIT, "", margins, asked)
    return BaselineScore(
        value=round(figure.value, 4), low=round(figure.low, 4), high=round(figure.high, 4)
    )
