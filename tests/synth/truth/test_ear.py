"""The ear, against a slow listener who knows its rules, and looks every frame up."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby, product
from math import ceil, floor, log10, pi, sin, sqrt
from random import Random
from typing import NamedTuple

import pytest

from synth.base.errors import SceneError
from synth.scene.activity import Activity, Stretch, Stretches, hull
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.scene.timeline import Fade, Placement, Timeline, duration, timeline
from synth.truth.ear import Ear, Envelope
from synth.truth.listener import Listener
from tests.kit.cases import cases

RATE = 400
BLOCK = 20  # frames: 50 ms
WEIGHTING = 3.0
QUIET = -100.0
LOUD = -20.0

Levels = tuple[float, ...]
"""In dB, one a block."""


def weigh(levels: Mapping[str, Levels]) -> dict[str, Levels]:
    """The same, all of them softer."""
    return {name: tuple(level - WEIGHTING for level in each) for name, each in levels.items()}


def heard_by(
    levels: Mapping[str, Levels],
    ear: Ear | None = None,
    fade: Fade = Fade.LINEAR,
    weighted: Mapping[str, Levels] | None = None,
) -> Listener:
    weighted = weighted or weigh(levels)
    envelopes = {
        name: Envelope(each, weighted[name], BLOCK, BLOCK * len(each))
        for name, each in levels.items()
    }
    return Listener(ear or Ear(), RATE, envelopes, fade)


def sound(name: str, start: int, frames: int, gain_db: float = 0.0) -> Event:
    return Event(name, Excerpt(name, start, frames, gain_db))


def hear(
    scene: Scene,
    levels: Mapping[str, Levels],
    ear: Ear | None = None,
    fade: Fade = Fade.LINEAR,
    weighted: Mapping[str, Levels] | None = None,
) -> list[Activity]:
    return [place.heard for place in heard_by(levels, ear, fade, weighted).hear(scene).placements]


def blocks(*runs: tuple[int, int]) -> Stretches:
    return tuple(Stretch(BLOCK * start, BLOCK * end) for start, end in runs)


# The slow listener


class BlockPart(NamedTuple):
    """The part of a block that a sound plays in: how quiet and how loud it may be, in dB.

    What is `sure` is the loudest of its clip's blocks there that are heard to their ends.
    """

    quiet: float
    loud: float
    sure: float


SILENT = -300.0
ROUNDED_DB = 0.11
"""A distance of two levels that were rounded to 0.1 dB."""


def slow_parts(
    scene: Scene, levels: Mapping[str, Levels], fade: Fade
) -> list[dict[int, BlockPart]]:
    """How loud each event may be, by block: every frame of it is looked up in its clip."""
    placed = timeline(scene)
    found = []
    for number, place in enumerate(placed.placements):
        parts: dict[int, BlockPart] = {}
        for start in range(0, placed.frames, BLOCK):
            end = min(start + BLOCK, placed.frames)
            own = [frame for frame in range(start, end) if place.onset <= frame < place.offset]
            if not own:
                continue
            shift = place.excerpt.start - place.onset
            each = [levels[place.excerpt.clip][(frame + shift) // BLOCK] for frame in own]
            least, most = slow_fades(placed, number, range(start, end + 1), fade)
            loud = max(each) + place.excerpt.gain_db + decibels(most**2)
            least_levels = [
                level_after_cuts(number, levels[place.excerpt.clip], place.excerpt)
                for number in {(frame + shift) // BLOCK for frame in own}
            ]
            quiet = min(least_levels) + place.excerpt.gain_db + decibels(least**2)
            is_whole = len(own) == end - start
            sure = max(least_levels) + place.excerpt.gain_db + decibels(most**2)
            parts[start // BLOCK] = BlockPart(quiet if is_whole else SILENT, loud, sure)
        found.append(parts)
    return found


def level_after_cuts(number: int, levels: Levels, excerpt: Excerpt) -> float:
    """The least level that a block of a clip may have in an excerpt of it."""
    begins, ends = BLOCK * number, BLOCK * (number + 1)
    start, stop = excerpt.start, excerpt.start + excerpt.frames
    if begins < start or ends > stop:
        return SILENT
    ramps = [start + frame for frame in range(RATE // 200)] if start > 0 else []
    if stop < BLOCK * len(levels):
        ramps += [stop - 1 - frame for frame in range(RATE // 200)]
    is_ramped = any(begins <= frame < ends for frame in ramps)
    return levels[number] - (6 if is_ramped else 0)


def slow_fades(placed: Timeline, number: int, moments: range, fade: Fade) -> tuple[float, float]:
    """The least and the greatest gain that crossfades give an event at these moments."""
    least = most = 1.0
    for join in placed.joins:
        if join.crossfade > 0 and join.start <= number < join.stop:
            gains = []
            for moment in moments:
                come = min(max((moment - join.seam) / join.crossfade, 0.0), 1.0)
                part = come if number >= join.middle else 1 - come
                gains.append(part if fade is Fade.LINEAR else sin(part * pi / 2))
            least, most = least * min(gains), most * max(gains)
    return least, most


def slow_loudest(scene: Scene, levels: Mapping[str, Levels], fade: Fade) -> float:
    """Of the blocks, each with the fades in its middle, the level of the loudest."""
    placed = timeline(scene)
    totals = [0.0]
    for start in range(0, placed.frames, BLOCK):
        middle = start + BLOCK // 2
        total = 0.0
        for number, place in enumerate(placed.placements):
            gain, _ = slow_fades(placed, number, range(middle, middle + 1), fade)
            for frame in range(max(start, place.onset), min(start + BLOCK, place.offset)):
                at = place.excerpt.start + frame - place.onset
                level = levels[place.excerpt.clip][at // BLOCK] + place.excerpt.gain_db
                total += to_power(level) * gain**2 / BLOCK
        totals.append(total)
    return decibels(max(totals))


def decibels(power: float) -> float:
    return 10 * log10(power) if power > 0 else SILENT


def to_power(level: float) -> float:
    return float(10 ** (level / 10))


def find_runs(marked: list[bool]) -> list[range]:
    found, at = [], 0
    for is_marked, run in groupby(marked):
        length = len(list(run))
        if is_marked:
            found.append(range(at, at + length))
        at += length
    return found


def fill_pauses(marked: list[bool], ear: Ear) -> list[bool]:
    filled = list(marked)
    for pause in find_runs([not each for each in marked]):
        is_between = any(marked[: pause.start]) and any(marked[pause.stop :])
        if is_between and len(pause) / 20 < ear.pause_s:
            filled[pause.start : pause.stop] = [True] * len(pause)
    return filled


def is_masked(own: float, rest: list[float], ear: Ear) -> bool:
    """Whether a level lies too far below the mix, be it in step with the rest."""
    amplitude = 10 ** (own / 20)
    mix = amplitude + sqrt(sum(to_power(level) for level in rest))
    return own < 20 * log10(mix) - ear.masked_db


def slow_marks(
    scene: Scene, levels: Mapping[str, Levels], ear: Ear, fade: Fade
) -> list[tuple[dict[int, bool], dict[int, bool]]]:
    """Which blocks of each event are clear by levels of one weighting, and which are faint."""
    every = slow_parts(scene, levels, fade)
    marks = []
    for number, place in enumerate(timeline(scene).placements):
        own = every[number]
        peak = max(levels[place.excerpt.clip]) + place.excerpt.gain_db
        stays, begins = [], []
        for block, (quiet, _, _) in own.items():
            rest = [
                parts[block].loud
                for other, parts in enumerate(every)
                if other != number and block in parts
            ]
            stays.append(
                quiet >= max(peak - ear.leave_db + ROUNDED_DB, -120)
                and not is_masked(quiet, rest, ear)
            )
            begins.append(quiet >= peak - ear.clear_db + ROUNDED_DB)
        for run in find_runs(stays):
            if not any(begins[block] for block in run):
                stays[run.start : run.stop] = [False] * len(run)
        loudest = max(each.sure for each in own.values())
        near = [
            each.loud >= max(loudest - ear.faint_db - ROUNDED_DB, -120) for each in own.values()
        ]
        clear, faint = (fill_pauses(each, ear) for each in (stays, near))
        marks.append((dict(zip(own, clear, strict=True)), dict(zip(own, faint, strict=True))))
    return marks


def slow_hear(
    scene: Scene,
    levels: Mapping[str, Levels],
    ear: Ear,
    fade: Fade = Fade.LINEAR,
    weighted: Mapping[str, Levels] | None = None,
) -> list[Activity]:
    placed = timeline(scene)
    plain, softer = (
        slow_marks(scene, each, ear, fade) for each in (levels, weighted or weigh(levels))
    )
    activities = []
    for number, place in enumerate(placed.placements):
        (clear, faint), (clear_weighted, faint_weighted) = plain[number], softer[number]
        first = min(clear)
        by_both = [clear[block] and clear_weighted[block] for block in clear]
        by_either = [faint[block] or faint_weighted[block] for block in faint]
        runs = [
            run
            for run in find_runs(by_both)
            if min(BLOCK * (first + run.stop), placed.frames) - BLOCK * (first + run.start)
            >= ear.blip_s * RATE
        ]
        activities.append(
            Activity(
                to_stretches(runs, first, place),
                to_stretches(find_runs(fill_pauses(by_either, ear)), first, place),
            )
        )
    return activities


def to_stretches(runs: list[range], first: int, place: Placement) -> Stretches:
    return tuple(
        Stretch(
            max(BLOCK * (first + run.start), place.onset),
            min(BLOCK * (first + run.stop), place.offset),
        )
        for run in runs
    )


def draw_levels(rng: Random) -> Levels:
    """A clip of up to 3 s: bursts, decays, pauses; off any border that the ear knows."""
    found: list[float] = []
    while len(found) < 40 or rng.randrange(3):
        level = rng.choice([-20, -22, -30, -41, -46, -52, -57, -80]) + rng.uniform(0.1, 0.4)
        found += [level] * rng.choice([1, 1, 2, 3, 8])
    return tuple(found[:60])


def draw_weighted(rng: Random, levels: Mapping[str, Levels]) -> dict[str, Levels]:
    """The A-weighted levels of clips: hum, voices and hiss by turns."""
    weighted = {}
    for name, each in levels.items():
        shifts: list[float] = []
        while len(shifts) < len(each):
            shifts += [rng.choice([-31.57, -6.03, 1.03])] * rng.choice([1, 2, 5, 40])
        weighted[name] = tuple(map(sum, zip(each, shifts, strict=False)))
    return weighted


def draw_frames(rng: Random, least: int, most: int) -> int:
    """A number of frames, every other time one of whole blocks."""
    frames = rng.randint(least, most)
    return max(least, frames // BLOCK * BLOCK) if rng.randrange(2) else frames


def draw_scene(rng: Random, names: list[str], levels: Mapping[str, Levels]) -> Scene:
    if len(names) == 1:
        whole = BLOCK * len(levels[names[0]])
        start = draw_frames(rng, 0, whole // 2)
        frames = draw_frames(rng, 2 * BLOCK, whole - start)
        return sound(names[0], start, frames, rng.choice([0.0, 5.07, -8.03, -16.07]))
    middle = rng.randint(1, len(names) - 1)
    first, second = (draw_scene(rng, part, levels) for part in (names[:middle], names[middle:]))
    shorter = min(duration(first), duration(second))
    if rng.randrange(2):
        return Concat(first, second, rng.choice([0, draw_frames(rng, 0, shorter // 2)]))
    return Overlay(first, second, draw_frames(rng, -200, 400))


@cases("seed", range(60))
def test_the_ear_hears_what_the_slow_listener_hears(seed: int) -> None:
    rng = Random(seed)
    names = list("abcd")[: rng.randint(1, 4)]
    levels = {name: draw_levels(rng) for name in names}
    scene = draw_scene(rng, names, levels)
    fade = rng.choice(list(Fade))
    weighted = draw_weighted(rng, levels)
    listener = heard_by(levels, fade=fade, weighted=weighted)
    heard = listener.hear(scene)
    assert heard.joins == timeline(scene).joins
    activities = [place.heard for place in heard.placements]
    assert activities == slow_hear(scene, levels, Ear(), fade, weighted)
    loudest = slow_loudest(scene, weighted, fade)
    assert listener.loudest_weighted(scene) == pytest.approx(loudest, abs=1e-6)


@cases("seed", range(12))
def test_of_many_sounds_each_is_heard_as_the_slow_listener_hears_it(seed: int) -> None:
    rng = Random(seed)
    names = list("abcdefghijklmnopqrst")
    levels = {name: draw_levels(rng) for name in names}
    scene: Scene | None = None
    while names:
        some = [names.pop() for _ in range(min(rng.randint(1, 3), len(names)))]
        part = draw_scene(rng, some, levels)
        if scene is not None:
            shorter = min(duration(scene), duration(part))
            joins = [-draw_frames(rng, 1, 40 * BLOCK), 0, draw_frames(rng, 0, shorter // 2)]
            part = Concat(scene, part, rng.choice(joins))
        scene = part
    assert scene is not None
    fade, weighted = rng.choice(list(Fade)), draw_weighted(rng, levels)
    activities = hear(scene, levels, fade=fade, weighted=weighted)
    assert activities == slow_hear(scene, levels, Ear(), fade, weighted)


def test_the_slow_listener_tells_ears_apart() -> None:
    """The random scenes hold pauses, blips, masking and steps of every height."""
    others = [
        Ear(clear_db=20), Ear(leave_db=29), Ear(faint_db=31), Ear(pause_s=0.2), Ear(blip_s=0.3),
        Ear(masked_db=40),
    ]  # fmt: skip
    told, alone = [0] * len(others), [0, 0]
    for seed in range(40):
        rng = Random(seed)
        levels = {name: draw_levels(rng) for name in "abc"}
        weighted = draw_weighted(rng, levels)
        scene = draw_scene(rng, list("abc"), levels)
        plain = slow_hear(scene, levels, Ear(), weighted=weighted)
        for number, each in enumerate((levels, weighted)):
            alone[number] += slow_hear(scene, each, Ear(), weighted=each) != plain
        for number, ear in enumerate(others):
            heard = slow_hear(scene, levels, ear, weighted=weighted)
            assert hear(scene, levels, ear, weighted=weighted) == heard
            told[number] += heard != plain
    assert min(told + alone) >= 3


# The rules one by one

ON, OFF = (LOUD,), (QUIET,)
CLIPS = {
    "2 s": ON * 40,
    "1 s": ON * 20,
    "0.5 s": ON * 10,
    "middle": OFF * 10 + ON * 10 + OFF * 10,
    "bursts": ON * 4 + OFF + ON * 4 + OFF * 2 + ON * 4 + OFF * 3 + ON + OFF * 3 + ON * 2,
    "steps": (-47.0, -47.0, LOUD, -47.0, -52.0, -47.0, -56.0, -57.0),
    "late bark": (LOUD - 40,) * 10 + ON * 4,
    "tail": ON * 10 + (LOUD - 32,) * 20,
    "softer": ON * 10 + (LOUD - 10,) * 10,
}


def clip(name: str, gain_db: float = 0.0) -> Event:
    """All of a clip."""
    return sound(name, 0, BLOCK * len(CLIPS[name]), gain_db)


def frames(start: int, end: int) -> Stretches:
    return (Stretch(start, end),)


JOINED = Concat(clip("2 s"), clip("2 s"), 400)
"""Amplitudes fall from 1 to 0 from block 20 to 40, and rise."""

RULES: list[tuple[str, Scene, Ear, int, Stretches, Stretches]] = [
    *(("a sound far below another stays faint", Overlay(clip("2 s"), clip("1 s", -below), 200),
       Ear(), 1, clear, blocks((10, 30)))
      for below, clear in ((20, ()), (14, ()), (13, blocks((10, 30))), (0, blocks((10, 30))))),
    ("and the other is clear", Overlay(clip("2 s"), clip("1 s", -20), 200), Ear(), 0,
     blocks((0, 40)), blocks((0, 40))),
    ("only what is masked is missed", Overlay(clip("2 s", -20), clip("0.5 s"), 300), Ear(), 0,
     blocks((0, 15), (25, 40)), blocks((0, 40))),
    # In step with the rest, what lies 14 dB below it lies 15.6 dB below both together.
    *(("the loudest mix that may arise masks", Overlay(clip("1 s"), clip("1 s", -below)),
       Ear(masked_db=masked_db), 1, clear, blocks((0, 20)))
      for below, masked_db, clear in ((14, 15.5, ()), (14, 15.7, blocks((0, 20))), (0, 5.9, ()))),
    ("one soft sound does not mask another", Overlay(clip("1 s"), clip("1 s", -12)), Ear(), 1,
     blocks((0, 20)), blocks((0, 20))),
    ("two do", Overlay(Overlay(clip("1 s"), clip("1 s")), clip("1 s", -12)), Ear(), 2,
     (), blocks((0, 20))),
    # What is clear is so in all of a block, what is faint in any part of it.
    *(row for below, clear, faint in ((2.2, 24, 25), (6.2, 30, 31), (12.2, 35, 36), (25.9, 38, 39))
      for row in (
          ("a crossfade lowers what goes", JOINED, Ear(below, below, below, masked_db=99), 0,
           blocks((0, clear)), blocks((0, faint))),
          ("a crossfade lowers what comes", JOINED, Ear(below, below, below, masked_db=99), 1,
           blocks((60 - clear, 60)), blocks((60 - faint, 60))))),
    # 15 dB below both together a sound is masked, but somebody may hear it to its end.
    ("what goes is masked in the end", JOINED, Ear(), 0, blocks((0, 36)), blocks((0, 40))),
    ("what comes is masked at first", JOINED, Ear(), 1, blocks((24, 60)), blocks((20, 60))),
    *(("a sound may be silent where it fills a block in part",
       Overlay(clip("2 s"), sound("0.5 s", 0, end - start), start), Ear(), 1, blocks(clear),
       frames(start, end))
      for start, end, clear in ((200, 400, (10, 20)), (201, 401, (11, 20)), (219, 419, (11, 20)),
                                (200, 399, (10, 19)))),
    ("pauses are bridged and blips dropped", clip("bursts"), Ear(), 0,
     blocks((0, 9), (11, 15), (22, 24)), blocks((0, 9), (11, 15), (18, 19), (22, 24))),
    # Below 25 dB none begins, below 35 nobody hears anything; where asked, below 30 none goes on.
    ("a stretch begins louder than it goes on", clip("steps"), Ear(leave_db=30), 0,
     blocks((0, 4)), blocks((0, 6))),
    *(("excerpts shift levels", sound("middle", start, 400), Ear(), 0,
       frames(200 - start, 400 - start), frames(200 - start, 400 - start))
      for start in (0, 20, 60, 100)),
    # All of the sound of a block may lie where an excerpt cuts it off.
    *(("a part of a block may be its silence", sound("1 s", start, length), Ear(), 0,
       frames(*clear), frames(0, length))
      for start, length, clear in ((1, 399, (20, 399)), (0, 399, (0, 380)), (20, 380, (0, 380)))),
    # Of the bark a half block is left: that may be what is before.
    ("what an excerpt cuts hides nothing", sound("late bark", 0, 210), Ear(), 0, (),
     frames(0, 210)),
    ("what it does not cut does", sound("late bark", 0, 220), Ear(), 0, (), frames(0, 220)),
    ("and more, if it does not lower it", sound("late bark", 0, 240), Ear(), 0,
     frames(200, 240), frames(200, 240)),
    *(("over two blocks a sound is as quiet as the one and as loud as the other",
       sound("middle", start, 240), Ear(), 0, blocks((1, 10)), blocks((0, 11)))
      for start in (181, 190, 199)),
    ("what is cut from a clip is compared with the whole clip", sound("tail", 200, 400), Ear(), 0,
     (), blocks((0, 20))),
    *(("alone a sound is heard with any gain", clip("softer", gain), Ear(), 0,
       blocks((0, 20)), blocks((0, 20))) for gain in (0, -12)),
    ("beside others with its own", Overlay(clip("2 s"), clip("softer")), Ear(), 1,
     blocks((0, 20)), blocks((0, 20))),
    ("but not with less", Overlay(clip("2 s"), clip("softer", -12)), Ear(), 1,
     blocks((0, 10)), blocks((0, 20))),
]  # fmt: skip


@cases(("rule", "scene", "ear", "number", "clear", "faint"), RULES)
def test_the_rules(
    rule: str, scene: Scene, ear: Ear, number: int, clear: Stretches, faint: Stretches
) -> None:
    assert hear(scene, CLIPS, ear)[number] == Activity(clear, faint), rule


def test_rounding_to_whole_frames_moves_no_block() -> None:
    """At 22.05 kHz a block has 1102.5 frames."""
    rate, block = 22_050, 1102.5
    levels = (QUIET,) * 7 + (LOUD,) * 9 + (QUIET,) * 4
    envelope = Envelope(levels, levels, block, 22_050)
    bed = Envelope((LOUD - 9,) * 40, (LOUD - 9,) * 40, block, 44_100)
    listener = Listener(Ear(), rate, {"a": envelope, "bed": bed})
    for start, onset in product(range(8), range(5)):
        rounded = ((floor(number * block), ceil(number * block)) for number in (start, onset))
        for first, at in product(*rounded):
            scene = Overlay(sound("bed", 0, 44_100), sound("a", first, 22_050 - first), at)
            _, heard = listener.hear(scene).placements
            for found in (hull(heard.heard.clear), hull(heard.heard.faint)):
                assert found is not None
                assert found.onset == pytest.approx((7 - start + onset) * block, abs=1)
                assert found.offset == pytest.approx((16 - start + onset) * block, abs=1)


def test_gains_of_equal_power_are_heard_longer() -> None:
    levels = {"a": (LOUD,) * 40, "b": (LOUD,) * 40}
    scene = Concat(sound("a", 0, 800), sound("b", 0, 800), 400)
    for below_db, linear, equal in ((6.1, 31, 34), (12.1, 36, 37)):
        ear = Ear(below_db, below_db, below_db, masked_db=99)
        assert hear(scene, levels, ear)[0].faint == blocks((0, linear))
        assert hear(scene, levels, ear, Fade.EQUAL_POWER)[0].faint == blocks((0, equal))


def heard_at(levels: Levels, block: float, whole: int, start: int, frames: int) -> Activity:
    """How an excerpt of one clip is heard alone."""
    listener = Listener(Ear(), RATE, {"a": Envelope(levels, levels, block, whole)})
    (place,) = listener.hear(sound("a", start, frames)).placements
    return place.heard


def test_the_rest_of_a_block_at_the_end_is_as_loud_and_as_long_as_it_is() -> None:
    # 51 ms are no 100 ms.
    for frames, is_heard in ((119, False), (120, True)):
        end = heard_at((QUIET,) * 4 + (LOUD,) * 2, BLOCK, frames, 0, frames)
        assert bool(end.clear) == is_heard
    # A click of 2.5 ms, of which a whole block would be 13 dB softer, hides nothing.
    for frames, onset in ((81, 0), (100, 80)):
        click = heard_at((LOUD - 40,) * 4 + (LOUD,), BLOCK, frames, 0, frames)
        assert click.faint == (Stretch(onset, frames),)
    assert heard_at((LOUD,) * 20, BLOCK, 395, 0, 395) == Activity.throughout(0, 395)
    assert heard_at((LOUD,), 1000.0, 1000, 107, 333) == Activity.throughout(0, 333)


def test_levels_of_scenes_are_those_of_their_loudest_block() -> None:
    listener = heard_by({"a": (LOUD,) * 20, "b": (LOUD - 6,) * 40})
    assert listener.loudest_weighted(sound("a", 0, 400)) == pytest.approx(LOUD - 3)
    assert listener.loudest_weighted(sound("b", 100, 400, 4.0)) == pytest.approx(LOUD - 5)
    both = Overlay(sound("a", 0, 400), sound("b", 0, 400))
    assert listener.loudest_weighted(both) == pytest.approx(LOUD - 3 + 0.97, abs=0.01)
    with pytest.raises(SceneError, match="'x'") as caught:
        listener.hear(sound("x", 0, 100))
    assert caught.value.fix


@cases(
    ("scene", "onset", "offset"),
    [
        (sound("a", 0, 400), 100, 300),
        (sound("a", 60, 200), 40, 200),
        (Overlay(sound("a", 0, 400), sound("a", 0, 400), 50), 100, 350),
        (Concat(sound("a", 0, 400), sound("b", 0, 400)), 100, 800),
    ],
)
def test_the_extent_of_a_scene_is_from_its_first_clear_sound_to_its_last(
    scene: Scene, onset: int, offset: int
) -> None:
    levels = {"a": (QUIET,) * 5 + (LOUD,) * 10 + (QUIET,) * 5, "b": (LOUD,) * 20}
    assert heard_by(levels).extent(scene) == Stretch(onset, offset)
