"""What the arms of `acba` are told: captions with order, mostly without, or nouns and verbs."""

from __future__ import annotations

import re
from typing import Final

from experiments.harness.experiment import Row
from synth.base.rng import uniform_hash
from synth.captions.caption import Connective, Style, capitalise, realize
from synth.labels.lexicon import Phrase
from synth.recipes.acba import Acba
from synth.scene.claim import And, claim_to_text
from synth.scene.scene import Concat, Overlay, from_text
from synth.text.order.temporal import keep_nouns_and_verbs

ORDERED_SHARE: Final = 0.02
"""Of the paper's 123k original pairs 1.7 % hold before or after (table 4)."""

_JOINED: Final = re.compile(r"(?P<first>.+) (?:before|after) (?P<second>.+)")
_FRONTED: Final = re.compile(r"(?:Before|After) (?P<first>.+), (?P<second>.+)")


def with_order(row: Row) -> Row:
    """`acba` as it is; triplets said with "then" and "as"."""
    return row if row["recipe"] == Acba.name else as_or_then(row)


def mostly_unordered(row: Row) -> Row:
    """`acba` said with "and", but for a few groups; triplets said with "then" and "as"."""
    if row["recipe"] != Acba.name:
        return as_or_then(row)
    if uniform_hash("acba/original", row["group"]) < ORDERED_SHARE:
        return row
    return _drop_order_in_row(row, drop_order(row["caption"]))


def nouns_and_verbs_only(row: Row) -> Row:
    """The nouns and verbs of what `mostly_unordered` says, which tell no order."""
    text = mostly_unordered(row)["caption"]
    return _drop_order_in_row(row, keep_nouns_and_verbs(text).text or text)


def as_or_then(row: Row) -> Row:
    """A triplet's member said with "then" where its sounds are in order, else with "as"."""
    claim = _read_pair(row)
    word = Connective.THEN if isinstance(claim, Concat) else Connective.AS
    text = realize(claim, word, Phrase.of_label, Style.NATURAL)
    return _replace_caption(row, text, word.value, row["claim"])


def drop_order(caption: str) -> str:
    """A caption of `acba` with "and" in place of before or after.

    Which sound is named first tells nothing: before and after are equally frequent.
    """
    parts = _FRONTED.fullmatch(caption) or _JOINED.fullmatch(caption)
    if parts is None:
        raise ValueError(f"not joined by before or after: {caption!r}")
    return capitalise(f"{parts['first']} and {parts['second']}")


def _drop_order_in_row(row: Row, text: str) -> Row:
    claim = _read_pair(row)
    return _replace_caption(row, text, "", claim_to_text(And(claim.first, claim.second)))


def _read_pair(row: Row) -> Concat | Overlay:
    claim = from_text(row["claim"])
    if not isinstance(claim, Concat | Overlay):
        raise ValueError(f"not a claim of two sounds: {row['claim']}")
    return claim


def _replace_caption(row: Row, text: str, relation: str, claim: str) -> Row:
    """The row with another caption, and without the others, which go with the old one."""
    new = {"caption": text, "claim": claim, "relation": relation, "positives": [], "negatives": []}
    return {**row, **new}
