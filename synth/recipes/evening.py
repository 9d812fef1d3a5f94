"""Evening out: nothing but the sounds and how they are composed tells the samples of a group apart.

Else length, silence, level and pauses tell "while" from "before", and no sound need be known. Of
several ways to cut the same recordings that one is chosen whose envelope is most like another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
from jaxtyping import Bool, Float

from synth.base.units import Decibels, Frames
from synth.recipes.base import Draft, Setting, retake
from synth.recipes.composing import amplify
from synth.scene.activity import Stretch, cut, hull
from synth.scene.scene import Event, Scene
from synth.scene.timeline import Timeline, duration
from synth.truth.ear import BLOCK_S
from synth.truth.listener import Listener

ALIKE: Final = 4.0
"""Envelopes that are no further apart (`compare`) tell nothing."""

_SPREAD_DB: Final[Decibels] = 3.0
"""So far up or down a sample's level may lie from the mean of its group."""

_ACTIVE_DB: Final[Decibels] = 35.0
"""What lies further below the loudest block counts as silence."""

_PAUSE_BLOCKS: Final = 2
"""Shorter pauses count for nothing."""

_PLACES: Final = 8
_FILLED: Final = 0.85

Outline = Float[np.ndarray, " 8"]


def outline(scene: Scene, listener: Listener) -> Outline:
    """What whoever knows no sound may notice of a scene, in units of what nobody notices.

    Active time, number of pauses and the longest, unlike levels of the first and the last third,
    distance of the centre of energy from the middle, spread around it, and how far the loudest
    block lies above the mean.
    """
    powers = listener.powers(scene)
    blocks = len(powers)
    stretches = _find_active(powers >= powers.max() * 10 ** (-_ACTIVE_DB / 10))
    pauses = [after.onset - before.offset for before, after in pairwise(stretches)]
    pauses = [pause for pause in pauses if pause >= _PAUSE_BLOCKS]
    moments = np.arange(blocks) + 0.5
    centre = np.average(moments, weights=powers)
    spread = np.sqrt(np.average(np.square(moments - centre), weights=powers))
    third = -(-blocks // 3)
    thirds = powers[:third].mean() / powers[-third:].mean()
    return np.array(
        (
            sum(offset - onset for onset, offset in stretches) * BLOCK_S / 0.4,
            len(pauses) / 0.5,
            max(pauses, default=0) * BLOCK_S / 0.2,
            abs(10 * np.log10(thirds)) / 1.5,
            abs(centre / blocks - 0.5) / 0.03,
            spread / blocks / 0.007,
            spread * BLOCK_S / 0.2,
            10 * np.log10(powers.max() / powers.mean()) / 1.5,
        )
    )


def _find_active(active: Bool[np.ndarray, " blocks"]) -> list[Stretch]:
    edges = np.flatnonzero(np.diff(active, prepend=False, append=False)).tolist()
    return [Stretch(*pair) for pair in zip(edges[::2], edges[1::2], strict=True)]


def compare(one: Outline, other: Outline) -> float:
    """How far two outlines are apart; 0 if they are equal."""
    return float(np.abs(one - other).sum())


def draw_part(
    event: Event,
    length: float,
    listener: Listener,
    rng: np.random.Generator,
    *,
    from_onset: bool = False,
) -> Event | None:
    """A part of an event that is heard for about so long; None where none is found.

    Args:
        length: In frames.
        from_onset: Whether it begins where a stretch does in which the event is clear.
    """
    excerpt = event.heard
    block = BLOCK_S * listener.rate
    # What is left of a block that is cut is not known.
    frames = round(max(round(length / block), 1) * block)
    (place,) = listener.hear(event).placements
    clear = place.heard.clear
    if not clear:
        return None
    starts: Sequence[float] | Float[np.ndarray, " starts"] = (
        [stretch.onset for stretch in clear]
        if from_onset
        else np.concatenate([np.arange(-(-a // block), -(-b // block)) for a, b in clear]) * block
    )
    for at in rng.permutation(len(starts))[:_PLACES]:
        start = round(starts[at])
        end = min(start + frames, excerpt.frames)
        extent = hull(cut(clear, start, end))
        if extent and extent.offset - extent.onset >= _FILLED * length:
            return retake(event, start=excerpt.start + start, frames=end - start)
    return None


def even_out(
    drafts: Sequence[Draft], listener: Listener, setting: Setting, rng: np.random.Generator
) -> list[Draft]:
    """The samples of a group in one length, each at a place and a level drawn alike."""
    frames = max(setting.least_frames, *(duration(draft.scene) for draft in drafts))
    energies = [float(listener.powers(draft.scene).sum()) for draft in drafts]
    levels = 10 * np.log10(energies)
    evened = []
    for draft, gain in zip(drafts, (levels.mean() - levels).tolist(), strict=True):
        gain_db = round(gain + float(rng.uniform(-_SPREAD_DB, _SPREAD_DB)), 1)
        evened.append(
            replace(
                draft,
                scene=amplify(draft.scene, gain_db),
                heard=draft.heard and _amplify_heard(draft.heard, gain_db),
                lead=_draw_lead(frames - duration(draft.scene), setting.rate, rng),
                frames=frames,
            )
        )
    return evened


def _draw_lead(room: Frames, rate: int, rng: np.random.Generator) -> Frames:
    """Silence before a scene, in whole blocks of the listener's."""
    block = BLOCK_S * rate
    return round(int(rng.integers(int(room / block) + 1)) * block)


def _amplify_heard(heard: Timeline, gain_db: Decibels) -> Timeline:
    placements = (
        replace(place, activity=place.activity and place.activity.amplify(gain_db))
        for place in heard.placements
    )
    return replace(heard, placements=tuple(placements))
