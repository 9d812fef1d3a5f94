"""Captions within a group that may be true of another member's sound, too.

A loss takes the other captions of a batch for false. Of another group's that is a fair guess; of
the own group's it is known, and one that is not refuted must not stand against the sound.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from synth.base.units import Frames
from synth.corpus.schema import read_timeline
from synth.scene.claim import claim_from_text
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing
from train.data.meaning import meaning
from train.data.rows import Row


def find_unrefuted(
    rows: Sequence[Row], claims: Sequence[str], audible: Frames | None
) -> Bool[Tensor, "rows rows"]:
    """Which caption (column) is not refuted of which sound (row), within groups.

    The negatives of a row are known to be false. Other claims are judged on what is heard of it.
    Where that is not told, of a part of a sample or in a corpus of an older version, they count as
    not refuted.

    Args:
        rows: Rows of a batch.
        claims: What the caption of each says, as JSON.
        audible: Shortest overlap that can be heard, in frames; None where the corpus does not say.
    """
    found = torch.zeros(len(rows), len(rows), dtype=torch.bool)
    groups: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        groups.setdefault(row["group"], []).append(at)
    for members in groups.values():
        for at in members if len(members) > 1 else ():
            row, hearing = rows[at], None
            false = {meaning(each["claim"]) for each in row["negatives"]}
            for other in members:
                if other == at or meaning(claims[other]) in false:
                    continue
                if audible is not None and row.get("activity") is not None and "crop" not in row:
                    hearing = hearing or Hearing(read_timeline(row), Tolerance(audible=audible))
                    if hearing.refutes(claim_from_text(claims[other])):
                        continue
                found[at, other] = True
    return found
