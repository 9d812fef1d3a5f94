from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.experiment import PAPERS_SCALES, ExamSplit, Row, Scale
from experiments.scenes import captions as scenes_captions
from experiments.scenes.captions import (
    by_rules,
    flatten,
    list_candidates,
    read_statement,
    restated,
    untested,
)
from experiments.scenes.exams import THREEFOLD_EVERY, make_attribute_exam, make_order_exam
from experiments.scenes.scenes import (
    EXPRESSIONS,
    FRAMES,
    GROUPED,
    HARD_GROUPED,
    SHORT,
    build_experiment,
)
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from synth.corpus.corpus import Corpus
from synth.corpus.schema import read_timeline
from synth.scene.claim import claim_from_json
from synth.scene.edit import meaning
from synth.scene.scene import format_scene, from_json, from_text, labels, parse
from synth.scene.timeline import timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing
from train.bench.plan import Benchmark
from train.bench.settings import Task
from train.config.loss import InfoNce

SPEC: dict[str, Any] = {
    "corpus": "scenes",
    "seed": 7,
    "source": {"foley": {"classes": ["cat", "dog", "rain", "siren", "church_bells"], "takes": 5}},
    "splits": {"train": ["1", "2", "3"], "test": ["5"]},
    "recipe": {
        "scenes": {"scenes": {"train": 4, "test": 120}, "variants": 4, "expressions": EXPRESSIONS}
    },
    "audio": {"sample_rate": 8000, "length": "exact 4 s"},
}
AUDIBLE = 800
MOST = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spec = Spec.model_validate(SPEC)
    assert spec.setting.audible == AUDIBLE
    return Path(build(spec, tmp_path_factory.mktemp("scenes"), 0).paths["manifests"])


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Row]:
    found: list[Row] = Corpus.open(folder).samples("test").to_pylist()
    return found


def texts(benchmark: Benchmark) -> list[str]:
    return list(benchmark.plans()[Task.COMPA].texts)


def words(text: str) -> Counter[str]:
    return Counter(text.casefold().replace(",", " ").replace(".", " ").split())


@pytest.mark.parametrize("scale", PAPERS_SCALES)
def test_every_arm_takes_as_many_steps_and_starts_as_the_first_does(scale: Scale) -> None:
    made = build_experiment(scale)
    assert len({arm.config.steps for arm in made.arms if arm.name != SHORT}) == 1
    assert {type(arm.config.stages[0].loss) for arm in made.arms} == {InfoNce}
    configs = {arm.name: arm.config for arm in made.arms}
    assert [name for name, config in configs.items() if config.keep_groups] == [
        GROUPED,
        HARD_GROUPED,
        FRAMES,
    ]
    assert [name for name, config in configs.items() if config.model.frames] == [FRAMES]


def test_every_metric_is_one_that_the_exams_give(folder: Path) -> None:
    made = build_experiment(Scale.TINY)
    given = {
        f"{exam}.compa_{kind}_{score}"
        for exam in ("order", "attribute")
        for kind in ("pairs", "triplets", "all")
        for score in ("text", "audio", "group")
    } | {"test.text_to_audio_r10", "test.audio_to_text_r10", "test.zero_shot_map"}
    assert {line.metric for line in made.lines} <= given
    cells = [cell for claim in made.claims for cell in claim.cells]
    assert {cell.metric for cell in cells} <= {line.metric for line in made.lines}
    for exam in made.exams:
        assert exam.benchmark({"scenes": folder}, ExamSplit.TEST).plans(exam.tasks)


def test_captions_of_an_instance_differ_in_order_or_one_word(folder: Path) -> None:
    found = texts(make_order_exam("order", "scenes").benchmark({"scenes": folder}, ExamSplit.TEST))
    before = [text for text in found if " before " in text]
    together = [text for text in found if " while " in text]
    assert len(before) + len(together) == len(found)
    assert 0 < len(together) <= -(-len(before) // 2 // THREEFOLD_EVERY)
    position = 0
    while position < len(found):
        forward, reverse = found[position : position + 2]
        position += 2
        assert forward != reverse
        assert words(forward) == words(reverse)
        if position < len(found) and " while " in found[position]:
            assert found[position].replace(" while ", " before ") == forward
            position += 1
    found = texts(
        make_attribute_exam("attribute", "scenes").benchmark({"scenes": folder}, ExamSplit.TEST)
    )
    assert found
    for one, other in zip(found[::2], found[1::2], strict=True):
        assert one != other
        assert words(one) == words(other)


@pytest.mark.parametrize(
    ("scene", "told"),
    [
        ("(dog + rain) * siren", "dog + rain * siren"),
        ("dog * (rain + siren)", "dog * rain + siren"),
        ("dog + rain * siren", "dog + rain * siren"),
        ("dog + (rain + siren)", "dog + rain + siren"),
    ],
)
def test_the_papers_templates_lose_parentheses(scene: str, told: str) -> None:
    assert format_scene(flatten(parse(scene))) == told


def test_captions_by_the_papers_rules_say_what_is_not_so(rows: list[Row]) -> None:
    scenes = list(map(read_statement, rows))
    nested = [
        row
        for row, scene in zip(rows, scenes, strict=True)
        if meaning(flatten(scene)) != meaning(scene)
    ]
    assert nested
    for row in nested:
        told = by_rules(row, MOST)
        claim = from_text(told["claim"])
        assert not Hearing(read_timeline(row), Tolerance(audible=AUDIBLE)).proves(claim)
        assert told["caption"] != row["caption"]
    plain, scene = next(
        both for both in zip(rows, scenes, strict=True) if flatten(both[1]) == both[1]
    )
    assert from_text(by_rules(plain, MOST)["claim"]) == scene


def test_captions_by_outer_spans_hold_for_sounds_without_pauses(rows: list[Row]) -> None:
    unlike = 0
    for row in rows:
        spans = Hearing(timeline(from_text(row["scene"])), Tolerance(audible=AUDIBLE))
        told = scenes_captions.tested_by_spans(row, MOST, AUDIBLE)
        assert all(spans.proves(from_text(each["claim"])) for each in told["positives"])
        assert all(spans.refutes(from_text(each["claim"])) for each in told["negatives"])
        unlike += told != scenes_captions.tested(row, MOST, AUDIBLE)
    assert unlike, "no sound here pauses"


def test_the_papers_captions_are_parts_and_edits_of_parts() -> None:
    true, false = list_candidates(parse("(dog * rain) + siren"))
    assert {format_scene(part) for part in true} == {"dog * rain", "dog + siren", "rain + siren"}
    said = {format_scene(edit) for edit in false}
    assert {"siren + dog", "dog * siren", "dog + rain", "siren * rain + dog"} <= said
    assert not {meaning(part) for part in true} & {meaning(edit) for edit in false}


def test_what_is_restated_says_all_of_a_scene(rows: list[Row]) -> None:
    told = list(map(restated, rows))
    counts = [len(row["positives"]) for row in rows], [len(row["positives"]) for row in told]
    assert 0 < sum(counts[1]) < sum(counts[0])
    for row in told:
        whole = set(json.loads(row["labels"]) if isinstance(row["labels"], str) else row["labels"])
        for text in row["positives"]:
            claim = claim_from_json(json.loads(text["claim"]))
            assert set(labels(claim)) == whole


def test_tested_captions_hold_and_untested_ones_may_not(rows: list[Row]) -> None:
    doubtful = 0
    for row in rows:
        scene = from_json(json.loads(row["scene"]))
        hearing = Hearing(timeline(scene), Tolerance(audible=AUDIBLE))
        kept, free = scenes_captions.tested(row, MOST, AUDIBLE), untested(row, MOST)
        assert len(free["positives"]) < MOST
        assert len(free["negatives"]) <= MOST
        claims = [claim_from_json(json.loads(said["claim"])) for said in kept["positives"]]
        assert all(map(hearing.proves, claims))
        claims = [claim_from_json(json.loads(said["claim"])) for said in kept["negatives"]]
        assert all(map(hearing.refutes, claims))
        claims = [claim_from_json(json.loads(said["claim"])) for said in free["negatives"]]
        doubtful += sum(not hearing.refutes(claim) for claim in claims)
    assert doubtful, "all of the paper's false captions are false here"
    assert untested(rows[0], MOST) == untested(rows[0], MOST)
