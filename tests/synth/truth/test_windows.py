"""Windows, against somebody who goes through the frames one by one."""

from __future__ import annotations

import re

import numpy as np
import pytest

from synth.scene.activity import Activity, Stretch, Stretches
from synth.scene.scene import Excerpt
from synth.scene.timeline import Placement, Timeline
from synth.truth.windows import CERTAIN, find_windows

FRAMES = 60
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
