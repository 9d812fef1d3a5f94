"""Tag groups: who is paired with whom, and what can be dealt to two clips."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from synth.base.errors import LeftOutError
from synth.base.rng import Randomness
from synth.captions.caption import Caption, Provenance
from synth.labels.lexicon import Tag
from synth.recipes.base import Clip
from synth.recipes.negation import NegationRecipe
from synth.recipes.tag_captions import TagCaptions
from synth.recipes.tag_pairs import TagPair, group_clips, match_tags
from synth.scene.edit import EditKind
from synth.text.tags.tag_relations import implies
from synth.truth.change import tag_claim
from tests.kit.cases import cases
from tests.kit.planned import flatten, make_clip, make_setting, plan

KINDS = {
    **dict.fromkeys(("rock", "jazz", "pop", "reggae", "techno", "electronic"), "genre"),
    **dict.fromkeys(("classical", "hip hop", "contemporary", "groove", "alternative"), "genre"),
    **dict.fromkeys(("happy", "sad", "calm", "energetic"), "mood"),
    **dict.fromkeys(("guitar", "piano", "violin", "drums"), "instrument"),
}
SETTING = make_setting(seed=3)


def tag(name: str) -> Tag:
    return Tag(KINDS[name], name)


def clip(name: str, *tags: str) -> Clip:
    return make_clip(name, "music", tags=tuple(map(tag, tags)))


def groups(clips: list[Clip], fits: bool = True) -> list[set[str]]:
    def may(one: Clip, other: Clip) -> bool:
        return fits and set(one.tags) != set(other.tags)

    return [
        {each.id for each in group} for group in group_clips(clips, may, Randomness(0).at("x", 0))
    ]


def test_near_clips_that_differ_are_paired_and_one_left_over_goes_with_one_of_a_pair() -> None:
    clips = [
        clip("a", "rock", "happy", "guitar"),
        clip("b", "rock", "sad", "guitar"),
        clip("c", "jazz", "calm", "piano"),
        clip("d", "jazz", "energetic", "piano"),
    ]
    assert sorted(map(sorted, groups(clips))) == [["a", "b"], ["c", "d"]]
    first, second = groups([clip("a", "rock"), clip("b", "jazz"), clip("c", "pop")])
    assert len(first) == len(second) == 2
    assert first | second == {"a", "b", "c"}
    assert sorted(map(sorted, groups(clips, fits=False))) == [["a"], ["b"], ["c"], ["d"]]
    assert groups([]) == []


def test_no_clip_is_lost_and_none_is_heard_more_than_four_times() -> None:
    names = sorted(KINDS)
    rng = np.random.default_rng(0)
    clips = [clip(str(at), *rng.choice(names, 2, replace=False).tolist()) for at in range(151)]
    times = Counter(name for group in groups(clips) for name in group)
    assert set(times) == {each.id for each in clips}
    assert max(times.values()) <= 4


def test_a_tag_is_matched_once() -> None:
    ours, theirs = [tag("rock"), tag("jazz"), tag("guitar")], [tag("pop"), tag("piano")]
    found = match_tags(ours, theirs, lambda one, other: one.category == other.category)
    assert found == [(tag("rock"), tag("pop")), (tag("guitar"), tag("piano"))]


def told(*tags: str, absent: tuple[str, ...] = ()) -> Caption:
    claim = tag_claim(list(map(tag, tags)), list(map(tag, absent)))
    return Caption(" ".join((*tags, "but not", *absent)), claim, "", Provenance.of_rule("test"))


def pair(one: Clip, other: Clip, doubted: str = "") -> TagPair:
    rng = np.random.default_rng(0)
    return TagPair(one, other, lambda each, _: each.name != doubted, SETTING, rng)


ONE, OTHER = clip("a", "rock", "happy"), clip("b", "jazz", "happy")


def test_a_pair_exchanges_its_main_captions() -> None:
    told_of_both = told("happy", absent=("jazz",)), told("happy", absent=("rock",))
    more = told("rock", "happy"), told("jazz", "happy")
    none = told("happy"), told("jazz")
    drawn, rng = [told_of_both, more, none, more], np.random.default_rng(0)
    one, other = (
        draft.captions for draft in pair(ONE, OTHER).draft(drawn, EditKind.REPLACE, 5, rng) or ()
    )
    for own, rival, at in ((one, other, 0), (other, one, 1)):
        assert [negative.text for negative in own.negatives] == [rival.caption.text]
        assert {own.caption, *own.positives} == {told_of_both[at], more[at]}
    assert pair(ONE, OTHER).draft([none], EditKind.REPLACE, 5, rng) is None


@cases(
    ("sentences", "doubted", "are_apart"),
    [
        ((told("rock"), told("jazz")), "", True),
        ((told("happy"), told("jazz")), "", False),  # true of both
        ((told("rock"), told("rock")), "", False),  # false of its own
        ((told("happy", absent=("jazz",)), told("happy", absent=("rock",))), "", True),
        ((told("happy", absent=("jazz",)), told("jazz")), "jazz", False),
        ((told("rock"), told("jazz")), "jazz", False),
    ],
)
def test_what_is_proven_of_its_own_and_refuted_of_the_other_tells_them_apart(
    sentences: tuple[Caption, Caption], doubted: str, are_apart: bool
) -> None:
    assert pair(ONE, OTHER, doubted).tells_apart(sentences) is are_apart


VAGUE = [
    clip("a", "contemporary", "rock", "guitar"),
    clip("b", "groove", "jazz", "piano"),
    clip("c", "alternative", "hip hop", "happy"),
    clip("d", "contemporary", "reggae", "sad"),
]


@cases("recipe", [NegationRecipe(inserts=3), TagCaptions()])
def test_vague_tags_are_neither_exchanged_nor_denied(recipe: NegationRecipe | TagCaptions) -> None:
    for draft in flatten(plan(recipe, VAGUE, SETTING)):
        assert draft.captions.negatives
        for caption in (draft.captions.caption, *draft.captions.positives):
            assert "not contemporary" not in caption.text
            assert "not groove" not in caption.text
            assert "not alternative" not in caption.text
    only = [clip("a", "contemporary"), clip("b", "groove")]
    with pytest.raises(LeftOutError, match="do not distinguish it from any other"):
        plan(recipe, only, SETTING)


def test_what_a_clips_tags_imply_is_never_denied_of_it() -> None:
    clips = [
        clip("a", "techno", "happy", "guitar"),
        clip("b", "electronic", "happy", "piano"),
        clip("c", "techno", "sad", "drums"),
        clip("d", "electronic", "calm", "violin"),
    ]
    by_id = {each.id: each for each in clips}
    denied = 0
    for draft in flatten(plan(NegationRecipe(inserts=4), clips, SETTING)):
        own = by_id[draft.scene.heard.clip].tags
        for caption in (draft.captions.caption, *draft.captions.positives):
            for name in KINDS:
                if f"Not(claim=Event(label={name!r}" in repr(caption.claim):
                    denied += 1
                    assert not any(implies(known, tag(name)) for known in own)
    assert denied
