"""Schedules are pure functions of the step."""

import pytest

from train.config.loss import TextSwap
from train.config.run import Decay, Stage, StepPlace, place
from train.config.text import Ramp
from train.engine.optimizer import learning_rate


def test_place_walks_through_the_stages() -> None:
    stages = (Stage(steps=2), Stage(steps=3))
    assert [place(step, stages) for step in range(5)] == [
        StepPlace(0, 0),
        StepPlace(0, 1),
        StepPlace(1, 0),
        StepPlace(1, 1),
        StepPlace(1, 2),
    ]
    with pytest.raises(IndexError):
        place(5, stages)


def test_the_rate_rises_to_the_peak_and_falls() -> None:
    rates = [learning_rate(step, 100, 2.0, 0.2) for step in range(100)]
    assert max(rates) == rates[19] == 2.0
    assert rates[:20] == sorted(rates[:20])
    assert rates[19:] == sorted(rates[19:], reverse=True)
    assert 0 < rates[-1] < 0.01


def test_the_rate_falls_as_asked() -> None:
    ends = [learning_rate(99, 100, 2.0, 0.2, decay) for decay in Decay]
    middle = [learning_rate(59, 100, 2.0, 0.2, decay) for decay in Decay]
    assert ends == pytest.approx([0.002, 0.002, 2.0])
    assert middle == pytest.approx([1.0, 1.0, 2.0])


def test_ramps_wait_then_rise_then_stay() -> None:
    ramp = Ramp(start=0.2, end=0.6, after=10, over=20)
    assert [ramp.at(step) for step in (0, 9, 10, 20, 30, 99)] == pytest.approx(
        [0.2, 0.2, 0.2, 0.4, 0.6, 0.6]
    )
    assert [Ramp(start=0, end=1, after=3).at(step) for step in (2, 3)] == [0, 1]
    swaps = TextSwap(share=0.15, after=5, over=20)
    assert [swaps.share_at(step) for step in (4, 5, 15, 25, 80)] == pytest.approx(
        [0, 0, 0.075, 0.15, 0.15]
    )
