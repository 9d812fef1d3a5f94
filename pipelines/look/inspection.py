"""Look into a corpus, or a plan: counts, samples, checks."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.builder.claim import SHARDS_FILE
from pipelines.builder.coverage import Coverage
from pipelines.builder.render import parse_receipt
from pipelines.ingest.parts import count_refusals, find_pcm_fault, list_parts
from pipelines.store.places import find_manifest
from pipelines.store.row_file import read_batches, read_columns, take_rows
from pipelines.store.store import Store
from synth.base.atomic import write_bytes
from synth.base.doors import own_file
from synth.base.errors import CorpusError
from synth.base.hashing import sha256_of
from synth.base.own_label import name_of
from synth.base.progress import UNOBSERVED, Observer, track
from synth.corpus.corpus import CLIPS_FILE, QUARANTINE_FILE, Corpus, find_finished
from synth.corpus.facts import GET_AGAIN
from synth.corpus.receipt import VersionReceipt
from synth.corpus.schema import CLIPS, PLAN, QUARANTINE
from synth.corpus.shards import AudioFormat, encode_audio
from synth.corpus.validation import check_columns, explain_damage
from synth.scene.activity import Stretch
from synth.storage import display_path, fetch, open_file

_DESCRIBED: Final = (
    "group",
    "split",
    "shard",
    "recipe",
    "relation",
    "negatives",
    "labels",
    "clips",
    "frames",
    "sample_rate",
    "activity",
)


def describe(path: Path) -> dict[str, Any]:
    """Counts by split, relation, edit kind, label, licence and quarantine reason.

    A clip that the recipe refused is catalogued and quarantined, and counted once in `listed`.
    """
    manifest = _find_manifest(path)
    check_columns(manifest.with_name(CLIPS_FILE), CLIPS)
    check_columns(manifest.with_name(QUARANTINE_FILE), QUARANTINE)
    relations, kinds, sizes, labels = (Counter[Any]() for _ in range(4))
    used: set[str] = set()
    splits: dict[str, _SplitTally] = {}
    recipe, with_negative = "", 0
    with explain_damage(manifest):
        for batch in read_batches(manifest, _DESCRIBED):
            recipe = recipe or batch["recipe"][0].as_py()
            relations.update(batch["relation"].to_pylist())
            kinds.update(pc.struct_field(batch["negatives"].flatten(), "kind").to_pylist())
            sizes.update(pc.list_value_length(batch["labels"]).to_pylist())
            labels.update(map(name_of, batch["labels"].flatten().to_pylist()))
            used.update(batch["clips"].flatten().to_pylist())
            lengths = pc.list_value_length(batch["negatives"])
            with_negative += pc.sum(pc.greater(lengths, 0)).as_py()
            for split in pc.unique(batch["split"]).to_pylist():
                part = batch.filter(pc.equal(batch["split"], split))
                splits.setdefault(split, _SplitTally()).add(part)
    counted = sorted(sizes.items())
    places: Counter[str] = Counter()
    for size, count in counted:
        places.update({str(place): count for place in range(1, size + 1)})
    columns = ["id", "split", "licence", "labels", "recording"]
    clips = _read_table(manifest.with_name(CLIPS_FILE), columns).to_pylist()
    licences = Counter(clip["licence"] for clip in clips if clip["id"] in used)
    refused = _read_table(manifest.with_name(QUARANTINE_FILE)).to_pylist()
    names = {row["id"] for row in refused}
    catalogued = {clip["id"] for clip in clips}
    counts = {
        "split": {name: tally.to_json() for name, tally in splits.items()},
        "relation": count_shares(relations),
        "negatives": count_shares(kinds),
        "sounds in a scene": count_shares(Counter({str(size): n for size, n in counted})),
        "place of a sound in its scene": count_shares(places),
        "licence of the clips used": count_shares(licences),
        "label (ten most frequent)": dict(list(count_shares(labels).items())[:10]),
        "reason for quarantine": {
            kind.reason: _share(kind.clips, len(refused)) for kind in count_refusals(refused)
        },
    }
    return {
        "corpus": manifest.parent.parent.name,
        "version": manifest.parent.name,
        "recipe": recipe,
        "clips": {
            "listed": len(catalogued | names),
            "used": len(used),
            "not drawn": len(catalogued - used - names),
            "refused": len(refused),
            "refused by": dict(Counter(row["stage"] for row in refused)),
        },
        "labels": Coverage.of(clips, names).to_json(),
        "with a negative": round(with_negative / sum(relations.values()), 4),
        "counts": {name: number for name, number in counts.items() if number},
        "quarantine": str(manifest.with_name(QUARANTINE_FILE)),
    }


def _read_table(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    with explain_damage(path):
        return read_columns(path, columns)


@dataclass
class _SplitTally:
    """What the rows of a split add up to; those of a group follow one another."""

    samples: int = 0
    groups: int = 0
    frames: int = 0
    heard: int = 0
    least: int = 1 << 62
    most: int = 0
    rate: int = 0
    group: str = ""
    shards: set[str] = field(default_factory=set)

    def add(self, rows: pa.RecordBatch) -> None:
        """Go on with rows."""
        groups, frames = rows["group"], rows["frames"]
        self.least = min(self.least, pc.min(frames).as_py())
        self.most = max(self.most, pc.max(frames).as_py())
        last, self.group = self.group, groups[-1].as_py()
        self.groups += pc.count_distinct(groups).as_py() - (groups[0].as_py() == last)
        self.samples += len(rows)
        self.frames += pc.sum(frames).as_py()
        if "activity" in rows.schema.names:
            self.heard += _measure_heard(rows["activity"], self.most)
        self.rate = rows["sample_rate"][0].as_py()
        self.shards.update(pc.unique(rows["shard"]).to_pylist())

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "samples": self.samples,
            "groups": self.groups,
            "shards": len(self.shards),
            "hours": round(self.frames / self.rate / 3600, 3),
            "shortest s": round(self.least / self.rate, 2),
            "longest s": round(self.most / self.rate, 2),
        } | ({"heard %": round(100 * self.heard / self.frames, 1)} if self.heard else {})


def _measure_heard(activity: pa.ListArray, longest: int) -> int:
    """Frames of samples in which most listeners hear anything.

    Args:
        activity: Of each sample, of no more than `longest` frames.
    """
    samples, sounds = pc.list_parent_indices(activity), activity.flatten()
    edges = []
    names = [name for name in ("clear", "likely") if sounds.type.get_field_index(name) >= 0]
    for name in names:
        stretches = pc.struct_field(sounds, name)
        sample = samples.take(pc.list_parent_indices(stretches)).to_numpy()
        moments = (pc.struct_field(stretches.flatten(), edge) for edge in Stretch._fields)
        edges.append(np.stack([moment.to_numpy() for moment in moments]) + sample * longest)
    onsets, offsets = np.concatenate(edges, axis=1)
    order = np.argsort(onsets)
    reached = np.maximum.accumulate(np.append(0, offsets[order]))
    return int(np.maximum(offsets[order] - np.maximum(onsets[order], reached[:-1]), 0).sum())


def _find_manifest(path: Path) -> Path:
    """The manifest that a path leads to, once it has a plan's columns."""
    manifest = find_manifest(path)
    check_columns(manifest, PLAN)
    return manifest


def draw(path: Path, count: int) -> list[dict[str, Any]]:
    """`count` rows of the manifest, evenly spread over the plan."""
    manifest = _find_manifest(path)
    with explain_damage(manifest), pq.ParquetFile(manifest) as file:
        rows = file.metadata.num_rows
        picked = np.unique(np.linspace(0, rows - 1, min(count, rows)).astype(np.int64))
        return [*take_rows(file, picked)]


def summarise_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is shown of a sample as text."""
    return {
        "id": row["id"],
        "notation": row["notation"],
        "caption": row["caption"],
        "positives": [caption["text"] for caption in row["positives"]],
        "negatives": [f"{caption['text']} [{caption['kind']}]" for caption in row["negatives"]],
        "seconds": round(row["frames"] / row["sample_rate"], 3),
    }


def format_sample(row: Mapping[str, Any]) -> list[str]:
    """The same as lines."""
    facts = summarise_row(row)
    return [
        f"{facts['id']}  {facts['seconds']} s  {facts['notation']}",
        f"  caption   {facts['caption']}",
        *(f"  true      {text}" for text in facts["positives"]),
        *(f"  false     {text}" for text in facts["negatives"]),
    ]


def verify_manifests(path: Path) -> dict[str, Any]:
    """Compare the manifests of a finished corpus with their receipt, before any is read."""
    receipt = VersionReceipt.read(find_finished(path))
    if receipt is None:
        return {"manifests as certified": "not checked: an earlier Segue wrote no receipt of them"}
    receipt.check()
    return {"manifests as certified": len(receipt.files)}


def verify(
    corpus: Corpus, rows: Sequence[dict[str, Any]], observer: Observer = UNOBSERVED
) -> dict[str, Any]:
    """Compare every part of the bank and shard with its receipt, and rebuild `rows`.

    Of a bank at a URL the parts that the rows need are compared, when they come.
    """
    parts = _list_certified_parts(corpus)
    for pcm in track(parts, observer, "bank", "parts"):
        if fault := find_pcm_fault(pcm, Store(pcm.parent)):
            raise CorpusError(
                f"{pcm}: {fault}",
                fix=f"delete {pcm.with_suffix('.json').name} beside it and build again",
            )
    shards = _read_table(corpus.folder / SHARDS_FILE).to_pylist()
    for shard in track(shards, observer, "verify", "shards"):
        path = corpus.shard(shard["split"], shard["shard"])
        certified = _read_certified(corpus, shard["shard"])
        again = f"`segue rebuild {display_path(corpus.folder)}`"
        try:
            with open_file(path, corpus.receipt(shard["shard"])) as file:
                digest = sha256_of(file)
        except FileNotFoundError:
            raise CorpusError(f"{display_path(path)}: missing", fix=f"use {again}") from None
        if digest != certified:
            raise CorpusError(
                f"{display_path(path)}: differs from its receipt",
                fix=f"delete it, then use {again}",
            )
    for row in track(rows, observer, "rebuild", "samples"):
        sound = corpus.virtual_pcm(row)
        audio_format = AudioFormat(row["member"].rsplit(".", 1)[1])
        data = encode_audio(sound, row["sample_rate"], audio_format)
        if hashlib.sha256(data).hexdigest() != row["sha256"]:
            raise CorpusError(
                f"sample {row['id']} cannot be rebuilt byte for byte",
                fix="the libraries differ from those of the build; see corpus.json, `libraries`",
            )
    return {
        "bank parts as certified": len(parts),
        "shards as certified": len(shards),
        "samples rebuilt byte for byte": len(rows),
    }


def _list_certified_parts(corpus: Corpus) -> list[Path]:
    """The parts of a bank that is here, as far as it is kept."""
    index = corpus.index
    if display_path(index) != str(index) or not index.is_file():
        return []
    paths = [own_file(index.parent, name) for name in sorted(list_parts(index))]
    return [path for path in paths if path.with_suffix(".json").is_file()]


def _read_certified(corpus: Corpus, shard: str) -> str:
    receipt = own_file(corpus.folder, corpus.receipt(shard).relative_to(corpus.folder).as_posix())
    try:
        return parse_receipt(fetch(receipt).read_bytes()).sha256
    except FileNotFoundError as error:
        raise CorpusError(
            f"{display_path(receipt)}: missing: expected the receipt of a shard", fix=GET_AGAIN
        ) from error
    except ValueError as error:
        raise CorpusError(
            f"{display_path(receipt)}: damaged: {error}", fix="delete it, then use `segue rebuild`"
        ) from error


def rebuild(corpus: Corpus, row: dict[str, Any], folder: Path) -> Path:
    """Write one sample's audio, rendered from the bank, as a WAV file to listen to."""
    pcm = corpus.virtual_pcm(row)
    path = folder / f"{row['id']}.wav"
    write_bytes(path, encode_audio(pcm, row["sample_rate"], AudioFormat.WAV))
    return path


def count_shares(counts: Counter[str]) -> dict[str, dict[str, float]]:
    """How often each value occurs, the most frequent first, and its percentage of all."""
    total = counts.total()
    return {value or "(none)": _share(count, total) for value, count in counts.most_common()}


def _share(count: int, total: int) -> dict[str, float]:
    return {"count": count, "percent": round(100 * count / total, 1)}
