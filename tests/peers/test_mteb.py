"""The sets as tasks of mteb, by mteb's own evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mteb
import numpy as np
import pytest
from mteb.models import ModelMeta

from experiments.frozen.mteb_tasks import MAIN_SCORE, mteb_tasks
from experiments.frozen.score import OpenSet, score_set
from pipelines.frozen.description import read_records
from synth.base.progress import UNOBSERVED
from tests.kit.frozen_sets import COMPOSED, DESCRIPTION, make_sets
from train.bench.opening import Foreign, RandomModel
from train.bench.settings import Padding


class RandomEncoder:
    """The random model as mteb takes models."""

    def __init__(self) -> None:
        self.model = RandomModel()
        self.mteb_model_meta = ModelMeta.create_empty(
            {"name": "segue/random", "revision": "1", "modalities": ["audio", "text"]}
        )

    def similarity(self, one: Any, other: Any) -> Any:
        raise AssertionError("the task compares embeddings itself")

    similarity_pairwise = similarity

    def encode(self, inputs: Any, **_: Any) -> np.ndarray:
        found = []
        for batch in inputs:
            if "audio" in inputs.dataset.features:
                assert {each["sampling_rate"] for each in batch["audio"]} == {16_000}
                found.append(self.model.audio([each["array"] for each in batch["audio"]]))
            else:
                found.append(self.model.texts(batch["text"]))
        return np.concatenate(found)


@pytest.mark.parametrize("description", [DESCRIPTION, COMPOSED])
def test_scores_by_mteb_are_ours(tmp_path: Path, description: dict[str, Any]) -> None:
    sets = make_sets(tmp_path, description)
    (task,) = mteb_tasks(sets)
    (result,) = mteb.evaluate(RandomEncoder(), [task], cache=None, co2_tracker=False).task_results
    (found,) = result.scores["test"]
    (built,) = read_records(sets)
    opened = OpenSet.open(built, sets, UNOBSERVED)
    model = Foreign(RandomModel(), "random")  # of unit length, as the task makes embeddings
    ours = score_set(model, opened, opened.list_sounds(), Padding.PAD, UNOBSERVED)
    assert task.metadata.name == "SegueSmallV1Foley"
    main = "audio" if built.composed else MAIN_SCORE
    assert found["main_score"] == ours[main].value
    assert {name: found[name] for name in ours} == {name: one.value for name, one in ours.items()}
