"""Labels of frames, beside an oracle that goes from one sample of audio to the next."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from synth.labels.lexicon import are_confusable
from synth.scene.activity import Activity, Stretch, cut, hull
from synth.scene.scene import Excerpt
from synth.scene.timeline import Placement, Timeline
from synth.truth.frames import Audibility, count_frames, find_runs, frame_length, label_frames

LABELS = ("dog", "rain", "airplane", "engine")
LENGTH = 60


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    places = []
    for at, label in enumerate(draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=4))):
        edges = sorted(draw(st.sets(st.integers(0, LENGTH), max_size=8)))
        faint = tuple(
            Stretch(onset, offset) for onset, offset in zip(edges[::2], edges[1::2], strict=False)
        )
        first, last = sorted(draw(st.tuples(st.integers(0, LENGTH), st.integers(0, LENGTH))))
        clear = cut(faint, first, last) if first < last else ()
        onset, offset = hull(faint) or (0, 1)
        activity = Activity(clear, faint)
        places.append(
            Placement(label, onset, offset, Excerpt("a", 0, offset - onset), at, activity)
        )
    return Timeline(tuple(places), LENGTH)


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
    timelines(),
    st.sampled_from([*LABELS, "siren"]),
    st.integers(LENGTH, LENGTH + 9),
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
    heard = Timeline(
        (
            Placement(
                "airplane",
                0,
                40,
                Excerpt("a", 0, 40),
                0,
                Activity((Stretch(0, 30),), (Stretch(0, 40),)),
            ),
        ),
        LENGTH,
    )
    step = Fraction(10)
    assert label_frames("airplane", heard, LENGTH, step).tolist() == [2, 2, 2, 1, 0, 0]
    assert label_frames("engine", heard, LENGTH, step).tolist() == [1, 1, 1, 1, 0, 0]
    assert label_frames("dog", heard, LENGTH, step).tolist() == [0] * 6
