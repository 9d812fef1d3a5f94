"""When a sound is heard: as JSON and back, and what is left of it in a part of the time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from synth.base.errors import SceneError
from synth.scene.activity import Acoustics, Activity, Stretch
from tests.kit.cases import cases

LOUD = Acoustics(-20.0, -18.5, (-20.0, -21.0, -19.0), -20.5, "r1", "far")
LIKELY = (Stretch(8, 33),)
HEARD = Activity((Stretch(10, 20), Stretch(25, 30)), (Stretch(5, 40),), 2, LOUD, LIKELY)
FORM = HEARD.to_json()


@cases("activity", [HEARD, Activity((), ()), Activity((), (Stretch(0, 1),), 0)])
def test_what_is_written_is_read_again(activity: Activity) -> None:
    assert Activity.from_json(activity.to_json()) == activity


@cases(
    "change",
    [
        {"clear": None},
        {"clear": [{"onset": 20, "offset": 10}]},
        {"clear": [{"onset": 10, "offset": 10}]},
        {"faint": [{"onset": 5, "offset": 9}, {"onset": 8, "offset": 12}]},
        {"faint": [{"onset": -1, "offset": 9}]},
        {"onsets": -2},
        {"onsets": 1.0},
        {"onsets": True},
        {"acoustics": {}},
        {"likely": None},
        {"acoustics": [{"mean_dba": "loud"}]},
    ],
)
def test_what_is_no_activity_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SceneError, match=r"^not (an activity|a stretch of time|the acoustics)"):
        Activity.from_json(FORM | change)


@cases(
    ("faint", "pause"),
    [([(5, 40)], 5), ([(10, 20), (25, 60)], 5), ([(0, 3), (9, 40)], 7), ([(10, 31), (50, 52)], 20)],
)
def test_somebody_hears_more_than_what_is_clear_and_a_longer_pause(
    faint: list[tuple[int, int]], pause: int
) -> None:
    whole = tuple(Stretch(*each) for each in faint)
    assert replace(HEARD, faint=whole).longest_pause == pause


def test_a_part_of_a_sound_tells_neither_how_often_it_begins_nor_how_it_sounds() -> None:
    assert HEARD.cut(5, 40) == HEARD
    assert HEARD.cut(12, 27) == Activity(
        (Stretch(12, 20), Stretch(25, 27)), (Stretch(12, 27),), likely=(Stretch(12, 27),)
    )
    assert HEARD.cut(32, 50) == Activity((), (Stretch(32, 40),), likely=(Stretch(32, 33),))
    assert HEARD.shift(7).cut(12, 47) == HEARD.shift(7)
