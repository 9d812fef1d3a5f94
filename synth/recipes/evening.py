"""Evening out: nothing but the sounds and how they are composed tells the samples of a group apart.

Else length, silence, level and pauses tell "while" from "before", and no sound need be known. Of
several ways to cut the same recordings that one is chosen whose envelope is most like another's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from jaxtyping import Float, Int, Real

from synth.base.units import Decibels, Frames, Seconds, to_frames
from synth.recipes.base import Draft, Setting
from synth.recipes.composing import Composer, amplify
from synth.recipes.strips import Numbers, Rows, Strip
from synth.scene.scene import Overlay, Scene, labels
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


# Cutting: parts of sounds, drawn many at a time, of which scenes are composed and compared.
#
# A scene and its edits hold the same sounds: as these are, two together are shorter than in a row,
# and louder.


ALIKE_S: Final[Seconds] = 0.08
"""By so much scenes of a group may be longer or shorter than the first."""

_LEAST_KEPT: Final = 0.5
"""Share of the longest sound that a scene lasts, at least."""
_UNEVEN: Final = 0.25
_SHORTEST_S: Final[Seconds] = 0.4
"""No sound is cut to less."""
_CUTTINGS: Final = 8
_COMPOSED: Final = 6
"""Of the cuttings that fit, so many are composed."""
_PROVEN: Final = 3
"""And so many of these are given, to be proven."""
_FITTINGS: Final = 2


@dataclass(frozen=True)
class Cutter:
    """Cuts the sounds of a group.

    Args:
        strips: The sounds by label.
        blocks: How long the first scene of the group lasts, about.
        leeway: How many times as far as usual the others may be from the first.
    """

    strips: Mapping[str, Strip]
    blocks: float
    leeway: float
    composer: Composer
    setting: Setting
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        base: Scene,
        strips: Mapping[str, Strip],
        leeway: float,
        composer: Composer,
        setting: Setting,
        rng: np.random.Generator,
    ) -> Cutter:
        """That of a group whose first statement is given.

        Its scenes last no longer than the longest sound, or than the shorter of two if that is long
        enough.
        """
        together = min(strips[label].extent for label in labels(base))
        most = max(strip.sound.heard.frames for strip in strips.values()) / (BLOCK_S * setting.rate)
        if len(labels(base)) == 2 and together * BLOCK_S >= 2 * _SHORTEST_S:
            most = together
        blocks = rng.uniform(_LEAST_KEPT, 1) * most
        return cls(strips, blocks, leeway, composer, setting, rng)

    def cut(self, statement: Scene, first: Scene | None) -> Iterator[Scene]:
        """Scenes of a statement, to be tried in turn.

        Args:
            first: The first scene of the group, whose length and envelope they have, the most alike
                coming first; None if there is none yet.
        """
        if first is None:
            yield from self._draw(statement, self.blocks, _PROVEN, np.inf)
            return
        blocks = duration(first) / (BLOCK_S * self.setting.rate)
        scenes = [*self._draw(statement, blocks, _CUTTINGS, self.leeway * ALIKE_S)]
        if not scenes:
            return
        wanted, *outlines = outline_all([first, *scenes], self.composer.listener)
        unlike = [compare(outline, wanted) for outline in outlines]
        alike = [at for at in np.argsort(unlike).tolist() if unlike[at] <= self.leeway * 2 * ALIKE]
        yield from (scenes[at] for at in alike[:_PROVEN])

    def _draw(
        self, statement: Scene, blocks: float, count: int, apart_s: Seconds
    ) -> Iterator[Scene]:
        """Up to `_COMPOSED` scenes over parts of the sounds, about `blocks` long."""
        named = labels(statement)
        least, block = _SHORTEST_S / BLOCK_S, BLOCK_S * self.setting.rate
        cuttable = [label for label in named if self.strips[label].extent > least]
        sounds = {label: self.strips[label].sound for label in named}
        longest = {label: sounds[label].heard.frames / block for label in named}
        longest |= {label: self.strips[label].extent for label in cuttable}
        whole = np.array([*longest.values()])
        shortest = np.where([label in cuttable for label in named], least, whole)
        lengths = dict(
            zip(named, self._fit(statement, blocks, count, shortest, whole).T, strict=True)
        )
        cuts = {
            label: strip.draw(lengths[label], strip.starts, self.rng)
            for label, strip in ((label, self.strips[label]) for label in cuttable)
        }
        drawn = {label: np.full(count, frames) for label, frames in longest.items()}
        drawn |= {label: cut.lengths for label, cut in cuts.items()}
        fits = np.all([*(own > 0 for own in drawn.values())], axis=0)
        fits &= np.abs(self.composer.estimate(statement, drawn) - blocks) <= apart_s / BLOCK_S
        rows = np.flatnonzero(fits)[:_COMPOSED].tolist()
        taken = {label: cut.take_all(rows) for label, cut in cuts.items()}
        most = self.setting.max_frames
        for at in range(len(rows)):
            parts = sounds | {label: own[at] for label, own in taken.items()}
            scene = self.composer.compose(statement, parts, self.rng)
            if most is None or duration(scene) <= most:
                yield scene

    def _fit(
        self,
        statement: Scene,
        blocks: float,
        count: int,
        shortest: Real[np.ndarray, " labels"],
        whole: Real[np.ndarray, " labels"],
    ) -> Int[np.ndarray, "cuttings labels"]:
        """Lengths of the sounds in blocks, with which the statement lasts about so long.

        Where two sounds are together and nothing else is heard, and at times elsewhere, they last
        equally long: else one goes on alone, and nobody can deny that it follows the other.
        """
        named = labels(statement)
        lengths = whole * np.exp(self.rng.normal(0, _UNEVEN, (count, len(named))))
        are_even = np.full(count, False)
        if isinstance(statement, Overlay):
            two = len(named) == 2
            are_even = np.full(count, True) if two else self.rng.integers(2, size=count) > 0
        silent = self.composer.estimate_pauses(statement)
        for _ in range(_FITTINGS):  # what one sound cannot last is left to the others
            lengths[are_even] = lengths[are_even].min(axis=1, keepdims=True)
            lasted = self.composer.estimate(statement, dict(zip(named, lengths.T, strict=True)))
            lengths *= (max(blocks - silent, 1) / (lasted - silent))[:, np.newaxis]
            lengths = np.minimum(np.maximum(lengths, shortest), whole)
        lengths[are_even] = lengths[are_even].min(axis=1, keepdims=True)
        return np.asarray(np.rint(lengths).astype(int))
