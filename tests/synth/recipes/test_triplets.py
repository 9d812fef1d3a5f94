"""`triplets`: every ordered pair of classes, three compositions of the same two clips."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from functools import cache
from itertools import permutations

import numpy as np
import pytest

from synth.base.errors import LeftOutError, PlanError
from synth.captions.caption import Style
from synth.recipes.base import Clip, Draft, Groups, Setting, make_listener
from synth.recipes.fitting import FittedPair, Fitting
from synth.recipes.triplets import Triplets
from synth.scene.claim import And, Only
from synth.scene.scene import Concat, Event, Overlay, events
from synth.scene.timeline import duration
from tests.kit.cases import cases
from tests.kit.envelopes import envelope
from tests.kit.planned import BLOCK, RATE, flatten, make_clip, make_setting, plan
from tests.synth.truth.oracle import judge_draft


def clips(classes: int, each: int = 3) -> list[Clip]:
    return [
        make_clip(
            f"lib/{label}-{take}",
            f"class_{label:02d}",
            frames=4 * RATE + 100 * take,
            loudness_lufs=-30.0 - take,
        )
        for label in range(classes)
        for take in range(each)
    ]


def groups_of(
    recipe: Triplets, found: list[Clip], where: Setting | None = None, split: str = "train"
) -> Groups:
    return recipe.groups({split: found}, where or make_setting())[split]


def test_twenty_classes_give_380_groups_and_1140_samples() -> None:
    made = plan(Triplets(), clips(20, 2))
    assert len(made) == 380
    assert sum(map(len, made)) == 1_140
    pairs = Counter(tuple(event.label for event in events(group[0].scene)) for group in made)
    assert len(pairs) == 380
    words = Counter(draft.captions.caption.connective for draft in flatten(made))
    assert words == {"before": 380, "after": 380, "while": 380}
    # A limit takes the first groups, of pairs in random order.
    some = plan(Triplets(most_groups=20), clips(20, 2))
    assert some == made[:20]
    assert len({events(group[0].scene)[0].label for group in some}) > 4
    assert len(plan(Triplets(most_groups=999), clips(5, 2))) == 20


def test_members_use_the_same_two_excerpts_forward_reversed_and_together() -> None:
    for group in plan(Triplets(crossfade_s=0.5), clips(4)):
        forward, reversed_, together = (draft.scene for draft in group)
        assert isinstance(forward, Concat)
        a, b = forward.first, forward.second
        assert reversed_ == Concat(b, a, RATE // 2)
        assert together == Overlay(a, b)
        assert forward.crossfade == RATE // 2
        assert a != b
        assert isinstance(a, Event)
        assert isinstance(b, Event)
        words = {name: name.replace("_", " ") for name in (a.label, b.label)}
        assert [draft.captions.caption.text for draft in group] == [
            f"{words[a.label]} before {words[b.label]}",
            f"{words[a.label]} after {words[b.label]}",
            f"{words[a.label]} while {words[b.label]}",
        ]


@cases("style", Style)
@cases("crossfade_s", [0.0, 0.5])
def test_every_sentence_is_true_of_one_member_and_false_of_others(
    style: Style, crossfade_s: float
) -> None:
    """In natural style main captions stand against one another, those of an order as twins."""
    recipe = Triplets(style=style, crossfade_s=crossfade_s, max_event_s=2.0, repeats=4)
    reversed_words = set()
    for group in plan(recipe, clips(4)):
        mains = [draft.captions.caption for draft in group]
        words = [caption.connective for caption in mains]
        assert words[::2] == ["before", "while"]
        reversed_words.add(words[1])
        for draft in group:
            dealt = draft.captions
            assert judge_draft(draft, RATE) == []
            if style is Style.NATURAL:
                told = sorted(c.text for c in (dealt.caption, *dealt.negatives))
                assert told == sorted(c.text for c in mains)
                assert len(dealt.positives) <= 2
        true = [c.text for d in group for c in (d.captions.caption, *d.captions.positives)]
        false = [c.text for d in group for c in d.captions.negatives]
        if style is Style.PAPER:
            assert Counter(false) == dict.fromkeys(true, 2)
        if style is Style.NATURAL:
            one, other = (
                re.findall(r"\w+", c.text.lower().replace("after", "before")) for c in mains[:2]
            )
            assert sorted(one) == sorted(other)
    assert reversed_words == {"after"} if style is Style.PAPER else {"before", "after"}


@cases("classes", [2, 3, 5])
@cases("repeats", [1, 3])
def test_each_round_holds_every_ordered_pair_once_over_new_clips(
    classes: int, repeats: int
) -> None:
    groups = groups_of(Triplets(repeats=repeats), clips(classes, 8))
    made = [groups.group(index)[0].scene for index in range(len(groups))]
    count = classes * (classes - 1)
    assert len(groups) == repeats * count
    rounds = [made[i * count : (i + 1) * count] for i in range(repeats)]
    for scenes in rounds:
        assert len({tuple(event.label for event in events(scene)) for scene in scenes}) == count
    assert len(set(made)) > len(made) // 2
    if repeats > 1 and classes > 3:
        orders = [[tuple(e.label for e in events(s)) for s in scenes] for scenes in rounds]
        assert orders[0] != orders[1]


def two_classes(first: int, second: int) -> list[Clip]:
    """So many clips of each, all of one length."""
    return [
        make_clip(f"{label}/{take}", label, frames=RATE)
        for label, takes in (("class_00", first), ("class_01", second))
        for take in range(takes)
    ]


@cases("each", [(1, 1), (1, 2), (2, 2), (3, 1), (3, 4), (5, 5)])
@cases("stage_a", [True, False])
def test_the_two_orders_of_a_pair_of_classes_never_make_one_sample_twice(
    each: tuple[int, int], stage_a: bool
) -> None:
    """Clips are heard whole, so that the same two make the same samples."""
    for seed in range(20):
        recipe = Triplets(stage_a=stage_a)
        groups = groups_of(recipe, two_classes(*each), make_setting(seed=seed))
        scenes = []
        for index in range(len(groups)):
            with suppress(LeftOutError):
                scenes += [draft.scene for draft in groups.group(index)]
        mixes = [frozenset(events(scene)) for scene in scenes if isinstance(scene, Overlay)]
        orders = [scene for scene in scenes if isinstance(scene, Concat)]
        assert len(set(mixes)) == len(mixes) == (1 if each == (1, 1) else 2)
        assert len(set(orders)) == len(orders) == (0 if stage_a else 2 * len(mixes))
        if stage_a:  # each sound alone, too
            assert sorted(scene.label for scene in scenes if isinstance(scene, Event)) == [
                "class_00",
                "class_01",
            ]


def test_what_is_left_out_is_told_with_split_and_setting() -> None:
    groups = groups_of(Triplets(max_event_s=2.0), two_classes(1, 1), split="test")
    assert len(groups) == 2
    with pytest.raises(LeftOutError, match="too few clips for two orders") as caught:
        list(map(groups.group, range(2)))
    assert caught.value.example == "class_00 and class_01"
    assert (
        "add recordings of these labels to split test, or let sounds last longer (recipe"
        in caught.value.fix
    )
    alike = [make_clip(label, label, frames=RATE) for label in ("dog_bark", "Dog bark", "rain")]
    for few, told in (
        (clips(1), "split train: triplets need clips of two classes, found 1"),
        (alike, "'dog_bark' and 'Dog bark' read alike"),
    ):
        with pytest.raises(PlanError, match=told):
            groups_of(Triplets(), few)


def test_events_are_of_the_class_and_no_longer_than_asked() -> None:
    library = {clip.id: clip for clip in clips(5)}
    for group in plan(Triplets(max_event_s=1.5), list(library.values())):
        for event in events(group[0].scene):
            assert library[event.played.clip].labels == (event.label,)
            assert event.played.frames == round(1.5 * RATE)
            end = event.played.start + event.played.frames
            assert end <= library[event.played.clip].frames
    for crossfade_s in (0.0, 0.5):
        made = flatten(
            plan(Triplets(crossfade_s=crossfade_s), clips(4), make_setting(5 * RATE + 1))
        )
        assert 5 * RATE <= max(duration(draft.scene) for draft in made) <= 5 * RATE + 1


def test_stage_a_makes_single_and_combined_sounds() -> None:
    groups = groups_of(Triplets(stage_a=True), clips(50, 2))
    assert len(groups) == 2_450
    for single, combined in (groups.group(index) for index in range(200)):
        assert isinstance(single.scene, Event)
        assert isinstance(combined.scene, Overlay)
        assert combined.scene.first == single.scene
        first, second = (event.label for event in events(combined.scene))
        words = first.replace("_", " "), second.replace("_", " ")
        assert single.captions.caption.text == f"single sound of {words[0]}"
        assert combined.captions.caption.text == f"combined sound of {words[0]} and {words[1]}"
        assert single.captions.caption.claim == Only(Event(first))
        assert combined.captions.caption.claim == And(Event(first), Event(second))
        assert [c.text for c in single.captions.negatives] == [combined.captions.caption.text]
        assert [c.text for c in combined.captions.negatives] == [single.captions.caption.text]
        for draft in (single, combined):
            assert judge_draft(draft, RATE) == []


def test_two_clips_of_one_recording_are_not_paired_where_others_are() -> None:
    found = [
        make_clip(f"lib/{label}-{take}", label, frames=RATE, recording=f"r{take}")
        for label in ("dog", "rain")
        for take in range(2)
    ]
    recording = {clip.id: clip.recording for clip in found}
    for group in plan(Triplets(repeats=20), found):
        first, second = (recording[event.played.clip] for event in events(group[0].scene))
        assert first != second


# Fitting: two sounds together, of which neither comes first or last to anybody.


LEAST_S = 1.0


def levels_like_esc50(label: int, take: int) -> tuple[float, ...]:
    """Up to 5 s, as in ESC-50: steady, in bursts, dying away, or one short event."""
    rng = np.random.default_rng([label, take])
    count = int(rng.integers(60, 101))
    kind = label % 4
    if kind == 0:
        levels = np.full(count, -25.0)
    elif kind == 1:
        on, off = int(rng.integers(3, 12)), int(rng.integers(3, 20))
        levels = np.where(np.arange(count) % (on + off) < on, -20.0, -75.0)
    elif kind == 2:
        levels = -20.0 - np.arange(count) * rng.uniform(0.2, 1.0)
    else:
        levels = np.full(int(rng.integers(6, 30)), -18.0)
    heard = np.flatnonzero(levels > -60)
    jitter = rng.normal(0, 1.5, len(levels))
    return tuple((levels + jitter)[: heard[-1] + 1].tolist())


def clip(label: int, take: int, levels: tuple[float, ...] = ()) -> Clip:
    levels = levels or levels_like_esc50(label, take)
    frames = BLOCK * len(levels)
    power = float(np.mean(10 ** (np.asarray(levels) / 10)))
    return make_clip(
        f"lib/{label}-{take}",
        f"class_{label:02d}",
        frames=frames,
        loudness_lufs=10 * float(np.log10(power)),
        envelope=envelope(frames, levels, RATE),
    )


LIBRARY = [clip(label, take) for label in range(12) for take in range(6)]
SETTING = make_setting(10 * RATE)
RECIPE = Triplets(least_event_s=LEAST_S)


@cache
def groups() -> list[list[Draft]]:
    return plan(RECIPE, LIBRARY, SETTING)


def test_all_pairs_are_kept() -> None:
    made = [tuple(event.label for event in events(group[0].scene)) for group in groups()]
    names = {clip.labels[0] for clip in LIBRARY}
    assert sorted(made) == sorted(permutations(names, 2))
    for group in groups():
        forward, reversed_, together = (draft.scene for draft in group)
        assert isinstance(forward, Concat)
        assert isinstance(together, Overlay)
        one, other = events(forward)
        assert tuple(events(reversed_)) == (other, one)
        assert tuple(events(together)) == (one, other)


def test_of_most_that_are_together_neither_order_may_be_said() -> None:
    unordered = [{negative.text for negative in group[2].captions.negatives} for group in groups()]
    assert sum(len(each) == 4 for each in unordered) >= 0.8 * len(unordered)
    # Each order is told in two words: "before" and "after".
    assert all(len(each) in (0, 2, 4) for each in unordered)
    # Some fit as they are, some are cut.
    whole = sum(
        event.played.frames == lengths()[event.played.clip]
        for group in groups()
        for event in events(group[0].scene)
    )
    assert 0.1 < whole / (2 * len(groups())) < 0.9


def test_every_member_is_right_to_a_second_judge() -> None:
    for draft in flatten(groups()[::3]):
        assert judge_draft(draft, RATE) == []


@cache
def lengths() -> dict[str, int]:
    return {clip.id: clip.frames for clip in LIBRARY}


def test_no_sound_is_cut_to_less_than_asked() -> None:
    longer = Triplets(least_event_s=2.5).groups({"train": LIBRARY}, SETTING)["train"]
    some = [longer.group(index) for index in range(0, len(longer), 9)]
    for made, least_s in ((groups(), LEAST_S), (some, 2.5)):
        shortest = []
        for group in made:
            for event in events(group[0].scene):
                whole = lengths()[event.played.clip]
                assert 0 <= event.played.start <= whole - event.played.frames
                assert event.played.frames >= min(whole, least_s * RATE)
                if event.played.frames < whole:
                    shortest.append(event.played.frames)
        assert min(shortest) < 1.5 * least_s * RATE


def fit(one: Clip, other: Clip, least_s: float = LEAST_S, crossfade: int = 0) -> FittedPair:
    listener = make_listener([one, other], SETTING)
    fitting = Fitting(listener, SETTING, None, least_s, crossfade)
    pair = fitting.find([one], [other], np.random.default_rng(0))
    assert pair is not None
    return pair


def steady(label: int, blocks: int) -> Clip:
    return clip(label, 0, (-25.0,) * blocks)


def test_the_longer_of_two_sounds_is_cut_to_the_shorter() -> None:
    one, other, like = steady(0, 90), steady(1, 40), steady(2, 42)
    # Those of one length are heard whole.
    for first, second, blocks in (
        (one, other, (40, 40)),
        (other, one, (40, 40)),
        (other, like, (40, 42)),
    ):
        made = fit(first, second)
        assert made.unordered == 2
        lasting = tuple(event.played.frames // BLOCK for event in events(made.overlay))
        assert lasting == blocks
        assert (made.first, made.second) == (made.overlay.first, made.overlay.second)


def test_silence_before_a_sound_counts_for_nothing() -> None:
    late = clip(0, 0, (-85.0,) * 20 + (-25.0,) * 40)
    other = steady(1, 40)
    found = fit(late, other)
    assert found.unordered == 2
    assert isinstance(found.overlay, Overlay)
    heard = make_listener([late, other], SETTING).hear(found.overlay)
    assert len({place.heard.clear for place in heard.placements}) == 1


def test_what_cannot_be_cut_short_enough_is_kept_and_counted() -> None:
    long, blink = steady(0, 90), steady(1, 6)
    found = fit(long, blink)
    # After a sound of 0.3 s the other goes on for 0.7 s at least.
    assert found.unordered == 1
    lasting = [event.played.frames for event in events(found.overlay)]
    assert min(lasting) == 6 * BLOCK
    assert max(lasting) >= LEAST_S * RATE
    shorter = fit(long, blink, least_s=0.3)
    assert shorter.unordered == 2


def test_a_crossfade_that_would_cover_a_sound_by_half_is_shortened() -> None:
    one, other = steady(0, 60), steady(1, 10)
    for asked, given in ((2, 2), (6, 3), (16, 4)):
        pair = fit(one, other, crossfade=asked * BLOCK)
        assert pair.crossfade == given * BLOCK
