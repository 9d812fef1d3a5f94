"""The samples that a report shows: drawn, explained and to be heard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pipelines.look.browse.drawing import Drawing
from pipelines.look.browse.drawing import draw as drawing_of
from pipelines.look.browse.explain import Explainer
from pipelines.look.inspection import draw
from pipelines.look.report.audio import Listening
from synth.base.progress import Observer, track
from synth.corpus.corpus import SAMPLES_FILE, Corpus
from synth.corpus.schema import AUDIBLE, read_timeline
from synth.scene.claim import claim_from_text
from synth.scene.scene import from_text
from synth.truth.change import annotate
from synth.truth.relations import Tolerance


@dataclass(frozen=True, slots=True)
class Negative:
    """A false caption, the edit that made it, and why it is false; "" where it is not refuted."""

    text: str
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReportedSample:
    """One sample as a report shows it.

    Args:
        sound: Its audio as a `data:` URI; "" where there is none.
        silence: Why there is none; "" where there is one.
    """

    row: Mapping[str, Any]
    drawing: Drawing
    negatives: tuple[Negative, ...]
    sound: str
    silence: str


def examples(
    manifest: Path, tags: Mapping[str, Sequence[str]], count: int, observer: Observer
) -> tuple[ReportedSample, ...]:
    """`count` samples of a manifest, drawn evenly.

    Args:
        manifest: `samples.parquet` or `plan.parquet`, as `find_manifest` gives it.
        tags: Names of the tags of each clip that has any.
        count: How many; fewer where the manifest holds fewer.
    """
    rendered = manifest.name == SAMPLES_FILE
    listening = Listening(Corpus.open(manifest.parent) if rendered else None)
    audible = int(pq.read_schema(manifest).metadata[AUDIBLE.encode()])
    return tuple(
        _example(row, tags, audible, listening)
        for row in track(draw(manifest, count), observer, "samples", "samples")
    )


def _example(
    row: Mapping[str, Any],
    tags: Mapping[str, Sequence[str]],
    audible: int,
    listening: Listening,
) -> ReportedSample:
    scene = from_text(row["scene"])
    heard = annotate(read_timeline(row), tags)
    judge = Explainer(heard, Tolerance(audible=audible), row["sample_rate"])
    sound, silence = listening.hear(row)
    return ReportedSample(
        row=row,
        drawing=drawing_of(scene, row["frames"], row["sample_rate"], heard=read_timeline(row)),
        negatives=tuple(
            Negative(
                text=each["text"],
                kind=each["kind"],
                reason=judge.explain(claim_from_text(each["claim"])) or "",
            )
            for each in row["negatives"]
        ),
        sound=sound,
        silence=silence,
    )
