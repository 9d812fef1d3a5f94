"""Settings are checked before any work starts; schedules are pure functions of the step."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.base.errors import SpecError
from tests.kit.tables import read_data
from train.cli.train import make_config
from train.config.loss import TextSwap
from train.config.model import HeadKind
from train.config.run import (
    AudioMode,
    Decay,
    Stage,
    StepPlace,
    TrainConfig,
    parse_config,
    place,
    read_settings,
)
from train.config.text import Ramp
from train.engine.optimizer import learning_rate
from train.engine.presets import demo

BASE = {"corpus": "c", "out": "o"}
CLAP_HALF = {"kind": "transformers", "name": "clap"}


WRONG: list[tuple[dict[str, object], str]] = read_data("train/wrong_settings.yaml")


def test_wrong_settings_are_named_with_their_file_all_at_once() -> None:
    faults = []
    for change, named in WRONG:
        with pytest.raises(SpecError, match=r"train\.yaml") as error:
            parse_config(BASE | change, "train.yaml")
        if named not in str(error.value):
            faults.append((change, named, str(error.value)))
    assert faults == []


def test_settings_survive_json_and_a_share_may_be_a_ramp() -> None:
    text = parse_config(BASE | {"text": {"p_caption": 0.5, "p_insert": {"start": 0.2}}}, "x").text
    assert [text.p_caption.at(step) for step in (0, 99)] == [0.5, 0.5]
    assert [text.p_insert.at(step) for step in (0, 99)] == [0.2, 0.2]
    config = demo(Path("c"), Path("o"), HeadKind.MLP)
    assert parse_config(config.model_dump(mode="json"), "x") == config


def test_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="No such file"):
        read_settings(tmp_path / "none.yaml")
    bad = tmp_path / "bad.yaml"
    bad.write_text("batch: [3")
    with pytest.raises(SpecError, match="not YAML"):
        read_settings(bad)
    bad.write_text("just words")
    with pytest.raises(SpecError, match="expected settings"):
        read_settings(bad)


@pytest.mark.parametrize("steps", [2, 3, 7, 100, 501])
def test_stages_are_scaled_to_any_number_of_steps(steps: int) -> None:
    config = TrainConfig(
        corpus=Path("c"), out=Path("o"), stages=(Stage(steps=150), Stage(steps=350))
    )
    scaled = config.scale_steps(steps)
    assert scaled.steps == steps
    assert len(scaled.stages) == 2
    with pytest.raises(SpecError, match="are too few for the 2 stages") as error:
        demo(Path("c"), Path("o")).scale_steps(1)
    assert "(relations in play: before; all)" in str(error.value)
    assert error.value.fix == "give 2 or more, one per stage"


def test_options_stand_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "train.yaml"
    file.write_text("batch: 8\nout: from-file\nseed: 1\n")
    config = make_config(
        Path("c"), file, None, HeadKind.MLP, True, 10, 5, Path("from-option"), "cuda"
    )
    assert config.device == "cuda"
    assert (config.batch, config.seed, config.steps) == (8, 5, 10)
    assert config.out == Path("from-option")
    assert config.model.head.kind is HeadKind.MLP
    assert config.mode is AudioMode.VIRTUAL
    without = make_config(Path("c"), file, None, None, False, None, None, None)
    assert without.out == Path("from-file")


# Schedules are pure functions of the step.


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


def test_the_rate_rises_to_the_peak_and_falls_as_asked() -> None:
    rates = [learning_rate(step, 100, 2.0, 0.2) for step in range(100)]
    assert max(rates) == rates[19] == 2.0
    assert rates[:20] == sorted(rates[:20])
    assert rates[19:] == sorted(rates[19:], reverse=True)
    assert 0 < rates[-1] < 0.01
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
