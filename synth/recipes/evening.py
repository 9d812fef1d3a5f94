"""Evening out: nothing but the sounds and how they are composed tells the samples of a group apart.

Else length, silence, level and pauses tell "while" from "before", and no sound need be known. Of
several ways to cut the same recordings that one is chosen whose envelope is most like another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float

from synth.base.units import Decibels, Frames, Seconds, to_frames
from synth.recipes.base import Draft, Setting
from synth.recipes.composing import amplify
from synth.recipes.strips import Numbers, Rows
from synth.scene.scene import Scene
from synth.scene.timeline import Timeline, duration
from synth.truth.ear import BLOCK_S, SILENCE
from synth.truth.listener import Listener

ALIKE: Final = 8.0
"""Envelopes no further apart (`compare`) tell little; those of scenes may be twice as far."""

SPARE_S: Final[Seconds] = 0.15
"""Even the longest sample of a group gets this silence: else it alone would begin without any."""

_SPREAD_DB: Final[Decibels] = 3.0
"""So far up or down a sample's level may lie from the mean of its group."""

_ACTIVE_DB: Final[Decibels] = 35.0
"""What lies further below the loudest block counts as silence."""

_PAUSE_BLOCKS: Final = 2
"""Shorter pauses count for nothing."""

Outline = Float[np.ndarray, " 9"]
Outlines = Float[np.ndarray, "scenes 9"]


def find_outlines(powers: Rows, lengths: Numbers) -> Outlines:
    """What whoever knows no sound may notice of scenes, in units of what nobody notices.

    Length, active time, number of pauses and the longest, unlike levels of the first and the last
    third, distance of the centre of energy from the middle, spread around it, and how far the
    loudest block lies above the mean.

    Args:
        powers: Of each block of each scene, 0 after its end.
        lengths: Of the scenes, in blocks.
    """
    at = np.arange(powers.shape[1], dtype=np.int32)
    loudest = powers.max(axis=1)
    active = powers >= loudest[:, np.newaxis] * 10 ** (-_ACTIVE_DB / 10)
    last = np.maximum.accumulate(np.where(active, at, -1), axis=1)[:, :-1]
    pauses = np.where(active[:, 1:] & (last >= 0), at[1:] - last - 1, 0)
    pauses *= pauses >= _PAUSE_BLOCKS
    energy, moments = powers.sum(axis=1), at + 0.5
    centre = powers @ moments / energy
    spread = np.sqrt(np.maximum(powers @ moments**2 / energy - centre**2, 0))
    third = -(-lengths // 3)[:, np.newaxis]
    edges = at < third, at >= lengths[:, np.newaxis] - third
    first, final = (np.maximum((powers * edge).sum(axis=1), SILENCE) for edge in edges)
    return np.stack(
        (
            lengths * BLOCK_S / 0.03,
            active.sum(axis=1) * BLOCK_S / 0.4,
            (pauses > 0).sum(axis=1) / 0.5,
            pauses.max(axis=1, initial=0) * BLOCK_S / 0.2,
            np.abs(10 * np.log10(first / final)) / 1.5,
            np.abs(centre / lengths - 0.5) / 0.03,
            spread / lengths / 0.007,
            spread * BLOCK_S / 0.2,
            10 * np.log10(loudest / energy * lengths) / 0.75,
        ),
        axis=1,
    )


def outline_all(scenes: Sequence[Scene], listener: Listener) -> Outlines:
    """The same of scenes that were composed."""
    levels = [listener.powers(scene) for scene in scenes]
    lengths = np.array(list(map(len, levels)))
    powers = np.zeros((len(levels), lengths.max()))
    for row, level in zip(powers, levels, strict=True):
        row[: len(level)] = level
    return find_outlines(powers, lengths)


def compare(one: Outline, other: Outline) -> float:
    """How far two outlines are apart; 0 if they are equal."""
    return float(np.abs(one - other).sum())


def even_out(
    drafts: Sequence[Draft],
    listener: Listener,
    setting: Setting,
    rng: np.random.Generator,
    spare_s: Seconds = 0.0,
) -> list[Draft]:
    """The samples of a group in one length, each at a place and a level drawn alike.

    Args:
        spare_s: Silence to add even to the longest sample, as far as `setting` has room.
    """
    longest = max(duration(draft.scene) for draft in drafts)
    spared = longest + to_frames(spare_s, setting.rate)
    frames = max(setting.least_frames, longest, min(spared, setting.max_frames or spared))
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
        place._replace(activity=place.activity and place.activity.amplify(gain_db))
        for place in heard.placements
    )
    return replace(heard, placements=tuple(placements))
