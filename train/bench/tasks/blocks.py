"""The blocks of a corpus: two samples of a group, and two captions that are dealt to both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synth.corpus.schema import compared_with
from train.bench.embedder import Embeddings, Said
from train.bench.metrics import Metric, block_scores
from train.data.rows import Row


@dataclass(frozen=True, slots=True)
class Block:
    """Two sounds and two captions; each caption is true of the sound at its place alone.

    Args:
        sounds: Positions of the samples' rows.
        group: Name of the minimal-pair group.
    """

    sounds: tuple[int, int]
    texts: tuple[str, str]
    group: str


def find_blocks(rows: Sequence[Row], edits: Collection[str]) -> list[Block]:
    """The blocks of some samples, in their order.

    A false caption and the true one that it stands against make a block where another sample of the
    group has the two the other way round.

    Args:
        rows: Of a split, with group, caption and negatives.
        edits: Kinds of false captions.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        groups[row["group"]].append(number)
    return [
        block
        for name, members in groups.items()
        for block in _blocks_of_group(rows, name, members, edits)
    ]


def _blocks_of_group(
    rows: Sequence[Row], group: str, members: Sequence[int], edits: Collection[str]
) -> Iterator[Block]:
    at: dict[tuple[str, str, str], int] = {}
    for number in members:
        for text in rows[number]["negatives"]:
            if text["kind"] in edits:
                at[text["kind"], compared_with(text, rows[number]), text["text"]] = number
    for (kind, true, false), number in at.items():
        other = at.get((kind, false, true))
        # Each block is met from both of its sides.
        if other is not None and number < other:
            yield Block((number, other), (true, false), group)


def score_blocks(
    blocks: Sequence[Block],
    audio: Embeddings,
    said: Said,
    positions: Mapping[int, int],
    seed: int = 0,
) -> dict[str, Metric]:
    """`text`, `audio` and `group`, as `metrics.block_scores` tells them.

    Args:
        blocks: At least one.
        audio: Embeddings of sounds.
        said: Embeddings of texts.
        positions: Of each sample's sound in `audio`.
        seed: Of the bootstrap, over groups.
    """
    sounds = np.array([[positions[number] for number in each.sounds] for each in blocks])
    texts = np.stack([[said[text] for text in each.texts] for each in blocks])
    similarity = np.einsum("bid,bjd->bij", audio[sounds], texts)
    groups = np.unique([each.group for each in blocks], return_inverse=True)[1]
    return block_scores(similarity, groups.astype(np.int64), seed)
