"""Sounding: how each sound of a timeline sounds, by the levels of its clip."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from synth.scene.acoustics import Acoustics
from synth.scene.timeline import Fade, Timeline
from synth.truth.envelope import Envelope, Moments


def find_acoustics(
    placed: Timeline,
    number: int,
    envelope: Envelope,
    fade: Fade,
    treated: Mapping[str, tuple[str, str]],
) -> Acoustics | None:
    """How a sound sounds after gains and crossfades; None where its levels were not measured.

    Args:
        placed: The timeline.
        number: Position of the sound among its placements.
        envelope: Of its clip.
        fade: Law of the crossfades.
        treated: The recording and the treatment of each treated clip, by its id.
    """
    place = placed.placements[number]
    excerpt = place.excerpt
    joins = [
        join for join in placed.joins if join.crossfade > 0 and join.start <= number < join.stop
    ]

    def weaken(moments: Moments) -> Moments:
        powers = np.ones_like(moments)
        for join in joins:
            over = np.clip((place.onset + moments - join.seam) / join.crossfade, 0, 1)
            powers *= fade.rise(over if number >= join.middle else 1 - over) ** 2
        return powers

    weights = envelope.weigh(excerpt.start, excerpt.frames, weaken if joins else None)
    if weights is None:
        return None
    recording, treatment = treated.get(excerpt.clip, (excerpt.clip, ""))
    # A part may sound otherwise than the whole: a car comes nearer, a hall's tail is cut off.
    is_whole = excerpt.start == 0 and excerpt.frames == envelope.frames
    levels = weights.raise_by(excerpt.gain_db)
    return Acoustics(*levels, recording if is_whole else "", treatment)
