"""Telling: the words for the claims of a group of scenes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, Final, Protocol

import numpy as np

from synth.captions.caption import Caption, Style
from synth.captions.counting import counting_frames, say_count
from synth.captions.measuring import measuring_frames, say_measure
from synth.captions.narrative import Narrator, Pick
from synth.labels.lexicon import Phrase
from synth.scene.claim import Claim, Count, Measured, claim_labels

_FEW: Final = 4
"""Sounds of a sentence whose words are drawn freely."""

_CHOICES: Final = 16


class Tell(Protocol):
    """Puts claims into words."""

    def __call__(self, claim: Claim, kind: str = "") -> Caption:
        """The caption that makes a claim, of a kind."""
        ...


def make_teller(style: Style, is_long: bool, rate: int, rng: np.random.Generator) -> Tell:
    """Who tells the claims of a group, in words drawn anew for each.

    In a group of long scenes, sentences of more than four sounds make the same choices in the same
    order: the false one differs from the true one in what it says, and in nothing else.

    Args:
        style: Of the captions.
        is_long: Whether the group's scenes are long.
        rate: In Hz.
        rng: Draws the words.
    """
    free = Narrator(Phrase.of_label, style, _pick_anew(rng))
    shares = rng.random(_CHOICES).tolist() if is_long else ()

    def tell(claim: Claim, kind: str = "") -> Caption:
        if isinstance(claim, Measured):
            frame = int(rng.integers(measuring_frames(claim.quantity, style)))
            return say_measure(claim, Phrase.of_label, style, rate, frame).of_kind(kind)
        if isinstance(claim, Count):
            frame = int(rng.integers(counting_frames(style)))
            return say_count(claim.event.label, claim.times, Phrase.of_label, style, frame).of_kind(
                kind
            )
        if not is_long or len(claim_labels(claim)) <= _FEW:
            return free.tell(claim, kind)
        return Narrator(Phrase.of_label, style, _pick_by(shares)).tell(claim, kind)

    return tell


def _pick_anew(rng: np.random.Generator) -> Pick:
    def one_of(options: Sequence[Any]) -> Any:
        return options[int(rng.integers(len(options)))]

    return one_of


def _pick_by(shares: Sequence[float]) -> Pick:
    left = cycle(shares)

    def one_of(options: Sequence[Any]) -> Any:
        return options[int(next(left) * len(options))]

    return one_of
