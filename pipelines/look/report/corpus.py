"""The report of a corpus, or of a plan: everything that its page shows, and the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.build.coverage import Lacking
from pipelines.build.documents.attribution import used_clips
from pipelines.build.finalise import SPEC_FILE
from pipelines.checks.audit import audit
from pipelines.look.inspection import describe
from pipelines.look.page import Histogram, Page, histogram, render_page
from pipelines.look.report.rights import CorpusRights, rights
from pipelines.look.report.samples import examples
from pipelines.store.manifest import find_manifest
from synth.base.doors import own_file, read_regular
from synth.base.progress import Observer, Silent
from synth.corpus.corpus import CLIPS_FILE, CORPUS_FILE, QUARANTINE_FILE, SAMPLES_FILE
from synth.corpus.facts import read_facts
from synth.corpus.schema import CLIPS, PLAN, QUARANTINE, SAMPLES
from synth.corpus.validation import check_columns, make_damage_error
from synth.labels.lexicon import heard_tags

SHOWN: Final = 10
"""Samples that are shown where no number is asked for."""

_PACKAGES: Final = {"report": "pipelines.look.report", "browse": "pipelines.look.browse"}
_CLIPS: Final = (
    "id",
    "recording",
    "licence",
    "attribution",
    "sample_rate",
    "onset",
    "offset",
    "loudness_lufs",
    "tags",
)
_MEASURED: Final = ("frames", "sample_rate", "clips")
_RENDERED: Final = ("gain_db", "peak_db")


@dataclass(frozen=True, slots=True)
class ManifestMeasures:
    """What a report measures of a manifest beside what `describe` counts."""

    histograms: tuple[Histogram, ...]
    rights: CorpusRights
    tags: Mapping[str, Sequence[str]]


_UNTOLD: Final[dict[str, Any]] = {
    "algorithms": {},
    "audio_format": "unknown format",
    "citation": "",
    "excerpts": 0,
    "excerpts_of_captioned_clips": 0,
    "format_version": "unknown",
    "generators": {},
    "libraries": [],
}
"""What is shown of a corpus that does not say; its `corpus.json` need not."""


def corpus_page(path: Path, samples: int = SHOWN, observer: Observer | None = None) -> Page:
    """The report of a corpus, or of a plan; equal manifests and shards give equal pages.

    Every sentence is judged anew: no verdict is taken from a file.

    Args:
        path: As `find_manifest` takes it.
        samples: How many samples are shown and, where the corpus is rendered, heard.
        observer: Told how far the audit and the samples are.
    """
    manifest = find_manifest(path)
    check_columns(manifest, SAMPLES if manifest.name == SAMPLES_FILE else PLAN)
    check_columns(manifest.with_name(CLIPS_FILE), CLIPS)
    check_columns(manifest.with_name(QUARANTINE_FILE), QUARANTINE)
    try:
        return _page(manifest, samples, observer or Silent())
    except pa.ArrowException as error:
        raise make_damage_error(manifest.parent, error) from error


def _page(manifest: Path, samples: int, observer: Observer) -> Page:
    described = describe(manifest)
    judged = audit(manifest, observer)
    measured = _measure(manifest)
    shown = examples(manifest, measured.tags, samples, observer)
    facts = {
        "corpus": described["corpus"],
        "version": described["version"],
        "samples": judged.samples,
        "shown": len(shown),
        "heard": sum(bool(each.sound) for each in shown),
        "violations": len(judged.violations),
    }
    html = render_page(
        "report/corpus.html",
        _PACKAGES,
        described=described,
        lacking=[Lacking(**each).line for each in described["labels"]["lacking"]],
        built=_read_facts(manifest),
        audit=judged,
        histograms=measured.histograms,
        rights=measured.rights,
        examples=shown,
        spec=_spec(manifest),
    )
    return Page(f"{described['corpus']}-{described['version']}-corpus", html, facts)


def _measure(manifest: Path) -> ManifestMeasures:
    columns = [*_MEASURED, *(_RENDERED if manifest.name == SAMPLES_FILE else ())]
    rows = pq.read_table(manifest, columns=columns)
    everything = pq.read_table(manifest.with_name(CLIPS_FILE), columns=list(_CLIPS))
    clips = used_clips(everything.to_pylist(), manifest)
    return ManifestMeasures(
        histograms=tuple(_histograms(rows, clips)),
        rights=rights(clips, rows.column("clips").to_pylist()),
        tags={clip["id"]: [tag.name for tag in heard_tags(clip["tags"])] for clip in clips},
    )


def _histograms(rows: pa.Table, clips: Sequence[Mapping[str, Any]]) -> Iterator[Histogram]:
    """Durations and levels of the samples, and of the clips that they use."""
    seconds = np.asarray(rows.column("frames")) / np.asarray(rows.column("sample_rate"))
    yield histogram("Duration of the samples", "s", seconds)
    active = [(clip["offset"] - clip["onset"]) / clip["sample_rate"] for clip in clips]
    yield histogram("Active length of the clips", "s", np.asarray(active))
    loudness = np.asarray([clip["loudness_lufs"] for clip in clips])
    yield histogram("Loudness of the clips", "LUFS", loudness)
    if set(_RENDERED) <= set(rows.column_names):
        peak = np.asarray(rows.column("peak_db"))
        yield histogram("Peak of the samples", "dBFS", peak)
        gain = np.asarray(rows.column("gain_db"))
        yield histogram("Gain of the samples", "dB", gain)


def _read_facts(manifest: Path) -> Mapping[str, Any] | None:
    """What `corpus.json` says; None for a plan."""
    path = manifest.with_name(CORPUS_FILE)
    return _UNTOLD | read_facts(path) if path.is_file() else None


def _spec(manifest: Path) -> str:
    """The spec as the build kept it; "" for a plan."""
    path = own_file(manifest.parent, SPEC_FILE)
    return read_regular(path).decode(errors="replace") if path.is_file() else ""
