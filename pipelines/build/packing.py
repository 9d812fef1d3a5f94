"""Packing: drafted rows become shards, and get their places in the corpus."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa

from pipelines.build.drafting import DraftedRows, sample_id
from synth.corpus.schema import PLAN

_UNNUMBERED = '"id":"","index":0,'
_UNPACKED = '"shard":"",'


@dataclass(frozen=True, slots=True)
class PackedShard:
    """A shard's rows.

    Args:
        rows: Of `schema.PLAN`.
        texts: The same rows as canonical JSON, all with `index` 0.
    """

    name: str
    split: str
    rows: pa.Table
    texts: list[str]


def pack(corpus: str, most: int, drafted: Iterable[DraftedRows]) -> Iterator[PackedShard]:
    """One shard after the other; a group is never divided.

    Args:
        most: Samples that a shard may hold, but for one group that has more.
        drafted: The rows of all groups, split by split.
    """
    index = 0
    for split, runs in groupby(drafted, lambda each: each.split):
        made = 0
        for number, (tables, texts) in enumerate(_cut(runs, most)):
            name = f"{corpus}-{split}-{number:06d}.tar"
            ids = [sample_id(corpus, split, made + at) for at in range(len(texts))]
            places = {
                "id": pa.array(ids),
                "index": pa.array(np.arange(index, index + len(ids))),
                "shard": pa.array([name] * len(ids)),
            }
            yield PackedShard(
                name,
                split,
                _place(pa.concat_tables(tables).combine_chunks(), places),
                [_place_text(text, each, name) for text, each in zip(texts, ids, strict=True)],
            )
            made += len(ids)
            index += len(ids)


def _cut(runs: Iterable[DraftedRows], most: int) -> Iterator[tuple[list[pa.Table], list[str]]]:
    """The rows of each shard, as tables that follow one another, and as text."""
    tables: list[pa.Table] = []
    texts: list[str] = []
    for run in runs:
        start = end = 0
        for size in run.sizes:
            count = len(texts) + end - start
            if count and count + size > most:
                tables.append(run.rows.slice(start, end - start))
                texts += run.texts[start:end]
                yield tables, texts
                tables, texts, start = [], [], end
            end += size
        tables.append(run.rows.slice(start, end - start))
        texts += run.texts[start:end]
    if texts:
        yield tables, texts


def _place(rows: pa.Table, places: dict[str, pa.Array]) -> pa.Table:
    columns = [places.get(name, rows.column(name)) for name in PLAN.names]
    return pa.table(columns, schema=PLAN)


def _place_text(text: str, name: str, shard: str) -> str:
    """Quotes inside values are escaped, so that a key is found and nothing else."""
    numbered = text.replace(_UNNUMBERED, f'"id":"{name}","index":0,', 1)
    return numbered.replace(_UNPACKED, f'"shard":"{shard}",', 1)
