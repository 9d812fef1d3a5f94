"""Corpora that are made of others without new audio."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from os.path import relpath
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from experiments.harness.experiment import CorpusView, keep
from pipelines.store.store import link
from synth.base.atomic import replacing, write_text
from synth.base.errors import SpecError
from synth.base.rng import digest
from synth.corpus.corpus import CLIPS_FILE, CORPUS_FILE, SAMPLES_FILE, Corpus
from synth.corpus.schema import SAMPLES, canonical_json, to_table

_LETTERS: Final = 12


def write_view(name: str, view: CorpusView, parts: Mapping[str, Path], root: Path) -> Path:
    """Write the manifests of a view, and link the shards of its parts to it.

    What is there already is not written again.

    Args:
        root: Holds one folder a view, and in it one a version.

    Returns:
        Its manifest folder, which reads as any corpus's.
    """
    corpora = [Corpus.open(parts[part]) for part in view.parts]
    rows = [
        changed
        for corpus in corpora
        for row in corpus.samples().to_pylist()
        if (changed := view.reword(row))
    ]
    rates = {corpus.sample_rate for corpus in corpora}
    if len(rates) > 1:
        raise SpecError(
            f"view {name}: its parts are at {' and '.join(map(str, sorted(rates)))} Hz",
            fix="give their specs the same audio.sample_rate",
        )
    if not rows:
        raise SpecError(f"view {name}: no sample is left", fix="let `reword` keep some")
    clips = _join_clips(corpora, view)
    digests = [str(corpus.facts["digest"]) for corpus in corpora]
    changes = [] if view.clip is keep else [repr(clips.to_pylist())]
    key = digest(*digests, canonical_json(rows), *changes)
    folder = root / name / key[:_LETTERS]
    if (folder / CORPUS_FILE).is_file():
        return folder
    metadata = pq.read_schema(corpora[0].folder / SAMPLES_FILE).metadata
    with replacing(folder / SAMPLES_FILE) as partial:
        pq.write_table(to_table(rows, SAMPLES).replace_schema_metadata(metadata), partial)
    with replacing(folder / CLIPS_FILE) as partial:
        pq.write_table(clips, partial)
    for corpus in corpora:
        for split, shard in sorted({(sample["split"], sample["shard"]) for sample in rows}):
            source = corpus.shards / split / shard
            if source.is_file():
                link(source, folder / "shards" / split / shard)
    samples = Counter(str(row["split"]) for row in rows)
    shards = Counter(split for split, _ in {(row["split"], row["shard"]) for row in rows})
    facts = dict(corpora[0].facts) | {
        "corpus": name,
        "version": folder.name,
        "digest": key,
        "splits": {
            split: {"samples": count, "shards": shards[split]} for split, count in samples.items()
        },
        "shards": "shards",
        "bank": relpath((corpora[0].folder / corpora[0].facts["bank"]).resolve(), folder.resolve()),
    }
    write_text(folder / CORPUS_FILE, json.dumps(facts, indent=2) + "\n")
    return folder


def _join_clips(corpora: Sequence[Corpus], view: CorpusView) -> pa.Table:
    ids: set[str] = set()
    parts = []
    for corpus in corpora:
        table = pq.read_table(corpus.folder / CLIPS_FILE)
        new = pa.array([clip not in ids for clip in table["id"].to_pylist()], pa.bool_())
        parts.append(table.filter(new))
        ids |= set(table["id"].to_pylist())
    clips = pa.concat_tables(parts, promote_options="default")
    if view.clip is keep:
        return clips
    return pa.Table.from_pylist([dict(view.clip(row)) for row in clips.to_pylist()], clips.schema)
