"""Scenes, what is heard of them, and claims, at random or from text: in frames of 10 ms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from synth.scene.activity import Activity, Stretch, Stretches, cut, intersect, unite
from synth.scene.claim import And, Claim, Count, Measured, Not, Only, Quantity
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, labels, parse, statement
from synth.scene.timeline import Join, Placement, Timeline, duration, timeline

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


# From text


def read_heard(text: str) -> Timeline:
    """Sounds side by side, as "A 0-30 70-100 | B 10-50 ~ 5-60 x2 | 120".

    What is faint follows "~", how often a sound may be said to begin "x"; "|20|" is a crossfade
    from one sound to the next, and a number alone the length of all. Every sound is placed from
    the first frame to the last, so that only what is heard of it tells where it is.
    """
    first, *rest = re.split(r" (\|\d*\|?) ", text)
    sounds, joins, frames = [_read_sound(first)], [], 0
    for number, (bar, sound) in enumerate(zip(rest[::2], rest[1::2], strict=True), 1):
        if sound.isdigit():
            frames = int(sound)
            continue
        label, activity = _read_sound(sound)
        sounds.append((label, activity))
        if bar != "|":
            onset, crossfade = activity.faint[0].onset, int(bar.strip("|"))
            joins.append(Join(number - 1, number, number + 1, onset, crossfade))
    frames = max(frames, *(activity.faint[-1].offset for _, activity in sounds))
    placements = tuple(
        Placement(label, 0, frames, Excerpt(label, 0, frames), event, activity)
        for event, (label, activity) in enumerate(sounds)
    )
    return Timeline(placements, frames, tuple(joins))


def _read_sound(text: str) -> tuple[str, Activity]:
    found = re.fullmatch(r"(\w+)((?: \d+-\d+)*)(?: ~((?: \d+-\d+)+))?(?: x(\d))?", text)
    assert found, text
    label, *spans, onsets = found.groups()
    clear, faint = (
        tuple(Stretch(*map(int, span.split("-"))) for span in (each or "").split())
        for each in spans
    )
    return label, Activity(clear, faint or clear, None if onsets is None else int(onsets))


def read_claim(text: str) -> Claim:
    """A claim as "only A + B", "A and not B", "2 A" or "gap A B 200"."""
    word, _, rest = text.partition(" ")
    if word in ("not", "only"):
        return Not(read_claim(rest)) if word == "not" else Only(read_claim(rest))
    if " and " in text:
        first, _, second = text.partition(" and ")
        return And(read_claim(first), read_claim(second))
    if word.isdigit():
        return Count(Event(rest), int(word))
    if word in tuple(Quantity):
        *names, value = rest.split()
        return Measured(Quantity(word), tuple(map(Event, names)), int(value))
    return parse(text)
