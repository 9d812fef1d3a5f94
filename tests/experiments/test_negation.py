from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from experiments.harness.experiment import PAPERS_SCALES, CorpusView, Row, Scale
from experiments.harness.library import SoundLibrary
from experiments.harness.views import write_view
from experiments.negation import (
    BASELINE,
    BEST,
    CORPUS,
    IDIOMS,
    LEARNT,
    build_experiment,
    insert_idioms,
    learnt_by_labels,
    name_combined_arm,
    name_loss_arm,
    told_by_labels,
    with_idioms,
    with_tags,
)
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from synth.corpus.corpus import Corpus
from synth.labels.lexicon import Tag
from synth.text.negation.negation import find_stated_tags
from synth.text.tags.tags import TagVocabulary
from train.config.model import TowerKind
from train.config.run import AudioMode
from train.data.split import SplitData

FEW = SoundLibrary("jam", {"tracks": 50})
CAPTION = "Bass and guitar in a calm folk tune."
DENIED = "No bass and not guitar in a without calm no folk tune."
TAGS = tuple(Tag("", name) for name in ("bass", "guitar", "calm", "folk"))


def row(number: int, split: str = "train") -> Row:
    negative = {"text": DENIED, "kind": "negate-full", "claim": "{}"}
    return {
        "id": f"s{number}",
        "split": split,
        "caption": CAPTION,
        "positives": [],
        "negatives": [negative],
    }


def test_arms_differ_in_nothing_but_insertion_and_weight() -> None:
    arms = {arm.name: arm.config for arm in build_experiment(Scale.SMALL, FEW).arms}
    base, both = arms[BASELINE], arms[name_combined_arm(BEST)]
    assert not base.text.restatements
    assert base.stages[0].dissimilarity == 0.0
    assert both.stages[0].dissimilarity == BEST
    assert both.text.p_insert.start == 0.6
    assert arms[name_loss_arm(1e-4)].text == base.text
    changes = {"text": base.text, "stages": base.stages}
    assert all(config.model_copy(update=changes) == base for config in arms.values())


@pytest.mark.parametrize("scale", PAPERS_SCALES)
def test_weights_are_chosen_on_validation_and_tests_are_as_printed(scale: Scale) -> None:
    made = build_experiment(scale, FEW)
    assert all(0 < arm.config.eval_every < arm.config.steps for arm in made.arms)
    spec = made.corpora[CORPUS]
    assert spec.splits == {"train": ["1", "2", "3"], "val": ["4"], "test": ["5"]}


def test_only_a_text_tower_of_random_weights_is_told_idioms() -> None:
    assert isinstance(build_experiment(Scale.TINY, FEW).corpora[LEARNT], CorpusView)
    paper = build_experiment(Scale.PAPER, FEW)
    assert LEARNT not in paper.corpora
    assert {arm.config.model.text.kind for arm in paper.arms} == {TowerKind.TRANSFORMERS}


def test_idioms_stand_about_a_caption_and_deny_no_tag() -> None:
    how = TagVocabulary.of(TAGS)
    for first in IDIOMS:
        for second in IDIOMS:
            assert find_stated_tags(insert_idioms(CAPTION, (first, second)), how) == TAGS
    said = insert_idioms(CAPTION, ("without a doubt", "no less"))
    assert said == "Without a doubt, bass and guitar in a calm folk tune, no less."
    assert insert_idioms(CAPTION, ()) == CAPTION
    for split in ("val", "test"):
        assert with_idioms(row(0, split)) == row(0, split)


def test_training_captions_and_their_negations_hold_the_same_idioms() -> None:
    changed = [with_idioms(row(number)) for number in range(400)]
    counts = Counter(sum(each["caption"].lower().count(i) for i in IDIOMS) for each in changed)
    assert set(counts) == {0, 1, 2, 3}
    assert min(counts.values()) > 60
    for each in changed:
        caption, denied = each["caption"], each["negatives"][0]["text"]
        assert [i in caption.lower() for i in IDIOMS] == [i in denied.lower() for i in IDIOMS]
        assert each["negatives"][0]["kind"] == "negate-full"


SOUNDS = SoundLibrary("foley", {"classes": ["cat", "dog", "rain", "siren"], "takes": 5})


def overlay(number: int, labels: tuple[str, ...] = ("rain", "car_horn", "dog")) -> Row:
    return {
        "id": f"s{number}",
        "index": number,
        "split": "train",
        "labels": list(labels),
        "caption": "Rain falls.",
        "positives": [{"text": "Rain falls."}],
        "negatives": [{"text": "A dog barks."}],
    }


def test_sounds_at_once_are_told_by_their_labels_and_denied_by_half_and_all_of_them() -> None:
    tags = tuple(Tag("sound", name) for name in ("car horn", "dog", "rain"))
    how = TagVocabulary.of(tags)
    for number in range(60):
        told_row = told_by_labels(overlay(number))
        assert set(find_stated_tags(told_row["caption"], how)) == set(tags)
        assert told_row["positives"] == []
        half, full = told_row["negatives"]
        assert (half["kind"], full["kind"]) == ("negate-half", "negate-full")
        assert (half["claim"].count("not"), full["claim"].count("not")) == (2, 3)
        assert find_stated_tags(full["text"], how) == ()
    assert told_by_labels(overlay(3)) == told_by_labels(overlay(3))


def test_sounds_are_claimed_in_any_order_and_learnt_with_idioms() -> None:
    one, other = (overlay(1, labels) for labels in (("dog", "rain"), ("rain", "dog")))
    assert told_by_labels(one)["claim"] == told_by_labels(other)["claim"]
    assert told_by_labels(one)["claim"] == '{"and":[{"event":"dog"},{"event":"rain"}]}'
    learnt = [learnt_by_labels(overlay(number)) for number in range(60)]
    assert any(idiom in row["caption"].lower() for row in learnt for idiom in IDIOMS)
    held_out = {**overlay(1), "split": "test"}
    assert learnt_by_labels(held_out) == told_by_labels(held_out)


@pytest.mark.slow
def test_labelled_sounds_are_heard_overlaid_with_labels_for_tags(tmp_path: Path) -> None:
    made = build_experiment(Scale.TINY, SOUNDS)
    spec, view = made.corpora["sounds"], made.corpora[LEARNT]
    assert "their labels for tags" in made.setup
    counts = {"train": 40, "val": 8, "test": 8}
    recipe = spec.model_dump()["recipe"]["scenes"] | {"scenes": counts}
    few = Spec.model_validate(spec.model_dump() | {"recipe": {"scenes": recipe}})
    built = {"sounds": Path(build(few, tmp_path, 0).paths["manifests"])}
    data = SplitData(
        Corpus.open(write_view("learnt", view, built, tmp_path)), "train", AudioMode.SHARDS
    )
    assert {tag.name for tags in data.tags.values() for tag in tags} <= {
        "cat",
        "dog",
        "rain",
        "siren",
    }
    assert all(data.tags[clip] for row in data.rows(range(40)) for clip in row["clips"])
    assert with_tags({"labels": ["car_horn"], "tags": []})["tags"] == [
        {"category": "sound", "name": "car horn"}
    ]
