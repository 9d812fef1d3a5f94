"""The catalogue: bad clips refused with the reason, good ones measured, splits without leaks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import resample_poly

from synth.audio.dsp import loudness, peak, ramp_cut, remove_rumble
from synth.base.errors import ClipError
from synth.base.units import resampled_frames, to_decibels
from synth.corpus.schema import CLIPS, QUARANTINE, to_table
from synth.scene.activity import intersect
from synth.scene.scene import Event, Excerpt, Overlay
from synth.sources.catalogue import (
    Acceptance,
    CataloguedClip,
    catalogue,
    explain_inaudible,
    find_segments,
    quarantine_row,
    resample,
)
from synth.sources.own.folder import FolderSource
from synth.sources.selection import SplitRule, assign_splits
from synth.sources.sounds.esc50 import Esc10, Esc50
from synth.truth.ear import Ear, Envelope
from synth.truth.listener import Listener
from tests.kit.cases import cases

RATES = st.sampled_from([16_000, 22_050, 32_000, 44_100, 48_000])


def noise(frames: int, *channels: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-0.5, 0.5, (frames, *channels))


def accept(
    root: Path, audio: np.ndarray | bytes, rate: int = 16_000, subtype: str = "FLOAT", **wish: Any
) -> CataloguedClip:
    path = root / "dog" / "a.wav"
    path.parent.mkdir(exist_ok=True)
    if isinstance(audio, bytes):
        path.write_bytes(audio)
    else:
        soundfile.write(path, audio, rate, subtype=subtype)
    source = FolderSource(root=root)
    (ref,) = source.refs()
    return catalogue(source, ref, wish.pop("bank_rate", rate), Acceptance(**wish))


def test_a_peak_above_full_scale_is_accepted_and_measured(tmp_path: Path) -> None:
    # Integers that were written as floating point are the same sound at another level.
    assert 80 < accept(tmp_path, 32_768 * noise(16_000)).row["peak_db"] < 91
    assert accept(tmp_path, 0.5 + 0.001 * noise(16_000)).row["frames"] == 16_000


@cases(
    ("audio", "reason"),
    [
        (b"", "empty"),
        (b"path,label\na.wav,dog\n" * 20, "decode"),
        (np.zeros(0), "silent"),
        (np.zeros(16_000), "silent"),
        (np.full(16_000, 0.5), "silent: a constant level of 0.5 throughout"),
        (np.full(16_000, -0.25), "silent: a constant level of -0.25 throughout"),
        # The floor of a file of 24 bits: an IndexError in active_span ended the build.
        (np.full(16_000, 10 ** (-119.5 / 20)), "silent"),
        (np.full(1, 0.5), "silent: a constant level"),
        (noise(1500), "clips.min_active_s is 0.1 s"),
        (np.pad(noise(100), (8000, 23_900)), r"is too short: 0\.050 s of sound"),
        (np.pad([0.9], 8000), "is too short: one sample of sound; clips.min_active_s is 0.1 s"),
        (np.append(noise(16_000), np.nan), "finite"),
        (np.append(noise(16_000), np.inf), "finite"),
        (1e7 * noise(16_000), "full scale is 1"),
        (noise(16_000 * 3), "clips.max_s is 2 s"),
    ],
)
def test_a_clip_that_cannot_be_used_is_refused_with_the_reason(
    tmp_path: Path, audio: np.ndarray | bytes, reason: str
) -> None:
    with pytest.raises(ClipError, match=reason):
        accept(tmp_path, audio, max_s=2.0)


def test_eight_channels_at_192_khz_are_accepted_where_they_are_asked_for(tmp_path: Path) -> None:
    limits = {"max_channels": 8, "max_rate": 192_000}
    clip = accept(tmp_path, noise(192_000, 8), 192_000, bank_rate=48_000, **limits)
    assert clip.row["channels"] == 8
    assert clip.row["sample_rate"] == 192_000
    assert clip.audio.shape == (48_000,)


@cases("bank_rate", [16_000, 48_000])
def test_the_active_span_leaves_digital_silence_out(tmp_path: Path, bank_rate: int) -> None:
    audio = np.concatenate([np.zeros(8000), noise(16_000), np.zeros(24_000)])
    clip = accept(tmp_path, audio, bank_rate=bank_rate)
    assert (clip.row["onset"], clip.row["offset"], clip.row["frames"]) == (8000, 24_000, 48_000)
    assert len(clip.audio) == bank_rate
    if bank_rate == 16_000:
        expected = remove_rumble(audio[8000:24_000].astype(np.float32), bank_rate)
        ramp_cut(expected, bank_rate, begins=True, ends=True)
        assert np.allclose(clip.audio, expected, atol=1e-6)
    assert len(clip.row["levels_db"]) == 20
    assert min(clip.row["levels_db"]) > -30


def test_the_peak_is_that_of_what_the_corpus_plays(tmp_path: Path) -> None:
    """Resampled noise peaks up to some dB higher than its own samples."""
    clip = accept(tmp_path, noise(16_000), bank_rate=48_000)
    between = np.abs(resample_poly(clip.audio, 4, 1)).max()
    assert clip.row["peak_db"] == pytest.approx(to_decibels(between), abs=1e-3)
    assert clip.row["peak_db"] > -5.0


def test_the_loudness_is_that_of_what_the_corpus_plays(tmp_path: Path) -> None:
    """A corpus at 16 kHz plays a loud tone of 12 kHz not at all."""
    moments = np.arange(96_000) / 48_000
    audio = 0.5 * np.sin(2 * np.pi * 12_000 * moments) + 0.01 * np.sin(2 * np.pi * 1000 * moments)
    clip = accept(tmp_path, audio, 48_000, bank_rate=16_000)
    expected = loudness(clip.audio, 16_000)
    assert clip.row["loudness_lufs"] == pytest.approx(expected, abs=0.01)
    assert expected < -40


def test_silence_around_a_sound_does_not_count_in_its_level(tmp_path: Path) -> None:
    alone = accept(tmp_path, noise(16_000)).row["loudness_lufs"]
    padded = accept(tmp_path, np.concatenate([np.zeros(32_000), noise(16_000)]))
    assert padded.row["loudness_lufs"] == alone
    assert -20 < alone < 0


def test_short_sounds_of_any_length_are_catalogued(tmp_path: Path) -> None:
    # Where frames / rate was rounded up the loudness meter raised ValueError and ended the build.
    for frames in (2007, 2011, 2401, 4949, 5003, 13_457):
        for rate in (16_000, 22_050, 44_100, 48_000):
            clip = accept(tmp_path, noise(frames), rate, min_active_s=0.01)
            assert clip.row["loudness_lufs"] > -60


def test_rows_fit_the_manifest(tmp_path: Path) -> None:
    row = accept(tmp_path, noise(16_100)).row
    row["segments"] = find_segments(row, Ear())
    written = to_table([row], CLIPS).to_pylist()[0]
    assert written["id"] == "folder/dog/a.wav"
    assert written["labels"] == ["dog"]
    # The last segment ends with the active span.
    assert written["segments"] == [{"onset": 0, "offset": 16_100}]
    assert set(row) == set(CLIPS.names)
    refused = quarantine_row("a", "b", "ingest", "why")
    assert to_table([refused], QUARANTINE).to_pylist() == [refused]


def test_segments_are_where_a_clip_is_audible(tmp_path: Path) -> None:
    tone = 0.5 * np.sin(np.arange(16_000 * 3) * (2 * np.pi * 440 / 16_000))
    gains = np.repeat(
        #  burst, 0.3 s of pause, burst, 0.15 s of pause, a blip, a pause, a faint tail
        [0.005] * 2 + [1.0] * 8 + [0.01] * 6 + [0.5] * 4 + [0.01] * 3 + [1.0, 0.01, 0.01]
        + [10 ** (-33 / 20)] * 10,
        800,
    )  # fmt: skip
    silence = np.zeros(1600)
    audio = np.concatenate([silence, tone[: len(gains)] * gains, silence])
    row = accept(tmp_path, audio, min_active_s=0.05).row
    assert (row["onset"], row["offset"]) == (1600, 1600 + len(gains))
    assert find_segments(row, Ear()) == [
        {"onset": 1600 + 2 * 800, "offset": 1600 + 10 * 800},
        {"onset": 1600 + 16 * 800, "offset": 1600 + 20 * 800},
    ]
    blip = {"onset": 1600 + 23 * 800, "offset": 1600 + 24 * 800}
    assert find_segments(row, Ear(blip_s=0.05))[-1] == blip
    tail = {"onset": 1600 + 26 * 800, "offset": 1600 + 36 * 800}
    assert find_segments(row, Ear(clear_db=34, leave_db=34))[-1] == tail
    long_pauses = find_segments(row, Ear(pause_s=0.4))
    assert long_pauses == [{"onset": 1600 + 2 * 800, "offset": 1600 + 24 * 800}]


def test_an_offset_is_not_heard(tmp_path: Path) -> None:
    """A bark of 0.4 s over an offset of 2 % was heard for 4 s, beside a bark 2.9 s later."""
    floor = 0.02 + 1e-5 * np.random.default_rng(0).normal(size=64_000)
    early, late = (
        accept(tmp_path, floor + 0.3 * np.pad(noise(6400), (begins, 57_600 - begins))).row
        for begins in (8000, 8000 + 46_400)
    )
    for row, begins in ((early, 8000), (late, 54_400)):
        assert find_segments(row, Ear()) == [{"onset": begins, "offset": begins + 6400}]
    envelopes = {
        name: Envelope(row["levels_db"], row["levels_dba"], 800, row["offset"] - row["onset"])
        for name, row in (("early", early), ("late", late))
    }
    first, second = (Event(name, Excerpt(name, 0, 6400, 0.0)) for name in envelopes)
    heard = Listener(Ear(), 16_000, envelopes).hear(Overlay(first, second, 46_400)).placements
    assert not intersect(*(place.heard.faint for place in heard))


@pytest.mark.slow
@cases("library", [Esc10, Esc50])
def test_no_clip_that_is_played_has_an_offset(
    shared_data: Callable[[str], Path], library: type[Esc10 | Esc50]
) -> None:
    source = library(root=shared_data("ESC-10" if library is Esc10 else "ESC-50"))
    played = 0
    for ref in source.refs():
        with suppress(ClipError):
            audio = catalogue(source, ref, 16_000, Acceptance()).audio
            assert abs(audio.mean()) < 1e-3
            assert max(abs(audio[[0, -1]])) <= 0.02 * peak(audio)
            played += 1
    assert played > 200


def test_a_clip_that_is_audible_for_a_blip_alone_is_refused(tmp_path: Path) -> None:
    quiet = 10 ** (-45 / 20) * noise(16_000)
    # A loud block and a frame, 50 ms and a little, are no 100 ms, and are not told to be.
    for audio, seconds in (
        ([noise(800), quiet, noise(800)], "0.050"),
        ([quiet, noise(816)], "0.051"),
    ):
        row = accept(tmp_path, np.concatenate(audio)).row
        row["segments"] = find_segments(row, Ear())
        assert row["segments"] == []
        told = f"is audible for at most {seconds} s at a time; truth.blip_s is 0.1 s ("
        assert (explain_inaudible(row, Ear()) or "").startswith(told)
        row["segments"] = find_segments(row, Ear(blip_s=0.0))
        assert explain_inaudible(row, Ear(blip_s=0.0)) is None


def test_segments_of_real_recordings(shared_data: Callable[[str], Path]) -> None:
    source = Esc50(root=shared_data("ESC-50"))
    several = 0
    for ref in islice(source.refs(), 0, 229, 8):
        row = catalogue(source, ref, 16_000, Acceptance()).row
        edges = [edge for segment in find_segments(row, Ear()) for edge in segment.values()]
        assert edges == sorted({*edges})
        assert edges[0] >= row["onset"]
        assert edges[-1] <= row["offset"]
        assert len(row["levels_dba"]) == len(row["levels_db"])
        several += len(edges) > 2
    assert several > 3


def test_levels_that_are_weighted_follow_what_can_be_heard(tmp_path: Path) -> None:
    hum = 0.5 * np.sin(np.arange(16_000) * (2 * np.pi * 50 / 16_000))
    row = accept(tmp_path, hum).row
    assert np.subtract(row["levels_dba"], row["levels_db"])[1:-1] == pytest.approx(-30.2, abs=0.3)


def test_the_same_file_gives_the_same_row_and_samples(tmp_path: Path) -> None:
    # A WAV file of floats names the second in which it was written.
    how = {"bank_rate": 44_100, "subtype": "PCM_16"}
    one, other = (accept(tmp_path, noise(9000), **how) for _ in range(2))
    assert one.row == other.row
    assert np.array_equal(one.audio, other.audio)


@settings(max_examples=60)
@given(RATES, RATES, st.integers(1, 30_000))
def test_resampled_length_is_exact(rate: int, target: int, frames: int) -> None:
    audio = noise(frames).astype(np.float32)
    found = resample(audio, rate, target)
    assert found.dtype == np.float32
    assert found.shape == (resampled_frames(frames, rate, target),)
    if rate == target:
        assert np.array_equal(found, audio)


@cases(("rate", "target"), [(44_100, 48_000), (48_000, 16_000), (22_050, 32_000)])
def test_resampling_keeps_a_tone_in_place(rate: int, target: int) -> None:
    def tone(at: int) -> np.ndarray:
        return np.sin(np.arange(at) * (2 * np.pi * 440 / at)).astype(np.float32)

    middle = slice(target // 10, -target // 10)
    assert np.allclose(resample(tone(rate), rate, target)[middle], tone(target)[middle], atol=1e-3)


# Splits

RULES = (SplitRule("train", 0.8), SplitRule("val", 0.1), SplitRule("test", 0.1))


def rows_of(
    labels: int, recordings: int, takes: int = 1, source_split: str = ""
) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{label}-{recording}-{take}",
            "location": "x",
            "labels": [f"label {label}"],
            "recording": f"r{label}-{recording}",
            "source_split": source_split,
            "split": "",
        }
        for label in range(labels)
        for recording in range(recordings)
        for take in range(takes)
    ]


def assert_no_recording_in_two_splits(rows: list[dict[str, Any]]) -> None:
    splits = defaultdict(set)
    for row in rows:
        if row["split"]:
            splits[row["recording"]].add(row["split"])
    assert all(len(found) == 1 for found in splits.values())


@given(
    st.integers(1, 6),
    st.integers(1, 12),
    st.integers(1, 3),
    st.integers(0, 2**32),
    st.sampled_from([(1.0,), (0.9, 0.05, 0.05), (0.7, 0.2, 0.1), (1 / 3,) * 3]),
    st.booleans(),
)
def test_no_recording_is_in_two_splits_and_shares_of_one_leave_nothing_out(
    labels: int, recordings: int, takes: int, seed: int, shares: tuple[float, ...], shared: bool
) -> None:
    rows = rows_of(labels, recordings, takes)
    for row in rows if shared else ():
        row["recording"] = row["recording"].split("-")[1]
    names = ("train", "val", "test")
    rules = [SplitRule(name, share) for name, share in zip(names, shares, strict=False)]
    assert assign_splits(rows, rules, seed) == []
    assert_no_recording_in_two_splits(rows)
    assert {row["split"] for row in rows} <= set(names)


def splits_of(rows: list[dict[str, Any]], seed: int = 7) -> dict[str, str]:
    assign_splits(rows, RULES, seed)
    return {row["id"]: row["split"] for row in rows}


def test_splits_depend_on_the_seed_and_on_names_not_on_what_else_there_is() -> None:
    every = splits_of(rows_of(4, 20, 2))
    assert every == splits_of(rows_of(4, 20, 2)[::-1])
    assert every != splits_of(rows_of(4, 20, 2), seed=8)
    for kept in (rows_of(3, 20, 2), rows_of(4, 19, 2), rows_of(4, 20, 2)[::3]):
        assert splits_of(kept).items() <= every.items()


@cases(
    ("labels", "recordings", "shares"),
    [
        (1, 2000, {"train": 0.5, "test": 0.2, "": 0.3}),
        (600, 3, {"train": 0.8, "val": 0.1, "test": 0.1}),
    ],
)
def test_fractions_hold_and_what_they_leave_is_in_no_split(
    labels: int, recordings: int, shares: dict[str, float]
) -> None:
    rows = rows_of(labels, recordings)
    assign_splits(rows, [SplitRule(name, share) for name, share in shares.items() if name], 7)
    counts = Counter(row["split"] for row in rows)
    assert {name: count / len(rows) for name, count in counts.items()} == pytest.approx(
        shares, abs=0.04
    )


FOLDS = (SplitRule("train", source_splits=("1", "2")), SplitRule("test", source_splits=("5",)))


def test_the_librarys_folds_can_be_the_splits() -> None:
    rows = [row for fold in "1235" for row in rows_of(1, 4, source_split=fold)]
    for index, row in enumerate(rows):
        row["recording"] = f"r{index}"
    assert assign_splits(rows, FOLDS, 7) == []
    assert Counter((row["source_split"], row["split"]) for row in rows) == {
        ("1", "train"): 4,
        ("2", "train"): 4,
        ("3", ""): 4,
        ("5", "test"): 4,
    }


def test_a_recording_that_the_library_divides_is_withdrawn_with_the_reason() -> None:
    rows = rows_of(1, 3, 2, source_split="1")
    rows[0]["source_split"] = "5"  # recording 0: test and train
    rows[2]["source_split"] = "3"  # recording 1: no split and train
    withdrawn = assign_splits(rows, FOLDS, 7)
    assert [row["id"] for row in withdrawn] == ["0-0-0", "0-0-1"]
    assert withdrawn[0]["stage"] == "split"
    assert "test and train" in withdrawn[0]["reason"]
    assert [row["split"] for row in rows] == ["", "", "", "train", "train", "train"]
    assert_no_recording_in_two_splits(rows)
