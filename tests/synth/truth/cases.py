"""Scenes, what is heard of them, and claims, at random: in frames of 10 ms."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from synth.scene.activity import Activity, Stretch, Stretches, cut, intersect, unite
from synth.scene.claim import And, Claim, Not, Only
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, labels, statement
from synth.scene.timeline import Timeline, duration, timeline

AUDIBLE = 10
NAMES = "ABCD"


class SceneCase(NamedTuple):
    scene: Scene
    activities: tuple[Activity, ...]

    @property
    def heard(self) -> Timeline:
        return timeline(self.scene, self.activities)


def draw_case(rng: Random, sure: bool = False, most: int = 4) -> SceneCase:
    """A scene of up to `most` sounds; `sure` if all ears hear alike.

    Half of them lie on a coarse grid, so that what is compared is often equal.
    """
    size = rng.randint(1, most)
    names = rng.sample(NAMES, size) if rng.randrange(5) else rng.choices(NAMES, k=size)
    step = rng.choice([1, 1, 2, 5])
    scene = draw_scene(rng, names, step)
    heard = [
        draw_activity(rng, place.onset, place.offset, step, sure)
        for place in timeline(scene).placements
    ]
    return SceneCase(scene, tuple(heard))


def draw_scene(rng: Random, names: Sequence[str], step: int) -> Scene:
    """All the sounds, in this order, at multiples of a step."""
    if len(names) == 1:
        most = rng.choice([40, 300, 300, 900])
        return Event(names[0], Excerpt(names[0].lower(), 0, step * rng.randint(1, most // step)))
    middle = rng.randint(1, len(names) - 1)
    first, second = (draw_scene(rng, names[:middle], step), draw_scene(rng, names[middle:], step))
    if rng.randrange(2):
        longest = min(duration(first), duration(second))
        some = step * rng.randint(0, longest // step)
        return Concat(first, second, rng.choice([0, some, min(longest, 2 * step)]))
    most = rng.choice([0, 60, 300])
    return Overlay(first, second, step * rng.randint(-most // step, most // step))


def draw_activity(rng: Random, onset: int, offset: int, step: int, sure: bool) -> Activity:
    """What is heard from onset to offset: all, or some; clear, or in part faint, or all faint."""
    clear = draw_stretches(rng, onset, offset, step) or (Stretch(onset, offset),)
    kind = "clear" if sure else rng.choice(["clear", "wider", "more", "more", "faint"])
    if kind == "clear":
        return Activity(clear, clear)
    if kind == "faint":
        some = intersect(clear, draw_stretches(rng, onset, offset, step))
        return Activity(rng.choice([(), some]), clear)
    if kind == "wider":
        rim = step * rng.randint(1, 12)
        faint = unite(Stretch(a - rim, b + rim) for a, b in clear)
    else:
        faint = unite(clear + draw_stretches(rng, onset, offset, step))
    return Activity(clear, cut(faint, onset, offset))


def draw_stretches(rng: Random, onset: int, offset: int, step: int) -> Stretches:
    """Some of the time from onset to offset: little or much, often from its very start or end."""
    many = rng.choice([1, 1, 2, 3, 6])
    steps = range(onset // step, offset // step + 1)
    borders = sorted(step * each for each in rng.choices(steps, k=2 * many))
    if rng.randrange(3):
        borders[0] = onset
    if rng.randrange(3):
        borders[-1] = offset
    pairs = list(zip(borders[::2], borders[1::2], strict=True))
    if not rng.randrange(4):
        pairs = [(a, a + (b - a) // (4 * step) * step) for a, b in pairs]
    return unite(Stretch(a, b) for a, b in pairs if a < b)


def draw_claim(rng: Random, scene: Scene, depth: int = 2) -> Claim:
    """A claim about a scene; what it says is near the truth, as a caption's is."""
    kind = rng.randrange(9 if depth else 4)
    if kind == 0:
        return statement(scene)
    if kind < 4:
        return draw_statement(rng, scene)
    if kind < 6:
        return Not(draw_claim(rng, scene, depth - 1))
    if kind < 8:
        return Only(draw_claim(rng, scene, depth - 1))
    return And(draw_claim(rng, scene, depth - 1), draw_claim(rng, scene, depth - 1))


def draw_statement(rng: Random, scene: Scene) -> Scene:
    present = sorted(set(labels(scene)))
    names = rng.sample(present, rng.randint(1, len(present)))
    if not rng.randrange(4):
        names.append(rng.choice(NAMES))
    if len(names) == 1:
        names += rng.sample(present, 1) if rng.randrange(4) == 0 else []
    return _compose(rng, names)


def draw_pair(rng: Random, scene: Scene) -> Scene:
    """Two different sounds of the scene, if it has two, in either relation."""
    present = sorted(set(labels(scene)))
    names = rng.sample(present if len(present) > 1 else NAMES, 2)
    return _relate(rng, Event(names[0]), Event(names[1]))


def _compose(rng: Random, names: Sequence[str]) -> Scene:
    if len(names) == 1:
        return Event(names[0])
    middle = rng.randint(1, len(names) - 1)
    return _relate(rng, _compose(rng, names[:middle]), _compose(rng, names[middle:]))


def _relate(rng: Random, first: Scene, second: Scene) -> Scene:
    return Concat(first, second) if rng.randrange(2) else Overlay(first, second)
