"""`edits`: a scene before and after one edit, such as "remove the dog".

The members of a group are one scene twice: with a sound and without it, with another in its place,
with the sound quieter, or with two sounds in the opposite order. All others are the same samples at
the same gain. Gains are lowered so far that no sample has to be turned down as a whole: before and
after share one normalisation, and nothing differs outside the edit.

The instruction is told by `synth.derived.edits`; `segue export --to edits` writes it, with stems.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise, permutations
from typing import Annotated, ClassVar, Final, TypeAlias

import numpy as np
from pydantic import Field

from synth.base.errors import LeftOutError, PlanError
from synth.base.rng import pick, shuffle
from synth.base.units import Decibels, Frames, to_decibels, to_frames, to_gain
from synth.captions.caption import Style
from synth.captions.contrast import CaptionSet, Dealer, Member, pool
from synth.labels.lexicon import could_be_meant
from synth.recipes.base import (
    IN_ORDER,
    Clip,
    Draft,
    Groups,
    Length,
    PauseRange,
    Recipe,
    Setting,
    SplitCounts,
    SplitGroups,
    all_different,
    check_pauses,
    check_splits,
    share_out,
    take,
    tell_room,
    to_frame_range,
)
from synth.recipes.casting import DrawnCast, cast_sounds, explain_uncast, random_sequence
from synth.recipes.composing import Composer, Placed, amplify, amplify_sound, make_teller
from synth.scene.edit import rename_labels
from synth.scene.scene import Scene, labels, statement
from synth.scene.timeline import PlacedEvent, arrange, places
from synth.truth.change import find_change, list_claims, proves_change


class EditFamily(StrEnum):
    """What differs between the members of a group.

    `presence`: a sound is heard or not (add, remove). `replace`: one of two sounds is heard.
    `level`: a sound is quieter or louder. `order`: two sounds follow one another either way (swap).
    """

    PRESENCE = "presence"
    REPLACE = "replace"
    LEVEL = "level"
    ORDER = "order"


LevelChange: TypeAlias = Annotated[int, Field(ge=3, le=20)]


class Edits(Recipe):
    """Pairs of scenes over clips with one label each.

    Args:
        pairs: Pairs of before and after in total, shared among the splits by their number of clips;
            or pairs per split.
        changes: What differs between the two, each equally often: `presence`, `replace`, `level`
            and `order`.
        choices: Edits of each scene, all of one kind and by as many dB, in one group with it;
            fewer than `max_events`.
        max_events: Scenes have 2 to this many sounds, each number equally often; two of them may be
            heard at once.
        change_db: Smallest and largest change of a level, in whole dB, 3 to 20.
        pause_s: Range of the silence between sounds that follow one another.
        max_event_s: Longer sounds are cut to an excerpt of this length.
        peak_db: Level in dBFS that no sample can exceed, as its sounds' peaks add up; at most
            `audio.peak_db`.
        captions: Maximum number of true captions per sample, and of false ones.
        style: Caption style.
    """

    name: ClassVar[str] = "edits"
    pairs: SplitCounts = 2_000
    changes: Annotated[tuple[EditFamily, ...], all_different("changes")] = tuple(EditFamily)
    # Left out where it is not set, so that specs of before have the digests that they had.
    choices: int = Field(default=1, ge=1, le=3, exclude_if=lambda count: count == 1)
    max_events: int = Field(default=3, ge=2, le=4)
    change_db: Annotated[tuple[LevelChange, LevelChange], IN_ORDER] = (6, 12)
    pause_s: PauseRange = (0.2, 1.0)
    max_event_s: Length | None = None
    peak_db: Decibels = Field(default=-1.0, ge=-40, le=0)
    captions: int = Field(default=5, ge=1, le=20)
    style: Style = Style.NATURAL

    def longest_sound(self, count: int, setting: Setting) -> Frames:
        """Frames that each of `count` sounds may last."""
        pause = to_frames(self.pause_s[1], setting.rate)
        longest = setting.longest_of(count, pause, self.max_event_s)
        assert longest is not None  # see check
        return longest

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Samples must have one length and one normalisation, and sounds must fit."""
        check_splits("recipe.edits.pairs", self.pairs, splits)
        if setting.max_frames is None or setting.least_frames < setting.max_frames:
            raise PlanError(
                "edits need samples of one length: removing a sound would make its sample shorter",
                fix="set audio.length, as in `length: exact 10 s`",
            )
        if self.peak_db > setting.peak_db:
            raise PlanError(
                f"recipe.edits.peak_db is {self.peak_db:g}, above audio.peak_db "
                f"({setting.peak_db:g}): before and after would not be turned down equally",
                fix=f"set recipe.edits.peak_db to {setting.peak_db:g} or less",
            )
        if self.choices >= self.max_events:
            raise PlanError(
                f"recipe.edits.choices: {self.max_events} sounds do not have {self.choices} edits",
                fix=f"give {self.max_events - 1}, or set max_events to {self.choices + 1}",
            )
        check_pauses("recipe.edits.pause_s", self.pause_s[0], setting)
        if self.longest_sound(self.max_events, setting) < setting.audible:
            raise PlanError(
                f"{self.max_events} sounds with pauses of {self.pause_s[1]:g} s leave no room for "
                "them",
                fix=tell_room(self.max_events, self.max_event_s, self.pause_s[1])
                + ", or lower recipe.edits.max_events or pause_s",
            )

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label, and be long enough to be made out."""
        return explain_uncast(clip, self.name, self.style, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Pairs over the clips of each split."""
        return EditPairs.by_split(self, share_out(self.pairs, clips), clips, setting)


# Pairs of scenes that differ by one edit, each proven on both sides.


_DRAWS: Final = 100
_TOGETHER: Final = 2
_HEADROOM: Final[Decibels] = 0.01
"""The bank rounds samples, and a clip's peak is rounded, by less."""

_DENIALS: Final = 0.25
"""Share of pairs whose captions deny a sound."""


@dataclass(frozen=True)
class EditPairs(SplitGroups[Edits]):
    """Groups of a scene before and after an edit."""

    def __post_init__(self) -> None:
        _ = self.cast

    @cached_property
    def cast(self) -> DrawnCast:
        """Casts scenes with any clips."""
        return DrawnCast.of(self.clips, {})

    @cached_property
    def composer(self) -> Composer:
        """Puts sounds together."""
        pauses = to_frame_range(self.settings.pause_s, self.setting.rate)
        return Composer(self.listener, pause=pauses)

    def group(self, index: int) -> Sequence[Draft]:
        """A scene and its edit."""
        rng = self.rng(index)
        family = self._find_family(index)
        count = int(rng.integers(self.settings.choices + 1, self.settings.max_events + 1))
        for _ in range(_DRAWS):
            drafts = self._draw(family, count, rng)
            if drafts is not None:
                return drafts
        raise LeftOutError(
            f"no pair of kind {family.value!r} could be proven before and after",
            example=f"pair {index} of split {self.split}, {count} sounds",
            fix="add clips of other labels, or set `recipe.edits.max_events: 2`",
        )

    def _find_family(self, index: int) -> EditFamily:
        """Each once a round, in an order of its own: who takes every fourth pair gets all kinds."""
        changes = self.settings.changes
        round_, at = divmod(index, len(changes))
        return changes[int(self.permute("/changes", round_, len(changes))[at])]

    def _draw(self, family: EditFamily, count: int, rng: np.random.Generator) -> list[Draft] | None:
        base = self.cast.fill(random_sequence(count, _TOGETHER, rng), rng)
        if base is None:
            return None
        longest = self.settings.longest_sound(count, self.setting)
        recordings: set[str] = set()
        sounds = cast_sounds(self.cast, labels(base), longest, recordings, self.setting, rng)
        placed = places(self.composer.compose(base, sounds, rng))
        scenes = [arrange(placed)]
        for _ in range(_DRAWS if self.settings.choices > 1 else 1):
            edited = self._edit(family, base, placed, {*recordings}, rng)
            if edited is not None and _is_new(scene := arrange(edited), scenes):
                scenes.append(scene)
            if len(scenes) > self.settings.choices:
                return self._caption(self._lower(scenes), rng)
        return None

    def _edit(
        self,
        family: EditFamily,
        base: Scene,
        placed: Sequence[PlacedEvent],
        recordings: set[str],
        rng: np.random.Generator,
    ) -> list[PlacedEvent] | None:
        """The places of the sounds after the edit; None where it cannot be made."""
        if family is EditFamily.ORDER:
            return _swap(placed, rng)
        if family is EditFamily.REPLACE:
            names = self.cast.exchange(base, rng)
            return None if names is None else self._recast(names, placed, recordings, rng)
        target = pick(placed, rng)
        others = [place for place in placed if place is not target]
        if family is EditFamily.PRESENCE:
            return others if any(place.onset == 0 for place in others) else None
        least, most = self.settings.change_db
        lowered = amplify_sound(target.event, -float(rng.integers(least, most + 1)))
        return [*others, PlacedEvent(target.onset, lowered)]

    def _recast(
        self,
        names: Mapping[str, str],
        placed: Sequence[PlacedEvent],
        recordings: set[str],
        rng: np.random.Generator,
    ) -> list[PlacedEvent]:
        """Another sound begins where one does, and lasts no longer."""
        edited = []
        for place in placed:
            label = names.get(place.event.label)
            if label is None:
                edited.append(place)
                continue
            clip = self.cast.choose(label, recordings, rng)
            sound = take(clip, place.event.played.frames, self.setting, rng)
            edited.append(PlacedEvent(place.onset, sound))
        return edited

    def _lower(self, scenes: Sequence[Scene]) -> list[Scene]:
        """The scenes turned down alike, so far that none can exceed the peak."""
        loudest = max(map(self._bound_peak, scenes))
        over = to_decibels(loudest) + _HEADROOM - self.settings.peak_db
        down = -math.ceil(100 * max(over, 0.0)) / 100
        return [amplify(scene, down) for scene in scenes]

    def _bound_peak(self, scene: Scene) -> float:
        """What no sample of the scene exceeds: the peaks of the sounds at any one time, added."""
        placed = places(scene)
        peaks = [
            to_gain(self._peaks_db[place.event.played.clip] + place.event.played.gain_db)
            for place in placed
        ]
        return max(
            sum(
                peak
                for other, peak in zip(placed, peaks, strict=True)
                if other.onset <= place.onset < other.offset
            )
            for place in placed
        )

    @cached_property
    def _peaks_db(self) -> Mapping[str, Decibels]:
        return {clip.id: clip.peak_db for clip in self.clips}

    def _caption(self, scenes: Sequence[Scene], rng: np.random.Generator) -> list[Draft] | None:
        """The scenes with their captions; None where not all of it is proven."""
        placed = [
            Placed.of(scene, statement(scene), self.listener, self.setting) for scene in scenes
        ]
        named = {label for scene in scenes for label in labels(scene)}
        if any(could_be_meant(one, other) for one, other in permutations(sorted(named), 2)):
            return None
        if not all(member.is_proven for member in placed):
            return None
        before, *edited = (member.hearing for member in placed)
        for scene, after in zip(scenes[1:], edited, strict=True):
            change = find_change(scenes[0], scene)
            if change is None or not proves_change(
                change, next(list_claims(change)), before, after
            ):
                return None
        captions = self._tell(placed, rng)
        drafts = [member.draft(its) for member, its in zip(placed, captions, strict=True)]
        return shuffle(drafts, rng)

    def _tell(self, members: Sequence[Member], rng: np.random.Generator) -> list[CaptionSet]:
        """What is said of each; no false captions where only a level differs, which none tells."""
        tell = make_teller(self.settings.style, self.setting.rate, rng)
        statements = [member.statement for member in members]
        claims = list(pool(statements))
        dealer = Dealer(tell, self.settings.captions, rng, _DENIALS)
        if self.settings.style is Style.PAPER:
            return dealer.print_captions(members, claims)
        if any(other != statements[0] for other in statements[1:]):
            dealt = dealer.deal(members, claims)
            if dealt is not None:
                return dealt
        names = self.cast.exchange(statements[0], rng) or {}
        claims = list(pool([statements[0], rename_labels(statements[0], dict(names))]))
        return dealer.deal_alone(members, claims)


def _swap(placed: Sequence[PlacedEvent], rng: np.random.Generator) -> list[PlacedEvent] | None:
    """Two neighbours that no other sound overlaps, exchanged within the time that they take."""
    ordered = sorted(placed, key=lambda place: place.onset)
    apart = [
        at
        for at, (one, other) in enumerate(pairwise(ordered))
        if one.offset <= other.onset
        and all(place.offset <= one.onset for place in ordered[:at])
        and all(place.onset >= other.offset for place in ordered[at + 2 :])
    ]
    if not apart:
        return None
    at = pick(apart, rng)
    one, other = ordered[at : at + 2]
    first = PlacedEvent(one.onset, other.event)
    second = PlacedEvent(other.offset - one.event.played.frames, one.event)
    return [*ordered[:at], first, second, *ordered[at + 2 :]]


def _is_new(scene: Scene, scenes: Sequence[Scene]) -> bool:
    """Whether an edit of the first scene is as large as those made, and of other sounds."""
    made = [change for other in scenes[1:] if (change := find_change(scenes[0], other))]
    if not made:
        return True
    new = find_change(scenes[0], scene)
    return new is not None and all(
        (old.kind, old.gain_db) == (new.kind, new.gain_db) and old.sounds != new.sounds
        for old in made
    )
