"""Stages in turn, and all at once: what arms share, and what their exams ask."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from experiments.harness.experiment import PAPERS_SCALES, CorpusView, ExamSplit, Scale
from experiments.harness.library import SoundLibrary
from experiments.harness.views import write_view
from experiments.registry import find_experiment
from experiments.together import ALL, CLAP, MIXED, build_experiment, deny
from experiments.triplets import ALONE, IN_PAPER, STAGE_A, STAGE_B, by_stage
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from synth.base.errors import SpecError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from synth.corpus.schema import read_timeline
from synth.scene.claim import claim_from_text
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing
from train.bench.plan import TaskRefusal
from train.config.loss import TeminalB
from train.config.run import AudioMode
from train.data.split import SplitData

FEW_CLASSES = ("cat", "rain", "siren")
FEW = SoundLibrary("foley", {"classes": FEW_CLASSES, "takes": 5})


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The corpora of the experiment, over few clips."""
    out = tmp_path_factory.mktemp("triplets")
    found: dict[str, Path] = {}
    for name, stage_a in (("stage-a", True), ("triplets", False)):
        recipe = {"stage_a": stage_a, "repeats": {"train": 2, "val": 1, "test": 1}}
        spec = FEW.make_spec(
            corpus=name,
            recipe={"triplets": {**recipe, "max_event_s": 0.5}},
            audio={"sample_rate": 8000, "length": "exact 1 s"},
        )
        found[name] = Path(build(spec, out, 0, UNOBSERVED).paths["manifests"])
    view = CorpusView(("stage-a", "triplets"), by_stage)
    return found | {"stages": write_view("stages", view, found, out / "views")}


@pytest.mark.parametrize("scale", PAPERS_SCALES)
def test_all_arms_learn_for_equally_many_steps(scale: Scale, folders: dict[str, Path]) -> None:
    made = find_experiment("triplets", scale)
    assert len({arm.config.steps for arm in made.arms}) == 1
    data = SplitData(Corpus.open(folders["stages"]), "train", AudioMode.SHARDS)
    for arm in made.arms:
        for stage in arm.config.stages:
            assert len(data.pool(stage)) > 1
            if isinstance(stage.loss, TeminalB):
                assert set(stage.relations) == set(STAGE_B)
    assert {arm for line in made.lines for arm in line.paper} == set(IN_PAPER)


def test_every_line_and_claim_is_of_a_metric_that_its_exam_gives(folders: dict[str, Path]) -> None:
    made = find_experiment("triplets", "tiny")
    rng = np.random.default_rng(0)
    given: set[str] = set()
    for exam in made.exams:
        benchmark = exam.benchmark(folders, ExamSplit.TEST)
        for plan in benchmark.plans(exam.tasks).values():
            said = dict(zip(plan.texts, rng.normal(size=(len(plan.texts), 4)), strict=True))
            found = plan.measure(rng.normal(size=(len(benchmark.sounds), 4)), said)
            given |= {f"{exam.name}.{name}" for name in found}
    asked = {line.metric for line in made.lines}
    asked |= {cell.metric for claim in made.claims for cell in claim.cells}
    assert asked <= given


def test_each_stage_hears_its_own_groups(folders: dict[str, Path]) -> None:
    rows = Corpus.open(folders["stages"]).samples("train").to_pylist()
    relations: dict[str, set[str]] = {}
    for row in rows:
        relations.setdefault(row["group"], set()).add(row["relation"])
    kinds = Counter(map(frozenset, relations.values()))
    # Three classes: six ordered pairs, two rounds.
    assert kinds.pop(frozenset(STAGE_B)) == 12
    assert set(kinds) == {frozenset({ALONE}), frozenset({STAGE_A})}
    assert kinds.total() == 12


def test_single_sounds_are_told_by_the_prompt_of_the_exam(folders: dict[str, Path]) -> None:
    rows = Corpus.open(folders["stages"]).samples("train").to_pylist()
    alone = [row for row in rows if row["relation"] == ALONE]
    assert {row["caption"] for row in alone} <= {f"The sound of {name}" for name in FEW_CLASSES}
    assert all(json.loads(row["claim"]) == {"event": row["labels"][0]} for row in alone)
    assert not any(row["positives"] or row["negatives"] for row in alone)


def test_a_library_without_labels_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.csv").write_text("path,caption,split\na.wav,A dog barks,train\n")
    library = SoundLibrary("folder", {"root": tmp_path, "index": "index.csv"})
    with pytest.raises(SpecError, match="no labels"):
        find_experiment("triplets", "tiny", library)


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
