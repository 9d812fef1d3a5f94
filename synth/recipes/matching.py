"""Matching: nothing but the sounds and how they are composed tells the samples of a group apart.

Else length, silence, level and pauses tell "while" from "before", and no sound need be known. Of
several ways to cut the same recordings that one is chosen whose envelope is most like another's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int, Real

from synth.base.units import Decibels, Frames, Seconds, to_frames, to_gain
from synth.recipes.base import Draft, Setting
from synth.recipes.composing import Composer, amplify
from synth.scene.scene import Event, Excerpt, Overlay, Scene, labels
from synth.scene.timeline import Timeline, duration
from synth.truth.ear import BLOCK_S, RAMPED, ROUNDED_DB, SILENCE
from synth.truth.listener import Listener
from synth.truth.relations import LEAST_COMPANY, LEAST_REMAINDER, MOST_FADED, Tolerance

# Strips: parts of two sounds, together or in a row, drawn many at once, block by block.
#
# No part is heard here: what is heard of whole sounds tells which parts are worth hearing.


_FILLED: Final = 0.85
"""Share of its length that a part is heard for, from its begin, at least."""
_KEPT: Final = 4096
_TOGETHER: Final = 16
_IN_A_ROW: Final = 48
_LEAST_HEARD: Final = 0.5
"""Share of the shorter of two sounds that is heard of it, at least."""
_LARGER: Final = 0.7
"""Share of the longer of two parts in a row, at most."""
_ROW_UNEVEN: Final = 0.1
_LOUDER_DB: Final[Decibels] = 4.0
SHARES: Final = (1, 2, 4, 1 << 40)
"""Crossfades that are tried: all, half, a quarter, none."""

Numbers: TypeAlias = Int[np.ndarray, " rows"]
Rows: TypeAlias = Float[np.ndarray, "rows blocks"]


@dataclass(frozen=True)
class Strip:
    """A sound by itself, block by block.

    Args:
        powers: Mean squares, as recorded and A-weighted.
        least: Of the softest block that everybody hears.
    """

    sound: Event
    listener: Listener
    powers: Float[np.ndarray, "2 blocks"]
    least: Float[np.ndarray, "2 1"]

    @classmethod
    def of(cls, sound: Event, listener: Listener) -> Strip:
        """That of a sound which begins with a block of its clip."""
        excerpt, block = sound.played, BLOCK_S * listener.rate
        envelope = listener.read_envelope(excerpt.clip)
        count = int(-(-excerpt.frames // block))
        moments = excerpt.start + np.minimum(np.arange(count + 1) * block, excerpt.frames)
        energies = [envelope.energy(moments, weighted=weighted) for weighted in (False, True)]
        power = to_gain(excerpt.gain_db) ** 2
        least = envelope.loudest * power * to_gain(ROUNDED_DB - listener.ear.leave_db) ** 2
        return cls(sound, listener, np.diff(energies) * power / block, least[:, np.newaxis])

    @staticmethod
    def maker(listener: Listener) -> Callable[[Event], Strip]:
        """What makes the strips of sounds, and keeps them: whole clips are asked for often."""
        return lru_cache(_KEPT)(partial(Strip.of, listener=listener))

    @cached_property
    def clear(self) -> Bool[np.ndarray, " blocks"]:
        """Where everybody hears it."""
        return _find_clear(self.powers >= self.least)

    @cached_property
    def starts(self) -> Int[np.ndarray, " starts"]:
        """The blocks that everybody hears."""
        return np.flatnonzero(self.clear)

    @property
    def extent(self) -> int:
        """From the first of them to the last."""
        return int(self.starts[-1] - self.starts[0] + 1) if len(self.starts) else 0

    @cached_property
    def onsets(self) -> Int[np.ndarray, " starts"]:
        """Those in which everybody hears it begin, also where it is cut there."""
        loud = self.clear & (self.powers * RAMPED >= self.least).all(axis=0)
        loud[0] = self.clear[0]
        return np.flatnonzero(np.diff(loud, prepend=False) & loud)

    @cached_property
    def _ends(self) -> Int[np.ndarray, " edges"]:
        """Where that ends that everybody hears before each block, and before the end."""
        ends = np.arange(1, len(self.clear) + 1) * self.clear
        return np.maximum.accumulate(np.append(0, ends))

    def draw(
        self, lengths: Numbers, starts: Int[np.ndarray, " starts"], rng: np.random.Generator
    ) -> Cuts:
        """Parts of about these lengths, each from one of the starts; of 0 where none fits."""
        wanted = lengths[:, np.newaxis]
        if not len(starts):
            return Cuts(self, 0 * lengths, 0 * lengths)
        ends = np.minimum(starts + wanted, len(self.clear))
        fits = self._ends[ends] - starts >= _FILLED * wanted
        rows, drawn = np.arange(len(lengths)), (rng.random(fits.shape) * fits).argmax(axis=1)
        return Cuts(self, starts[drawn], (ends[rows, drawn] - starts[drawn]) * fits[rows, drawn])


@dataclass(frozen=True, slots=True)
class Cuts:
    """Parts of a sound: where each begins, and how many blocks it lasts."""

    strip: Strip
    starts: Numbers
    lengths: Numbers

    def lay(
        self, powers: Float[np.ndarray, "*weightings blocks"], width: int, onsets: Numbers
    ) -> Float[np.ndarray, "*weightings rows width"]:
        """The sound's powers in rows in which the parts begin there, 0 elsewhere."""
        laid = np.zeros((*powers.shape[:-1], len(onsets), width))
        parts = zip(self.starts.tolist(), self.lengths.tolist(), onsets.tolist(), strict=True)
        for row, (start, length, onset) in enumerate(parts):
            laid[..., row, onset : onset + length] = powers[..., start : start + length]
        return laid

    def count_clear(self) -> Numbers:
        """How many blocks of each everybody hears."""
        count = np.append(0, np.cumsum(self.strip.clear))
        return np.asarray(count[self.starts + self.lengths] - count[self.starts])

    def pick(self, rows: Int[np.ndarray, " picked"]) -> Cuts:
        """Some of them."""
        return Cuts(self.strip, self.starts[rows], self.lengths[rows])

    def take(self, row: int) -> Event:
        """One of them."""
        return self.take_all([row])[0]

    def take_all(self, rows: Sequence[int]) -> list[Event]:
        """Some of them as sounds."""
        sound, block = self.strip.sound, BLOCK_S * self.strip.listener.rate
        whole, parts = sound.played, []
        for start, length in zip(
            self.starts[rows].tolist(), self.lengths[rows].tolist(), strict=True
        ):
            first = round(start * block)
            frames = min(round(length * block), whole.frames - first)
            part = Excerpt(whole.clip, whole.start + first, frames, whole.gain_db)
            parts.append(Event(sound.label, part))
        return parts


@dataclass(frozen=True, slots=True)
class CutPairs:
    """Parts of two sounds, and both composed.

    Args:
        gains_db: By how much the second is raised.
        shifts: The crossfade in frames, or by how many of them the second sound begins later.
        powers: Of each block of the two, 0 behind their end.
        lengths: Of both, in blocks.
    """

    first: Cuts
    second: Cuts
    shifts: Numbers
    gains_db: Float[np.ndarray, " rows"]
    powers: Rows
    lengths: Numbers


def draw_together(
    strips: Sequence[Strip], most: int, tolerance: Tolerance, rng: np.random.Generator
) -> CutPairs:
    """Parts at once, one just within the other, so that neither may be said to come first.

    Args:
        most: Blocks that they last.
    """
    listener = strips[0].listener
    lengths = np.rint(most * rng.uniform(_LEAST_HEARD, 1, _TOGETHER)).astype(int)
    is_inner = rng.integers(2, size=_TOGETHER)
    cuts = [
        strip.draw(lengths - 2 * shorter, strip.onsets, rng)
        for strip, shorter in zip(strips, (is_inner, 1 - is_inner), strict=True)
    ]
    drawn = np.flatnonzero(cuts[0].lengths * cuts[1].lengths)
    first, second = cuts = [cut.pick(drawn) for cut in cuts]
    onsets = is_inner[drawn], 1 - is_inner[drawn]
    ends = [onset + cut.lengths for onset, cut in zip(onsets, cuts, strict=True)]
    lengths = np.maximum(*ends)
    most = int(lengths.max(initial=1))
    laid = (cut.lay(cut.strip.powers, most, onset) for cut, onset in zip(cuts, onsets, strict=True))
    powers = np.stack([*laid], axis=1)
    low = powers.copy()
    for sound, cut in enumerate(cuts):
        begun = np.flatnonzero(cut.starts)
        low[:, sound, begun, onsets[sound][begun]] *= RAMPED
        ended = np.flatnonzero(cut.starts + cut.lengths < len(cut.strip.clear))
        low[:, sound, ended, ends[sound][ended] - 1] *= RAMPED
    masked = to_gain(-listener.ear.masked_db)
    marked = low >= powers[:, ::-1] * (masked / (1 - masked)) ** 2
    marked &= low >= np.stack([strip.least for strip in strips], axis=1)[:, :, np.newaxis]
    clear = _find_clear(marked)
    audible = powers.max(axis=3, keepdims=True) * to_gain(-ROUNDED_DB - listener.ear.faint_db) ** 2
    faint = np.logical_or(*(powers >= np.maximum(audible, SILENCE)))
    (clear_start, clear_end), (start, end) = (
        (marks.argmax(axis=2), most - marks[:, :, ::-1].argmax(axis=2)) for marks in (clear, faint)
    )
    rest = (faint & (np.arange(most) >= clear_end[::-1, :, np.newaxis])).sum(axis=2)
    block = BLOCK_S * listener.rate
    remainder = np.minimum(LEAST_REMAINDER * clear.sum(axis=2), tolerance.remainder / block)
    fits = np.flatnonzero(
        ((clear_start <= start[::-1]) & (end[::-1] <= clear_end)).any(axis=0)
        & ((clear_start - start[::-1]) * block < tolerance.audible).all(axis=0)
        & (rest < remainder).all(axis=0)
        & ((clear[0] & clear[1]).sum(axis=1) >= LEAST_COMPANY * faint.sum(axis=2).min(axis=0))
    )
    offsets = np.rint((onsets[1] - onsets[0]) * block).astype(int)
    composed = offsets, 0.0 * lengths, powers[0].sum(axis=0), lengths
    return CutPairs(first.pick(fits), second.pick(fits), *(values[fits] for values in composed))


def draw_in_a_row(
    strips: Sequence[Strip],
    lengths: Numbers,
    crossfade: Frames,
    most: Frames | None,
    rng: np.random.Generator,
) -> CutPairs:
    """Parts that last about so long in a row, and no longer than the most.

    Args:
        lengths: In blocks.
        crossfade: The longest.
    """
    listener = strips[0].listener
    block = BLOCK_S * listener.rate
    shorter = [round(crossfade / share // block * block) for share in SHARES[1:]]
    crossfades = np.array([crossfade, *shorter])
    share = rng.uniform(1 - _LARGER, _LARGER, _IN_A_ROW)
    whole = np.resize(lengths, _IN_A_ROW) * np.exp(rng.normal(0, _ROW_UNEVEN, _IN_A_ROW))
    asked = np.rint(whole * (share, 1 - share) + crossfade / block / 2).astype(int)
    first, second = cuts = [
        strip.draw(length, strip.starts, rng) for strip, length in zip(strips, asked, strict=True)
    ]
    longest = MOST_FADED * np.minimum(*(cut.count_clear() for cut in cuts)) * block
    joins = crossfades[(crossfades <= longest[:, np.newaxis]).argmax(axis=1)]
    seams = first.lengths - np.rint(joins / block).astype(int)
    lengths = seams + second.lengths
    gains_db = np.round(rng.uniform(-_LOUDER_DB, _LOUDER_DB, _IN_A_ROW), 2)
    width = int(lengths.max())
    is_short = lengths * block <= (most or np.inf)
    fits = np.flatnonzero((first.lengths > 0) & (second.lengths > 0) & is_short)
    first, second = first.pick(fits), second.pick(fits)
    seams, joins, gains_db = seams[fits], joins[fits], gains_db[fits]
    past = (np.arange(width) + 0.5 - seams[:, np.newaxis]) * block
    past = np.clip(past / np.maximum(joins, 1)[:, np.newaxis], 0, 1)
    powers = first.lay(first.strip.powers[0], width, 0 * seams) * listener.fade.rise(1 - past) ** 2
    gains = 10 ** (gains_db[:, np.newaxis] / 10) * listener.fade.rise(past) ** 2
    powers += second.lay(second.strip.powers[0], width, seams) * gains
    return CutPairs(first, second, joins, gains_db, powers, lengths[fits])


def _find_clear(
    marked: Bool[np.ndarray, "weightings *sounds blocks"],
) -> Bool[np.ndarray, "*sounds blocks"]:
    """What everybody hears of what is loud enough: no blip, and without pauses of one block."""
    joined = marked.copy()
    joined[..., 1:-1] |= marked[..., :-2] & marked[..., 2:]
    clear = joined[0] & joined[1]
    beside = np.zeros_like(clear)
    beside[..., 1:] = clear[..., :-1]
    beside[..., :-1] |= clear[..., 1:]
    return np.asarray(clear & beside)


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


def match_samples(
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
    block = BLOCK_S * setting.rate
    matched = []
    for draft, gain in zip(drafts, (levels.mean() - levels).tolist(), strict=True):
        gain_db = round(gain + float(rng.uniform(-_SPREAD_DB, _SPREAD_DB)), 1)
        room = int((frames - duration(draft.scene)) / block)
        matched.append(
            replace(
                draft,
                scene=amplify(draft.scene, gain_db),
                timeline=draft.timeline and _amplify_timeline(draft.timeline, gain_db),
                lead=round(int(rng.integers(room + 1)) * block),  # whole blocks of the listener's
                frames=frames,
            )
        )
    return matched


def _amplify_timeline(timeline: Timeline, gain_db: Decibels) -> Timeline:
    placements = (
        place._replace(activity=place.activity and place.activity.amplify(gain_db))
        for place in timeline.placements
    )
    return replace(timeline, placements=tuple(placements))


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
        most = max(strip.sound.played.frames for strip in strips.values()) / (
            BLOCK_S * setting.rate
        )
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
        longest = {label: sounds[label].played.frames / block for label in named}
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
        are_equal = np.full(count, False)
        if isinstance(statement, Overlay):
            two = len(named) == 2
            are_equal = np.full(count, True) if two else self.rng.integers(2, size=count) > 0
        silent = self.composer.estimate_pauses(statement)
        for _ in range(_FITTINGS):  # what one sound cannot last is left to the others
            lengths[are_equal] = lengths[are_equal].min(axis=1, keepdims=True)
            lasted = self.composer.estimate(statement, dict(zip(named, lengths.T, strict=True)))
            lengths *= (max(blocks - silent, 1) / (lasted - silent))[:, np.newaxis]
            lengths = np.minimum(np.maximum(lengths, shortest), whole)
        lengths[are_equal] = lengths[are_equal].min(axis=1, keepdims=True)
        return np.asarray(np.rint(lengths).astype(int))
