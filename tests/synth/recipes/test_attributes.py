"""`attributes`: the same sounds, otherwise in one attribute."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest
from pydantic import ValidationError

from synth.base.errors import LeftOutError, PlanError
from synth.base.rng import Randomness
from synth.captions.caption import Style
from synth.labels.lexicon import Treatment
from synth.recipes.attributes import Attribute, Attributes
from synth.recipes.base import Clip, Draft, Levels, Setting
from synth.scene.scene import events
from synth.scene.timeline import duration
from synth.truth.ear import Envelope
from tests.synth.truth.oracle import judge_draft

RATE = 16_000
BLOCK = 800


def clip(label: str, levels: Sequence[float], treatment: str = "", number: int = 0) -> Clip:
    name = f"lib/{label}-{number}" + (f"~{treatment}" if treatment else "")
    frames = BLOCK * len(levels)
    envelope = Envelope(levels, levels, BLOCK, frames)
    recording = f"{label}-{number}"
    return Clip(name, (label,), (), recording, frames, -23.0, envelope, (), treatment)


STEADY = (-20.0,) * 100
BRIEF = (-20.0,) * 40
SHORT = (-14.0, *(-20.0,) * 19)
RISING = tuple(-30 + 18 * at / 40 for at in range(40))
FAR = (-35.0,) * 40
CLIPS = [
    clip("rain", STEADY),
    clip("vacuum_cleaner", STEADY),
    clip("dog", SHORT),
    clip("rooster", SHORT),
]
TREATED = CLIPS + [
    clip(label, levels, treatment)
    for label in ("dog", "rooster")
    for treatment in Treatment
    for levels in [{"rising": RISING, "falling": RISING[::-1], "far": FAR}.get(treatment, BRIEF)]
]


def setting(max_frames: int | None = None, least: int = 0) -> Setting:
    levels = Levels(-23.0, 20.0, 15.0)
    return Setting(RATE, max_frames, levels, 1600, Randomness(7), least_frames=least)


def drafts(recipe: Attributes, clips: Sequence[Clip]) -> list[list[Draft]]:
    groups = recipe.groups({"train": clips}, setting())["train"]
    return [list(groups.group(index)) for index in range(len(groups))]


@pytest.mark.parametrize("attribute", Attribute)
@pytest.mark.parametrize("style", Style)
def test_each_sentence_is_true_of_one_member_alone(attribute: Attribute, style: Style) -> None:
    recipe = Attributes(pairs=8, attributes=(attribute,), style=style)
    found = drafts(recipe, TREATED)
    for group in found:
        assert len(group) == 2
        texts = {draft.captions.caption.text for draft in group}
        assert len(texts) == len(group)
        for draft in group:
            assert judge_draft(draft, RATE) == []
            assert {each.text for each in draft.captions.negatives} < texts
            assert {each.kind for each in draft.captions.negatives} == {attribute.value}
        for one, other in combinations(group, 2):
            clips = [
                sorted(event.heard.clip.partition("~")[0] for event in events(each.scene))
                for each in (one, other)
            ]
            assert clips[0] == clips[1]
    assert len({group[0].captions.caption.text for group in found}) > 1


def test_sentences_read_as_people_write() -> None:
    said = {
        draft.captions.caption.text
        for group in drafts(Attributes(pairs=100), CLIPS)
        for draft in group
    }
    for sentence in (
        "Rain falls for about one second",
        "For about five seconds, rain falls",
        "A dog barks, then, without a pause, a vacuum cleaner whirs",
        "A dog barks, then, after a pause of about three seconds, a vacuum cleaner whirs",
        "A dog barks at the end",
        "In the middle, a rooster crows",
        "At about 0.9 seconds, rain falls",
        "A dog barking is louder than rain falling",
        "Rain falling lasts longer than a vacuum cleaner whirring",
        "Rain falls, then once more, louder",
        "A dog barks, then again, this time more quietly",
        "Rain falls while a vacuum cleaner whirs quietly in the background",
    ):
        assert sentence in said


def test_treated_clips_are_heard_in_their_own_attributes_only() -> None:
    for group in drafts(Attributes(pairs=80), TREATED):
        assert not any("~" in event.heard.clip for draft in group for event in events(draft.scene))


def test_what_cannot_be_proven_is_left_out() -> None:
    quiet = [clip("rain", (-20.0, -90.0, -90.0, -90.0) * 20), clip("dog", SHORT)]
    recipe = Attributes(pairs=1, attributes=(Attribute.DURATION,))
    groups = recipe.groups({"train": quiet}, setting())["train"]
    with pytest.raises(LeftOutError, match="no clips are found"):
        groups.group(0)


def test_groups_are_a_pure_function_of_their_number() -> None:
    recipe = Attributes(pairs=30)
    forward = drafts(recipe, CLIPS)
    groups = recipe.groups({"train": CLIPS}, setting())["train"]
    assert [list(groups.group(index)) for index in reversed(range(30))] == forward[::-1]


def test_treated_attributes_need_treated_clips() -> None:
    recipe = Attributes(attributes=(Attribute.TREND,))
    with pytest.raises(PlanError, match="trend need treated clips, found none"):
        recipe.groups({"train": CLIPS}, setting())


def test_positions_are_of_samples_that_nothing_is_added_to() -> None:
    Attributes().check(setting(), ("train",))
    with pytest.raises(PlanError, match="padding moves it"):
        Attributes().check(setting(least=16_000), ("train",))


@pytest.mark.parametrize("attribute", [each for each in Attribute if each.value != "position"])
def test_samples_of_the_length_that_is_asked_for_have_room(attribute: Attribute) -> None:
    seconds = attribute.measure_room(3.0)
    recipe = Attributes(pairs=6, attributes=(attribute,))
    where = setting(round(seconds * RATE))
    recipe.check(where, ("train",))
    with pytest.raises(PlanError, match=f"too short for {attribute.value}: it needs"):
        recipe.check(setting(round(seconds * RATE) - RATE), ("train",))
    groups = recipe.groups({"train": TREATED}, where)["train"]
    for index in range(len(groups)):
        for draft in groups.group(index):
            assert where.max_frames is not None
            assert duration(draft.scene) <= where.max_frames


def test_one_label_is_too_few() -> None:
    with pytest.raises(PlanError, match="clips of two labels, found 1"):
        Attributes().groups({"train": CLIPS[:1]}, setting())


def test_attributes_are_different_and_known() -> None:
    for wrong in ((), ("gap", "gap"), ("redder",)):
        with pytest.raises(ValidationError):
            Attributes.model_validate({"attributes": wrong})
