"""The demo's own spec. The demo itself runs at the end of `.ci/run`."""

from __future__ import annotations

import pytest

from experiments.cli.demo import make_demo_spec
from synth.base.errors import SpecError


def test_the_shipped_spec_is_there_and_holds_out_the_folds_asked_for() -> None:
    spec = make_demo_spec(None, "4,5")
    assert spec.corpus == "demo"
    assert {name: list(folds) for name, folds in spec.splits.items()} == {
        "train": ["1", "2", "3"],
        "test": ["4", "5"],
    }


def test_a_fold_that_no_sound_has_is_refused_with_those_it_has() -> None:
    with pytest.raises(SpecError, match=r"--test-folds 9.*1, 2, 3, 4, 5"):
        make_demo_spec(None, "9")
