from __future__ import annotations

from pathlib import Path

import pytest

from experiments.additions import (
    BASE,
    CROPPED,
    LONGER,
    MISTOLD,
    ORDERED,
    QUANTITIES,
    RULES,
    RULES_OUR_SCENES,
    SCATTERED,
    SPANS,
    STAGED,
    TELLING,
    UNBALANCED,
    UNBALANCED_SCATTERED,
    UNTESTED,
    build_experiment,
)
from experiments.harness.experiment import PAPERS_SCALES, CorpusView, ExamSplit, Scale
from experiments.scenes.scenes import choose_seconds
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from train.config.run import CropTold

SCALES = pytest.mark.parametrize("scale", PAPERS_SCALES)


@SCALES
def test_every_arm_differs_in_one_thing_and_takes_as_many_steps(scale: Scale) -> None:
    arms = {arm.name: arm for arm in build_experiment(scale).arms}
    whole = arms[BASE].config
    assert len({arm.config.steps for arm in arms.values()}) == 1
    for retold in (UNBALANCED, SPANS, UNTESTED, TELLING):
        assert arms[retold].config == whole
    assert arms[TELLING].corpus == arms[BASE].corpus
    assert [name for name, arm in arms.items() if arm.mixed] == [TELLING]
    assert len({arm.corpus for arm in arms.values()}) == 7
    apart = whole.model_copy(update={"keep_groups": False})
    for scattered in (SCATTERED, UNBALANCED_SCATTERED, RULES, RULES_OUR_SCENES):
        assert arms[scattered].config == apart
    assert arms[UNBALANCED_SCATTERED].corpus == arms[UNBALANCED].corpus
    first, second = whole.stages
    assert first.relations == second.relations == ()
    for name, relations in (
        (STAGED, ("while", "as", "with", "at the same time")),
        (ORDERED, ("before", "after", "then", "followed by")),
    ):
        begins = first.model_copy(update={"relations": relations})
        assert arms[name].config == whole.model_copy(update={"stages": (begins, second)})


@SCALES
def test_what_is_heard_of_long_scenes_is_as_long_as_those_of_the_test(scale: Scale) -> None:
    made = build_experiment(scale)
    arms = {arm.name: arm for arm in made.arms}
    scenes, long = made.corpora["scenes"], made.corpora["long"]
    assert long.setting.max_frames == LONGER * (scenes.setting.max_frames or 0)
    assert arms[CROPPED].config.crop_s == arms[MISTOLD].config.crop_s == choose_seconds(scale)
    assert arms[CROPPED].config.crop_told is CropTold.PROVEN
    assert arms[MISTOLD].config.crop_told is CropTold.WHOLE
    assert arms[CROPPED].corpus == arms[MISTOLD].corpus
    assert arms[CROPPED].corpus == "long"


def test_what_proof_adds_to_the_papers_rules_is_asked_over_the_same_scenes() -> None:
    # The arm by the rules hears other scenes, over embedded sounds none of four.
    made = build_experiment(Scale.TINY)
    claims = [claim for claim in made.claims if "CompA's" in claim.text]
    assert len(claims) == 3
    parts = set()
    for claim in claims:
        for arm in (arm for arm in made.arms if arm.name in claim.arms):
            view = made.corpora[arm.corpus]
            assert not arm.config.keep_groups
            parts.add(view.parts)
    assert parts == {("scenes",)}


def test_few_sounds_give_every_count_and_measure_that_is_claimed(tmp_path: Path) -> None:
    # The claims asked for metrics that no test gave, and read "not tested".
    made = build_experiment(Scale.TINY)
    given = set()
    for name, size in (("counts", {"repeats": {"test": 1}}), ("measures", {"pairs": {"test": 12}})):
        corpus = made.corpora[name]
        values = corpus.model_dump(mode="json", exclude_defaults=True)
        (recipe,) = values["recipe"]
        values["recipe"][recipe] |= size
        values["source"] = {"foley": {"classes": ["cat", "dog", "rain", "siren"], "takes": 5}}
        values["splits"] = {"test": ["4", "5"]}
        folder = Path(build(Spec.model_validate(values), tmp_path, 0).paths["manifests"])
        (exam,) = (exam for exam in made.exams if exam.name == name)
        benchmark = exam.benchmark({name: folder}, ExamSplit.TEST)
        given |= {f"{name}.{metric}" for metric in benchmark.list_metrics(exam.tasks)}
    assert {metric for metric, _ in QUANTITIES} <= given


def test_results_tell_how_a_view_is_reworded_and_by_which_settings() -> None:
    corpora = build_experiment(Scale.TINY).corpora
    views = {name: view for name, view in corpora.items() if isinstance(view, CorpusView)}
    assert views["tested"].reworded_by == "tested(most=3, audible=1600)"
    assert views["untested"].reworded_by == "untested(most=3)"
    assert views["by-rules"].reworded_by == "by_rules(most=3)"
    assert CorpusView(("scenes",)).reworded_by == "keep"
