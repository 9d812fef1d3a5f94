"""What the arms of `triplets` are told: single sounds alone, then those of stages A and B."""

from __future__ import annotations

from typing import Final

from experiments.harness.experiment import Row
from synth.base.rng import uniform_hash
from synth.labels.lexicon import Phrase
from synth.scene.claim import claim_to_text
from synth.scene.scene import Event

ALONE: Final = "alone"
"""Relation of the single sounds of contrastive training."""
ALONE_SHARE: Final = 0.5
"""Of the groups of single and combined sounds those that contrastive training hears."""
STAGE_A: Final = ""
"""Relation of the single and combined sounds of stage A."""
STAGE_B: Final = ("before", "after", "while")
"""Relations of the triplets of stage B."""
PROMPT: Final = "The sound of {}"
"""Of ZSTE's T1 and T2."""


def by_stage(row: Row) -> Row | None:
    """The row with the relation of the stage that hears it, None where no stage does.

    Triplets are as they are. Of the groups of single and combined sounds one half is stage A's;
    of the other the single sounds are told as `PROMPT`, and the combined ones are left out.
    """
    if row["relation"] != STAGE_A:
        return row
    # Triplets are numbered likewise, and are other groups.
    heard = {**row, "group": f"a-{row['group']}"}
    if uniform_hash("triplets/alone", row["group"]) >= ALONE_SHARE:
        return heard
    if len(row["labels"]) != 1:
        return None
    (label,) = row["labels"]
    said = {"caption": PROMPT.format(Phrase.of_label(label).plain), "relation": ALONE}
    new = {"claim": claim_to_text(Event(label)), "positives": [], "negatives": []}
    return {**heard, **said, **new}
