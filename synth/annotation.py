"""Annotation: tags of a recording as sounds that last as long as it is heard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from synth.timeline import Placement, Timeline


def annotated(timeline: Timeline, tags: Mapping[str, Iterable[str]]) -> Timeline:
    """The timeline with a placement for every tag of every placement's clip.

    Claims about tags can then be judged like claims about sounds. A tag that a library leaves out
    counts as absent: what a claim denies is only as sure as the tag lists are complete.

    Args:
        timeline: What is heard.
        tags: Tags by clip id; clips without tags may be missing.
    """
    tagged = tuple(
        Placement(tag, place.onset, place.offset, place.excerpt)
        for place in timeline.placements
        for tag in tags.get(place.excerpt.clip, ())
    )
    return Timeline(timeline.placements + tagged, timeline.frames)
