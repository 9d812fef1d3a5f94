"""Captions that hold negators which deny nothing: "no doubt", "not only that", "no less".

A text tower that was trained on much text knows `no`, `not` and `without` before it hears music.
One with random weights takes any word that it never met for a change of meaning, and would so tell
a negated caption from its original without knowing what a negator does.
"""

from __future__ import annotations

from typing import Final

from experiments.harness.experiment import Row
from synth.base.rng import uniform_hash
from synth.captions.caption import capitalise
from synth.text.negation.negation import lower_initial

IDIOMS: Final = (
    "no doubt",
    "no less",
    "no wonder",
    "not just that",
    "not only that",
    "not to mention",
    "without doubt",
    "without a doubt",
)
"""`synth.text.negation.negators` knows each as one that denies nothing."""
MOST: Final = 3
LEARNT: Final = "train"
_FINAL: Final = ".!? "


def with_idioms(row: Row) -> Row:
    """A training sample with none to three idioms in its caption, and the same in the others."""
    if row["split"] != LEARNT:
        return row
    idioms = _draw_idioms(row["id"])
    others = {
        role: [{**text, "text": insert_idioms(text["text"], idioms)} for text in row[role]]
        for role in ("positives", "negatives")
    }
    return {**row, "caption": insert_idioms(row["caption"], idioms), **others}


def insert_idioms(caption: str, idioms: tuple[str, ...]) -> str:
    """The caption behind its first idiom, and before the others."""
    if not idioms:
        return caption
    first, *rest = idioms
    end = len(caption.rstrip(_FINAL))
    body = "".join([lower_initial(caption[:end]), *(f", {each}" for each in rest)])
    return f"{capitalise(first)}, {body}{caption[end:]}"


def _draw_idioms(sample: str) -> tuple[str, ...]:
    """None to `MOST` different idioms, each number as often."""
    count = int(uniform_hash("negation/idioms", sample) * (MOST + 1))
    order = sorted(IDIOMS, key=lambda idiom: uniform_hash(f"negation/{idiom}", sample))
    return tuple(order[:count])
