"""Audit of the audio: is what a corpus's samples sound like what its manifest says?

Samples are decoded from the shards, and each of their sounds is rendered alone from the bank. The
sounds must add up to the sample, be heard where the plan says and nowhere else, and every sentence
must hold on what was measured of them, whatever the catalogue's levels had promised.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import permutations
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow.parquet as pq
from jaxtyping import Bool, Float32, Float64, Int64

from pipelines.checks.audit import Violation, find_violations, read_audible, read_tags
from pipelines.store.places import find_manifest
from pipelines.store.row_file import take_rows
from synth.audio.dsp import (
    Pcm,
    a_weight,
    attacks,
    block_frames,
    levels,
    loudness,
    to_pcm,
    weighted_levels,
)
from synth.audio.render import render_stems
from synth.audio.treatments import explain_lack
from synth.base.doors import parse_json
from synth.base.errors import CorpusError, shorten
from synth.base.progress import UNOBSERVED, Observer
from synth.base.units import Decibels, Frames, Seconds, to_gain, to_seconds
from synth.corpus.corpus import CLIPS_FILE, SAMPLES_FILE, Corpus
from synth.corpus.facts import GET_AGAIN
from synth.corpus.schema import EAR, read_timeline
from synth.corpus.shards import NoSoundError
from synth.labels.lexicon import Treatment
from synth.scene.activity import Acoustics, Activity, Stretch, cut
from synth.scene.scene import Scene, from_text
from synth.scene.timeline import CUT_S, Placement, Timeline, timeline
from synth.storage import display_path
from synth.truth.change import annotate
from synth.truth.ear import BLOCK_S, Ear, Envelope

# What can be wrong with a sample's audio: other samples than planned, or heard elsewhere.


KEEN_DB: Final = 5.0
"""So much further below the rest a keen ear still makes out a sound."""

_SHARE: Final = 0.5
_STEPS: Final = 1
"""Of 16 bits: so far apart may rounding put two sums of the same sounds."""


@dataclass(frozen=True, slots=True)
class AudioFinding:
    """What a sample is otherwise than its corpus says.

    Args:
        check: `samples`, `jump`, `clear`, `faint`, `treatment` or `captions`.
    """

    sample: str
    check: str
    said: str


Finding: TypeAlias = tuple[str, str]
"""Which check of a sample, and what it says."""


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """What a corpus says of one sample.

    Args:
        frames: How long it lasts; after the last sound comes silence.
        gain_db: The gain that was applied to the whole.
    """

    timeline: Timeline
    frames: Frames
    gain_db: Decibels
    rate: int


def compare_samples(
    plan: SamplePlan, pcm: Pcm, stems: Float32[np.ndarray, "events frames"]
) -> Iterator[Finding]:
    """Whether a sample is the sum of its sounds, to one step of 16 bits."""
    if pcm.ndim != 1 or len(pcm) != plan.frames or len(pcm) < stems.shape[1]:
        detail = (
            f"its shard holds {pcm.size:,} frames: {plan.frames:,} are planned, and its sounds "
            f"last {stems.shape[1]:,}"
        )
        yield "samples", detail
        return
    summed = np.zeros(len(pcm), dtype=np.float32)
    summed[: stems.shape[1]] = stems.sum(axis=0) * np.float32(to_gain(plan.gain_db))
    steps = np.abs(pcm.astype(np.int64) - to_pcm(summed))
    places = np.flatnonzero(steps > _STEPS)
    if len(places):
        yield "samples", _tell_apart(plan, steps, places)


def _tell_apart(
    plan: SamplePlan, steps: Int64[np.ndarray, " frames"], places: Int64[np.ndarray, " places"]
) -> str:
    peak = int(steps.argmax())
    first, last, worst = (to_seconds(int(at), plan.rate) for at in (places[0], places[-1], peak))
    playing = " and ".join(
        f"{place.label!r} ({place.excerpt.clip})"
        for place in plan.timeline.placements
        if place.onset <= peak < place.offset
    )
    return (
        f"differs from the sum of its sounds by up to {steps[peak]:,} steps of 16 bits, at "
        f"{worst:.4f} s, in {playing or 'silence'}; {len(places):,} frames from {first:.4f} to "
        f"{last:.4f} s differ"
    )


def compare_activity(
    plan: SamplePlan, measured: MeasuredSample, ear: Ear, weighting: str
) -> Iterator[Finding]:
    """Whether each sound is heard where the plan says, and nowhere else.

    Args:
        weighting: Of the levels that were measured, in words.
    """
    keen = measured.find_audible(ear.faint_db, ear.masked_db + KEEN_DB)
    exact = measured.find_audible(ear.clear_db)
    below_loudest, below_mix = measured.below_loudest, measured.below_mix
    for number, place in enumerate(plan.timeline.placements):
        clear, faint = np.zeros((2, len(measured.mix)), dtype=np.bool_)
        for stretch in place.heard.clear:
            clear[measured.find_within(stretch)] = True
        for stretch in place.heard.faint:
            faint[measured.find_near(stretch)] = True
        clear[-1:] &= measured.is_last_whole
        missing = clear & ~bridge(keen[number], ear.pause_s)
        for check, blocks, state in (
            ("clear", missing, "clear in the plan, but hardly heard"),
            ("faint", exact[number] & ~faint, "not even faint in the plan, but heard"),
        ):
            for start, end in find_runs(blocks):
                times = (to_seconds(int(measured.edges[at]), plan.rate) for at in (start, end))
                yield (
                    check,
                    f"sound {number + 1}, {place.label!r} ({place.excerpt.clip}), is {state} "
                    f"({weighting}) from {' to '.join(f'{second:.2f}' for second in times)} s: "
                    f"{_tell_range(below_loudest[number, start:end])} dB below its loudest 50 ms, "
                    f"{_tell_range(below_mix[number, start:end])} dB below all that is heard",
                )


def compare_edges(
    plan: SamplePlan, stems: Float32[np.ndarray, "events frames"]
) -> Iterator[Finding]:
    """Whether a sound begins or ends with a jump that is larger than any within it: a click."""
    margin = round(2 * CUT_S * plan.rate)
    for place, stem in zip(plan.timeline.placements, stems, strict=True):
        steps = np.abs(np.diff(stem[place.onset : place.offset], prepend=0, append=0))
        jump = float(max(steps[0], steps[-1]))
        inside = float(steps[margin:-margin].max(initial=0))
        if len(steps) > 2 * margin and jump > inside:
            text = f"begins or ends with a jump of {jump:.3f}; within it none is above {inside:.3f}"
            yield "jump", f"{place.label!r} ({place.excerpt.clip}) {text}"


def compare_treatments(
    plan: SamplePlan, stems: Float32[np.ndarray, "events frames"]
) -> Iterator[Finding]:
    """Whether each treated sound differs from the same recording untreated as it should.

    Half of what was asked of it when it was ingested is enough.
    """
    sounds = [
        (place, acoustics, stem[place.onset : place.offset])
        for place, stem in zip(plan.timeline.placements, stems, strict=True)
        if (acoustics := place.heard.acoustics) is not None and acoustics.recording
    ]
    for (_, acoustics, before), (place, treated, after) in permutations(sounds, 2):
        if acoustics.recording != treated.recording or acoustics.treatment or not treated.treatment:
            continue
        if treated.treatment not in tuple(Treatment):
            detail = f"{treated.treatment!r} is not a treatment: expected {', '.join(Treatment)}"
            yield "treatment", detail
            continue
        lack = explain_lack(Treatment(treated.treatment), before, after, plan.rate, _SHARE)
        if lack:
            detail = f"{place.label!r} ({place.excerpt.clip}) is not clearly treated: {lack}"
            yield "treatment", detail


def _tell_range(levels: Float64[np.ndarray, " blocks"]) -> str:
    low, high = (f"{level:.1f}" for level in (levels.min(), levels.max()))
    return low if low == high else f"{low} to {high}"


_MOST: Final = 1000.0
"""No level in dB and no time in s of an ear is above."""

_COLUMNS: Final = (
    "id",
    "split",
    "shard",
    "scene",
    "activity",
    "lead",
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
    """What an audit of the audio found."""

    samples: int
    sounds: int
    sentences: int
    findings: tuple[AudioFinding, ...]
    seconds: float

    @property
    def seconds_per_sample(self) -> float:
        """How long one sample took."""
        return self.seconds / max(1, self.samples)

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `findings` is their number, `examples` the first ten."""
        return asdict(self) | {
            "findings": len(self.findings),
            "examples": [asdict(finding) for finding in self.findings[:10]],
            "seconds": round(self.seconds, 2),
            "seconds_per_sample": round(self.seconds_per_sample, 4),
        }


def find_rendered(path: Path) -> Path:
    """The manifest folder of a corpus whose audio can be listened to."""
    manifest = find_manifest(path)
    if manifest.name != SAMPLES_FILE:
        raise CorpusError(
            f"{display_path(manifest)}: a plan has no audio yet",
            fix="run `segue build SPEC` first, or leave out --audio to check only the captions",
        )
    return manifest.parent


def audit_audio(path: Path, count: int, observer: Observer = UNOBSERVED) -> AudioAudit:
    """Listen to samples of a finished corpus, drawn evenly over its manifest.

    Args:
        path: Its manifest folder, or as `find_manifest` takes it.
        count: How many samples; all of a corpus that has no more.
    """
    started = time.monotonic()
    corpus = Corpus.open(find_rendered(path))
    manifest = corpus.folder / SAMPLES_FILE
    findings: list[AudioFinding] = []
    with pq.ParquetFile(manifest) as file:
        total = min(count, file.metadata.num_rows)
        observer.start("listen", total, "samples")
        auditor = _Auditor.open(corpus, file)
        spread = np.arange(total) * file.metadata.num_rows // max(total, 1)
        for row in take_rows(file, spread, _COLUMNS):
            findings += (AudioFinding(row["id"], *finding) for finding in auditor.judge(row))
            observer.advance("listen")
    observer.finish("listen", f"{len(findings)} findings")
    seconds = time.monotonic() - started
    return AudioAudit(total, auditor.sounds, auditor.sentences, tuple(findings), seconds)


@dataclass
class _Auditor:
    """Judges samples, and counts what it judged."""

    corpus: Corpus
    ear: Ear
    audible: Frames
    tags: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        self.sounds = self.sentences = 0

    @classmethod
    def open(cls, corpus: Corpus, file: pq.ParquetFile) -> _Auditor:
        """That of a corpus, whose manifest is open."""
        manifest = corpus.folder / SAMPLES_FILE
        audible, ear = read_audible(manifest), _read_ear(file, manifest)
        try:
            corpus.bank  # noqa: B018 - what is missing is told before anything else is read
        except CorpusError as error:
            remedy = f"`segue rebuild {display_path(corpus.folder)}` decodes the clips again"
            raise CorpusError(error.message, fix=remedy) from error
        return cls(corpus, ear, audible, read_tags(corpus.folder / CLIPS_FILE))

    def judge(self, row: Mapping[str, Any]) -> Iterator[Finding]:
        """What is wrong with one sample."""
        rate = row["sample_rate"]
        planned = SamplePlan(read_timeline(row), row["frames"], row["gain_db"], rate)
        scene = from_text(row["scene"])
        lead = row.get("lead") or 0
        stems = render_stems(scene, self.corpus.bank, self.corpus.fade, lead)
        try:
            pcm = self.corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        except NoSoundError as error:
            yield "samples", f"{row['shard']}: {error.message}"
        else:
            yield from compare_samples(planned, pcm, stems)
        weighted = np.stack([a_weight(stem, rate) for stem in stems])
        places = planned.timeline.placements
        measured = {
            "as recorded": MeasuredSample.of(stems, rate, places),
            "A-weighted": MeasuredSample.of(stems, rate, places, weighted),
        }
        for weighting, sample in measured.items():
            yield from compare_activity(planned, sample, self.ear, weighting)
        yield from compare_edges(planned, stems)
        yield from compare_treatments(planned, stems)
        self.sounds += len(stems)
        self.sentences += 1 + len(row["positives"]) + len(row["negatives"])
        for weighting, sample in measured.items():
            for violation in self._find_violations(row, scene, sample):
                yield (
                    "captions",
                    f"{violation.text!r} passes for {violation.said}, but by measurement "
                    f"({weighting}) {violation.why}",
                )

    def _find_violations(
        self, row: Mapping[str, Any], scene: Scene, measured: MeasuredSample
    ) -> Iterator[Violation]:
        """What a listener finds of a sample's sentences."""
        lead = row.get("lead") or 0
        places = timeline(scene, lead=lead).placements
        extents = [Stretch(place.onset, place.offset) for place in places]
        placed = timeline(scene, measured.hear(self.ear, extents), lead)
        placed = replace(placed, frames=max(placed.frames, row["frames"]))
        return find_violations(row, annotate(placed, self.tags), self.audible)


def _read_ear(file: pq.ParquetFile, path: Path) -> Ear:
    """What counts as audible in a corpus, by its manifest, which may be a stranger's."""
    data = (file.schema_arrow.metadata or {}).get(EAR.encode())
    if data is None:
        raise CorpusError(
            f"{display_path(path)}: does not define what is audible",
            fix="it was made by an older version: build again, or audit without --audio",
        )
    try:
        settings = parse_json(data, EAR)
        good = settings.keys() == {field.name for field in fields(Ear)} and all(
            type(value) in (int, float) and 0 <= value <= _MOST for value in settings.values()
        )
    except (CorpusError, AttributeError):
        good = False
    if not good:
        raise CorpusError(
            f"{display_path(path)}: {EAR} is {shorten(data)}: expected levels and times of an ear",
            fix=GET_AGAIN,
        )
    return Ear(**settings)


# What can be heard of each sound of a sample, measured from its samples.


_SILENCE: Final = 1e-12
_SLACK_DB: Final[Decibels] = 1.0
_RISE_DB: Final[Decibels] = 6.0
"""The catalogue counts smaller rises, too, so that the two do not part over a fraction of a dB."""

Powers = Float64[np.ndarray, "events blocks"]
Marks = Bool[np.ndarray, "events blocks"]


@dataclass(frozen=True, slots=True)
class MeasuredSample:
    """How loud each sound of a sample is over time, and all of them together.

    Args:
        edges: First frame of each block of 50 ms, and the frame after the last block.
        powers: Mean square of each sound in each block.
        mix: That of their sum.
        onsets: How often each sound may be said to begin.
        acoustics: How each sounds, None where the plan does not tell.
    """

    edges: Int64[np.ndarray, " edges"]
    powers: Powers
    mix: Float64[np.ndarray, " blocks"]
    onsets: tuple[int, ...]
    acoustics: tuple[Acoustics | None, ...]

    @classmethod
    def of(
        cls,
        stems: Float32[np.ndarray, "events frames"],
        rate: int,
        planned: Sequence[Placement] = (),
        weighted: Float32[np.ndarray, "events frames"] | None = None,
    ) -> MeasuredSample:
        """Measure the sounds of a sample.

        Args:
            stems: Each sound alone, on the sample's clock.
            planned: Where each is to play, and which recording in which treatment; none not to
                tell how they sound.
            weighted: The stems as a listener weighs them, by default as they are.
        """
        frames = stems.shape[1]
        block = BLOCK_S * rate
        sounds = stems if weighted is None else weighted
        starts = np.rint(np.arange(frames // block + 1) * block).astype(np.int64)
        edges = np.append(starts[starts < frames], frames)
        powers = np.stack([_measure(sound, edges) for sound in sounds])
        onsets = tuple(int(attacks(stem, rate, _RISE_DB).sum()) for stem in stems)
        acoustics = tuple(
            place.heard.acoustics
            and _weigh(stem[place.onset : place.offset], rate, place.heard.acoustics)
            for stem, place in zip(stems, planned, strict=False)
        ) or (None,) * len(stems)
        return cls(edges, powers, _measure(sounds.sum(axis=0), edges), onsets, acoustics)

    @property
    def below_loudest(self) -> Powers:
        """How far each block of a sound lies below its loudest one, in dB."""
        levels = _to_decibels(self.powers)
        below: Powers = levels.max(axis=1, keepdims=True) - levels
        return below

    @property
    def below_mix(self) -> Powers:
        """How far each block of a sound lies below all that is heard at its time, in dB."""
        below: Powers = _to_decibels(self.mix[np.newaxis]) - _to_decibels(self.powers)
        return below

    def find_audible(self, within_db: Decibels, masked_db: Decibels | None = None) -> Marks:
        """The blocks in which a sound can be heard.

        Args:
            within_db: So far below its loudest block at most.
            masked_db: And so far below all that is heard at the time; None for a sound alone.
        """
        audible = (self.below_loudest <= within_db) & (self.powers > _SILENCE)
        return audible if masked_db is None else audible & (self.below_mix <= masked_db)

    def hear(self, ear: Ear, extents: Sequence[Stretch]) -> list[Activity]:
        """When a listener hears each sound: there, and nowhere else.

        Args:
            ear: What pauses, blips and masked sounds are; what lies further below the loudest block
                of a sound than `leave_db` is not heard.
            extents: From where to where each sound plays; a block may reach further.
        """
        activities = []
        audible = self.find_audible(ear.leave_db, ear.masked_db)
        sounds = zip(audible, extents, self.onsets, self.acoustics, strict=True)
        for marked, extent, onsets, acoustics in sounds:
            runs = find_runs(bridge(marked, ear.pause_s))
            lasting = [
                (start, end)
                for start, end in runs
                if ear.is_lasting(float(self.edges[end] - self.edges[start]) / self._block)
            ]
            stretches = cut(
                tuple(
                    Stretch(int(self.edges[start]), int(self.edges[end])) for start, end in lasting
                ),
                *extent,
            )
            activities.append(Activity(stretches, stretches, onsets, acoustics))
        return activities

    @property
    def is_last_whole(self) -> bool:
        """Whether the last block is as long as the others."""
        return bool(self.edges[-1] - self.edges[-2] >= self._block)

    @property
    def _block(self) -> int:
        """Frames of the first block; others have one more or less at the most."""
        return int(self.edges[1] - self.edges[0])

    def find_within(self, stretch: Stretch) -> slice:
        """The blocks that lie wholly within a stretch."""
        start = int(np.searchsorted(self.edges, stretch.onset))
        end = int(np.searchsorted(self.edges, stretch.offset, side="right")) - 1
        return slice(start, max(start, end))

    def find_near(self, stretch: Stretch) -> slice:
        """The blocks that a stretch has a part in, and one more at either side."""
        start = int(np.searchsorted(self.edges, stretch.onset, side="right")) - 2
        return slice(max(start, 0), int(np.searchsorted(self.edges, stretch.offset)) + 1)


def _weigh(
    sound: Float32[np.ndarray, " frames"], rate: int, planned: Acoustics
) -> Acoustics | None:
    """How loud a sound is from its begin to its end; its treatment is the planned one.

    What is measured within 1 dB of the plan is the plan's: 50 ms begin elsewhere here, and no claim
    is to hang on that.
    """
    by_weighting = levels(sound, rate), weighted_levels(sound, rate)
    envelope = Envelope(*by_weighting, block_frames(rate), len(sound), None, loudness(sound, rate))
    weights = envelope.weigh(0, len(sound))
    if weights is None:
        return None
    planned_levels = [planned.mean_dba, planned.peak_dba, planned.lufs, *planned.thirds_dba]
    measured = [weights.mean_dba, weights.peak_dba, weights.lufs, *weights.thirds_dba]
    mean, peak, lufs, *thirds = (
        expected if abs(expected - level) <= _SLACK_DB else level
        for expected, level in zip(planned_levels, measured, strict=True)
    )
    start, mid, end = thirds
    return replace(planned, mean_dba=mean, peak_dba=peak, lufs=lufs, thirds_dba=(start, mid, end))


def bridge(audible: Bool[np.ndarray, " blocks"], pause_s: Seconds) -> Bool[np.ndarray, " blocks"]:
    """The same without pauses shorter than `pause_s`; what comes before and after is no pause."""
    bridged = audible.copy()
    for start, end in find_runs(~audible):
        if start > 0 and end < len(audible) and (end - start) * BLOCK_S < pause_s:
            bridged[start:end] = True
    return bridged


def find_runs(marked: Bool[np.ndarray, " blocks"]) -> list[tuple[int, int]]:
    """The runs of marked blocks, as [start, end)."""
    edges = np.flatnonzero(np.diff(marked, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _measure(
    audio: Float32[np.ndarray, " frames"], edges: Int64[np.ndarray, " edges"]
) -> Float64[np.ndarray, " blocks"]:
    energy: Float64[np.ndarray, " blocks"] = np.add.reduceat(
        np.square(audio, dtype=np.float64), edges[:-1]
    )
    return energy / np.diff(edges)


def _to_decibels(powers: Powers) -> Powers:
    levels: Powers = 10 * np.log10(np.maximum(powers, _SILENCE))
    return levels
