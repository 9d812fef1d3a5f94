from __future__ import annotations

from pathlib import Path

import pytest

from experiments.harness.experiment import ExamSplit, Scale
from experiments.together import ALL, CLAP, MIXED, build_experiment, deny
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from synth.corpus.corpus import Corpus
from synth.corpus.schema import read_timeline
from synth.scene.claim import claim_from_text
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing
from train.bench.plan import TaskRefusal


@pytest.mark.parametrize("scale", list(Scale))
def test_both_arms_hear_the_same_for_as_many_steps(scale: Scale) -> None:
    arms = {arm.name: arm for arm in build_experiment(scale).arms}
    assert arms[CLAP].mixed == arms[ALL].mixed == MIXED
    assert arms[CLAP].corpus == arms[ALL].corpus
    assert arms[CLAP].config.steps == arms[ALL].config.steps
    assert all(stage.frames for stage in arms[ALL].config.stages)


def test_every_exam_can_be_taken_on_small_corpora_of_the_same_recipes(tmp_path: Path) -> None:
    sizes = {"scenes": {"scenes": {"train": 4, "test": 64}}}
    repeats = {"repeats": {"train": 1, "test": 1}}
    made = build_experiment(Scale.TINY)
    folders = {}
    for name, corpus in made.corpora.items():
        if not isinstance(corpus, Spec):
            continue
        values = corpus.model_dump(mode="json", exclude_defaults=True)
        (recipe,) = values["recipe"]
        values["recipe"][recipe] |= sizes.get(recipe, repeats)
        values["source"] = {"foley": {"classes": ["cat", "dog", "rain", "siren"], "takes": 5}}
        values["splits"] = {"train": ["1", "2", "3"], "test": ["5"]}
        folders[name] = Path(build(Spec.model_validate(values), tmp_path, 0).paths["manifests"])
    rows = Corpus.open(folders["scenes"]).samples("test").to_pylist()
    denials = [told for told in map(deny, rows) if told]
    assert denials
    for told in denials:
        hearing = Hearing(read_timeline(told), Tolerance(audible=1600))
        assert hearing.proves(claim_from_text(told["claim"]))
        assert all(hearing.refutes(claim_from_text(each["claim"])) for each in told["negatives"])
    for exam in made.exams:
        plans = exam.benchmark(folders, ExamSplit.TEST).plans(exam.tasks)
        assert set(plans) == set(exam.tasks)
        assert not any(isinstance(plan, TaskRefusal) for plan in plans.values())
