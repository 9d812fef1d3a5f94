"""Strips: parts of two sounds drawn many at once, beside the same composed and heard one by one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from synth.recipes.base import make_listener
from synth.recipes.composing import amplify_sound
from synth.recipes.evening import find_outlines
from synth.recipes.strips import Strip, draw_in_a_row, draw_together
from synth.scene.scene import Concat, Event, Excerpt, Overlay
from synth.truth.truth import Hearing
from tests.kit.planned import BLOCK, RATE, level_clip, make_setting

SETTING = make_setting()
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
                    excerpt = parts.take(row).heard
                    end = excerpt.start + excerpt.frames
                    last = max(at for at in clear if at * BLOCK < end)
                    assert excerpt.frames == parts.lengths[row] * BLOCK
                    assert last + 1 - parts.starts[row] >= 0.85 * parts.lengths[row]
