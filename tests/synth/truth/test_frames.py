"""Labels of frames, beside an oracle that goes from one sample of audio to the next."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.labels.lexicon import are_confusable
from synth.scene.activity import Activity, Stretch, Stretches
from synth.scene.scene import Excerpt
from synth.scene.timeline import Placement, Timeline
from synth.truth.frames import (
    CERTAIN,
    Audibility,
    count_frames,
    find_runs,
    find_windows,
    frame_length,
    label_frames,
)
from tests.kit.timelines import FRAMES, heard_timelines, placed

LABELS = ("dog", "rain", "airplane", "engine")


def oracle(label: str, heard: Timeline, length: int, step: Fraction) -> list[int]:
    """How each frame is heard, judged sample by sample of its audio."""
    found = []
    frame = 0
    while frame * step < length:
        begin, end = frame * step, min((frame + 1) * step, Fraction(length))
        # A sample lasts from its number to the next, and a frame may begin and end within one.
        touched = [k for k in range(length) if k < end and k + 1 > begin]
        clear = all(
            any(
                onset <= k < offset
                for place in heard.placements
                if place.label == label
                for onset, offset in place.heard.clear
            )
            for k in touched
        )
        maybe = any(
            onset <= k < offset
            for place in heard.placements
            if are_confusable(place.label, label)
            for onset, offset in place.heard.faint
            for k in touched
        )
        found.append(2 if clear else 1 if maybe else 0)
        frame += 1
    return found


@given(
    heard_timelines(LABELS),
    st.sampled_from([*LABELS, "siren"]),
    st.integers(FRAMES, FRAMES + 9),
    st.fractions(1, 20, max_denominator=6),
)
def test_frames_equal_the_oracle(heard: Timeline, label: str, length: int, step: Fraction) -> None:
    found = label_frames(label, heard, length, step)
    assert found.tolist() == oracle(label, heard, length, step)
    assert len(found) == count_frames(length, step)
    runs = {state: find_runs(found, state) for state in Audibility}
    told = sorted((start, stop, state) for state, its in runs.items() for start, stop in its)
    assert [state for start, stop, state in told for _ in range(start, stop)] == found.tolist()


def test_a_frame_lasts_40_ms_at_any_rate() -> None:
    assert frame_length(48_000) == 1920
    assert frame_length(11_025) == 441
    assert frame_length(22_049) == Fraction(22_049, 25)
    assert count_frames(48_001, frame_length(48_000)) == 26


def test_what_another_sound_could_be_called_is_neither_there_nor_absent() -> None:
    heard = placed(("airplane", (Stretch(0, 30),), (Stretch(0, 40),)))
    step = Fraction(10)
    assert label_frames("airplane", heard, FRAMES, step).tolist() == [2, 2, 2, 1, 0, 0]
    assert label_frames("engine", heard, FRAMES, step).tolist() == [1, 1, 1, 1, 0, 0]
    assert label_frames("dog", heard, FRAMES, step).tolist() == [0] * 6


# Windows, against somebody who goes through the frames one by one.


PAUSE = 3


def runs(marks: np.ndarray) -> Stretches:
    text = "".join("x" if mark else "." for mark in marks)
    return tuple(Stretch(*run.span()) for run in re.finditer("x+", text))


def bridge(marks: np.ndarray) -> np.ndarray:
    """With every shorter pause between two marks marked, too."""
    text = "".join("x" if mark else "." for mark in marks)
    text = re.sub(rf"(?<=x)\.{{1,{PAUSE - 1}}}(?=x)", lambda gap: "x" * len(gap[0]), text)
    return np.array([letter == "x" for letter in text])


def place(label: str, event: int, *marks: np.ndarray) -> Placement:
    clear, likely, faint = map(runs, marks)
    excerpt = Excerpt(f"{label}-{event}", 0, FRAMES)
    return Placement(label, 0, FRAMES, excerpt, event, Activity(clear, faint, likely=likely))


def expect(sounds: list[tuple[np.ndarray, ...]]) -> Stretches | None:
    clear, likely, faint = (bridge(np.any(marks, axis=0)) for marks in zip(*sounds, strict=True))
    if not len(runs(clear)) == len(runs(likely)) == len(runs(faint)) > 0:
        return None
    for loose in runs(faint):
        inside = clear[loose.onset : loose.offset]
        if len(runs(inside)) != 1 or inside.sum() < CERTAIN * len(inside):
            return None
    return runs(likely)


@pytest.mark.parametrize("seed", range(4))
def test_windows_are_those_on_which_all_listeners_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    agreed = 0
    for _ in range(400):
        sounds = []
        for _ in range(int(rng.integers(1, 3))):
            faint = np.repeat(rng.random(6) < 0.4, FRAMES // 6)
            likely = faint & (rng.random(FRAMES) < 0.9)
            sounds.append((likely & (rng.random(FRAMES) < 0.8), likely, faint))
        heard = [place("dog", number, *marks) for number, marks in enumerate(sounds)]
        windows = find_windows("dog", Timeline(tuple(heard), FRAMES), PAUSE)
        wanted = expect([(c, l | c, f) for c, l, f in sounds])  # noqa: E741
        assert windows == wanted
        agreed += windows is not None
    assert 40 < agreed < 360


def test_what_may_be_taken_for_a_sound_makes_its_windows_uncertain() -> None:
    marks = np.arange(FRAMES) < 20
    dog = place("Dog", 0, marks, marks, marks)
    for other, event, certain in (("rain", 1, True), ("Bark", 1, False), ("Bark", 0, True)):
        beside = place(other, event, marks, marks, marks)
        windows = find_windows("Dog", Timeline((dog, beside), FRAMES), PAUSE)
        assert (windows is not None) is certain, other
    assert find_windows("siren", Timeline((dog,), FRAMES), PAUSE) is None
