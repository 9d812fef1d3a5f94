"""`attributes`: the same sounds, otherwise in one attribute."""

from __future__ import annotations

from itertools import combinations
from typing import get_args

import pytest

from synth.base.errors import LeftOutError, PlanError
from synth.captions.caption import Style
from synth.recipes.attributes import Attribute, Attributes, measure_room
from synth.scene.scene import events
from synth.scene.timeline import duration
from tests.kit import asked
from tests.kit.cases import cases
from tests.kit.planned import RATE, flatten, level_clip, make_setting, plan
from tests.synth.truth.oracle import judge_draft


@cases("attribute", get_args(Attribute))
@cases("style", Style)
def test_each_sentence_is_true_of_one_member_alone(attribute: Attribute, style: Style) -> None:
    recipe = Attributes(pairs=8, attributes=(attribute,), style=style)
    found = plan(recipe, asked.TREATED)
    for group in found:
        assert len(group) == 2
        texts = {draft.captions.caption.text for draft in group}
        assert len(texts) == len(group)
        for draft in group:
            assert judge_draft(draft, RATE) == []
            assert {each.text for each in draft.captions.negatives} < texts
            assert {each.edit for each in draft.captions.negatives} == {attribute}
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
        for group in plan(Attributes(pairs=100), asked.PLAIN)
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
    for group in plan(Attributes(pairs=80), asked.TREATED):
        assert not any("~" in event.heard.clip for draft in group for event in events(draft.scene))


def test_what_cannot_be_proven_is_left_out() -> None:
    quiet = [level_clip("rain", (-20.0, -90.0, -90.0, -90.0) * 20), asked.PLAIN[2]]
    with pytest.raises(LeftOutError, match="no clips are found"):
        plan(Attributes(pairs=1, attributes=("duration",)), quiet)
    for recipe, clips, told in (
        (Attributes(attributes=("trend",)), asked.PLAIN, "trend need treated clips, found none"),
        (Attributes(), asked.PLAIN[:1], "clips of two labels, found 1"),
    ):
        with pytest.raises(PlanError, match=told):
            recipe.groups({"train": clips}, make_setting())
    # A position is that in a sample to which nothing is added.
    Attributes().check(make_setting(), ("train",))
    with pytest.raises(PlanError, match="padding moves it"):
        Attributes().check(make_setting(least_frames=RATE), ("train",))


@cases("attribute", [each for each in get_args(Attribute) if each != "position"])
def test_samples_of_the_length_that_is_asked_for_have_room(attribute: Attribute) -> None:
    seconds = measure_room(attribute, 3.0)
    recipe = Attributes(pairs=6, attributes=(attribute,))
    where = make_setting(round(seconds * RATE))
    recipe.check(where, ("train",))
    with pytest.raises(PlanError, match=f"too short for {attribute}: it needs"):
        recipe.check(make_setting(round(seconds * RATE) - RATE), ("train",))
    for draft in flatten(plan(recipe, asked.TREATED, where)):
        assert where.max_frames is not None
        assert duration(draft.scene) <= where.max_frames
