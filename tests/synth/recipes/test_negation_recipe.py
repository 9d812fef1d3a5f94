"""`negation` and `tag_captions`: one sample a clip, all captions judged on its tags."""

from __future__ import annotations

from itertools import product

from synth.captions.caption import Style
from synth.labels.lexicon import Tag
from synth.recipes.base import Clip, Draft, Setting
from synth.recipes.negation import NegationRecipe
from synth.recipes.tag_captions import TagCaptions
from synth.scene.edit import EditKind
from synth.scene.scene import Event
from synth.scene.timeline import duration, timeline
from synth.truth.change import annotate
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes
from tests.kit.cases import cases
from tests.kit.planned import RATE, flatten, make_clip, make_setting, plan

TAGS = (
    ("rock", "happy", "guitar"),
    ("hip hop", "happy", "piano"),
    ("classical", "calm", "violin"),
    ("jazz", "calm", "trumpet"),
)
CATEGORIES = ("genre", "mood", "instrument")


def clip(number: int, captions: tuple[str, ...] = (), tagged: bool = True) -> Clip:
    names = TAGS[number % len(TAGS)]
    tags = tuple(Tag(category, name) for category, name in zip(CATEGORIES, names, strict=True))
    return make_clip(f"lib/{number}", "music", captions=captions, tags=tags if tagged else ())


CLIPS = [clip(number) for number in range(8)]


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
    clips = [clip(0, ("A rock tune with guitar",)), clip(1, ("Hip hop to a piano.",)), clip(2)]
    own = {each.id: each.captions[0] for each in clips if each.captions}
    inserts = 0
    for seed in range(12):
        recipe = NegationRecipe(half=False, full=False)
        group, *_ = plan(recipe, clips[:2], make_setting(seed=seed))
        for draft in group:
            assert draft.captions.caption.text.startswith(own[draft.scene.heard.clip].rstrip("."))
            assert draft.captions.positives == ()
            inserts += draft.captions.caption.text != own[draft.scene.heard.clip]
    assert 0 < inserts < 24


def test_paper_style_puts_the_negator_before_the_tag() -> None:
    clips = [clip(0, ("A rock tune with guitar",))]
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
    clips = [clip(0, (caption,), tagged)]
    (draft,) = drafts(NegationRecipe(style=style), clips)
    assert draft.captions.negatives == draft.captions.positives == ()
    assert str(draft.captions.caption.provenance) == "source:caption/no-tags"
    if not tagged:
        assert draft.captions.caption.claim == Event("music")


def test_what_only_the_caption_states_is_neither_denied_nor_claimed() -> None:
    clips = [clip(0, ("A rock tune with piano",)), clip(1, ("A hip hop tune",))]
    for seed, style in product(range(12), Style):
        made = drafts(NegationRecipe(inserts=3, style=style), clips, make_setting(seed=seed))
        draft = next(each for each in made if each.scene.heard.clip == clips[0].id)
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
        names = own[draft.scene.heard.clip]
        wholes += all(name in dealt.caption.text.casefold() for name in names)
        assert 1 <= len(dealt.positives) <= 5
        assert {negative.edit for negative in dealt.negatives} == {"replace"}
        assert {positive.edit for positive in dealt.positives} == {None}
        assert duration(draft.scene) == RATE
    assert 0 < wholes < len(CLIPS)
    (alone,) = drafts(TagCaptions(views=3, style=Style.PAPER), [clip(0)])
    assert alone.captions.caption.text == "rock, happy, guitar"
    assert (len(alone.captions.positives), alone.captions.negatives) == (3, ())
