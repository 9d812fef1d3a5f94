"""What can be wrong with a sample's audio: other samples than planned, or heard elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Final

import numpy as np
from jaxtyping import Float32, Float64, Int64

from pipelines.checks.audio.measured import MeasuredSample, bridge, find_runs
from synth.audio.dsp import Pcm, to_pcm
from synth.audio.treatments import explain_lack
from synth.base.units import Decibels, Frames, to_gain, to_seconds
from synth.labels.lexicon import Treatment
from synth.scene.timeline import Timeline
from synth.truth.ear import Ear

KEEN_DB: Final = 5.0
"""So much further below the rest a keen ear still makes out a sound."""

_SHARE: Final = 0.5
_STEPS: Final = 1
"""Of 16 bits: so far apart may rounding put two sums of the same sounds."""


@dataclass(frozen=True, slots=True)
class AudioFinding:
    """What a sample is otherwise than its corpus says.

    Args:
        check: `samples`, `clear`, `faint`, `treatment` or `captions`.
    """

    sample: str
    check: str
    said: str


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """What a corpus says of one sample.

    Args:
        frames: How long it lasts; after the last sound comes silence.
        gain_db: The gain that was applied to the whole.
    """

    sample: str
    timeline: Timeline
    frames: Frames
    gain_db: Decibels
    rate: int


def compare_samples(
    plan: SamplePlan, pcm: Pcm, stems: Float32[np.ndarray, "events frames"]
) -> Iterator[AudioFinding]:
    """Whether a sample is the sum of its sounds, to one step of 16 bits."""
    if pcm.ndim != 1 or len(pcm) != plan.frames or len(pcm) < stems.shape[1]:
        said = (
            f"its shard holds {pcm.size:,} frames: {plan.frames:,} are planned, and its sounds "
            f"last {stems.shape[1]:,}"
        )
        yield AudioFinding(plan.sample, "samples", said)
        return
    summed = np.zeros(len(pcm), dtype=np.float32)
    summed[: stems.shape[1]] = stems.sum(axis=0) * np.float32(to_gain(plan.gain_db))
    apart = np.abs(pcm.astype(np.int64) - to_pcm(summed))
    where = np.flatnonzero(apart > _STEPS)
    if len(where):
        yield AudioFinding(plan.sample, "samples", _tell_apart(plan, apart, where))


def _tell_apart(
    plan: SamplePlan, apart: Int64[np.ndarray, " frames"], where: Int64[np.ndarray, " places"]
) -> str:
    most = int(apart.argmax())
    first, last, worst = (to_seconds(int(at), plan.rate) for at in (where[0], where[-1], most))
    playing = " and ".join(
        f"{place.label!r} ({place.excerpt.clip})"
        for place in plan.timeline.placements
        if place.onset <= most < place.offset
    )
    return (
        f"differs from the sum of its sounds by up to {apart[most]:,} steps of 16 bits, at "
        f"{worst:.4f} s, in {playing or 'silence'}; {len(where):,} frames from {first:.4f} to "
        f"{last:.4f} s differ"
    )


def compare_activity(
    plan: SamplePlan, measured: MeasuredSample, ear: Ear
) -> Iterator[AudioFinding]:
    """Whether each sound is heard where the plan says, and nowhere else.

    Args:
        ear: What counts as audible in the corpus.
    """
    keen = measured.find_audible(ear.faint_db, ear.masked_db + KEEN_DB)
    exact = measured.find_audible(ear.clear_db)
    below_loudest, below_mix = measured.below_loudest, measured.below_mix
    for number, place in enumerate(plan.timeline.placements):
        clear, faint = np.zeros((2, len(measured.mix)), dtype=np.bool_)
        for stretch in place.heard.clear:
            clear[measured.find_within(stretch)] = True
        for stretch in place.heard.faint:
            faint[measured.find_touched(stretch, slack=1)] = True
        clear[-1:] &= measured.is_last_whole
        missing = clear & ~bridge(keen[number], ear.pause_s)
        for check, wrong, said in (
            ("clear", missing, "clear in the plan, but hardly heard"),
            ("faint", exact[number] & ~faint, "not even faint in the plan, but heard"),
        ):
            for start, end in find_runs(wrong):
                times = (to_seconds(int(measured.edges[at]), plan.rate) for at in (start, end))
                yield AudioFinding(
                    plan.sample,
                    check,
                    f"sound {number + 1}, {place.label!r} ({place.excerpt.clip}), is {said} from "
                    f"{' to '.join(f'{each:.2f}' for each in times)} s: "
                    f"{_tell_range(below_loudest[number, start:end])} dB below its loudest 50 ms, "
                    f"{_tell_range(below_mix[number, start:end])} dB below all that is heard",
                )


def compare_treatments(
    plan: SamplePlan, stems: Float32[np.ndarray, "events frames"]
) -> Iterator[AudioFinding]:
    """Whether each treated sound differs from the same recording untreated as it should.

    Half of what was asked of it when it was ingested is enough.
    """
    sounds = [
        (place, how, stem[place.onset : place.offset])
        for place, stem in zip(plan.timeline.placements, stems, strict=True)
        if (how := place.heard.acoustics) is not None and how.recording
    ]
    for (_, how, before), (place, other, after) in permutations(sounds, 2):
        if how.recording != other.recording or how.treatment or not other.treatment:
            continue
        if other.treatment not in tuple(Treatment):
            said = f"{other.treatment!r} is no treatment: expected {', '.join(Treatment)}"
            yield AudioFinding(plan.sample, "treatment", said)
            continue
        lack = explain_lack(Treatment(other.treatment), before, after, plan.rate, _SHARE)
        if lack:
            said = f"{place.label!r} ({place.excerpt.clip}) is not clearly treated: {lack}"
            yield AudioFinding(plan.sample, "treatment", said)


def _tell_range(levels: Float64[np.ndarray, " blocks"]) -> str:
    low, high = (f"{level:.1f}" for level in (levels.min(), levels.max()))
    return low if low == high else f"{low} to {high}"
