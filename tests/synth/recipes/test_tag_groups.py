"""Tag groups: who is paired with whom, and what can be dealt to two clips."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

from synth.base.errors import LeftOutError
from synth.base.rng import Randomness
from synth.captions.caption import Caption, Provenance, Style
from synth.labels.lexicon import Tag
from synth.recipes.base import Clip, Draft, Setting
from synth.recipes.negation import NegationRecipe
from synth.recipes.tag_captions import TagCaptions
from synth.recipes.tag_pairs import TagPair, group_clips, match_tags
from synth.scene.edit import EditKind
from synth.scene.scene import Event
from synth.scene.timeline import duration, timeline
from synth.text.tags.tag_relations import implies
from synth.truth.change import annotate, tag_claim
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes
from tests.kit.cases import cases
from tests.kit.planned import RATE, flatten, make_clip, make_setting, plan

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
        own = by_id[draft.scene.played.clip].tags
        for caption in (draft.captions.caption, *draft.captions.positives):
            for name in KINDS:
                if f"Not(claim=Event(label={name!r}" in repr(caption.claim):
                    denied += 1
                    assert not any(implies(known, tag(name)) for known in own)
    assert denied


# `negation` and `tag_captions`: one sample a clip, all captions judged on its tags.


TAGS = (
    ("rock", "happy", "guitar"),
    ("hip hop", "happy", "piano"),
    ("classical", "calm", "violin"),
    ("jazz", "calm", "trumpet"),
)
CATEGORIES = ("genre", "mood", "instrument")


def make_tagged(number: int, captions: tuple[str, ...] = (), tagged: bool = True) -> Clip:
    names = TAGS[number % len(TAGS)]
    tags = tuple(Tag(category, name) for category, name in zip(CATEGORIES, names, strict=True))
    return make_clip(f"lib/{number}", "music", captions=captions, tags=tags if tagged else ())


CLIPS = [make_tagged(number) for number in range(8)]


def drafts(
    recipe: NegationRecipe | TagCaptions, clips: list[Clip] = CLIPS, where: Setting | None = None
) -> list[Draft]:
    return flatten(plan(recipe, clips, where))


def rejudge(draft: Draft, clips: list[Clip]) -> None:
    tags = {each.id: [tag.name for tag in each.tags] for each in clips}
    heard = annotate(timeline(draft.scene), tags)
    found = draft.captions
    assert all(proves(heard, c.claim, Tolerance()) for c in (found.caption, *found.positives))
    assert all(refutes(heard, c.claim, Tolerance()) for c in found.negatives)
    texts = [c.text for c in (found.caption, *found.positives, *found.negatives)]
    assert len(texts) == len(set(texts))


@cases("style", Style)
@cases("recipe", [NegationRecipe, TagCaptions])
def test_every_caption_is_proven_or_refuted(
    recipe: type[NegationRecipe] | type[TagCaptions], style: Style
) -> None:
    made = drafts(recipe(style=style))
    assert len(made) == len(CLIPS)
    for draft in made:
        rejudge(draft, CLIPS)
        assert isinstance(draft.scene, Event)
        assert duration(draft.scene) == 4 * RATE


@cases("recipe", [NegationRecipe(inserts=2), TagCaptions(views=4)])
def test_a_sentence_is_true_of_one_clip_and_false_of_the_other(
    recipe: NegationRecipe | TagCaptions,
) -> None:
    for first, second in plan(recipe, CLIPS):
        for own, rival in ((first.captions, second.captions), (second.captions, first.captions)):
            assert [negative.text for negative in own.negatives] == [rival.caption.text]
            assert len(own.positives) == len(rival.positives) > 0


@cases(
    ("recipe", "kinds"),
    [
        (NegationRecipe(), {"replace", "negate-insert", "negate-half", "negate-full"}),
        (NegationRecipe(half=False, inserts=0), {"replace", "negate-full"}),
        (NegationRecipe(half=False, inserts=0, full=False), {"replace"}),
    ],
)
def test_all_captions_of_a_pair_deny_in_one_way(recipe: NegationRecipe, kinds: set[str]) -> None:
    edits = set()
    for seed in range(12):
        for first, second in plan(recipe, CLIPS, make_setting(seed=seed)):
            told = [
                {"not", "without", "no"} & {*caption.text.rstrip(".").split()} != set()
                for found in (first.captions, second.captions)
                for caption in (found.caption, *found.positives, *found.negatives)
            ]
            (edit,) = {each.edit for each in first.captions.negatives}
            edits.add(str(edit))
            assert set(told) == {edit is not EditKind.REPLACE}
    assert edits == kinds


def test_clips_with_captions_exchange_them_or_deny_one_tag_in_both() -> None:
    clips = [
        make_tagged(0, ("A rock tune with guitar",)),
        make_tagged(1, ("Hip hop to a piano.",)),
        make_tagged(2),
    ]
    own = {each.id: each.captions[0] for each in clips if each.captions}
    inserts = 0
    for seed in range(12):
        recipe = NegationRecipe(half=False, full=False)
        group, *_ = plan(recipe, clips[:2], make_setting(seed=seed))
        for draft in group:
            assert draft.captions.caption.text.startswith(own[draft.scene.played.clip].rstrip("."))
            assert draft.captions.positives == ()
            inserts += draft.captions.caption.text != own[draft.scene.played.clip]
    assert 0 < inserts < 24


def test_paper_style_puts_the_negator_before_the_tag() -> None:
    clips = [make_tagged(0, ("A rock tune with guitar",))]
    (draft,) = drafts(NegationRecipe(style=Style.PAPER, inserts=0), clips)
    found = draft.captions
    assert found.caption.text == "A rock tune with guitar"
    assert str(found.caption.provenance) == "source:caption"
    full = next(each for each in found.negatives if each.edit is EditKind.NEGATE_FULL)
    words = full.text.split()
    assert words[2:] != ["rock", "tune", "with", "guitar"]
    assert words[words.index("rock") - 1] in {"not", "no", "without"}
    assert words[words.index("guitar") - 1] in {"not", "no", "without"}


@cases(
    ("caption", "tagged"),
    [("A person talks", False), ("A sad tune with piano", True)],  # none of the clip's own tags
)
@cases("style", Style)
def test_a_caption_without_tags_has_no_negatives(caption: str, tagged: bool, style: Style) -> None:
    clips = [make_tagged(0, (caption,), tagged)]
    (draft,) = drafts(NegationRecipe(style=style), clips)
    assert draft.captions.negatives == draft.captions.positives == ()
    assert str(draft.captions.caption.provenance) == "source:caption/no-tags"
    if not tagged:
        assert draft.captions.caption.claim == Event("music")


def test_what_only_the_caption_states_is_neither_denied_nor_claimed() -> None:
    clips = [make_tagged(0, ("A rock tune with piano",)), make_tagged(1, ("A hip hop tune",))]
    for seed, style in product(range(12), Style):
        made = drafts(NegationRecipe(inserts=3, style=style), clips, make_setting(seed=seed))
        draft = next(each for each in made if each.scene.played.clip == clips[0].id)
        rejudge(draft, clips)
        for each in draft.captions.positives:
            assert "not rock" not in each.text
            assert "without piano" not in each.text
            assert "piano" not in str(each.claim)
        assert "piano" not in str(draft.captions.caption.claim)


def test_tag_captions_have_views_and_keywords_of_another_clip() -> None:
    own = {each.id: {tag.name for tag in each.tags} for each in CLIPS}
    wholes = 0
    for draft in drafts(TagCaptions(views=5), where=make_setting(max_frames=RATE)):
        dealt = draft.captions
        names = own[draft.scene.played.clip]
        wholes += all(name in dealt.caption.text.casefold() for name in names)
        assert 1 <= len(dealt.positives) <= 5
        assert {negative.edit for negative in dealt.negatives} == {"replace"}
        assert {positive.edit for positive in dealt.positives} == {None}
        assert duration(draft.scene) == RATE
    assert 0 < wholes < len(CLIPS)
    (alone,) = drafts(TagCaptions(views=3, style=Style.PAPER), [make_tagged(0)])
    assert alone.captions.caption.text == "rock, happy, guitar"
    assert (len(alone.captions.positives), alone.captions.negatives) == (3, ())
