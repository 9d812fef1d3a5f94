"""Look into a finished corpus: counts, samples, checks."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.plan import SHARDS_FILE
from pipelines.render import sha256
from synth.atomic import write_bytes
from synth.corpus import CLIPS_FILE, QUARANTINE_FILE, Corpus
from synth.errors import CorpusError
from synth.shards import AudioFormat, encode_audio


def describe(corpus: Corpus) -> dict[str, Any]:
    """Counts by split, relation, edit kind, label, licence and quarantine reason."""
    table = corpus.samples()
    rate = corpus.sample_rate
    splits: dict[str, dict[str, Any]] = {}
    for split in corpus.splits:
        part = table.filter(pc.field("split") == split)
        seconds = np.asarray(part.column("frames")) / rate
        splits[split] = {
            "samples": part.num_rows,
            "groups": pc.count_distinct(part.column("group")).as_py(),
            "shards": pc.count_distinct(part.column("shard")).as_py(),
            "hours": round(float(seconds.sum()) / 3600, 3),
            "shortest s": round(float(seconds.min()), 2),
            "longest s": round(float(seconds.max()), 2),
        }
    kinds = [row["kind"] for row in pc.list_flatten(table.column("negatives")).to_pylist()]
    clips = pq.read_table(corpus.folder / CLIPS_FILE, columns=["split", "licence", "recording"])
    used = clips.filter(pc.field("split") != "")
    refused = pq.read_table(corpus.folder / QUARANTINE_FILE, columns=["stage"])
    labels = pc.list_flatten(table.column("labels")).to_pylist()
    sizes = pc.list_value_length(table.column("labels")).to_pylist()
    counts = {
        "split": splits,
        "relation": _shares(table.column("relation").to_pylist()),
        "sounds in a scene": _shares([str(size) for size in sorted(sizes)]),
        "place of a sound in its scene": _shares(
            [str(place) for size in sizes for place in range(1, size + 1)]
        ),
        "negatives": _shares(kinds),
        "licence of clips": _shares(used.column("licence").to_pylist()),
        "label (ten most frequent)": dict(list(_shares(labels).items())[:10]),
        "quarantined at": _shares(refused.column("stage").to_pylist()),
    }
    return {
        "corpus": corpus.name,
        "version": corpus.version,
        "recipe": corpus.facts["recipe"],
        "counts": {name: shares for name, shares in counts.items() if shares},
    }


def draw(corpus: Corpus, count: int) -> list[dict[str, Any]]:
    """`count` rows of the manifest, evenly spread over the plan."""
    table = corpus.samples()
    count = min(count, table.num_rows)
    picked = np.unique(np.linspace(0, table.num_rows - 1, count).astype(np.int64))
    rows: list[dict[str, Any]] = table.take(picked).to_pylist()
    return rows


def verify(corpus: Corpus, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Compare every shard's hash with its receipt, and rebuild `rows` from plan and bank.

    Raises:
        CorpusError: If a shard or a rebuilt sample differs.
    """
    shards = pq.read_table(corpus.folder / SHARDS_FILE).to_pylist()
    for shard in shards:
        path = corpus.shards / shard["split"] / shard["shard"]
        receipt = json.loads((corpus.folder / "receipts" / f"{shard['shard']}.json").read_bytes())
        if not path.is_file() or sha256(path) != receipt["sha256"]:
            raise CorpusError(f"{path}: differs from its receipt", mend="delete it and build again")
    for row in rows:
        if hashlib.sha256(_encoded(corpus, row)).hexdigest() != row["sha256"]:
            raise CorpusError(
                f"sample {row['id']} cannot be rebuilt byte for byte",
                mend="the libraries differ from those of the build; see corpus.json, `libraries`",
            )
    return {"shards as certified": len(shards), "samples rebuilt byte for byte": len(rows)}


def rebuild(corpus: Corpus, row: dict[str, Any], folder: Path) -> Path:
    """Write one sample's audio, rendered from the bank, as a WAV file to listen to."""
    pcm = corpus.virtual_pcm(row["scene"], row["frames"])
    path = folder / f"{row['id']}.wav"
    write_bytes(path, encode_audio(pcm, row["sample_rate"], AudioFormat.WAV))
    return path


def _encoded(corpus: Corpus, row: dict[str, Any]) -> bytes:
    pcm = corpus.virtual_pcm(row["scene"], row["frames"])
    audio_format = AudioFormat(row["member"].rsplit(".", 1)[1])
    return encode_audio(pcm, row["sample_rate"], audio_format)


def _shares(values: Sequence[str]) -> dict[str, dict[str, float]]:
    total = len(values)
    return {
        value or "(none)": {"count": count, "percent": round(100 * count / total, 1)}
        for value, count in Counter(values).most_common()
    }
