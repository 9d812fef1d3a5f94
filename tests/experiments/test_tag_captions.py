from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.harness.experiment import PAPERS_SCALES, ExamSplit, Experiment, Scale
from experiments.harness.library import SoundLibrary
from experiments.tag_captions import (
    CORPUS,
    MADE,
    RECALL,
    Manner,
    build_experiment,
    make_retelling_exam,
    reword,
)
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from synth.corpus.corpus import CLIPS_FILE
from synth.labels.lexicon import Tag
from synth.text.tags.tag_captions import FRAMES, describe
from tests.kit.builds import UNCERTIFIED
from train.bench.metrics.measure import Metric
from train.bench.plan import Benchmark
from train.bench.settings import Task

TAGS = (
    Tag("genre", "jazz"),
    Tag("instrument", "bass"),
    Tag("instrument", "guitar"),
    Tag("mood", "calm"),
    Tag("mood", "sad"),
)


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten loops, of which some are for tests."""
    spec = Spec.model_validate(
        {
            "corpus": "tagged",
            "source": {"jam": {"tracks": 10}},
            "recipe": {"tag_captions": {"views": 2, "swaps": 2}},
            "audio": {"sample_rate": 8000, "length": "exact 1 s"},
            "splits": {"train": 0.5, "test": 0.5},
        }
    )
    summary = build(spec, tmp_path_factory.mktemp("tagged"), worker_count=0)
    return Path(summary.paths["manifests"])


def measured(benchmark: Benchmark, task: Task) -> dict[str, Metric]:
    """What a model that knows nothing gets."""
    plan = benchmark.plans((task,))[task]
    rng = np.random.default_rng(0)
    audio = rng.standard_normal((len(benchmark.sounds), 8))
    return plan.measure(audio, {text: rng.standard_normal(8) for text in plan.texts})


def test_every_manner_says_the_tags_in_a_sentence_that_training_never_reads() -> None:
    assert {manner: reword(manner, TAGS) for manner in MADE} == {
        Manner.BRIEF: "Something calm and sad in a jazz style where you hear bass and guitar.",
        Manner.PLAIN: "You can hear bass and guitar. It sounds calm and sad. "
        "People would call it jazz.",
        Manner.ORNATE: "For those who like jazz, full of bass and guitar, "
        "and leaving a mood that one may call calm and sad.",
    }
    learnt = {describe(TAGS, (), frame).text for frame in range(FRAMES)}
    assert learnt.isdisjoint(reword(manner, TAGS) for manner in MADE)


@pytest.mark.parametrize("manner", MADE)
def test_a_category_without_tags_is_not_spoken_of(manner: Manner) -> None:
    said = reword(manner, TAGS[:1])
    assert "jazz" in said
    assert "hear" not in said
    assert "  " not in said
    assert reword(manner, ()) == ""


def test_every_line_and_claim_is_of_a_metric_that_the_exams_give(tagged: Path) -> None:
    made = build_experiment(Scale.TINY)
    given = {
        f"{exam.name}.{metric}"
        for exam in made.exams
        for metric in measured(exam.benchmark({CORPUS: tagged}, ExamSplit.TEST), *exam.tasks)
    }
    cells = [cell for claim in made.claims for cell in claim.cells]
    asked = {line.metric for line in made.lines} | {cell.metric for cell in cells}
    # The embedded loops bear no captions that people wrote.
    assert asked <= given
    assert not [name for name in given if Manner.WRITTEN in name]


def test_captions_that_people_wrote_stand_in_for_ours(tagged: Path, tmp_path: Path) -> None:
    folder = tmp_path / "written"
    copytree(tagged, folder, ignore=UNCERTIFIED)
    clips = pq.read_table(folder / CLIPS_FILE)
    texts = [[f"People like number {k}", f"Number {k}!"] for k in range(clips.num_rows)]
    at = clips.schema.get_field_index("captions")
    column = pa.array(texts, clips.schema.field("captions").type)
    pq.write_table(
        clips.set_column(at, clips.schema.field("captions"), column), folder / CLIPS_FILE
    )
    benchmark = make_retelling_exam("told", CORPUS, 500, 2).benchmark(
        {CORPUS: folder}, ExamSplit.TEST
    )
    found = measured(benchmark, Task.RETRIEVAL)
    name = RECALL.removeprefix("told.")
    assert found[name] == found[f"written_{name}"]
    assert found[name].n == 2 * len(benchmark.sounds)


def test_a_subset_is_no_larger_than_the_split(tagged: Path) -> None:
    asked = make_retelling_exam("told", CORPUS, 2, 3).benchmark({CORPUS: tagged}, ExamSplit.TEST)
    whole = make_retelling_exam("told", CORPUS, 500, 3).benchmark({CORPUS: tagged}, ExamSplit.TEST)
    assert asked.settings.subset_size == 2
    assert whole.settings.subset_size == len(whole.sounds)


@pytest.mark.parametrize("scale", PAPERS_SCALES)
def test_arms_differ_in_texts_and_loss_alone(scale: Scale) -> None:
    made: Experiment = build_experiment(scale)
    settings = [arm.config.model_dump(mode="json") for arm in made.arms]
    for each in settings:
        del each["text"]
        del each["stages"][0]["loss"]
    assert len({json.dumps(each) for each in settings}) == 1
    assert [arm.config.text.p_caption.start for arm in made.arms] == [0, 1, 1, 1]
    assert [arm.config.text.restatements for arm in made.arms] == [False, False, True, True]


def test_the_embedded_library_is_split_as_a_library_given_by_hand() -> None:
    # The same corpus, whether its folds are known or asked for.
    by_hand = build_experiment(Scale.TINY, SoundLibrary("jam", {"tracks": 50})).corpora[CORPUS]
    embedded = build_experiment(Scale.TINY).corpora[CORPUS]
    assert by_hand.splits == embedded.splits
