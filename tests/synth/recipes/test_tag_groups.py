"""Tag groups: who is paired with whom, and what can be dealt to two clips."""

from __future__ import annotations

import numpy as np

from synth.base.rng import Randomness
from synth.captions.caption import Caption, Provenance
from synth.labels.lexicon import Tag
from synth.recipes.base import Clip
from synth.recipes.negation import NegationRecipe
from synth.recipes.tag_captions import TagCaptions
from synth.recipes.tag_pairs import NO_PARTNER, TaggedSample, TagPair, group_clips, match_tags
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


def test_near_clips_that_differ_are_paired_and_who_is_left_over_joins_a_pair() -> None:
    clips = [
        clip("a", "rock", "happy", "guitar"),
        clip("b", "rock", "sad", "guitar"),
        clip("c", "jazz", "calm", "piano"),
        clip("d", "jazz", "energetic", "piano"),
    ]
    assert sorted(map(sorted, groups(clips))) == [["a", "b"], ["c", "d"]]
    clips = [clip("a", "rock"), clip("b", "jazz"), clip("c", "pop")]
    assert groups(clips) == [{"a", "b", "c"}]
    assert sorted(map(sorted, groups(clips, fits=False))) == [["a"], ["b"], ["c"]]
    assert groups([]) == []


def test_no_clip_is_lost_and_groups_have_four_clips_at_most() -> None:
    names = sorted(KINDS)
    rng = np.random.default_rng(0)
    clips = [clip(str(at), *rng.choice(names, 2, replace=False).tolist()) for at in range(151)]
    found = groups(clips)
    assert sorted(name for group in found for name in group) == sorted(each.id for each in clips)
    assert {len(group) for group in found} <= {2, 3, 4}


def test_a_tag_is_matched_once() -> None:
    ours, theirs = [tag("rock"), tag("jazz"), tag("guitar")], [tag("pop"), tag("piano")]
    found = match_tags(ours, theirs, lambda one, other: one.category == other.category)
    assert found == [(tag("rock"), tag("pop")), (tag("guitar"), tag("piano"))]


def told(*tags: str, absent: tuple[str, ...] = ()) -> Caption:
    claim = tag_claim(list(map(tag, tags)), list(map(tag, absent)))
    return Caption(" ".join((*tags, "but not", *absent)), claim, "", Provenance.of_rule("test"))


def pair(one: Clip, other: Clip, doubted: str = "") -> TagPair:
    rng = np.random.default_rng(0)
    samples = [
        TaggedSample.of(each, told(*(own.name for own in each.tags)), SETTING, rng)
        for each in (one, other)
    ]
    return TagPair(*samples, lambda each, _: each.name != doubted)


def test_what_is_true_of_one_and_false_of_the_other_is_dealt_to_both() -> None:
    both = pair(clip("a", "rock", "happy"), clip("b", "jazz", "happy"))
    assert both.deal(
        told("happy", absent=("jazz",)), told("happy", absent=("rock",)), EditKind.NEGATE_HALF
    )
    for sample in (both.one, both.other):
        (negative,) = sample.draft().captions.negatives
        (positive,) = sample.draft().captions.positives
        assert (negative.edit, negative.against) == (EditKind.NEGATE_HALF, positive.text)


@cases(
    ("ours", "theirs"),
    [
        (told("happy"), told("jazz")),  # true of both
        (told("rock"), told("rock")),  # false of its own
        (told("rock", "happy"), told("jazz")),  # a text that is held
    ],
)
def test_what_cannot_be_told_apart_is_not_dealt(ours: Caption, theirs: Caption) -> None:
    both = pair(clip("a", "rock", "happy"), clip("b", "jazz", "happy"))
    assert not both.deal(ours, theirs, EditKind.REPLACE)
    assert both.one.draft().captions.negatives == both.other.draft().captions.negatives == ()


def test_what_is_doubted_proves_and_refutes_nothing() -> None:
    clips = clip("a", "rock", "happy"), clip("b", "jazz", "sad")
    for one in (told("sad"), told("sad", absent=("rock",))):
        assert pair(*clips).deal(told("happy"), one, EditKind.REPLACE)
        assert not pair(*clips, doubted="sad").deal(told("happy"), told("sad"), EditKind.REPLACE)
    doubting = pair(*clips, doubted="rock")
    assert not doubting.deal(told("happy"), told("sad", absent=("rock",)), EditKind.NEGATE_HALF)
    assert (
        doubting.deal(told("rock", "happy"), told("jazz"), EditKind.REPLACE) is False
    )  # the text is held


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
        for caption in (*draft.captions.negatives, *draft.captions.positives):
            assert "not contemporary" not in caption.text
            assert "not groove" not in caption.text
            assert "not alternative" not in caption.text
    only = [clip("a", "contemporary"), clip("b", "groove")]
    for (draft,) in plan(recipe, only, SETTING):
        assert draft.captions.negatives == ()
        assert draft.captions.caption.provenance.steps.endswith(f"/{NO_PARTNER}")


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
        for caption in draft.captions.positives:
            for name in KINDS:
                if f"Not(claim=Event(label={name!r}" in repr(caption.claim):
                    denied += 1
                    assert not any(implies(known, tag(name)) for known in own)
    assert denied
