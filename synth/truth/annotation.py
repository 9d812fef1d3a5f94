"""Tags as facts: what a clip's tags add to a timeline, and the claims that captions make of them.

A tag holds of its whole clip. Whatever is not among the tags counts as absent: the closed world. It
is as good as the list of tags is complete; where tags are missing, "without guitar" is an
assumption, not a proof. Tags that a trusted caption states may be added to the list first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from synth.labels.tag import Tag
from synth.scene.claim import And, Claim, Not
from synth.scene.scene import Event
from synth.scene.timeline import Timeline


def annotate(timeline: Timeline, tags: Mapping[str, Iterable[str]]) -> Timeline:
    """The timeline, with a placement for every tag of each placement's clip.

    Args:
        timeline: Onsets and offsets in frames.
        tags: Names of the tags by clip id; a clip that is not in it has none. A name that the
            placement bears as its label already is not added.
    """
    added = (
        replace(place, label=name)
        for place in timeline.placements
        for name in dict.fromkeys(tags.get(place.excerpt.clip, ()))
        if name != place.label
    )
    return replace(timeline, placements=(*timeline.placements, *added))


def tag_claim(present: Sequence[Tag], absent: Sequence[Tag] = ()) -> Claim:
    """The claim that these tags hold, and those do not.

    Raises:
        ValueError: If there are no tags, as nothing would be claimed.
    """
    parts: list[Claim] = [Event(tag.name) for tag in present]
    parts += [Not(Event(tag.name)) for tag in absent]
    if not parts:
        raise ValueError("a claim needs a tag")
    return reduce(And, parts)
