"""Pairs of scenes that differ by one edit, each proven on both sides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, permutations
from typing import Final

import numpy as np

from synth.base.errors import LeftOutError
from synth.base.units import Decibels, to_decibels, to_gain
from synth.captions.balance import Member, deal
from synth.captions.contrast import CaptionSet, as_main
from synth.captions.pool import pool
from synth.labels.lexicon import could_be_meant
from synth.recipes.base import Draft, Setting, excerpt, make_listener, permutation
from synth.recipes.casting import DrawnCast
from synth.recipes.clips import Clip, by_label
from synth.recipes.composing import Composer, Joining, Mixing, amplify
from synth.recipes.edit_settings import EditFamily, EditSettings
from synth.recipes.grammar import SceneVocabulary, random_sequence
from synth.recipes.telling import make_teller
from synth.scene.arrangement import PlacedEvent, arrange, places
from synth.scene.scene import Event, Scene, labels, statement
from synth.truth.change import find_change, list_claims, proves_change
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing

_DRAWS: Final = 100
_TOGETHER: Final = 2
_HEADROOM: Final[Decibels] = 0.01
"""The bank rounds samples, and a clip's peak is rounded, by less."""

Pair = tuple[Scene, Scene]


@dataclass(frozen=True)
class EditPairs:
    """The pairs of one split, each computed alone."""

    settings: EditSettings
    split: str
    count: int
    clips: tuple[Clip, ...]
    setting: Setting

    def __post_init__(self) -> None:
        _ = self.cast

    def __len__(self) -> int:
        return self.count

    @cached_property
    def cast(self) -> DrawnCast:
        """Casts scenes with any clips."""
        clips = by_label(self.clips)
        return DrawnCast(SceneVocabulary.of_labels(clips, {}), clips)

    @cached_property
    def composer(self) -> Composer:
        """Puts sounds together."""
        joining = Joining(0.0, Mixing.SUM, 0.5, (0.0, 0.0), self.settings.pauses(self.setting))
        return Composer(joining, make_listener(self.clips, self.setting))

    def group(self, index: int) -> Sequence[Draft]:
        """A scene and its edit."""
        rng = self.setting.randomness.at(f"edits/{self.split}", index)
        family = self._find_family(index)
        count = int(rng.integers(2, self.settings.max_events + 1))
        for _ in range(_DRAWS):
            drafts = self._draw(family, count, rng)
            if drafts is not None:
                return drafts
        raise LeftOutError(
            f"no pair of kind {family.value!r} could be proven before and after",
            example=f"pair {index} of split {self.split}, {count} sounds",
            fix="add clips of other labels, or lower recipe.edits.max_events",
        )

    def _find_family(self, index: int) -> EditFamily:
        """Each once a round, in an order of its own: who takes every fourth pair gets all kinds."""
        changes = self.settings.changes
        round_, at = divmod(index, len(changes))
        operation = f"edits/{self.split}/changes"
        order = permutation(self.setting.randomness, operation, round_, len(changes))
        return changes[int(order[at])]

    def _draw(self, family: EditFamily, count: int, rng: np.random.Generator) -> list[Draft] | None:
        base = self.cast.fill(random_sequence(count, _TOGETHER, rng), rng)
        if base is None:
            return None
        longest = self.settings.longest_sound(count, self.setting)
        sounds: dict[str, Event] = {}
        recordings: set[str] = set()
        for label in labels(base):
            clip = self.cast.choose(label, recordings, rng)
            recordings.add(clip.recording)
            sounds[label] = Event(label, excerpt(clip, longest, self.setting, rng))
        placed = places(self.composer.compose(base, sounds, rng))
        edited = self._edit(family, base, placed, recordings, rng)
        if edited is None:
            return None
        return self._caption(self._lower(arrange(placed), arrange(edited)), rng)

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
        target = placed[int(rng.integers(len(placed)))]
        others = [place for place in placed if place is not target]
        if family is EditFamily.PRESENCE:
            return others if any(place.onset == 0 for place in others) else None
        least, most = self.settings.change_db
        lowered = amplify(target.event, -float(rng.integers(least, most + 1)))
        assert isinstance(lowered, Event)
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
            taken = excerpt(clip, place.event.heard.frames, self.setting, rng)
            edited.append(PlacedEvent(place.onset, Event(label, taken)))
        return edited

    def _lower(self, before: Scene, after: Scene) -> Pair:
        """Both scenes turned down alike, so far that neither can exceed the peak."""
        loudest = max(self._bound_peak(scene) for scene in (before, after))
        over = to_decibels(loudest) + _HEADROOM - self.settings.peak_db
        down = -math.ceil(100 * max(over, 0.0)) / 100
        return amplify(before, down), amplify(after, down)

    def _bound_peak(self, scene: Scene) -> float:
        """What no sample of the scene exceeds: the peaks of the sounds at any one time, added."""
        found = places(scene)
        peaks = [
            to_gain(self._peaks_db[place.event.heard.clip] + place.event.heard.gain_db)
            for place in found
        ]
        return max(
            sum(
                peak
                for other, peak in zip(found, peaks, strict=True)
                if other.onset <= place.onset < other.offset
            )
            for place in found
        )

    @cached_property
    def _peaks_db(self) -> Mapping[str, Decibels]:
        return {clip.id: clip.peak_db for clip in self.clips}

    def _caption(self, pair: Pair, rng: np.random.Generator) -> list[Draft] | None:
        """Both scenes with their captions; None where not all of it is proven."""
        tolerance = Tolerance(audible=self.setting.audible)
        heard = [self.composer.listener.hear(scene) for scene in pair]
        members = [
            Member(statement(scene), Hearing(timeline, tolerance))
            for scene, timeline in zip(pair, heard, strict=True)
        ]
        named = {label for scene in pair for label in labels(scene)}
        if any(could_be_meant(one, other) for one, other in permutations(sorted(named), 2)):
            return None
        change = find_change(*pair)
        if change is None or not all(each.hearing.proves(each.statement) for each in members):
            return None
        before, after = (member.hearing for member in members)
        if not proves_change(change, next(list_claims(change)), before, after):
            return None
        captions = self._tell(members, rng)
        drafts = [Draft(*each) for each in zip(pair, captions, heard, strict=True)]
        return [drafts[at] for at in rng.permutation(len(drafts))]

    def _tell(self, members: Sequence[Member], rng: np.random.Generator) -> list[CaptionSet]:
        """What is said of both; no false captions where nothing true of one is false of the other.

        So it is with a level, which captions do not tell, and with a sound that is there or not:
        what is said of the others is true of both.
        """
        statements = [member.statement for member in members]
        tell = make_teller(self.settings.style, False, self.setting.rate, rng)
        mains = [tell(each, "caption") for each in statements]
        claims = list(pool(statements))
        dealt = deal(members, mains, claims, tell, self.settings.captions, rng)
        return dealt or [CaptionSet(as_main(main), (), ()) for main in mains]


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
    at = apart[int(rng.integers(len(apart)))]
    one, other = ordered[at : at + 2]
    first = PlacedEvent(one.onset, other.event)
    second = PlacedEvent(other.offset - one.event.heard.frames, one.event)
    return [*ordered[:at], first, second, *ordered[at + 2 :]]
