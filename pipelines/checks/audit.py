"""Audit: is every caption of a corpus true, every negative false? Judged from its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.store.places import find_manifest
from synth.base.errors import CorpusError
from synth.base.progress import UNOBSERVED, Observer
from synth.base.units import Frames
from synth.captions.narrative import dense_captions, dense_text
from synth.corpus.corpus import CLIPS_FILE
from synth.corpus.schema import AUDIBLE, compared_with, read_dense, read_timeline
from synth.labels.lexicon import heard_tags
from synth.scene.claim import claim_from_text
from synth.scene.timeline import Timeline
from synth.truth.change import annotate
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes

_COLUMNS: Final = (
    "id",
    "group",
    "scene",
    "activity",
    "dense",
    "lead",
    "frames",
    "sample_rate",
    "clips",
    "caption",
    "claim",
    "positives",
    "negatives",
)
_BATCH: Final = 1024


@dataclass(frozen=True, slots=True)
class Violation:
    """A sentence that is not what the corpus says it is.

    Args:
        said: `true` or `false`: what the corpus takes it for.
        why: What the timeline, or another sentence, says instead.
    """

    sample: str
    text: str
    said: str
    why: str


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found.

    Args:
        positives: Sentences that pass for true, main captions included.
        assumed: Samples with a sound that is taken to be heard all through, as its clip was never
            measured or the manifest, of an older version, does not tell.
    """

    samples: int
    positives: int
    negatives: int
    with_negatives: int
    assumed: int
    violations: tuple[Violation, ...]
    dense: int = 0

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `violations` is their number, `examples` the first ten."""
        return asdict(self) | {
            "violations": len(self.violations),
            "examples": [asdict(violation) for violation in self.violations[:10]],
        }


def audit(path: Path, observer: Observer = UNOBSERVED) -> Audit:
    """Judge every sentence of a corpus, or of a plan, on the timeline of its sample."""
    rows = find_manifest(path)
    tags = read_tags(rows.parent / CLIPS_FILE)
    unmeasured = _find_unmeasured(rows.parent / CLIPS_FILE)
    samples = positives = negatives = with_negatives = assumed = dense = 0
    violations: list[Violation] = []
    audible = read_audible(rows)
    with pq.ParquetFile(rows) as file:
        observer.start("audit", file.metadata.num_rows, "samples")
        for batch in file.iter_batches(_BATCH, columns=list(_COLUMNS)):
            for row in batch.to_pylist():
                samples += 1
                positives += 1 + len(row["positives"])
                negatives += len(row["negatives"])
                with_negatives += bool(row["negatives"])
                assumed += row.get("activity") is None or not unmeasured.isdisjoint(row["clips"])
                dense += len(row.get("dense") or ())
                placed = read_timeline(row)
                violations += find_violations(row, annotate(placed, tags), audible)
                violations += find_dense_violations(row, placed, audible)
                observer.advance("audit")
    observer.finish("audit", f"{len(violations)} violations")
    return Audit(samples, positives, negatives, with_negatives, assumed, tuple(violations), dense)


def read_tags(clips: Path) -> dict[str, list[str]]:
    """The tags of each clip that has any."""
    if not clips.is_file():
        raise CorpusError(f"{clips}: missing", fix="build or plan again")
    rows = pq.read_table(clips, columns=["id", "tags"]).to_pylist()
    return {row["id"]: [tag.name for tag in heard_tags(row["tags"])] for row in rows if row["tags"]}


def _find_unmeasured(clips: Path) -> frozenset[str]:
    """The clips whose levels nobody measured: those of a listing."""
    ids: set[str] = set()
    with pq.ParquetFile(clips) as file:
        for batch in file.iter_batches(_BATCH, columns=["id", "levels_db"]):
            is_empty = pc.equal(pc.list_value_length(batch.column("levels_db")), 0)
            ids.update(batch.column("id").filter(is_empty).to_pylist())
    return frozenset(ids)


def read_audible(path: Path) -> Frames:
    """The shortest overlap that can be heard, as a manifest tells it."""
    value = (pq.read_schema(path).metadata or {}).get(AUDIBLE.encode())
    if value is None:
        raise CorpusError(
            f"{path}: does not define the overlap from which sounds are heard together",
            fix="it was made by an older version: build or plan again",
        )
    return int(value)


def find_violations(
    row: Mapping[str, Any], placed: Timeline, audible: Frames
) -> Iterator[Violation]:
    """The sentences of a sample that are not what the corpus says they are.

    Args:
        placed: Its timeline, with the tags of its clips.
        audible: The shortest overlap that can be heard.
    """
    tolerance = Tolerance(audible=audible)
    true = [{"text": row["caption"], "claim": row["claim"]}, *row["positives"]]
    for sentence in true:
        if not proves(placed, claim_from_text(sentence["claim"]), tolerance):
            yield Violation(row["id"], sentence["text"], "true", "the timeline does not prove it")
    texts = {sentence["text"] for sentence in true}
    for sentence in row["negatives"]:
        if not refutes(placed, claim_from_text(sentence["claim"]), tolerance):
            why = "the timeline does not refute it"
            yield Violation(row["id"], sentence["text"], "false", why)
        elif sentence["text"] in texts:
            yield Violation(row["id"], sentence["text"], "false", "the same text passes for true")
        elif compared_with(sentence, row) not in texts:
            why = "what it stands against does not pass for true"
            yield Violation(row["id"], sentence["text"], "false", why)


def find_dense_violations(
    row: Mapping[str, Any], placed: Timeline, audible: Frames
) -> Iterator[Violation]:
    """The dense captions of a sample that its activity does not prove, and those that it lacks.

    A sample without any, or without activity, is not judged: its recipe makes none, or its corpus
    is of an older format.

    Args:
        placed: Its timeline, without tags.
    """
    stored = read_dense(row)
    if not stored or row.get("activity") is None:
        return
    proven = dense_captions(placed, row["frames"], audible)
    if stored == proven:
        return
    for captions, others, verdict, why in (
        (stored, proven, "true", "the activity does not prove it"),
        (proven, stored, "false", "the activity proves it, and the dense captions lack it"),
    ):
        for caption in captions:
            if caption not in others:
                text = f"{dense_text([caption], row['sample_rate'])} [{caption.resolution}]"
                yield Violation(row["id"], text, verdict, why)
