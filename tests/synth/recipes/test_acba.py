"""`acba`: captioned clips joined in order, exact counts, nothing shared, nothing ambiguous."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synth.base.errors import PlanError
from synth.captions.caption import Style
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase
from synth.recipes.acba import ORDER_WORDS, Acba
from synth.recipes.base import Clip, Draft, Groups, Setting
from synth.scene.scene import Concat, events
from synth.scene.timeline import duration
from synth.text.grammar.tokens import content_words, share_family
from tests.kit import planned
from tests.kit.cases import cases
from tests.kit.envelopes import envelope
from tests.kit.one_sound import PLAIN_PAIRS
from tests.kit.planned import RATE, flatten, make_clip, make_setting
from tests.kit.tables import read_data
from tests.synth.truth.oracle import judge_draft

CASES = read_data("texts/acba.yaml")

_NOUNS = (
    "dog cat cow pig frog crow horse sheep rain wind thunder stream engine train siren bell drill "
    "hammer baby crowd clock phone door window paper glass piano drum violin whistle"
)
NOUNS = _NOUNS.split()


def clip(index: int, *captions: str, labels: tuple[str, ...] = (), **facts: Any) -> Clip:
    usual = {"captions": captions, "recording": f"r{index}", "frames": 4 * RATE + index}
    return make_clip(f"lib/{index}", *labels, **(usual | facts))


CLIPS = [clip(i, f"A {noun} is heard.", f"Sound of the {noun}") for i, noun in enumerate(NOUNS)]


def plan(
    recipe: Acba, clips: Sequence[Clip] = CLIPS, where: Setting | None = None
) -> list[list[Draft]]:
    return planned.plan(recipe, clips, where)


def count(groups: Mapping[str, Groups]) -> dict[str, int]:
    return {
        split: sum(len(found.group(index)) for index in range(len(found)))
        for split, found in groups.items()
    }


@cases("pairs", [1, 2, 7, 40, 41])
@cases("minimal", [True, False])
def test_pairs_is_the_number_of_samples_also_when_odd(pairs: int, minimal: bool) -> None:
    # With minimal pairs an odd number was rounded up to whole groups.
    made = plan(Acba(pairs=pairs, minimal_pairs=minimal))
    assert sum(map(len, made)) == pairs
    assert all(len(group) == (2 if minimal else 1) for group in made[:-1])


def test_samples_are_dealt_to_the_splits_by_their_clips() -> None:
    splits = {"train": CLIPS[:20], "val": CLIPS[20:25], "test": CLIPS[25:]}
    made = count(Acba(pairs=101, minimal_pairs=False).groups(splits, make_setting()))
    assert sum(made.values()) == 101
    assert made["train"] in (67, 68)
    assert made["val"] in (16, 17)
    wish = {"train": 30, "test": 9}
    assert count(Acba(pairs=wish).groups(splits, make_setting())) == wish


def test_a_split_without_clips_or_of_one_recording_is_a_plan_error() -> None:
    with pytest.raises(PlanError, match="split val: acba needs clips of two recordings, found 0"):
        Acba(pairs={"val": 5}).groups({"train": CLIPS}, make_setting())
    one = [clip(0, "A dog"), clip(1, "A cat", recording="r0")]
    with pytest.raises(PlanError, match="found 1"):
        Acba(pairs=5).groups({"train": one}, make_setting())


@cases("style", Style)
@cases("relations", [("before", "after"), ("then",), tuple(ORDER_WORDS)])
def test_all_captions_of_all_drafts_are_true_to_their_side(
    style: Style, relations: tuple[str, ...]
) -> None:
    recipe = Acba(pairs=60, relations=relations, style=style)  # type: ignore[arg-type]
    for group in plan(recipe):
        for draft in group:
            assert judge_draft(draft, RATE) == []
            assert len(draft.captions.positives) == len(relations) - 1
            assert len(draft.captions.negatives) == len(relations)
        first, second = (d.captions for d in group)
        true = {c.text for c in (first.caption, *first.positives)}
        assert true == {c.text for c in second.negatives}
        assert {c.text for c in (second.caption, *second.positives)} == {
            c.text for c in first.negatives
        }


def test_a_minimal_pair_is_both_orders_of_the_same_clips_told_by_opposite_words() -> None:
    words = Counter()
    for forward, mirrored in plan(Acba(pairs=80)):
        scene = forward.scene
        assert isinstance(scene, Concat)
        assert mirrored.scene == Concat(scene.second, scene.first, RATE)
        pair = forward.captions.caption.connective, mirrored.captions.caption.connective
        assert set(pair) == {"before", "after"}
        words[pair[0]] += 1
        one, other = (d.captions.caption.text.lower() for d in (forward, mirrored))
        assert re.sub("before|after", "-", one) == re.sub("before|after", "-", other)
    assert min(words.values()) > 10


def test_without_minimal_pairs_each_sample_has_its_own_pair() -> None:
    made = [group[0] for group in plan(Acba(pairs=200, minimal_pairs=False, relations=ORDER_WORDS))]  # type: ignore[arg-type]
    pairs = {tuple(event.played.clip for event in events(draft.scene)) for draft in made}
    assert len(pairs) > 150
    words = Counter(draft.captions.caption.connective for draft in made)
    assert set(words) == set(ORDER_WORDS)
    assert min(words.values()) > 25


@cases("clips", [5, 6, 12, 30])
@cases("share", [0.1, 0.5])
@cases("minimal", [True, False])
def test_no_two_groups_have_the_same_two_clips_while_there_are_others(
    clips: int, share: float, minimal: bool
) -> None:
    """Also where some clips find no partner, and others take their places."""
    same = [
        clip(100 + n, "A goose is heard.", f"Sound of the {NOUNS[n]}") for n in range(clips // 4)
    ]
    found = [*CLIPS[: clips - len(same)], *same]
    groups = max(1, int(share * clips * (clips - 1) / 2))
    recipe = Acba(pairs=groups * (1 + minimal), minimal_pairs=minimal)
    for seed in range(2):
        made = plan(recipe, found, make_setting(seed=seed))
        heard = [frozenset(e.played.clip for e in events(group[0].scene)) for group in made]
        assert len(set(heard)) == len(heard) == groups


def test_more_groups_than_pairs_of_clips_use_some_again() -> None:
    made = plan(Acba(pairs=60), CLIPS[:4])
    heard = Counter(frozenset(e.played.clip for e in events(group[0].scene)) for group in made)
    assert len(heard) == 6
    assert sum(heard.values()) == 30


def test_the_crossfade_is_as_asked_and_truly_overlaps() -> None:
    for crossfade_s in (0.0, 0.25, 1.75):
        for draft in flatten(plan(Acba(pairs=10, crossfade_s=crossfade_s))):
            parts = sum(event.played.frames for event in events(draft.scene))
            assert duration(draft.scene) == parts - round(crossfade_s * RATE)
            assert judge_draft(draft, RATE) == []


def pulses(on_s: float, off_s: float, seconds: float) -> tuple[float, ...]:
    """Levels of blocks of 50 ms: bursts, and silence between them."""
    on, off = round(on_s / 0.05), round(off_s / 0.05)
    return tuple(
        -30.0 if at % (on + off) < on else -90.0 for at in range(round(seconds / 0.05) - off)
    )


def test_sounds_that_the_crossfade_would_cover_by_half_are_not_joined() -> None:
    # Of 3.2 s a bark is heard for 0.8 s: a crossfade of 0.5 s covers more than the half of it.
    sparse = pulses(0.2, 0.8, 4)
    frames = len(sparse) * RATE // 20
    barks = clip(0, "A dog barks", frames=frames, envelope=envelope(frames, sparse))
    others = [clip(1, "Rain falls"), clip(2, "A siren wails")]
    for group in plan(Acba(pairs=8, crossfade_s=0.3), [barks, others[0]]):
        assert {event.played.clip for event in events(group[0].scene)} == {"lib/0", "lib/1"}
        for draft in group:
            assert judge_draft(draft, RATE) == []
    with pytest.raises(PlanError, match=r"crossfade_s") as caught:
        plan(Acba(pairs=2, crossfade_s=0.5), [barks, others[0]])
    assert "or shorten recipe.acba.crossfade_s" in caught.value.fix
    # As no clip could be its partner, it is refused, and does not spoil the plan of the others.
    assert Acba(crossfade_s=0.3).refusal(barks, make_setting()) is None
    assert "crossfade of 0.5 s" in (Acba(crossfade_s=0.5).refusal(barks, make_setting()) or "")
    assert all(Acba(crossfade_s=0.5).refusal(other, make_setting()) is None for other in others)


@cases("minimal", [True, False])
def test_partners_share_no_recording_and_no_content_word(minimal: bool) -> None:
    clips = [
        clip(i, f"The {noun} is heard", f"Sound of the {noun}", recording=f"r{i // 3}")
        for i, noun in enumerate(NOUNS * 2)
    ]
    found = {item.id: item for item in clips}
    for group in plan(Acba(pairs=120, minimal_pairs=minimal, exclude_words=()), clips):
        a, b = events(group[0].scene)
        assert found[a.played.clip].recording != found[b.played.clip].recording
        assert not content_words(a.label) & content_words(b.label)


def test_captions_that_all_share_a_word_are_a_plan_error_with_the_fix() -> None:
    clips = [clip(i, f"A dog barks {i} times") for i in range(5)]
    with pytest.raises(PlanError, match="share no word") as caught:
        plan(Acba(pairs=2, crossfade_s=0.0), clips)
    assert caught.value.fix == "set `recipe.acba.share_words: true`, or add clips"
    assert len(plan(Acba(pairs=2, share_words=True), clips)) == 1
    # What is set already is no remedy.
    deaf = replace(make_setting(), audible=5 * RATE)
    with pytest.raises(PlanError, match=r"one after the other \(add clips\)$"):
        plan(Acba(pairs=2, share_words=True, crossfade_s=0.0), clips, deaf)


@cases(("one", "other"), PLAIN_PAIRS)
def test_two_names_for_one_sound_are_never_joined(one: str, other: str) -> None:
    clips = [clip(0, one), clip(1, other)]
    with pytest.raises(PlanError, match="name the same kind of sound"):
        plan(Acba(pairs=2), clips)
    assert len(plan(Acba(pairs=2, share_words=True), clips)) == 1


def test_labels_of_which_one_could_name_the_other_are_never_joined() -> None:
    # An airplane could be called an engine, and the order of the two was denied.
    clips = [clip(0, labels=("airplane",)), clip(1, labels=("engine",)), clip(2, labels=("cat",))]
    for group in plan(Acba(pairs=40), clips):
        assert "cat" in {event.label for event in events(group[0].scene)}


@pytest.mark.slow
def test_every_clip_of_audiocaps_finds_a_partner_that_shares_no_family(
    shared_data: Callable[[str], Path],
) -> None:
    for split, pairs in (("val", 300), ("train", 300)):
        with (shared_data("AudioCaps") / f"{split}.csv").open(encoding="utf-8-sig") as file:
            rows = [(row["youtube_id"], row["caption"]) for row in csv.DictReader(file)]
        rows = rows[:: 1 + len(rows) // 1_500]  # some five times as many as are paired
        every = [clip(i, text, recording=video) for i, (video, text) in enumerate(rows)]
        clips = [item for item in every if Acba().sentences(item)]
        for group in plan(Acba(pairs=pairs, minimal_pairs=False), clips):
            a, b = events(group[0].scene)
            assert not share_family(a.label, b.label)


def test_every_clip_leads_equally_often() -> None:
    made = plan(Acba(pairs=3 * len(CLIPS), minimal_pairs=False))
    leaders = Counter(next(iter(events(group[0].scene))).played.clip for group in made)
    assert leaders == {item.id: 3 for item in CLIPS}
    first, second = made[: len(CLIPS)], made[len(CLIPS) : 2 * len(CLIPS)]
    assert [g[0].scene for g in first] != [g[0].scene for g in second]


def test_events_are_no_longer_than_asked_and_exact_lengths_fit() -> None:
    for group in plan(Acba(pairs=40, max_event_s=2.5)):
        assert {event.played.frames for event in events(group[0].scene)} == {round(2.5 * RATE)}
    for draft in flatten(plan(Acba(pairs=40), where=make_setting(5 * RATE))):
        assert duration(draft.scene) == 5 * RATE


def texts_of(recipe: Acba, clips: Sequence[Clip]) -> set[str]:
    return {draft.captions.caption.text for draft in flatten(plan(recipe, clips))}


def test_captions_become_clauses_and_labels_are_said_where_there_are_none() -> None:
    clips = [clip(0, "A big Dog barks."), clip(1, labels=("sea_waves",))]
    texts = texts_of(Acba(pairs=40, style=Style.NATURAL), clips)
    waves = Phrase.of_label("sea_waves").clause
    assert f"After {waves}, a big Dog barks" in texts
    assert f"{waves[0].upper()}{waves[1:]} before a big Dog barks" in texts
    for text in texts:
        assert "." not in text
        assert "_" not in text
        assert text[0].isupper()
    # The scene held the phrase "sea waves", and shards a tag that is no label of the library.
    for draft in flatten(plan(Acba(pairs=6), clips)):
        assert {event.label for event in events(draft.scene)} == {"A big Dog barks", "sea_waves"}
    paper = texts_of(
        Acba(pairs=40, style=Style.PAPER), [clip(0, "A dog barks"), clip(1, "Rain falls")]
    )
    assert paper == {
        "A dog barks before Rain falls",
        "A dog barks after Rain falls",
        "Rain falls before A dog barks",
        "Rain falls after A dog barks",
    }


@cases(("caption", "style", "reason"), CASES["left_out"])
def test_captions_that_make_no_sentence_are_left_out(
    caption: str, style: Style, reason: str
) -> None:
    recipe, item = Acba(style=style), clip(0, caption)
    refusal = recipe.refusal(item, make_setting())
    assert (refusal is None) == (reason == "")
    assert reason in (refusal or "")
    assert (recipe.sentences(item) == [caption]) == (reason == "") or style == Style.NATURAL
    both = clip(0, caption, "A bell rings")
    assert recipe.refusal(both, make_setting()) is None
    assert "A bell rings" in recipe.sentences(both)


def test_behind_followed_by_stands_a_gerund_and_behind_before_a_verb() -> None:
    clips = [clip(0, "A goose honks"), clip(1, "Rain falling")]
    relations = (Connective.BEFORE, Connective.FOLLOWED_BY)
    texts = texts_of(Acba(pairs=60, relations=relations), clips)
    assert "A goose honking followed by rain falling" in texts
    assert "Rain falls before a goose honks" in texts
    assert not any("honks followed" in text or "falling before" in text for text in texts)


def test_audiocaps_keeps_37947_captions(shared_data: Callable[[str], Path]) -> None:
    path = shared_data("AudioCaps") / "train.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        captions = [row["caption"] for row in csv.DictReader(file)]
    assert len(captions) == 49_838
    assert len(Acba(style=Style.PAPER).sentences(clip(0, *captions))) == 37_947
    naive = [c for c in captions if not any(word in c.lower() for word in ORDER_WORDS)]
    assert len(naive) == 37_925
    some = clip(0, *captions[::16])
    assert 15_000 / 16 < len(Acba().sentences(some)) < 25_000 / 16
    few = Acba(exclude_words=(*ORDER_WORDS, "and"), style=Style.PAPER).sentences(some)
    assert 19_000 / 16 < len(few) < 20_000 / 16
