"""Names that a sound could be called by: nobody denies them of it, in any recipe or export."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

from synth.base.rng import Randomness
from synth.derived.asking import ask
from synth.derived.differences import find_differences
from synth.derived.questions import ANCHORED, ENDS, Question, QuestionKind, Subject, subjects
from synth.labels.lexicon import are_confusable, could_be_called
from synth.recipes.base import Clip, Draft, Groups
from synth.recipes.composing import Background
from synth.recipes.scenes import Scenes
from synth.recipes.triplets import Triplets
from synth.scene.claim import And, Claim, Not, claim_labels, claim_to_text
from synth.scene.scene import Concat, Event, Overlay, labels, to_text
from synth.sources.own.folder import VocabularySource
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing
from tests.kit import asked
from tests.kit.cases import cases
from tests.kit.planned import clip_of, make_setting

RATE = 16_000
CONFUSED = ("airplane", "helicopter", "train", "engine", "rain", "thunderstorm", "wind", "crow")


@cache
def esc50() -> tuple[Clip, ...]:
    """Two clips of each label of ESC-50."""
    source = VocabularySource(labels="esc50", takes=2)
    return tuple(clip_of(source, ref, RATE) for ref in source.refs())


@cache
def scene_groups() -> list[list[Draft]]:
    """Scenes over the labels of ESC-50 that are taken for one another most easily, and a dog."""
    wanted = {*CONFUSED, "dog", "cat", "sneezing"}
    found = [clip for clip in esc50() if clip.labels[0] in wanted]
    recipe = Scenes(scenes=64, background=Background(of=("wind", "engine"), share=0.5))
    groups = recipe.groups({"train": found}, make_setting())["train"]
    return [list(groups.group(index)) for index in range(len(groups))]


def denied(claim: Claim) -> set[str]:
    """The labels that a true caption says are absent."""
    match claim:
        case Not(inner):
            return set(claim_labels(inner))
        case And(first, second):
            return denied(first) | denied(second)
    return set()


def test_a_template_may_name_two_sounds_that_are_confused() -> None:
    recipe = Scenes(scenes=8, expressions={"rain * thunderstorm + any": 1})
    groups = recipe.groups({"train": esc50()}, make_setting())["train"]
    for index in range(len(groups)):
        for draft in groups.group(index):
            third = set(labels(draft.scene)) - {"rain", "thunderstorm"}
            assert not any(
                are_confusable(name, other) for name in third for other in ("rain", "thunderstorm")
            )


def test_triplets_over_esc50_keep_all_2450_pairs_with_all_their_captions() -> None:
    groups = Triplets().groups({"train": esc50()}, make_setting())["train"]
    assert len(groups) == 2_450
    pairs = set(groups.pairs)  # type: ignore[attr-defined]
    assert len(pairs) == 2_450
    made = set()
    unordered = 0
    for index in range(0, len(groups), 21):  # shuffled: any of them are a fair sample
        members = groups.group(index)
        made.add(labels(members[0].scene))
        for draft in members:
            found = draft.captions
            assert len(found.positives) == 1
            assert not denied(found.caption.claim)
            assert draft.timeline is not None
            hearing = Hearing(draft.timeline, Tolerance(audible=1_600))
            assert hearing.proves(found.caption.claim)
            assert hearing.proves(found.positives[0].claim)
            assert all(hearing.refutes(caption.claim) for caption in found.negatives)
            # Of sounds of half a second and of ten not every order can be denied.
            first, second = map(Event, labels(draft.scene))
            orders = [Concat(first, second), Concat(second, first)]
            together = isinstance(draft.scene, Overlay)
            lies = sum(map(hearing.refutes, orders)) if together else 2
            assert len(found.negatives) == 2 * lies
            assert lies >= 1
            unordered += together and lies == 2
    assert len(made) == 117
    assert made <= pairs
    assert unordered >= 0.8 * len(made)


def test_stage_a_denies_no_engine_of_an_airplane() -> None:
    groups = Triplets(stage_a=True).groups({"train": esc50()}, make_setting())["train"]
    assert len(groups) == 2_450
    single, combined = _triplet(groups, ("airplane", "engine"))
    assert not single.captions.negatives
    assert combined.captions.negatives
    single, combined = _triplet(groups, ("engine", "airplane"))
    assert single.captions.negatives
    assert not combined.captions.negatives


def _triplet(groups: Groups, pair: tuple[str, str]) -> list[Draft]:
    """The group of an ordered pair, made by asking for the group at its position."""
    number = groups.pairs.index(pair)  # type: ignore[attr-defined]
    order = groups.permute("/order", 0, len(groups.pairs)).tolist()  # type: ignore[attr-defined]
    return list(groups.group(order.index(number)))


def _rows(groups: list[list[Draft]]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    rows = [
        {
            "id": f"s-{number}-{place}",
            "group": str(number),
            "scene": to_text(draft.scene),
            "caption": draft.captions.caption.text,
            "claim": claim_to_text(draft.captions.caption.claim),
            "positives": [],
            "sample_rate": 16_000,
        }
        for number, group in enumerate(groups)
        for place, draft in enumerate(group)
    ]
    clips = {clip.id: {"labels": list(clip.labels), "captions": [], "tags": []} for clip in esc50()}
    return rows, clips


@cache
def asked_about() -> list[Subject]:
    """Triplets over labels of ESC-50 that are confused, and scenes, as they are asked about."""
    triplets = Triplets().groups({"train": esc50()}, make_setting())["train"]
    pairs = [("airplane", "engine"), ("rain", "wind"), ("thunderstorm", "dog"), ("crow", "train")]
    rows, clips = _rows([*scene_groups()[:6], *(_triplet(triplets, pair) for pair in pairs)])
    return subjects(rows, clips, 1_600)


def offers_as_answer(question: Question, subject: Subject, label: str) -> bool:
    return subject.phrase(label).noun == question.answer


def offers(question: Question, subject: Subject, label: str) -> bool:
    return subject.phrase(label).noun in question.options


@cases("seed", [1, 2])
def test_no_question_rests_on_a_name_that_a_sound_could_be_called_by(seed: int) -> None:
    every = {each.id: each for each in asked_about()}
    found = ask(list(every.values()), Randomness(seed)).made
    assert len(found) > 20
    names = {clip.labels[0] for clip in esc50()}
    for question in found:
        subject = every[question.sample]
        assert asked.holds(question, subject)
        sounds = subject.timeline.labels()
        if question.kind is QuestionKind.PRESENCE:
            (name,) = claim_labels(question.options["yes"])
            called = any(could_be_called(sound, name) for sound in sounds)
            assert called is (question.answer == "yes")
        elif question.kind in (*ENDS, *ANCHORED):
            offered = {label for label in names if offers(question, subject, label)}
            right = next(name for name in offered if offers_as_answer(question, subject, name))
            assert not any(could_be_called(right, other) for other in offered - sounds), question
        if question.kind is QuestionKind.COUNT:
            assert not any(are_confusable(*pair) for pair in combinations(sorted(sounds), 2))


def test_no_difference_rests_on_a_name_that_a_sound_could_be_called_by() -> None:
    every = {each.id: each for each in asked_about()}
    found = find_differences(list(every.values()), Randomness(1)).made
    assert found
    for difference in found:
        for sample in difference.samples:
            sounds = every[sample].timeline.labels()
            for name in claim_labels(And(*difference.claims)) - sounds:
                assert not any(could_be_called(sound, name) for sound in sounds), difference
