"""Windows: when a sound is heard, where all listeners agree about it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

from synth.base.units import Frames
from synth.labels.lexicon import are_confusable
from synth.scene.activity import Stretch, Stretches, unite
from synth.scene.timeline import Timeline

CERTAIN: Final = 0.9
"""Share of what anybody hears of a sound in a window that everybody must hear."""


def find_windows(label: str, heard: Timeline, pause: Frames) -> Stretches | None:
    """When most listeners hear a sound; None where it is not heard, or some hear it otherwise.

    Everybody must hear it in the same windows, and at least `CERTAIN` of each of them. No other
    sound may be taken for it.

    Args:
        pause: Shorter pauses interrupt no window.
    """
    own = heard.of_label(label)
    events = {place.event for place in own}  # a tag of the same sound is no other sound
    for place in heard.placements:
        if place.event not in events and are_confusable(place.label, label):
            return None
    clear = _join((place.heard.clear for place in own), pause)
    likely = _join((place.heard.labelled for place in own), pause)
    faint = _join((place.heard.faint for place in own), pause)
    if not len(clear) == len(likely) == len(faint) > 0:
        return None
    for strict, loose in zip(clear, faint, strict=True):
        if not loose.onset <= strict.onset < strict.offset <= loose.offset:
            return None
        if strict.offset - strict.onset < CERTAIN * (loose.offset - loose.onset):
            return None
    return likely


def _join(stretches: Iterable[Stretches], pause: Frames) -> Stretches:
    """All stretches as one series, without the shorter pauses."""
    joined: list[Stretch] = []
    for stretch in unite(chain.from_iterable(stretches)):
        if joined and stretch.onset - joined[-1].offset < pause:
            stretch = Stretch(joined.pop().onset, stretch.offset)
        joined.append(stretch)
    return tuple(joined)
