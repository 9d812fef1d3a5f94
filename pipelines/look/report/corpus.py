"""The report of a corpus, or of a plan: everything that its page shows, and the page."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import soundfile
import soxr

from pipelines.builder.coverage import Lacking
from pipelines.builder.documents import licence_facts, used_clips
from pipelines.builder.finalise import SPEC_FILE
from pipelines.checks.audit import audit, read_audible, read_tags
from pipelines.look.browse.drawing import Drawing, SampleAudio
from pipelines.look.browse.drawing import draw as drawing_of
from pipelines.look.browse.explain import Explainer
from pipelines.look.inspection import count_shares, describe, draw
from pipelines.look.page import Histogram, Page, histogram, plot, render_page
from pipelines.look.report import SHOWN
from pipelines.store.places import find_manifest
from synth.audio.dsp import Pcm
from synth.base.doors import own_file, read_regular
from synth.base.progress import UNOBSERVED, Observer, track
from synth.corpus.corpus import (
    CLIPS_FILE,
    CORPUS_FILE,
    QUARANTINE_FILE,
    REMOVED_FILE,
    SAMPLES_FILE,
    Corpus,
)
from synth.corpus.facts import Facts, read_facts
from synth.corpus.licence import effective_licence, parse_licence
from synth.corpus.schema import CLIPS, PLAN, QUARANTINE, SAMPLES, read_timeline
from synth.corpus.shards import decode_audio
from synth.corpus.validation import check_columns, make_damage_error
from synth.scene.claim import claim_from_text
from synth.scene.scene import from_text
from synth.truth.change import annotate
from synth.truth.relations import Tolerance

# Under which licences a corpus's clips and samples are, and how many clips ask to be credited.


def rights(clips: Sequence[Mapping[str, Any]], used: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The licences of the clips that samples use, and of what is mixed of them.

    Returns:
        `whole`: id of the one licence that a work of all clips could be under; `reason`: why there
        is none, else ""; `mixes`: samples by the licence of their mix; and how many of the clips
        and recordings ask to be credited.
    """
    facts = licence_facts(clips)
    licences = {clip["id"]: clip["licence"] for clip in clips}
    parts = Counter(frozenset(licences[name] for name in names) for names in used)
    mixes: Counter[str] = Counter()
    for mix, count in parts.items():
        mixes[effective_licence(parse_licence(licence) for licence in mix).id] += count
    attributions = [clip["attribution"] for clip in clips if clip["attribution"]]
    return {
        "whole": facts["licence"],
        "reason": facts["licence_reason"],
        "mixes": count_shares(mixes),
        "clips": len(clips),
        "recordings": len({clip["recording"] for clip in clips}),
        "credited": len(attributions),
        "creditors": len(set(attributions)),
    }


PACKAGES: Final = {"report": "pipelines.look.report", "browse": "pipelines.look.browse"}
_CLIPS: Final = (
    "id",
    "recording",
    "licence",
    "attribution",
    "sample_rate",
    "onset",
    "offset",
    "loudness_lufs",
)
_MEASURED: Final = ("frames", "sample_rate", "clips")
_RENDERED: Final = ("gain_db", "peak_db")


def corpus_page(path: Path, samples: int = SHOWN, observer: Observer = UNOBSERVED) -> Page:
    """The report of a corpus, or of a plan; equal manifests and shards give equal pages.

    Every sentence is judged anew: no verdict is taken from a file.

    Args:
        samples: How many samples are shown and, where the corpus is rendered, heard.
        observer: Told how far the audit and the samples are.
    """
    manifest = find_manifest(path)
    check_columns(manifest, SAMPLES if manifest.name == SAMPLES_FILE else PLAN)
    check_columns(manifest.with_name(CLIPS_FILE), CLIPS)
    check_columns(manifest.with_name(QUARANTINE_FILE), QUARANTINE)
    try:
        return _page(manifest, samples, observer)
    except pa.ArrowException as error:
        raise make_damage_error(manifest.parent, error) from error


def _page(manifest: Path, samples: int, observer: Observer) -> Page:
    described = describe(manifest)
    judged = audit(manifest, observer)
    columns = [*_MEASURED, *(_RENDERED if manifest.name == SAMPLES_FILE else ())]
    rows = pq.read_table(manifest, columns=columns)
    catalogue = pq.read_table(manifest.with_name(CLIPS_FILE), columns=list(_CLIPS))
    clips = used_clips(catalogue.to_pylist(), manifest)
    tags = read_tags(manifest.with_name(CLIPS_FILE))
    shown = examples(manifest, tags, samples, observer)
    facts = {
        "corpus": described["corpus"],
        "version": described["version"],
        "samples": judged.samples,
        "shown": len(shown),
        "heard": sum(bool(example.sound) for example in shown),
        "violations": len(judged.violations),
    }
    path, spec = manifest.with_name(CORPUS_FILE), own_file(manifest.parent, SPEC_FILE)
    html = render_page(
        "report/corpus.html",
        PACKAGES,
        described=described,
        lacking=[Lacking(**lack).line for lack in described["labels"]["lacking"]],
        built=Facts.model_validate(read_facts(path)).model_dump() if path.is_file() else None,
        audit=judged,
        histograms=tuple(_histograms(rows, clips)),
        rights=rights(clips, rows.column("clips").to_pylist()),
        examples=shown,
        spec=read_regular(spec).decode(errors="replace") if spec.is_file() else "",
    )
    return Page(f"{described['corpus']}-{described['version']}-corpus", html, facts)


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


# Sounds within a page: MP3 in a `data:` URI, which every browser plays.


MOST_BYTES: Final = 4_000_000
"""Of all sounds of a page together, encoded; it keeps the file below 5 MB."""

# MP3 knows no others. Ogg knows all, but libsndfile numbers its streams at random.
_RATES: Final = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
_COMPRESSION: Final = 0.4

NO_AUDIO: Final = "planned, not rendered: `segue build` renders it"
REMOVED: Final = "`segue gc` removed the shards of this version"
FULL: Final = "left out to keep this file small: `segue browse` plays it"


class Listening:
    """The sounds of a page, as long as there is room for them."""

    def __init__(self, corpus: Corpus | None) -> None:
        is_removed = corpus is not None and (corpus.folder / REMOVED_FILE).is_file()
        self._sounds = None if corpus is None or is_removed else SampleAudio(corpus)
        self._reason = REMOVED if is_removed else NO_AUDIO
        self._left = MOST_BYTES

    def hear(self, row: Mapping[str, Any]) -> tuple[str, str]:
        """A sample's sound as a `data:` URI and "", or "" and the reason why it is not there."""
        if self._sounds is None:
            return "", self._reason
        uri = playable(decode_audio(self._sounds.read(row)), row["sample_rate"])
        if len(uri) > self._left:
            return "", FULL
        self._left -= len(uri)
        return uri, ""


def playable(pcm: Pcm, rate: int) -> str:
    """A sound as a `data:` URI; equal samples give equal text.

    Args:
        rate: In Hz; where MP3 does not know it, the sound is resampled to the next that it knows.
    """
    target = next((known for known in _RATES if known >= rate), _RATES[-1])
    resampled = pcm if target == rate else soxr.resample(pcm, rate, target)
    buffer = io.BytesIO()
    soundfile.write(
        buffer,
        resampled,
        target,
        format="MP3",
        subtype="MPEG_LAYER_III",
        compression_level=_COMPRESSION,
        bitrate_mode="VARIABLE",
    )
    return "data:audio/mpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


# The page of a training run. `train`, which describes the run, is imported only when asked.


DESCRIBE: Final = "train.report.run:describe_run"
_RUN_PACKAGES: Final = {"report": "pipelines.look.report"}


def run_page(folder: Path) -> Page:
    """The report of a training run, ended or not; equal files give equal pages."""
    module, function = DESCRIBE.split(":")
    describe: Any = getattr(import_module(module), function)
    run = describe(folder)
    plots = [
        plot(curve.title, curve.points, curve.last, curve.rule, curve.borders)
        for curve in run.curves
    ]
    html = render_page("report/run.html", _RUN_PACKAGES, plots=plots, **run.values)
    return Page(run.name, html, run.facts)


# The samples that a report shows: drawn, explained and to be heard.


@dataclass(frozen=True, slots=True)
class Negative:
    """A false caption, the edit that made it, and why it is false; "" where it is not refuted."""

    text: str
    kind: str
    reason: str

    def __str__(self) -> str:
        return f"{self.text} [{self.kind}: {self.reason}]"


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
    sound: str = ""
    silence: str = ""


def examples(
    manifest: Path, tags: Mapping[str, Sequence[str]], count: int, observer: Observer
) -> tuple[ReportedSample, ...]:
    """`count` samples of a manifest, or all that it has, drawn evenly."""
    rendered = manifest.name == SAMPLES_FILE
    listening = Listening(Corpus.open(manifest.parent) if rendered else None)
    audible = read_audible(manifest)
    return tuple(
        replace(report_sample(row, tags, audible), sound=sound, silence=silence)
        for row in track(draw(manifest, count), observer, "samples", "samples")
        for sound, silence in [listening.hear(row)]
    )


def report_sample(
    row: Mapping[str, Any], tags: Mapping[str, Sequence[str]], audible: int
) -> ReportedSample:
    """A sample drawn and explained, without its sound; by clip the names of tags."""
    scene = from_text(row["scene"])
    judge = Explainer(
        annotate(read_timeline(row), tags), Tolerance(audible=audible), row["sample_rate"]
    )
    return ReportedSample(
        row=row,
        drawing=drawing_of(scene, row["frames"], row["sample_rate"], placed=read_timeline(row)),
        negatives=tuple(
            Negative(
                text=negative["text"],
                kind=negative["kind"],
                reason=judge.explain(claim_from_text(negative["claim"])) or "",
            )
            for negative in row["negatives"]
        ),
    )
