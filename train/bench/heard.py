"""Had the model heard what it is tested on?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from train.bench.plan import Benchmark
from train.data.recordings import RECORDINGS_FILE, Recordings, load_recordings

HEARD: Final = "heard in training"
"""The fact that tells how many recordings of a test the model was trained on."""
_UNKNOWN: Final = "not known"


def add_heard_fact(benchmark: Benchmark, model: Path) -> Benchmark:
    """The benchmark, with the fact of how many of its recordings a model was trained on.

    Args:
        model: Folder of a run; of any other model it is not known.
    """
    told = describe_heard(benchmark.recordings, f"a {benchmark.kind}", model)
    return replace(benchmark, facts={**benchmark.facts, HEARD: told})


def describe_heard(recordings: Recordings | None, what: str, model: Path) -> str:
    """How many recordings of a test a model was trained on, in words.

    Args:
        recordings: Of the test; None where it does not tell them.
        what: What the test is, for where it does not.
        model: Folder of a run; of any other model it is not known.
    """
    if recordings is None:
        return f"{_UNKNOWN}, {what} does not name its recordings"
    training = load_recordings(model)
    if training is None:
        return f"{_UNKNOWN}, there is no {RECORDINGS_FILE} in {model}"
    heard, all_ = recordings.count_shared(training), len(recordings.clips)
    return f"{heard:,} of {all_:,} recordings"


def heard_warning(facts: Mapping[str, str]) -> str:
    """One line for whoever reads the figures of a test; "" where nothing speaks against them."""
    told = facts.get(HEARD, "0 ")
    if told.startswith("0 "):
        return ""
    if told.startswith(_UNKNOWN):
        return f"whether the model was trained on recordings of this test is {told}"
    return f"{told} of this test were heard in training, so its figures are too good"
