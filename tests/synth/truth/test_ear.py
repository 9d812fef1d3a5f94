"""The ear, against a slow listener who goes through a scene frame by frame."""

from __future__ import annotations

from itertools import groupby
from random import Random

import numpy as np
import pytest

from synth.base.errors import SceneError
from synth.scene.activity import Activity, Stretch, Stretches, hull
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.scene.timeline import Placement, duration, timeline
from synth.truth.ear import Ear, Envelope, Listener

RATE = 400
BLOCK = 20  # frames: 50 ms
QUIET = -100.0
LOUD = -20.0

Levels = tuple[float, ...]
"""In dB, one a block."""


def heard_by(levels: dict[str, Levels], ear: Ear | None = None) -> Listener:
    return Listener(
        ear or Ear(),
        RATE,
        {
            name: Envelope(each, tuple(level - 3 for level in each), BLOCK, BLOCK * len(each))
            for name, each in levels.items()
        },
    )


def sound(name: str, start: int, frames: int, gain_db: float = 0.0) -> Event:
    return Event(name, Excerpt(name, start, frames, gain_db))


def hear(scene: Scene, levels: dict[str, Levels], ear: Ear | None = None) -> list[Activity]:
    return [place.heard for place in heard_by(levels, ear).hear(scene).placements]


def blocks(*runs: tuple[int, int]) -> Stretches:
    return tuple(Stretch(BLOCK * start, BLOCK * end) for start, end in runs)


# The slow listener


def slow_powers(scene: Scene, levels: dict[str, Levels]) -> np.ndarray:
    """Mean square by event and block: every frame is looked up in its clip, raised and faded."""
    placed = timeline(scene)
    count = -(-placed.frames // BLOCK)
    powers = np.zeros((len(placed.placements), count))
    for number, place in enumerate(placed.placements):
        for frame in range(place.onset, place.offset):
            at = place.excerpt.start + frame - place.onset
            level = levels[place.excerpt.clip][at // BLOCK] + place.excerpt.gain_db
            powers[number, frame // BLOCK] += 10 ** (level / 10) / BLOCK
    for block in range(count):
        for join in placed.joins:
            if not join.crossfade:
                continue
            rising = min(max((BLOCK * (block + 0.5) - join.seam) / join.crossfade, 0.0), 1.0)
            for number in range(join.start, join.stop):
                fade = 1 - rising if number < join.middle else rising
                powers[number, block] *= fade**2
    return powers


def decibels(power: float) -> float:
    return 10 * float(np.log10(max(power, 1e-30)))


def runs_of(kinds: list[str], wanted: str) -> list[tuple[int, int]]:
    """The runs of blocks of the wanted kinds."""
    found, at = [], 0
    for is_wanted, run in groupby(kinds, key=lambda kind: kind in wanted):
        length = len(list(run))
        if is_wanted:
            found.append((at, at + length))
        at += length
    return found


def slow_hear(scene: Scene, levels: dict[str, Levels], ear: Ear) -> list[Activity]:
    placed, powers = timeline(scene), slow_powers(scene, levels)
    found = []
    for number, place in enumerate(placed.placements):
        first, last = place.onset // BLOCK, -(-place.offset // BLOCK)
        own = [decibels(powers[number, block]) for block in range(first, last)]
        every = [decibels(float(powers[:, block].sum())) for block in range(first, last)]
        peak = max(levels[place.excerpt.clip]) + place.excerpt.gain_db
        loudest = max(*own, peak)
        kinds = []
        for level, total in zip(own, every, strict=True):
            if level < loudest - ear.leave_db or level < total - ear.masked_db or level < -120:
                kinds.append("-")
            else:
                kinds.append("c" if level >= loudest - ear.clear_db else "s")
        clear = [run for run in runs_of(kinds, "cs") if "c" in kinds[slice(*run)]]
        while True:
            near = [
                at
                for at in range(len(clear) - 1)
                if (clear[at + 1][0] - clear[at][1]) / 20 < ear.pause_s
            ]
            if not near:
                break
            clear[near[0] : near[0] + 2] = [(clear[near[0]][0], clear[near[0] + 1][1])]
        clear = [(start, end) for start, end in clear if (end - start) / 20 >= ear.blip_s]
        faint = runs_of(
            ["f" if each >= max(own) - ear.faint_db and each >= -120 else "-" for each in own], "f"
        )
        bounds = (clip_runs(runs, first, place) for runs in (clear, faint))
        found.append(Activity(*bounds))
    return found


def clip_runs(runs: list[tuple[int, int]], first: int, place: Placement) -> Stretches:
    return tuple(
        Stretch(max(BLOCK * (first + start), place.onset), min(BLOCK * (first + end), place.offset))
        for start, end in runs
    )


def draw_levels(rng: Random) -> Levels:
    """A clip of up to 3 s: bursts, decays, pauses; off any border that the ear knows."""
    found: list[float] = []
    while len(found) < 40 or rng.randrange(3):
        level = rng.choice([-20, -22, -30, -41, -46, -52, -57, -80]) + rng.uniform(0.1, 0.4)
        found += [level] * rng.choice([1, 1, 2, 3, 8])
    return tuple(found[:60])


def draw_scene(rng: Random, names: list[str], levels: dict[str, Levels]) -> Scene:
    if len(names) == 1:
        whole = BLOCK * len(levels[names[0]])
        start = rng.randrange(whole // 2)
        frames = rng.randint(2 * BLOCK, whole - start)
        return sound(names[0], start, frames, rng.choice([0.0, 5.07, -8.03, -16.07]))
    middle = rng.randint(1, len(names) - 1)
    first, second = (draw_scene(rng, part, levels) for part in (names[:middle], names[middle:]))
    shorter = min(duration(first), duration(second))
    if rng.randrange(2):
        return Concat(first, second, rng.choice([0, rng.randint(0, shorter // 2)]))
    return Overlay(first, second, rng.randint(-200, 400))


@pytest.mark.parametrize("seed", range(80))
def test_the_ear_hears_what_the_slow_listener_hears(seed: int) -> None:
    rng = Random(seed)
    names = list("abcd")[: rng.randint(1, 4)]
    levels = {name: draw_levels(rng) for name in names}
    scene = draw_scene(rng, names, levels)
    listener = heard_by(levels)
    assert listener._powers(timeline(scene)) == pytest.approx(slow_powers(scene, levels), rel=1e-6)
    heard = listener.hear(scene)
    assert heard.joins == timeline(scene).joins
    assert [place.heard for place in heard.placements] == slow_hear(scene, levels, Ear())


def test_the_slow_listener_tells_ears_apart() -> None:
    """The random scenes hold pauses, blips, masking and steps of every height."""
    others = [
        Ear(clear_db=20), Ear(leave_db=26), Ear(faint_db=31), Ear(pause_s=0.2), Ear(blip_s=0.3),
        Ear(masked_db=40),
    ]  # fmt: skip
    told = [0] * len(others)
    for seed in range(40):
        rng = Random(seed)
        levels = {name: draw_levels(rng) for name in "abc"}
        scene = draw_scene(rng, list("abc"), levels)
        heard = hear(scene, levels)
        for number, ear in enumerate(others):
            told[number] += hear(scene, levels, ear) != heard
    assert min(told) >= 3


# The rules one by one


def test_what_is_20_db_below_all_that_is_heard_is_clear_nowhere_and_stays_faint() -> None:
    levels = {"a": (LOUD,) * 40, "b": (LOUD,) * 20}
    for below, is_heard in ((20.0, False), (16.0, False), (14.0, True), (0.0, True)):
        scene = Overlay(sound("a", 0, 800), sound("b", 0, 400, -below), 200)
        loud, soft = hear(scene, levels)
        assert soft.faint == blocks((10, 30))
        assert soft.clear == (blocks((10, 30)) if is_heard else ())
        assert loud == Activity(blocks((0, 40)), blocks((0, 40)))


def test_only_what_is_masked_is_missed() -> None:
    levels = {"a": (LOUD,) * 10, "b": (LOUD,) * 40}
    scene = Overlay(sound("b", 0, 800, -20.0), sound("a", 0, 200), 300)
    soft, _ = hear(scene, levels)
    assert soft.clear == blocks((0, 15), (25, 40))
    assert soft.faint == blocks((0, 40))


def test_two_soft_sounds_mask_a_third_together() -> None:
    levels = dict.fromkeys("abc", (LOUD,) * 20)
    alone = Overlay(sound("a", 0, 400), sound("c", 0, 400, -13.0))
    assert hear(alone, levels)[1].clear == blocks((0, 20))
    both = Overlay(Overlay(sound("a", 0, 400), sound("b", 0, 400)), sound("c", 0, 400, -13.0))
    assert hear(both, levels)[2].clear == ()


def test_a_crossfade_lowers_what_it_joins() -> None:
    levels = {"a": (LOUD,) * 40, "b": (LOUD,) * 40}
    scene = Concat(sound("a", 0, 800), sound("b", 0, 800), 400)
    powers = heard_by(levels)._powers(timeline(scene))
    before, after = (10 * np.log10(np.maximum(row, 1e-12)) - LOUD for row in powers)
    assert before[:20] == pytest.approx(0)
    assert after[40:] == pytest.approx(0)
    assert np.all(np.diff(before[20:40]) < 0)
    assert np.all(np.diff(after[20:40]) > 0)
    # In its middle either is heard at half of its amplitude.
    assert before[29:31].mean() == pytest.approx(-6, abs=0.1)
    assert after[29:31].mean() == pytest.approx(-6, abs=0.1)
    one, other = hear(scene, levels)
    # 15 dB below both together a sound is masked, but somebody may hear it to its end.
    assert hull(one.clear) == Stretch(0, 20 * 37)
    assert hull(other.clear) == Stretch(20 * 23, 60 * 20)
    assert hull(one.faint) == Stretch(0, 20 * 40)
    assert hull(other.faint) == Stretch(20 * 20, 60 * 20)


def test_pauses_are_bridged_and_blips_dropped() -> None:
    on, off = (LOUD,), (QUIET,)
    levels = {"a": on * 4 + off + on * 4 + off * 2 + on * 4 + off * 3 + on + off * 3 + on * 2}
    (heard,) = hear(sound("a", 0, BLOCK * 24), levels)
    assert heard.clear == blocks((0, 9), (11, 15), (22, 24))
    assert heard.faint == blocks((0, 4), (5, 9), (11, 15), (18, 19), (22, 24))


def test_a_stretch_begins_louder_than_it_goes_on() -> None:
    levels = {"a": (-47.0, -47.0, LOUD, -47.0, -52.0, -47.0, -56.0, -57.0)}
    (heard,) = hear(sound("a", 0, BLOCK * 8), levels)
    # Below 25 dB none begins, below 30 none goes on, below 35 nobody hears anything.
    assert heard.clear == blocks((0, 4))
    assert heard.faint == blocks((0, 6))


def test_excerpts_shift_levels() -> None:
    levels = {"a": (QUIET,) * 10 + (LOUD,) * 10 + (QUIET,) * 10}
    (whole,) = hear(sound("a", 0, 600), levels)
    assert whole.clear == whole.faint == blocks((10, 20))
    for start in (20, 60, 100):
        (heard,) = hear(sound("a", start, 400), levels)
        assert heard.clear == heard.faint == (Stretch(200 - start, 400 - start),)
    # Half a block is half as loud, and heard from its first frame on.
    (heard,) = hear(sound("a", 190, 200), levels)
    assert heard.clear == (Stretch(0, 200),)


def test_what_is_cut_from_a_clip_is_compared_with_the_whole_clip() -> None:
    """A faint tail is no sound that everybody hears because the loud part was cut away."""
    levels = {"a": (LOUD,) * 10 + (LOUD - 32,) * 20}
    (heard,) = hear(sound("a", 200, 400), levels)
    assert heard.clear == ()
    assert heard.faint == blocks((0, 20))


def test_gains_change_what_is_heard_beside_others_only() -> None:
    levels = {"a": (LOUD,) * 10 + (LOUD - 10,) * 10, "b": (LOUD,) * 40}
    assert hear(sound("a", 0, 400, -12.0), levels) == hear(sound("a", 0, 400), levels)
    loud, soft = (
        hear(Overlay(sound("b", 0, 800), sound("a", 0, 400, gain)), levels)[1]
        for gain in (0.0, -12.0)
    )
    assert loud == Activity(blocks((0, 20)), blocks((0, 20)))
    assert soft == Activity(blocks((0, 10)), blocks((0, 20)))


def test_levels_of_scenes_are_those_of_their_loudest_block() -> None:
    levels = {"a": (LOUD,) * 20, "b": (LOUD - 6,) * 40}
    listener = heard_by(levels)
    assert listener.loudest_weighted(sound("a", 0, 400)) == pytest.approx(LOUD - 3)
    assert listener.loudest_weighted(sound("b", 100, 400, 4.0)) == pytest.approx(LOUD - 5)
    both = Overlay(sound("a", 0, 400), sound("b", 0, 400))
    assert listener.loudest_weighted(both) == pytest.approx(LOUD - 3 + 0.97, abs=0.01)


def test_the_extent_of_a_scene_is_from_its_first_clear_sound_to_its_last() -> None:
    levels = {"a": (QUIET,) * 5 + (LOUD,) * 10 + (QUIET,) * 5, "b": (LOUD,) * 20}
    listener = heard_by(levels)
    assert listener.extent(sound("a", 0, 400)) == Stretch(100, 300)
    assert listener.extent(sound("a", 60, 200)) == Stretch(40, 200)
    assert listener.extent(Overlay(sound("a", 0, 400), sound("a", 0, 400), 50)) == Stretch(100, 350)
    assert listener.extent(Concat(sound("a", 0, 400), sound("b", 0, 400))) == Stretch(100, 800)


def test_a_clip_without_levels_is_a_clear_error() -> None:
    with pytest.raises(SceneError, match="'x'") as caught:
        heard_by({}).hear(sound("x", 0, 100))
    assert caught.value.fix
