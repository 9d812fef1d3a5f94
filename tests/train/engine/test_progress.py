"""The meter tells how fast a run is, and when other work holds it up."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from train.engine.log import Meter


@dataclass
class Clocks:
    """Time as the test has it pass."""

    wall: float = 0.0
    ran: float = 0.0

    def step(self, meter: Meter, seconds: float, share: float) -> None:
        with meter.learn(8):
            self.wall += seconds
            self.ran += seconds * share


def test_a_run_that_is_held_up_says_so_and_takes_it_back() -> None:
    clocks = Clocks()
    meter = Meter(lambda: clocks.wall, lambda: clocks.ran)
    for _ in range(5):
        clocks.step(meter, 1.9, 0.1)
    assert not meter.warning  # too early to tell
    clocks.step(meter, 1.9, 0.1)
    assert meter.warning.startswith("0.53 steps/s: other work leaves this process 10% of a")
    assert str(meter).endswith("held up by other work")
    for _ in range(200):
        clocks.step(meter, 0.1, 0.97)
    assert not meter.warning
    assert meter.samples == 206 * 8


def test_waiting_for_a_device_is_not_told() -> None:
    clocks = Clocks()
    meter = Meter(lambda: clocks.wall)
    for _ in range(50):
        clocks.step(meter, 1.0, 0.01)
    assert not meter.warning
    assert meter.samples_per_s == pytest.approx(8)


@pytest.mark.parametrize(
    ("threads", "helps"), [(8, "OMP_NUM_THREADS=4"), (2, "OMP_NUM_THREADS=1"), (1, "stop the")]
)
def test_fewer_threads_help_where_there_are_several(
    monkeypatch: pytest.MonkeyPatch, threads: int, helps: str
) -> None:
    monkeypatch.setattr("torch.get_num_threads", lambda: threads)
    clocks = Clocks()
    meter = Meter(lambda: clocks.wall, lambda: clocks.ran)
    clocks.step(meter, 12.0, 0.25)
    assert helps in meter.warning
    assert ("OMP_NUM_THREADS" in meter.warning) == (threads > 1)
