"""What holds of every recipe: pure groups, settings and clips that are refused with the reason."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from synth.base.errors import PlanError, SegueError
from synth.base.rng import Randomness
from synth.labels.lexicon import Tag
from synth.recipes import recipe_class, recipe_names
from synth.recipes.base import Clip
from tests.kit import asked
from tests.kit.cases import cases
from tests.kit.planned import AUDIBLE, RATE, level_clip, make_clip, make_setting, plan, spread_clips
from tests.kit.tables import read_cases

CASES = read_cases("recipes/bad_settings.yaml")

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
