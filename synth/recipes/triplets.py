"""`triplets`: before / after / while over every ordered pair of classes (TeminAL).

The members of a group use the same two clips: forward a + b "A before B", reversed b + a
"A after B", overlay a * b "A while B" (appendix A.3, algorithm 2; 50 classes give 2,450 groups and
7,350 samples). Unlike the authors' code: exact placement, clips of one loudness, and two sounds
that are heard together are fitted to one another, so that neither may be said to come before or
after. `stage_a` makes TeminAL A's corpus instead: one sound and two together.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import ClassVar

from synth.base.errors import PlanError
from synth.base.units import to_frames
from synth.labels.lexicon import Phrase, are_kin
from synth.recipes.base import (
    Clip,
    Groups,
    Setting,
    by_label,
    check_splits,
    explain_misleading,
    explain_too_short,
    longest_event,
)
from synth.recipes.class_pairs import ClassPairs, TripletSettings


class Triplets(TripletSettings):
    """The recipe: every ordered pair of classes, in groups that share two clips."""

    name: ClassVar[str] = "triplets"

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Events must be longer than the crossfade, and `repeats` must be for the spec's splits."""
        longest_event(self.max_event_s, to_frames(self.crossfade_s, setting.rate), setting)
        check_splits("recipe.triplets.repeats", self.repeats, splits)

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label and be twice as long as the crossfade."""
        if len(clip.labels) != 1:
            return f"has {len(clip.labels)} labels; triplets need exactly one"
        if reason := explain_misleading(clip.labels[0], self.style):
            return reason
        return explain_too_short(clip, to_frames(self.crossfade_s, setting.rate), setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Every ordered pair of a split's classes, `repeats` times.

        Kin (`lexicon.are_kin`: a dog and a bark, rain and heavy rain) make no pair; ESC-50 has
        none. An airplane and an engine do: every caption names both, and denies neither.
        """
        return {
            split: self._groups(split, clips.get(split, ()), repeats, setting)
            for split, repeats in self._repeats(clips).items()
        }

    def _repeats(self, splits: Iterable[str]) -> dict[str, int]:
        if isinstance(self.repeats, int):
            return dict.fromkeys(splits, self.repeats)
        return self.repeats

    def _groups(
        self, split: str, clips: Sequence[Clip], repeats: int, setting: Setting
    ) -> ClassPairs:
        found = by_label(clips)
        if len(found) < 2:
            raise PlanError(
                f"split {split}: triplets need clips of two classes, found {len(found)}",
                fix=f"give {split} more of the library's splits or a larger share, try another "
                "`seed`, add clips, or leave it out",
            )
        _refuse_namesakes(found)
        pairs = tuple(
            pair
            for one, other in combinations(sorted(found), 2)
            if not are_kin(one, other)
            for pair in ((one, other), (other, one))
        )
        if not pairs:
            raise PlanError(
                f"split {split}: each of the labels {', '.join(sorted(found))} could "
                "describe the others' sounds",
                fix="add clips of other sounds",
            )
        return ClassPairs(self, split, repeats, pairs, found, setting)


def _refuse_namesakes(labels: Iterable[str]) -> None:
    owners: dict[str, str] = {}
    for label in labels:
        plain = unicodedata.normalize("NFKC", Phrase.of_label(label).plain).casefold()
        other = owners.setdefault(" ".join(plain.split()), label)
        if other != label:
            raise PlanError(
                f"the labels {other!r} and {label!r} read alike in a caption",
                fix="rename one of them, or merge the two",
            )
