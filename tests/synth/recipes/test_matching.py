"""Evening out: samples of a group that whoever knows no sound cannot tell apart."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from synth.captions.caption import Style
from synth.recipes.base import Clip, Draft, make_listener
from synth.recipes.composing import amplify_sound
from synth.recipes.counts import Counts
from synth.recipes.matching import (
    SPARE_S,
    Strip,
    compare,
    draw_in_a_row,
    draw_together,
    find_outlines,
    outline_all,
)
from synth.recipes.scenes import Scenes
from synth.recipes.triplets import Triplets
from synth.scene.scene import Concat, Event, Excerpt, Overlay
from synth.scene.timeline import delay, duration
from synth.truth.truth import Hearing
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
        assert draft.timeline is not None
        late = delay(draft.timeline, draft.lead)
        assert late.frames == draft.timeline.frames + draft.lead
        for place, moved in zip(draft.timeline.placements, late.placements, strict=True):
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
                assert part.played.clip == clip.id
                assert part.played.start % BLOCK == 0
                assert 0.85 * RATE <= part.played.frames <= RATE


# Strips: parts of two sounds drawn many at once, beside the same composed and heard one by one.


PAUSES: tuple[list[tuple[int, int]], ...] = ([], [(30, 6)], [(20, 3), (50, 12)])


def make_strips(seed: int) -> tuple[Strip, Strip]:
    """Two sounds of 2 to 5 s with more or fewer pauses."""
    rng = np.random.default_rng(seed)
    clips = []
    for label in ("rain", "siren"):
        levels = -25 + rng.normal(0, 3, int(rng.integers(40, 100)))
        for start, length in PAUSES[int(rng.integers(3))]:
            levels[start : start + length] = -90
        clips.append(level_clip(label, levels.tolist()))
    listener = make_listener(clips, SETTING)
    one, other = (
        Strip.of(Event(clip.labels[0], Excerpt(clip.id, 0, clip.frames, gain)), listener)
        for clip, gain in zip(clips, (0.0, 3.0), strict=True)
    )
    return one, other


def outline_naively(powers: np.ndarray) -> tuple[float, ...]:
    """What may be noticed of a scene, measured block by block."""
    blocks = range(len(powers))
    active = [at for at in blocks if powers[at] >= max(powers) * 10**-3.5]
    pauses = [b - a - 1 for a, b in pairwise(active) if b - a > 2]
    energy = sum(powers)
    centre = sum((at + 0.5) * powers[at] for at in blocks) / energy
    square = sum((at + 0.5 - centre) ** 2 * powers[at] for at in blocks) / energy
    third = -(-len(powers) // 3)
    tilt = 10 * np.log10(np.mean(powers[:third]) / np.mean(powers[-third:]))
    crest = 10 * np.log10(max(powers) / np.mean(powers))
    return (
        len(powers) * 0.05 / 0.03,
        len(active) / 8,
        len(pauses) / 0.5,
        max(pauses, default=0) / 4,
        abs(tilt) / 1.5,
        abs(centre / len(powers) - 0.5) / 0.03,
        square**0.5 / len(powers) / 0.007,
        square**0.5 / 4,
        crest / 0.75,
    )


@pytest.mark.parametrize("seed", range(12))
def test_parts_are_composed_as_the_listener_composes_them(seed: int) -> None:
    strips, rng = make_strips(seed), np.random.default_rng(seed)
    listener = strips[0].listener
    most = min(strip.extent for strip in strips)
    nests = draw_together(strips, most, SETTING.tolerance, rng)
    lengths = nests.lengths if len(nests.lengths) else np.array([most])
    rows = draw_in_a_row(strips, lengths, RATE // 4, 5 * RATE, rng)
    assert (rows.lengths * BLOCK <= 5 * RATE).all()
    assert len(rows.lengths)
    for pairs in (nests, rows):
        outlines = find_outlines(pairs.powers, pairs.lengths)
        for row, length in enumerate(pairs.lengths.tolist()):
            first = pairs.first.take(row)
            second = amplify_sound(pairs.second.take(row), float(pairs.gains_db[row]))
            scene: Concat | Overlay = Overlay(first, second, int(pairs.shifts[row]))
            if pairs is rows:
                scene = Concat(first, second, int(pairs.shifts[row]))
            powers = listener.powers(scene)
            assert len(powers) == length
            assert pairs.powers[row, :length] == pytest.approx(powers, rel=1e-6)
            assert not pairs.powers[row, length:].any()
            assert outlines[row] == pytest.approx(outline_naively(powers), rel=1e-4, abs=1e-6)


def test_of_parts_together_neither_comes_first() -> None:
    verdicts = []
    for seed in range(24):
        strips = make_strips(seed)
        most = min(strip.extent for strip in strips)
        nests = draw_together(strips, most, SETTING.tolerance, np.random.default_rng(seed))
        a, b = (Event(strip.sound.label) for strip in strips)
        for row in range(len(nests.lengths)):
            overlay = Overlay(nests.first.take(row), nests.second.take(row), int(nests.shifts[row]))
            hearing = Hearing(strips[0].listener.hear(overlay), SETTING.tolerance)
            orders = (Concat(a, b), Concat(b, a))
            verdicts.append(hearing.proves(Overlay(a, b)) and all(map(hearing.refutes, orders)))
    assert len(verdicts) > 100
    assert np.mean(verdicts) > 0.95


def test_parts_begin_where_asked_and_are_heard_for_most_of_their_length() -> None:
    rng = np.random.default_rng(0)
    for seed in range(12):
        for strip in make_strips(seed):
            heard = strip.listener.hear(strip.sound).placements[0].heard
            clear = [at for a, b in heard.clear for at in range(a // BLOCK, b // BLOCK)]
            assert strip.starts.tolist() == clear
            for starts in (strip.starts, strip.onsets):
                parts = strip.draw(rng.integers(1, 60, 32), starts, rng)
                drawn = np.flatnonzero(parts.lengths)
                assert len(drawn)
                assert set(parts.starts[drawn]) <= set(starts)
                for row in drawn.tolist():
                    excerpt = parts.take(row).played
                    end = excerpt.start + excerpt.frames
                    last = max(at for at in clear if at * BLOCK < end)
                    assert excerpt.frames == parts.lengths[row] * BLOCK
                    assert last + 1 - parts.starts[row] >= 0.85 * parts.lengths[row]
