"""Timelines of a few sounds: from labels and times, and any there may be."""

from __future__ import annotations

from hypothesis import strategies as st

from synth.scene.activity import Activity, Stretch, Stretches, cut, hull
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene
from synth.scene.timeline import Placement, Timeline, duration, timeline

NAMES = "PQRST"
FRAMES = 60
"""How long `heard_timelines` are."""


def line(*sounds: tuple[str, int, int]) -> Timeline:
    """Sounds by label, onset and offset."""
    places = tuple(
        Placement(label, on, off, Excerpt(f"clip-{label}", 0, off - on))
        for label, on, off in sounds
    )
    return Timeline(places, max(off for _, _, off in sounds))


def placed(*sounds: tuple[str, Stretches, Stretches]) -> Timeline:
    """Sounds by label, where they are clear and where they are faint."""
    places = []
    for at, (label, clear, faint) in enumerate(sounds):
        onset, offset = hull(faint) or (0, 1)
        excerpt = Excerpt("lib/a", 0, offset - onset)
        places.append(Placement(label, onset, offset, excerpt, at, Activity(clear, faint)))
    return Timeline(tuple(places), FRAMES)


@st.composite
def heard_timelines(draw: st.DrawFn, labels: tuple[str, ...]) -> Timeline:
    """Up to four sounds, each heard in parts, some of them clear."""
    sounds = []
    for label in draw(st.lists(st.sampled_from(labels), min_size=1, max_size=4)):
        edges = sorted(draw(st.sets(st.integers(0, FRAMES), max_size=8)))
        faint = tuple(Stretch(*pair) for pair in zip(edges[::2], edges[1::2], strict=False))
        first, last = sorted(draw(st.tuples(st.integers(0, FRAMES), st.integers(0, FRAMES))))
        sounds.append((label, cut(faint, first, last) if first < last else (), faint))
    return placed(*sounds)


@st.composite
def placed_scenes(draw: st.DrawFn, names: str = NAMES) -> Scene:
    """A scene in time of up to four sounds, with crossfades and places of any kind."""
    chosen = draw(st.permutations(names))[: draw(st.integers(1, 4))]

    def compose(part: list[str]) -> Scene:
        if len(part) == 1:
            return Event(part[0], Excerpt(part[0], 0, draw(st.integers(1, 12))))
        middle = draw(st.integers(1, len(part) - 1))
        first, second = compose(part[:middle]), compose(part[middle:])
        if draw(st.booleans()):
            fade = draw(st.integers(0, min(duration(first), duration(second), 3)))
            return Concat(first, second, fade)
        return Overlay(first, second, draw(st.integers(-4, 8)))

    return compose(chosen)


def any_timelines(names: str = NAMES) -> st.SearchStrategy[Timeline]:
    """Scenes in time, or sounds of which some bear one name."""
    sounds = st.tuples(st.sampled_from(names), st.integers(0, 14), st.integers(1, 10))
    lines = st.lists(sounds, min_size=1, max_size=6).map(
        lambda each: line(*((label, on, on + length) for label, on, length in each))
    )
    return st.one_of(placed_scenes(names).map(timeline), lines)
