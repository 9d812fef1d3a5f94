"""What holds of every recipe, and what recipes share: excerpts, gains, lengths and dealing."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from synth.base.errors import PlanError, SegueError
from synth.base.rng import Randomness
from synth.captions.caption import Style
from synth.labels.lexicon import Tag, are_confusable
from synth.recipes import recipe_class, recipe_names
from synth.recipes.base import (
    Clip,
    Levels,
    excerpt,
    explain_misleading,
    explain_too_short,
    permutation,
)
from synth.recipes.casting import ClipDealer
from synth.sources.own.folder import VocabularySource
from synth.truth.ear import StoredEnvelope
from tests.kit import asked
from tests.kit.cases import cases
from tests.kit.envelopes import envelope
from tests.kit.planned import (
    AUDIBLE,
    BLOCK,
    RATE,
    clip_of,
    clip_of_row,
    level_clip,
    make_clip,
    make_setting,
    plan,
    spread_clips,
)
from tests.kit.tables import read_data

CASES = read_data("recipes/bad_settings.yaml")

TEN_S = 10 * RATE
CAPTIONED = [
    make_clip(f"lib/{noun}", captions=(f"A {noun} is heard.",), frames=4 * RATE + at)
    for at, noun in enumerate(("dog", "cat", "cow", "rain", "wind", "train", "bell", "drill"))
]
TAGGED = [
    make_clip(f"lib/{at}", "music", tags=(Tag("genre", genre), Tag("mood", mood)))
    for at, (genre, mood) in enumerate(
        [("rock", "happy"), ("hip hop", "happy"), ("classical", "calm"), ("jazz", "calm")] * 2
    )
]
SHORT = [level_clip("dog", (-20.0, -22.0, -30.0, -60.0), attacks=(1, 0, 0, 0), number=0)]
CLASSES = [
    make_clip(f"lib/{label}-{take}", f"class_{label}", frames=4 * RATE + 100 * take)
    for label in range(5)
    for take in range(3)
]
PLANS: dict[str, tuple[dict[str, Any], Sequence[Clip]]] = {
    "acba": ({"pairs": 48, "max_event_s": 2.5}, CAPTIONED),
    "attributes": ({"pairs": 30}, asked.PLAIN),
    "clips": ({}, [replace(clip, captions=(*clip.captions, "It is loud.")) for clip in CAPTIONED]),
    "counts": ({"repeats": 5}, SHORT),
    "edits": ({"pairs": 20}, [clip for clip in asked.clips() if clip.frames >= RATE]),
    "moments": ({"pairs": 3, "length_s": (20, 40)}, spread_clips(asked.SPREAD[:16])),
    "negation": ({}, TAGGED),
    "scenes": ({"scenes": 24}, spread_clips(asked.SPREAD[:16])),
    "tag_captions": ({}, TAGGED),
    "triplets": ({"repeats": 2, "max_event_s": 1.0, "style": "natural"}, CLASSES),
}


def test_there_is_a_plan_for_each_recipe() -> None:
    assert set(PLANS) == {
        name for name in recipe_names() if recipe_class(name).__module__.startswith("synth.")
    }


@cases("name", PLANS)
def test_a_group_is_a_pure_function_of_seed_split_and_index(name: str) -> None:
    settings, clips = PLANS[name]
    recipe = recipe_class(name)(**settings)
    setting = make_setting(TEN_S, least_frames=TEN_S if name == "edits" else 0)
    forward = plan(recipe, clips, setting)
    groups = pickle.loads(pickle.dumps(recipe.groups({"train": clips}, setting)["train"]))
    for index in reversed(range(len(groups))):
        assert list(groups.group(index)) == forward[index]
    assert plan(recipe, clips, replace(setting, randomness=Randomness(8))) != forward
    assert plan(recipe, clips, setting, "test") != forward


@cases(("name", "settings", "message"), CASES["settings"])
def test_bad_settings_are_refused(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        recipe_class(name)(**settings)


@cases("name", ["acba", "triplets"])
@cases(("max_event_s", "max_frames"), [(1.0, None), (0.5, None), (None, RATE)])
def test_events_too_short_for_the_crossfade_are_a_clear_error(
    name: str, max_event_s: float | None, max_frames: int | None
) -> None:
    # The setting passed, and planning ended in TruthError (a bug, to a user) or SceneError.
    recipe = recipe_class(name)(crossfade_s=1.0, max_event_s=max_event_s)
    with pytest.raises(PlanError, match="crossfade") as caught:
        recipe.check(make_setting(max_frames), ["train"])
    assert caught.value.fix
    with pytest.raises(SegueError, match="crossfade"):
        plan(recipe, PLANS[name][1], make_setting(max_frames))


@cases(
    ("name", "clip", "reason"),
    [
        ("acba", make_clip("a"), "no caption and 0 labels"),
        ("acba", make_clip("a", "dog", "cat"), "no caption and 2 labels"),
        ("acba", make_clip("a", "dog", frames=2 * RATE - 1), "crossfade of 1 s"),
        ("acba", make_clip("a", "dog"), ""),
        ("clips", make_clip("a", "dog", "cat"), "has no caption and 2 labels"),
        ("clips", make_clip("a", "dog"), ""),
        ("counts", replace(SHORT[0], labels=("dog", "cat")), "has 2 labels"),
        ("counts", SHORT[0], ""),
        ("edits", make_clip("a", "x", "y"), "2 labels; edits need exactly one"),
        ("negation", make_clip("a", "music"), "neither a caption nor a tag that fits into one"),
        ("negation", TAGGED[0], ""),
        ("scenes", make_clip("a", "x", "y"), "2 labels; scenes need exactly one"),
        ("scenes", make_clip("a", captions=("A dog",)), "0 labels"),
        ("scenes", make_clip("a", "Silence"), "'Silence', which names no sound"),
        ("scenes", make_clip("a", "man speaking after a song"), "has 'after' in its label"),
        ("scenes", make_clip("a", "Bark", frames=AUDIBLE - 1), "cannot be made out"),
        ("scenes", make_clip("a", "Bark", frames=AUDIBLE), ""),
        ("tag_captions", make_clip("a", "music"), "has no tag that fits into a caption"),
        ("tag_captions", TAGGED[0], ""),
        ("triplets", make_clip("a", "x", "y"), "2 labels"),
        ("triplets", make_clip("a", captions=("A dog",)), "0 labels"),
        ("triplets", make_clip("a", "x", frames=AUDIBLE - 1), "cannot be made out"),
        ("triplets", make_clip("a", "x"), ""),
    ],
)
def test_clips_that_cannot_be_used_are_refused_with_the_reason(
    name: str, clip: Clip, reason: str
) -> None:
    refusal = recipe_class(name)().refusal(clip, make_setting())
    assert (refusal is None) == (reason == "")
    assert reason in (refusal or "")


@cases(("name", "key"), [("acba", "pairs"), ("counts", "repeats"), ("scenes", "scenes")])
def test_counts_for_other_splits_are_refused(name: str, key: str) -> None:
    splits = ("train", "test")
    for counts in (8, {"test": 4, "train": 8}):
        recipe_class(name)(**{key: counts}).check(make_setting(), splits)
    for counts in ({"train": 4}, {"train": 4, "test": 4, "dev": 4}):
        with pytest.raises(PlanError, match="name the same splits"):
            recipe_class(name)(**{key: counts}).check(make_setting(), splits)


# What recipes share: excerpts that fall on the sound, gains within bounds, exact clip lengths.


def clip(frames: int, levels_db: tuple[float, ...] = (), loudness: float = -30.0) -> Clip:
    heard = envelope(frames, levels_db)
    return make_clip("lib/a", "dog", frames=frames, loudness_lufs=loudness, envelope=heard)


SETTING = make_setting()


def draw(item: Clip, longest: int | None, index: int = 0) -> tuple[int, int]:
    drawn = excerpt(item, longest, SETTING, Randomness(7).at("test", index))
    return drawn.start, drawn.frames


@given(
    st.lists(st.floats(-120, 0), min_size=1, max_size=60),
    st.integers(1, BLOCK),
    st.none() | st.integers(1, 60 * BLOCK),
    st.integers(0, 1000),
)
def test_an_excerpt_lies_inside_and_is_as_long_as_asked(
    levels: list[float], rest: int, longest: int | None, index: int
) -> None:
    item = clip((len(levels) - 1) * BLOCK + rest, tuple(levels))
    start, frames = draw(item, longest, index)
    assert frames == min(longest or item.frames, item.frames)
    assert 0 <= start <= item.frames - frames


@given(st.integers(0, 30), st.integers(0, 1000))
def test_an_excerpt_falls_on_the_loud_part_and_never_into_a_pause(at: int, index: int) -> None:
    levels = [-60.0] * 40
    levels[at : at + 10] = [-20.0] * 10
    start, frames = draw(clip(40 * BLOCK, tuple(levels)), 10 * BLOCK, index)
    heard = min(start + frames, (at + 10) * BLOCK) - max(start, at * BLOCK)
    assert heard >= frames / 2 - BLOCK


def test_takes_of_an_even_sound_vary() -> None:
    starts = {draw(clip(100 * BLOCK, (-20.0,) * 100), 10 * BLOCK, index)[0] for index in range(60)}
    assert len(starts) > 20


@cases(
    ("loudness", "max_gain_db", "gain"),
    [(-30.0, 20.0, 7.0), (-10.0, 20.0, -13.0), (-60.0, 20.0, 20.0), (-120.0, 0.0, 0.0)],
)
def test_every_event_is_brought_to_the_target_but_noise_is_not_raised(
    loudness: float, max_gain_db: float, gain: float
) -> None:
    where = make_setting(levels=Levels(-23.0, max_gain_db, 15.0))
    drawn = excerpt(clip(1000, loudness=loudness), None, where, Randomness(7).at("x", 0))
    assert drawn.gain_db == gain


def test_a_clip_that_is_too_short_is_told_why() -> None:
    for crossfade, least, reason in (
        (1000, 2000, "crossfade"),
        (0, AUDIBLE, "less than 0.1 s cannot be made out"),
    ):
        assert explain_too_short(clip(least), crossfade, SETTING) is None
        assert reason in str(explain_too_short(clip(least - 1), crossfade, SETTING))


def test_a_clip_of_a_row_has_the_length_that_the_bank_has() -> None:
    row = {
        "id": "lib/a",
        "labels": ["dog"],
        "captions": ["A dog"],
        "tags": [],
        "recording": "r",
        "sample_rate": 44_100,
        "onset": 100,
        "offset": 22_150,
        "loudness_lufs": -20.0,
        "peak_db": -3.0,
        "levels_db": [-20.0] * 10,
        "levels_dba": [-23.0] * 10,
    }
    assert clip_of_row(row, 48_000).frames == 24_000
    assert clip_of_row(row, 44_100).frames == 22_050
    heard = clip_of_row(row, 48_000).envelope
    assert isinstance(heard, StoredEnvelope)
    found = heard.read()
    assert found.levels_db == pytest.approx([-20.0] * 10)
    assert found.weighted_db == pytest.approx([-23.0] * 10)
    assert (found.block, found.frames) == (2205 * 48_000 / 44_100, 24_000)


def test_a_clip_that_was_never_heard_is_taken_to_be_steady() -> None:
    source = VocabularySource(labels="esc50", takes=1)
    clip = clip_of(source, next(iter(source.refs())), RATE)
    assert isinstance(clip.envelope, StoredEnvelope)
    heard = clip.envelope.read()
    for weighted in (False, True):
        energy = heard.energy(np.array([0.0, clip.frames]), weighted=weighted)
        assert energy == pytest.approx([0, clip.frames * heard.loudest[int(weighted)]])


def test_each_round_is_another_permutation() -> None:
    rounds = [permutation(Randomness(7), "a", index, 50) for index in range(3)]
    assert all(sorted(order.tolist()) == list(range(50)) for order in rounds)
    assert not np.array_equal(rounds[0], rounds[1])
    assert np.array_equal(rounds[0], permutation(Randomness(7), "a", 0, 50))


def test_a_sound_that_stays_far_below_the_others_is_refused() -> None:
    levels = Levels(target_lufs=-23.0, max_gain_db=20.0, max_below_db=15.0)
    assert levels.refusal(-58.0) is None
    assert levels.refusal(-59.0) == (
        "is too quiet: -59 LUFS, raised by 20 dB it is still 16 dB below the others"
    )


@cases(
    ("label", "style", "word"),
    [
        ("dog before cat", Style.NATURAL, "'before'"),
        ("Followed by me", Style.NATURAL, "'followed by'"),
        ("beforehand", Style.NATURAL, "None"),
        # It is said otherwise in natural style.
        ("Fill (with liquid)", Style.NATURAL, "None"),
        ("Fill (with liquid)", Style.PAPER, "'with'"),
    ],
)
def test_a_label_that_holds_a_relating_word_is_refused(label: str, style: Style, word: str) -> None:
    reason = str(explain_misleading(label, style))
    assert word in (reason if word == "None" else reason.lower())


# Dealing clips without replacement


LABELS = (
    "Bark", "Meow", "Moo", "Rain", "Siren", "Church bell", "Piano", "Snoring", "Laughter",
    "Motorcycle", "Helicopter", "Chainsaw", "Typing", "Applause", "Howl", "Thunder",
)  # fmt: skip


def clips(each: int = 12) -> tuple[Clip, ...]:
    return tuple(
        make_clip(f"{label}-{take}", label, frames=RATE) for label in LABELS for take in range(each)
    )


def dealer(found: tuple[Clip, ...], most: int = 13, seed: int = 7) -> ClipDealer:
    return ClipDealer(found, most, Randomness(seed), "deck")


@cases("most", [3, 5, 13])
def test_every_clip_is_dealt_once_before_any_is_dealt_again(most: int) -> None:
    deck = clips()
    made = dealer(deck, most)
    groups = len(made.sizes)
    left_out = []
    for round_ in range(3):
        hands = [made.hand(round_ * groups + place) for place in range(groups)]
        used = Counter(clip.id for hand in hands for clip in hand)
        assert set(used.values()) == {1}
        left_out.append({clip.id for clip in deck} - set(used))
        assert len(left_out[-1]) <= most
        sizes = Counter(map(len, hands))
        assert max(sizes) <= most
    assert not set.intersection(*left_out)


def test_sounds_of_a_hand_cannot_be_confused() -> None:
    made = dealer(clips())
    for index in range(len(made.sizes)):
        named = [clip.labels[0] for clip in made.hand(index)]
        assert not any(are_confusable(*pair) for pair in combinations(named, 2))


def test_hands_of_all_sizes_are_as_frequent() -> None:
    made = dealer(clips(40), 8)
    counts = Counter(len(made.hand(index)) for index in range(len(made.sizes)))
    assert set(counts) == set(range(3, 9))
    assert max(counts.values()) - min(counts.values()) <= 1


def test_a_hand_is_a_pure_function_of_its_number() -> None:
    made, other = dealer(clips()), dealer(clips())
    last = 2 * len(made.sizes)
    backwards = {index: made.hand(index) for index in range(last, -1, -3)}
    assert backwards == {index: other.hand(index) for index in sorted(backwards)}
    assert dealer(clips(), seed=8).hand(0) != made.hand(0)


def test_a_label_that_most_clips_bear_leaves_some_to_the_next_round() -> None:
    many = tuple(make_clip(f"Bark-{take}", "Bark", frames=RATE) for take in range(100, 400))
    made = dealer(clips(2) + many, 5)
    hands = [made.hand(index) for index in range(len(made.sizes))]
    used = Counter(clip.id for hand in hands for clip in hand)
    assert set(used.values()) == {1}
    assert all(sum(clip.labels[0] == "Bark" for clip in hand) <= 1 for hand in hands)


def test_too_few_clips_are_a_clear_error() -> None:
    with pytest.raises(PlanError, match="2 clips do not fill a group"):
        _ = dealer(clips()[:2]).sizes
