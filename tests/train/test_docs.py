"""What the documentation says of settings is what they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from train.bench.settings import Task
from train.bench.verdicts import read_glossary
from train.config.loss import Loss
from train.config.model import Group
from train.config.run import TrainConfig

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "training.md"


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_the_file_shown_holds_every_setting_with_its_default(page: str) -> None:
    shown: dict[str, Any] = yaml.safe_load(page.split("```yaml")[1].split("```")[0])
    paths = {"corpus": "c", "out": "o"}
    default = TrainConfig.model_validate(paths).model_dump(mode="json")
    assert TrainConfig.model_validate(shown | paths).model_dump(mode="json") == default
    assert shown.keys() | paths.keys() == default.keys()
    for section in ("head", "audio", "text"):
        assert shown["model"][section].keys() == default["model"][section].keys()
    assert shown["stages"][0].keys() == default["stages"][0].keys()
    assert shown["text"].keys() == default["text"].keys()


def test_the_page_names_settings_losses_and_tasks(page: str) -> None:
    shown: dict[str, Any] = yaml.safe_load(page.split("```yaml")[2].split("```")[0])
    config = TrainConfig.model_validate(shown | {"corpus": "c", "out": "o"})
    assert config.lr_of[Group.AUDIO_TOWER_LAST] < config.lr
    for loss in get_args(get_args(Loss)[0]):
        assert f"`{loss().name}`" in page
        assert all(f"`{name}" in page for name in loss.model_fields if name != "name")
    assert all(f"`{task}`" in page for task in Task)


def test_every_metric_has_its_line_of_the_code() -> None:
    page = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    told = [line for line in page.splitlines() if line.startswith("- `")]
    assert told == [f"- `{name}`: {line}" for name, line in read_glossary().items()]
