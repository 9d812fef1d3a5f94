"""Audit of the audio: is what a corpus's samples sound like what its manifest says?

Samples are decoded from the shards, and each of their sounds is rendered alone from the bank. The
sounds must add up to the sample, be heard where the plan says and nowhere else, and every sentence
must hold on what was measured of them, whatever the catalogue's levels had promised.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq

from pipelines.checks.audio.findings import (
    AudioFinding,
    SamplePlan,
    compare_activity,
    compare_samples,
    compare_treatments,
)
from pipelines.checks.audio.measured import MeasuredSample
from pipelines.checks.audit import Violation, find_violations, read_audible, read_tags
from pipelines.store.manifest import find_manifest
from synth.audio.render import render_stems
from synth.base.doors import parse_json
from synth.base.errors import CorpusError, shorten
from synth.base.progress import Observer, Silent
from synth.base.units import Decibels, Frames
from synth.corpus.corpus import CLIPS_FILE, SAMPLES_FILE, Corpus
from synth.corpus.facts import GET_AGAIN
from synth.corpus.schema import EAR, read_timeline
from synth.corpus.shards import NoSoundError
from synth.scene.activity import Stretch
from synth.scene.scene import Scene, from_text
from synth.scene.timeline import timeline
from synth.storage import display_path
from synth.truth.change import annotate
from synth.truth.ear import Ear

DRAWN: Final = 100
"""Samples that are listened to where nobody says how many."""

OTHERS_DB: Final = (-5.0, 5.0)
"""Two further listeners hear down to `leave_db` and so much more."""

_MOST: Final = 1000.0
"""No level in dB and no time in s of an ear is above."""

_COLUMNS: Final = (
    "id",
    "split",
    "shard",
    "scene",
    "activity",
    "caption",
    "claim",
    "positives",
    "negatives",
    "frames",
    "sample_rate",
    "offset",
    "size",
    "gain_db",
)


@dataclass(frozen=True, slots=True)
class AudioAudit:
    """What an audit of the audio found.

    Args:
        samples: That were listened to.
        sounds: In them.
        sentences: About them.
        listeners: By the level in dB below a sound's loudest block down to which another listener
            hears it: sentences that are not what they are said to be to that one.
    """

    samples: int
    sounds: int
    sentences: int
    findings: tuple[AudioFinding, ...]
    listeners: Mapping[Decibels, int]
    seconds: float

    @property
    def seconds_per_sample(self) -> float:
        """How long one sample took."""
        return self.seconds / max(1, self.samples)

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `findings` is their number, `examples` the first ten."""
        return {
            "samples": self.samples,
            "sounds": self.sounds,
            "sentences": self.sentences,
            "findings": len(self.findings),
            "examples": [asdict(finding) for finding in self.findings[:10]],
            "listeners": {f"{level:g} dB": count for level, count in self.listeners.items()},
            "seconds": round(self.seconds, 2),
            "seconds_per_sample": round(self.seconds_per_sample, 4),
        }


def find_rendered(path: Path) -> Path:
    """The manifest folder of a corpus whose audio can be listened to."""
    manifest = find_manifest(path)
    if manifest.name != SAMPLES_FILE:
        raise CorpusError(
            f"{display_path(manifest)}: a plan has no audio yet",
            fix="`segue build SPEC` renders it; without --audio its captions are judged",
        )
    return manifest.parent


def audit_audio(path: Path, count: int = DRAWN, observer: Observer | None = None) -> AudioAudit:
    """Listen to samples of a finished corpus, drawn evenly over its manifest.

    Args:
        path: Its manifest folder, or as `find_manifest` takes it.
        count: How many samples; all of a corpus that has no more.
    """
    started = time.monotonic()
    observer = observer or Silent()
    corpus = Corpus.open(find_rendered(path))
    manifest = corpus.folder / SAMPLES_FILE
    found: list[AudioFinding] = []
    with pq.ParquetFile(manifest) as file:
        total = min(count, file.metadata.num_rows)
        observer.start("listen", total, "samples")
        auditor = _Auditor.open(corpus, file)
        for row in _draw_rows(file, total):
            found += auditor.judge(row)
            observer.advance("listen")
    observer.finish("listen", f"{len(found)} findings")
    seconds = time.monotonic() - started
    return AudioAudit(
        total, auditor.sounds, auditor.sentences, tuple(found), auditor.listeners, seconds
    )


def _draw_rows(file: pq.ParquetFile, count: int) -> Iterator[dict[str, Any]]:
    """So many rows of a manifest, as far apart as can be."""
    rows = file.metadata.num_rows
    wanted = np.arange(count, dtype=np.int64) * rows // max(count, 1)
    start = 0
    for group in range(file.num_row_groups):
        end = start + file.metadata.row_group(group).num_rows
        here = wanted[(start <= wanted) & (wanted < end)] - start
        if len(here):
            yield from file.read_row_group(group, columns=list(_COLUMNS)).take(here).to_pylist()
        start = end


@dataclass
class _Auditor:
    """Judges samples, and counts what it judged.

    Args:
        ear: What counts as audible in it.
        audible: The shortest overlap that can be heard, in frames.
    """

    corpus: Corpus
    ear: Ear
    audible: Frames
    tags: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        self.sounds = self.sentences = 0
        self.listeners = {max(self.ear.leave_db + more, 0.0): 0 for more in OTHERS_DB}

    @classmethod
    def open(cls, corpus: Corpus, file: pq.ParquetFile) -> _Auditor:
        """That of a corpus, whose manifest is open."""
        manifest = corpus.folder / SAMPLES_FILE
        audible, ear = read_audible(file, manifest), _read_ear(file, manifest)
        try:
            corpus.bank  # noqa: B018 - what is missing is told before anything else is read
        except CorpusError as error:
            remedy = f"`segue build {display_path(corpus.folder)}` decodes the clips again"
            raise CorpusError(error.message, fix=remedy) from error
        return cls(corpus, ear, audible, read_tags(corpus.folder / CLIPS_FILE))

    def judge(self, row: Mapping[str, Any]) -> Iterator[AudioFinding]:
        """What is wrong with one sample."""
        sample, rate = row["id"], row["sample_rate"]
        planned = SamplePlan(sample, read_timeline(row), row["frames"], row["gain_db"], rate)
        scene = from_text(row["scene"])
        stems = render_stems(scene, self.corpus.bank, self.corpus.fade)
        try:
            pcm = self.corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        except NoSoundError as error:
            yield AudioFinding(sample, "samples", f"{row['shard']}: {error.message}")
        else:
            yield from compare_samples(planned, pcm, stems)
        measured = MeasuredSample.of(stems, rate, planned.timeline.placements)
        yield from compare_activity(planned, measured, self.ear)
        yield from compare_treatments(planned, stems)
        self.sounds += len(stems)
        self.sentences += 1 + len(row["positives"]) + len(row["negatives"])
        for violation in self._find_violations(row, scene, measured, self.ear.leave_db):
            yield AudioFinding(
                sample,
                "captions",
                f"{violation.text!r} passes for {violation.said}, but by measurement "
                f"{violation.why}",
            )
        for level in self.listeners:
            found = self._find_violations(row, scene, measured, level)
            self.listeners[level] += sum(1 for _ in found)

    def _find_violations(
        self, row: Mapping[str, Any], scene: Scene, measured: MeasuredSample, within_db: Decibels
    ) -> Iterator[Violation]:
        """What a listener who hears so far down finds of a sample's sentences."""
        extents = [Stretch(place.onset, place.offset) for place in timeline(scene).placements]
        heard = timeline(scene, measured.hear(self.ear, within_db, extents))
        heard = replace(heard, frames=max(heard.frames, row["frames"]))
        return find_violations(row, annotate(heard, self.tags), self.audible)


def _read_ear(file: pq.ParquetFile, path: Path) -> Ear:
    """What counts as audible in a corpus, by its manifest, which may be a stranger's."""
    told = (file.schema_arrow.metadata or {}).get(EAR.encode())
    if told is None:
        raise CorpusError(
            f"{display_path(path)}: does not say what counts as audible",
            fix="it was made by an older version: build again, or audit without --audio",
        )
    try:
        settings = parse_json(told, EAR)
        good = settings.keys() == {field.name for field in fields(Ear)} and all(
            type(value) in (int, float) and 0 <= value <= _MOST for value in settings.values()
        )
    except (CorpusError, AttributeError):
        good = False
    if not good:
        raise CorpusError(
            f"{display_path(path)}: {EAR} is {shorten(told)}: expected levels and times of an ear",
            fix=GET_AGAIN,
        )
    return Ear(**settings)
