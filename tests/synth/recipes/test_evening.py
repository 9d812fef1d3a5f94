"""Evening out: samples of a group that whoever knows no sound cannot tell apart."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from synth.captions.caption import Style
from synth.recipes.base import Clip, Draft, make_listener
from synth.recipes.counts import Counts
from synth.recipes.evening import SPARE_S, compare, outline_all
from synth.recipes.scenes import Scenes
from synth.recipes.strips import Strip
from synth.recipes.triplets import Triplets
from synth.scene.scene import Concat, Event, Excerpt, Overlay
from synth.scene.timeline import delay, duration
from tests.kit.planned import BLOCK, RATE, flatten, level_clip, make_setting, plan
from tests.synth.truth.oracle import judge_draft

SETTING = make_setting()
BARK = ((-25.0,) * 8, (1,) + (0,) * 7)


@cache
def library() -> tuple[Clip, ...]:
    """Sounds of 2 to 5 s: steady, pulsing, rising and falling ones."""
    rng = np.random.default_rng(0)
    clips = []
    for number, label in enumerate(("rain", "wind", "engine", "siren", "helicopter", "train")):
        for take in range(6):
            blocks = int(rng.integers(40, 100))
            levels = -25 + rng.normal(0, 2, blocks) + np.linspace(0, rng.uniform(-6, 6), blocks)
            if number % 3 == 0:
                levels[rng.integers(15, blocks - 5) :][:4] = -90
            clips.append(level_clip(label, levels.tolist(), number=take))
    return tuple(clips)


@cache
def groups(style: Style) -> list[list[Draft]]:
    return plan(Triplets(style=style, repeats=2), library(), SETTING)


def test_samples_of_a_group_are_of_one_length_and_hold_their_scene_anywhere() -> None:
    counts = plan(Counts(repeats=8), [level_clip("dog", *BARK[:1], attacks=BARK[1])])
    shares = []
    for group in (*groups(Style.NATURAL), *counts):
        assert len({draft.frames for draft in group}) == 1
        for draft in group:
            room = draft.frames - duration(draft.scene)
            assert 0 <= draft.lead <= room
            assert draft.lead % BLOCK == 0
            if room > 4 * BLOCK:
                shares.append(draft.lead / room)
    assert 0.35 < np.mean(shares) < 0.65
    assert all(draft.lead == draft.frames == 0 for draft in flatten(groups(Style.PAPER)))


def test_what_holds_of_a_scene_holds_of_the_sample_that_it_lies_in() -> None:
    for draft in flatten(groups(Style.NATURAL)[::5]):
        assert judge_draft(draft, RATE) == []
        assert draft.heard is not None
        late = delay(draft.heard, draft.lead)
        assert late.frames == draft.heard.frames + draft.lead
        for place, moved in zip(draft.heard.placements, late.placements, strict=True):
            assert moved.heard == place.heard.shift(draft.lead)
            assert (moved.onset, moved.frames) == (place.onset + draft.lead, place.frames)


def test_levels_are_drawn_alike() -> None:
    listener = make_listener(library(), SETTING)
    apart = []
    for forward, _, together in groups(Style.NATURAL):
        levels = [10 * np.log10(listener.powers(d.scene).sum()) for d in (forward, together)]
        apart.append(levels[1] - levels[0])
    assert abs(np.mean(apart)) < 0.7
    assert np.abs(apart).max() <= 6.1


@pytest.mark.parametrize("recipe", ["triplets", "scenes"])
def test_envelopes_of_a_group_are_alike_but_in_the_style_of_the_paper(recipe: str) -> None:
    listener = make_listener(library(), SETTING)

    def measure(style: Style) -> float:
        made = groups(style)
        if recipe == "scenes":
            made = plan(Scenes(scenes=80, max_events=2, style=style), library(), SETTING)
        unlike = [
            compare(first, other)
            for group in made
            for first, *others in [outline_all([draft.scene for draft in group], listener)]
            for other in others
        ]
        return float(np.median(unlike))

    assert measure(Style.NATURAL) < measure(Style.PAPER) / 2


def test_neither_length_nor_silence_tells_what_is_together_from_what_follows() -> None:
    rows, nests = [], []
    for group in plan(Scenes(scenes=240, max_events=3), library(), SETTING):
        first, *others = (duration(draft.scene) for draft in group)
        assert max(abs(other - first) for other in others) <= 2 * BLOCK
        longest = max(first, *others)
        assert group[0].frames == longest + round(SPARE_S * RATE)
        for draft in group:
            kind = nests if isinstance(draft.scene, Overlay) else rows
            kind.append((duration(draft.scene) - longest) / BLOCK)
    assert abs(np.mean(rows) - np.mean(nests)) < 0.3


def test_sounds_that_are_too_short_to_be_even_are_used_all_the_same() -> None:
    short = [level_clip(label, [-25.0] * 11) for label in ("rain", "wind", "siren", "train")]
    made = plan(Scenes(scenes=16, max_events=2), short, SETTING)
    assert {type(draft.scene) for draft in flatten(made)} == {Concat, Overlay}


def test_an_outline_is_that_of_the_levels() -> None:
    levels = [-20.0] * 10 + [-80.0] * 4 + [-20.0] * 10
    clip = level_clip("rain", levels)
    listener = make_listener([clip], SETTING)
    scene = Event("rain", Excerpt(clip.id, 0, clip.frames))
    length, active, pauses, longest, *others = outline_all([scene], listener)[0]
    assert (length * 0.03, active * 0.4) == pytest.approx((1.2, 1.0))
    assert (pauses * 0.5, longest * 0.2) == pytest.approx((1, 0.2))
    thirds, centre, spread, _, crest = others
    assert (thirds, centre) == pytest.approx((0, 0), abs=1e-6)
    powers = 10 ** (np.array(levels) / 10)
    assert crest * 0.75 == pytest.approx(10 * np.log10(powers.max() / powers.mean()))
    moments = np.arange(24) + 0.5
    expected = np.sqrt((powers * (moments - 12) ** 2).sum() / powers.sum()) / 24
    assert spread * 0.007 == pytest.approx(expected)
    twice = Concat(scene, replace(scene), -4 * BLOCK)
    assert outline_all([twice], listener)[0][2] * 0.5 == pytest.approx(3)


def test_parts_are_heard_for_about_as_long_as_asked() -> None:
    rng = np.random.default_rng(1)
    listener = make_listener(library(), SETTING)
    lengths = np.full(20, RATE // BLOCK)
    for clip in library():
        strip = Strip.of(Event(clip.labels[0], Excerpt(clip.id, 0, clip.frames)), listener)
        for starts in (strip.starts, strip.onsets):
            cuts = strip.draw(lengths, starts, rng)
            for part in map(cuts.take, range(len(lengths))):
                assert part.heard.clip == clip.id
                assert part.heard.start % BLOCK == 0
                assert 0.85 * RATE <= part.heard.frames <= RATE
