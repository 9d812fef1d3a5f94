"""Measures in words."""

from __future__ import annotations

import pytest

from synth.base.errors import SceneError
from synth.captions.measuring import say_seconds
from tests.kit.cases import cases


@cases("rate", [8000, 11_025, 22_050, 44_100])
def test_tenths_of_a_second_are_told_at_every_rate(rate: int) -> None:
    said = [say_seconds(tenth * rate // 10, rate) for tenth in (5, 10, 23, 110)]
    assert said == ["0.5 seconds", "one second", "2.3 seconds", "11 seconds"]


def test_a_time_between_two_tenths_is_refused() -> None:
    with pytest.raises(SceneError, match="no whole tenths"):
        say_seconds(11_025 + 500, 11_025)
