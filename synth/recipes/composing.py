"""Composing: a statement over labels becomes a scene of excerpts, with joins, places and levels."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial, reduce
from itertools import pairwise
from typing import Final, TypeAlias, assert_never

import numpy as np
from jaxtyping import Real
from pydantic import Field

from synth.audio.dsp import between_class_gains
from synth.base.choice import StrictModel
from synth.base.errors import PlanError
from synth.base.own_label import LabelName, name_of
from synth.base.rng import pick, shuffle
from synth.base.units import Decibels, Frames, to_decibels, to_frames
from synth.captions.caption import Caption, Style
from synth.captions.contrast import CaptionSet, Member, Tell
from synth.captions.measuring import say_measures
from synth.captions.narrative import Narrator
from synth.labels.lexicon import category, could_be_called
from synth.recipes.base import Clip, Draft, Length, Setting, retake, take
from synth.scene.activity import measure
from synth.scene.claim import Claim, Count, Measured
from synth.scene.edit import EditKind, EditSelection, rename_labels
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, labels, operands
from synth.scene.timeline import Timeline, duration, make_sequence
from synth.truth.ear import BLOCK_S
from synth.truth.listener import Listener
from synth.truth.relations import MOST_FADED
from synth.truth.truth import Hearing

Blocks: TypeAlias = Real[np.ndarray, " cuttings"]


class Mixing(StrEnum):
    """How overlaid parts are weighed.

    `between_class`: by perceived pressure at a ratio (Tokozume et al., 2018). `snr`: the shorter
    part is set against the longer by a level drawn from a range. `sum`: as they are.
    """

    BETWEEN_CLASS = "between_class"
    SNR = "snr"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Composer:
    """Composes statements.

    Args:
        crossfade: Share of the shorter of two joined parts over which they overlap.
        mixing: How overlaid parts are weighed.
        ratio: Mixing ratio of `between_class`.
        snr_db: Range of the longer part's level over the shorter one's, for `snr`.
        pause: Range of the silence between two joined parts, in frames; none up to 0. It takes the
            place of a crossfade.
    """

    listener: Listener
    crossfade: float = 0.0
    mixing: Mixing = Mixing.SUM
    ratio: float = 0.5
    snr_db: tuple[Decibels, Decibels] = (0.0, 0.0)
    pause: tuple[Frames, Frames] = (0, 0)

    def compose(
        self, statement: Scene, sounds: Mapping[str, Event], rng: np.random.Generator
    ) -> Scene:
        """The scene that a statement describes; a shorter part lies at random in a longer one."""
        if isinstance(statement, Event):
            return sounds[statement.label]
        parts = [self.compose(part, sounds, rng) for part in operands(statement)]
        return self.join(parts, rng) if isinstance(statement, Concat) else self._mix(parts, rng)

    def join(
        self,
        parts: Sequence[Scene],
        rng: np.random.Generator,
        limits: Sequence[Frames] | None = None,
    ) -> Scene:
        """The parts, one after the other, with crossfades or pauses.

        Args:
            limits: The longest crossfade that each part bears; any if None. With limits, parts
                begin with a block of the listener's, so that they are heard as they are alone.
        """
        joined = parts[0]
        for at, (previous, part) in enumerate(pairwise(parts)):
            shorter = min(duration(previous), duration(part))
            crossfade = int(self.crossfade * shorter)
            if limits is not None:
                crossfade = min(crossfade, *limits[at : at + 2])
            if pause := self._draw_pause(rng):
                crossfade = -pause
            if limits is not None or crossfade > 0:
                crossfade = self._align(crossfade, duration(joined))
            joined = Concat(joined, part, crossfade)
        return joined

    def estimate(self, statement: Scene, lengths: Mapping[str, Blocks]) -> Blocks:
        """About how many blocks a statement lasts, given those of its sounds."""
        if isinstance(statement, Event):
            return lengths[statement.label]
        parts = [self.estimate(part, lengths) for part in operands(statement)]
        if isinstance(statement, Overlay):
            return reduce(np.maximum, parts)
        pause = sum(self.pause) / 2 / (BLOCK_S * self.listener.rate)
        crossfade = 0 if pause else self.crossfade
        lasted = parts[0]
        for previous, part in pairwise(parts):
            seam = lasted + pause - crossfade * np.minimum(previous, part)
            lasted = (np.ceil(seam - 1e-9) if crossfade else seam) + part
        return lasted

    def estimate_pauses(self, statement: Scene) -> float:
        """About how many blocks of it are pauses, however long its sounds last."""
        if not any(self.pause):
            return 0.0
        return float(self.estimate(statement, dict.fromkeys(labels(statement), np.zeros(1)))[0])

    def _align(self, crossfade: Frames, length: Frames) -> Frames:
        """The crossfade, or pause, with which the next part begins with a block, a little later."""
        block = BLOCK_S * self.listener.rate
        return length - round(math.ceil((length - crossfade) / block) * block)

    def _draw_pause(self, rng: np.random.Generator) -> Frames:
        least, most = self.pause
        return int(rng.integers(least, most + 1)) if most > 0 else 0

    def _mix(self, parts: list[Scene], rng: np.random.Generator) -> Scene:
        longest_last = sorted(parts, key=duration)
        mixed = longest_last[0]
        for part in longest_last[1:]:
            part, mixed = self._weigh(part, mixed, rng)
            mixed = Overlay(part, mixed, self._draw_offset(part, mixed, rng))
        return mixed

    def _weigh(
        self, longer: Scene, shorter: Scene, rng: np.random.Generator
    ) -> tuple[Scene, Scene]:
        match self.mixing:
            case Mixing.SUM:
                return longer, shorter
            case Mixing.SNR:
                return longer, amplify(shorter, -float(rng.uniform(*self.snr_db)))
            case Mixing.BETWEEN_CLASS:
                louder, other = map(self.listener.loudest_weighted, (longer, shorter))
                gains = between_class_gains(louder, other, self.ratio)
                one, other = map(to_decibels, gains)
                return amplify(longer, one), amplify(shorter, other)
            case _:
                assert_never(self.mixing)

    def _draw_offset(self, longer: Scene, shorter: Scene, rng: np.random.Generator) -> Frames:
        """Where the shorter part starts: what is heard of it lies within what is of the longer."""
        outer, inner = (self.listener.extent(part) for part in (longer, shorter))
        room = duration(longer) - duration(shorter)
        first = min(max(outer.onset - inner.onset, 0), room)
        last = max(min(outer.offset - inner.offset, room), first)
        offset, block = int(rng.integers(first, last + 1)), BLOCK_S * self.listener.rate
        # What begins with a block of the listener's is heard as it is alone.
        return max(round(offset // block * block), first)


def amplify(scene: Scene, gain_db: Decibels) -> Scene:
    """The scene with every sound raised by `gain_db`."""
    if isinstance(scene, Event):
        return amplify_sound(scene, gain_db)
    first, second = amplify(scene.first, gain_db), amplify(scene.second, gain_db)
    if isinstance(scene, Concat):
        return Concat(first, second, scene.crossfade)
    return Overlay(first, second, scene.offset)


def amplify_sound(sound: Event, gain_db: Decibels) -> Event:
    """The sound, raised by `gain_db`, to 0.01 dB."""
    part = sound.played
    raised = Excerpt(part.clip, part.start, part.frames, round(part.gain_db + gain_db, 2))
    return Event(sound.label, raised)


def make_teller(style: Style, rate: int, rng: np.random.Generator) -> Tell:
    """Who tells the claims of a group, in words drawn anew for each.

    In the style of the paper a group has one set of words: those leave open what belongs together,
    and only so do claims of one meaning read alike.
    """
    share = float(rng.random())
    narrator = Narrator(
        style,
        partial(pick, rng=rng)
        if style is Style.NATURAL
        else lambda frames: frames[int(share * len(frames))],
    )

    def tell(claim: Claim) -> Caption:
        if isinstance(claim, Count | Measured):
            (caption,) = say_measures([claim], style, rate, rng)
            return caption
        return narrator.tell(claim)

    return tell


# Sequences of many sounds: parts that are placed and proven by themselves, then joined.
#
# Most overlays of sounds that were drawn at random cannot be proven: one masks the other, or
# outlasts it. A scene of twelve sounds would hardly ever be proven as a whole.


_SEQUENCE_TRIES: Final = 8
"""Pairs of sounds that are tried as an overlay; of larger ones, of which fewer hold, fewer."""


@dataclass(frozen=True)
class Placed(Member):
    """A member whose scene is placed in time, and what is heard of it."""

    scene: Scene
    timeline: Timeline

    @classmethod
    def of(cls, scene: Scene, statement: Scene, listener: Listener, setting: Setting) -> Placed:
        """A scene that is to prove a statement."""
        timeline = listener.hear(scene)
        return cls(statement, Hearing(timeline, setting.tolerance), scene, timeline)

    @property
    def is_proven(self) -> bool:
        """Whether what the scene states is proven."""
        return self.hearing.proves(self.statement)

    def draft(self, captions: CaptionSet) -> Draft:
        """The sample."""
        return Draft(self.scene, captions, self.timeline)

    @property
    def longest_crossfade(self) -> Frames:
        """Half of what is clear of a sound; none for sounds together, as it could part them."""
        first, *others = self.timeline.placements
        return 0 if others else int(MOST_FADED * measure(first.heard.clear))


@dataclass(frozen=True)
class Parts:
    """The parts of the sequences of one group.

    Args:
        place: Places a part by itself, the same each time; None where it cannot be proven.
    """

    composer: Composer
    place: Callable[[Scene], Placed | None]

    def join(self, statement: Scene, rng: np.random.Generator) -> Scene | None:
        """The sequence of placed parts; None where one cannot be proven.

        Crossfades are shortened where a sound would mostly lie in one.
        """
        assert isinstance(statement, Concat)
        parts = [self.place(part) for part in operands(statement)]
        placed = [part for part in parts if part is not None]
        if len(placed) < len(parts):
            return None
        limits = [part.longest_crossfade for part in placed]
        return self.composer.join([part.scene for part in placed], rng, limits)

    def arrange(self, statement: Scene, names: dict[str, str], rng: np.random.Generator) -> Scene:
        """A sequence of the same sounds, whose overlays can be proven by themselves.

        Args:
            statement: A sequence. Where none can be proven, an overlay of fewer sounds stands in
                for one, or none.
            names: Labels exchanged for others: the overlays hold with either.
        """
        assert isinstance(statement, Concat)
        left = list(labels(statement))
        parts: list[Scene] = []
        sizes = (len(labels(part)) for part in operands(statement))
        for size in sorted((size for size in sizes if size > 1), reverse=True):
            overlay = self._draw_overlay(left, size, names, rng)
            if overlay is not None:
                parts.append(overlay)
                left = [label for label in left if label not in labels(overlay)]
        parts += map(Event, left)
        return make_sequence(shuffle(parts, rng))

    def _draw_overlay(
        self, among: Sequence[str], size: int, names: dict[str, str], rng: np.random.Generator
    ) -> Scene | None:
        for count in range(size, 1, -1):
            for _ in range(_SEQUENCE_TRIES // (count - 1)):
                sounds: list[Scene] = [Event(label) for label in shuffle(among, rng)[:count]]
                part = reduce(Overlay, sounds)
                if self.place(part) and self.place(rename_labels(part, names)):
                    return part
        return None


def alternate(base: Scene, edits: Iterable[Scene], rng: np.random.Generator) -> Iterator[Scene]:
    """Recompositions of one kind after the other, shuffled; the rarest kind goes first."""
    by_kind: dict[str, list[Scene]] = {}
    selection = EditSelection(base)
    for statement in shuffle(list(edits), rng):
        by_kind.setdefault(selection.kind(statement), []).append(statement)
    kinds = shuffle(sorted(by_kind), rng)
    kinds.sort(key=lambda kind: kind != EditKind.REBIND)
    while any(by_kind.values()):
        yield from [by_kind[kind].pop() for kind in kinds if by_kind[kind]]


# Background beds: one steady sound under a whole scene, which its captions leave unmentioned.


MOST_REPEATS: Final = 32
"""Of a bed: a scene of repeats is nested as deeply."""


class Background(StrictModel):
    """Settings of the bed.

    Args:
        of: Labels or categories of sounds that serve as beds.
        share: Share of the groups with a bed, if a clip is long enough.
        snr_db: Level of the scene's sounds above the bed.
        repeat_crossfade_s: Crossfade for repeating a clip that is shorter than the scene; if null,
            such clips are not used.
    """

    of: tuple[LabelName, ...] = Field(min_length=1)
    share: float = Field(default=1.0, gt=0, le=1)
    snr_db: Decibels = Field(default=15.0, ge=0, le=60)
    repeat_crossfade_s: Length | None = None

    def clips(self, clips: Sequence[Clip]) -> list[Clip]:
        """The clips that can serve."""
        labels = {clip.labels[0] for clip in clips}
        for name in self.of:
            if not any(name in _names(label) for label in labels):
                raise PlanError(
                    f"recipe.scenes.background.of: no clip is labelled {name!r}, or of that "
                    "category",
                    fix=f"there are {', '.join(sorted({category(label) for label in labels}))}",
                )
        return [clip for clip in clips if not _names(clip.labels[0]).isdisjoint(self.of)]

    def draw(
        self,
        clips: Sequence[Clip],
        scenes: Sequence[Scene],
        named: Collection[str],
        setting: Setting,
        rng: np.random.Generator,
    ) -> Bed | None:
        """A bed for a group; None where none is due, or no clip is long enough.

        Args:
            named: Labels that its captions name, or deny.
        """
        if rng.random() >= self.share:
            return None
        longest = max(duration(scene) for scene in scenes)
        fitting = [
            clip
            for clip in clips
            if self._can_last(clip, longest, setting.rate)
            and not any(could_be_called(clip.labels[0], name) for name in named)
        ]
        if not fitting:
            return None
        sound = take(pick(fitting, rng), longest, setting, rng)
        return Bed(amplify_sound(sound, -self.snr_db), self._crossfade(setting.rate))

    def _crossfade(self, rate: int) -> Frames:
        return to_frames(self.repeat_crossfade_s or 0, rate)

    def _can_last(self, clip: Clip, longest: Frames, rate: int) -> bool:
        """Whether a clip is long enough, or becomes so when it is repeated."""
        if clip.frames >= longest or self.repeat_crossfade_s is None:
            return clip.frames >= longest
        crossfade = self._crossfade(rate)
        new = clip.frames - crossfade  # what each repeat adds
        return new >= max(crossfade, 1) and crossfade + MOST_REPEATS * new >= longest


@dataclass(frozen=True, slots=True)
class Bed:
    """A bed for the scenes of a group.

    Args:
        event: As long as the longest scene, or a whole clip that is repeated.
        crossfade: Overlap of its repeats in frames.
    """

    event: Event
    crossfade: Frames = 0

    def lay_under(self, scene: Scene) -> Overlay:
        """The scene with as much of the bed as it lasts."""
        whole, left = self.event.played.frames, duration(scene)
        laid: Scene = self._cut(left)
        while left > whole:
            left -= whole - self.crossfade  # more than a crossfade is left
            laid = Concat(laid, self._cut(left), self.crossfade)
        return Overlay(scene, laid)

    def _cut(self, frames: Frames) -> Event:
        return retake(self.event, frames=min(self.event.played.frames, frames))


def _names(label: str) -> frozenset[str]:
    """By which a spec may name a label."""
    return frozenset({label, name_of(label), category(label)})
