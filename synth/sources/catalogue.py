"""The clip catalogue: each clip opened once, measured, and made ready for the bank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
import soxr

from synth.audio.decoding import Limits, Mislabelled, use_limits
from synth.audio.dsp import (
    LEVEL_HOP_S,
    SILENCE_DB,
    ActiveSpan,
    Audio,
    active_span,
    attacks,
    levels,
    loudness,
    peak,
    ramp_cut,
    remove_rumble,
    true_peak,
    weighted_levels,
)
from synth.audio.fingerprint import fingerprint, to_bytes
from synth.audio.treatments import explain_lack
from synth.base.errors import ClipError
from synth.base.units import Decibels, Frames, Seconds, resampled_frames, to_decibels
from synth.corpus.licence import parse_licence
from synth.sources.reading.base import ClipRef, Source
from synth.truth.ear import Ear

MAX_PEAK: Final = 1e6
"""Integers taken for floating point reach 120 dB over full scale; more is damage."""

CONSTANT: Final = 2 * 10 ** (SILENCE_DB / 20)
"""Least distance of a clip's highest sample from its lowest; direct current cannot be heard."""


@dataclass(frozen=True, slots=True)
class Acceptance(Limits):
    """Which recordings can be used, and what of them counts as sounding.

    Args:
        min_active_s: Shortest active span.
        active_range_db: A 50 ms block belongs to the active span if it is at most this far below
            the loudest one.
        decode_timeout_s: Most processor time that reading and measuring one clip may take.
    """

    max_s: Seconds = 600.0
    max_channels: int = 2
    min_rate: int = 4_000
    max_rate: int = 96_000
    mislabelled: Mislabelled = Mislabelled.REFUSE
    min_active_s: Seconds = 0.1
    active_range_db: Decibels = 50.0
    decode_timeout_s: Seconds = 60.0

    def refusal(self, seconds: Seconds) -> str:
        """Why a clip cannot be used of which only the length is known; "" where it can."""
        if seconds > self.max_s:
            return f"lasts {seconds:,.1f} s; clips.max_s is {self.max_s:g} s"
        if seconds < self.min_active_s:
            return f"lasts {seconds:.3f} s; clips.min_active_s is {self.min_active_s:g} s"
        return ""


@dataclass(frozen=True, slots=True)
class CataloguedClip:
    """A row of `schema.CLIPS`, and the active span's audio at the bank's rate.

    The row's split is not set yet, and it has no segments: those depend on the ear.
    """

    row: dict[str, Any]
    audio: Audio


def catalogue(
    source: Source, ref: ClipRef, bank_rate: int, acceptance: Acceptance
) -> CataloguedClip:
    """Open, check and measure one clip.

    Levels are those of the active span alone, padding and silence do not count. They are measured
    at the bank's rate, as it may lack what is loud in the file.
    """
    with use_limits(acceptance):
        recording = source.load(ref)
    audio, rate = recording.audio, recording.rate
    acceptance.check(recording.channels, rate)
    acceptance.check_length(len(audio), 1, rate)
    if not len(audio):
        raise ClipError("is silent: it holds no samples")
    if not np.isfinite(audio).all():
        raise ClipError("holds NaN or infinite samples")
    if peak(audio) > MAX_PEAK:
        raise ClipError(f"holds samples of {peak(audio):.1e}; full scale is 1")
    if audio[0] and float(audio.max() - audio.min()) < CONSTANT:
        raise ClipError(f"is silent: a constant level of {audio[0]:.3g} throughout")
    span, active = _find_active(audio, rate, acceptance)
    length = len(active)
    if span is None:  # a single click is gone with the rumble
        sounding = np.flatnonzero(audio)
        length = int(np.ptp(sounding)) + 1 if len(sounding) else len(audio)
        if not len(sounding) or length >= acceptance.min_active_s * rate:
            raise ClipError("is silent throughout")
    if span is None or length < acceptance.min_active_s * rate:
        raise ClipError(
            f"is too short: {_length(length, rate)} of sound; "
            f"clips.min_active_s is {acceptance.min_active_s:g} s"
        )
    # A corpus at a lower rate loses what lies above its band: levels are those of what it plays.
    played = resample(active, rate, bank_rate).copy()
    ramp_cut(played, bank_rate, begins=True, ends=True)
    known = active  # the sound by which it is known again
    if recording.treatment is not None and recording.untreated is not None:
        untreated_span, untreated = _find_active(recording.untreated, rate, acceptance)
        known = untreated if untreated_span else active
        before = resample(known, rate, bank_rate)
        if lack := explain_lack(recording.treatment, before, played, bank_rate):
            raise ClipError(f"{recording.treatment} can hardly be heard: {lack}")
    row = library_columns(source.name, ref) | {
        "sample_rate": rate,
        "channels": recording.channels,
        "frames": len(audio),
        "onset": span.onset,
        "offset": span.offset,
        "loudness_lufs": round(loudness(played, bank_rate), 3),
        "peak_db": round(to_decibels(true_peak(played, 0.7 * peak(played))), 3),
        "levels_db": np.round(levels(played, bank_rate), 1).tolist(),
        "levels_dba": np.round(weighted_levels(played, bank_rate), 1).tolist(),
        "attacks": attacks(played, bank_rate).tolist(),
        "sha256": recording.sha256,
        "fingerprint": to_bytes(fingerprint(known, rate)),
    }
    return CataloguedClip(row, played)


def _find_active(
    audio: Audio, rate: int, acceptance: Acceptance
) -> tuple[ActiveSpan | None, Audio]:
    """Where a recording sounds, and what is heard of it there; nothing where it is silent."""
    clean = remove_rumble(audio, rate)
    span = active_span(clean, rate, acceptance.active_range_db)
    return span, clean[span.onset : span.offset] if span else clean[:0]


def find_segments(row: Mapping[str, Any], ear: Ear) -> list[dict[str, int]]:
    """Where a clip is audible, as `segments` of `schema.CLIPS`.

    A clip that was never heard is taken to be audible throughout.
    """
    onset, offset = row["onset"], row["offset"]
    if not len(row["levels_db"]):
        return [{"onset": onset, "offset": offset}]
    block = LEVEL_HOP_S * row["sample_rate"]
    return [
        {"onset": onset + round(start * block), "offset": min(onset + round(end * block), offset)}
        for start, end in _find_clear(row, ear)
    ]


def explain_inaudible(row: Mapping[str, Any], ear: Ear) -> str | None:
    """Why a clip may be missed altogether, None where it has segments."""
    if row["segments"]:
        return None
    segments = find_segments(row, replace(ear, blip_s=0.0))
    longest = max(segment["offset"] - segment["onset"] for segment in segments)
    return (
        f"is audible for at most {_length(longest, row['sample_rate'])} at a time; "
        f"truth.blip_s is {ear.blip_s:g} s (see also clear_db, leave_db)"
    )


def _find_clear(row: Mapping[str, Any], ear: Ear) -> list[tuple[int, int]]:
    powers = 10 ** (np.array((row["levels_db"], row["levels_dba"]), dtype=np.float64) / 10)
    length = (row["offset"] - row["onset"]) / (LEVEL_HOP_S * row["sample_rate"])
    return ear.join_clear(ear.find_clear(powers, powers.max(axis=1), length), length)


def _length(frames: Frames, rate: int) -> str:
    if frames * 1000 >= rate:
        return f"{frames / rate:.3f} s"
    return "one sample" if frames == 1 else f"{frames} samples"


def library_columns(source: str, ref: ClipRef) -> dict[str, Any]:
    """The columns of `schema.CLIPS` that the library itself fills."""
    return {
        "id": ref.id,
        "source": source,
        "location": ref.location,
        "labels": list(ref.labels),
        "captions": list(ref.captions),
        "tags": [asdict(tag) for tag in ref.tags],
        "split": "",
        "source_split": ref.split,
        "recording": ref.recording or ref.id,
        "licence": parse_licence(ref.licence).id,
        "attribution": ref.attribution,
    }


def resample(audio: Audio, rate: int, target_rate: int) -> Audio:
    """`audio` at another rate (soxr, high quality), of exactly `resampled_frames` frames."""
    if rate == target_rate:
        return audio
    frames = resampled_frames(len(audio), rate, target_rate)
    resampled = soxr.resample(audio, rate, target_rate, quality="HQ")[:frames]
    return np.pad(resampled, (0, frames - len(resampled))).astype(np.float32, copy=False)


def quarantine_row(clip: str, location: str, stage: str, reason: str) -> dict[str, str]:
    """A row of `schema.QUARANTINE`."""
    return {"id": clip, "location": location, "stage": stage, "reason": reason}
