"""`triplets`: before / after / while over every ordered pair of classes (TeminAL).

The members of a group use the same two clips: forward a + b "A before B", reversed b + a
"A after B", overlay a * b "A while B" (appendix A.3, algorithm 2; 50 classes give 2,450 groups and
7,350 samples). Unlike the authors' code, nothing is cut: whole active spans, exact placement, and
clips of one loudness. `stage_a` makes TeminAL A's corpus instead: one sound and two together.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar, Final

import numpy as np
from jaxtyping import Int64
from pydantic import Field, PositiveInt

from synth.base.errors import PlanError
from synth.base.units import Frames, Seconds, to_frames
from synth.captions.caption import Caption, Connective, Pair, Style, frames
from synth.captions.contrast import Wording, as_main, judge
from synth.labels.lexicon import Phrase, are_kin
from synth.recipes.base import (
    Clip,
    Draft,
    Groups,
    RecipeSettings,
    Setting,
    by_label,
    check_splits,
    draft_contrast,
    excerpt,
    explain_misleading,
    explain_too_short,
    longest_event,
    permutation,
    pick,
)
from synth.scene.claim import And, Only
from synth.scene.scene import Concat, Event, Overlay
from synth.scene.timeline import timeline
from synth.truth.truth import Tolerance

CONNECTIVES: Final = (Connective.BEFORE, Connective.AFTER, Connective.WHILE)


class Triplets(RecipeSettings):
    """Settings of the recipe.

    Args:
        repeats: Groups for each ordered pair of classes, each over newly drawn clips; in all splits
            alike, or by split.
        crossfade_s: Overlap of joined sounds; the paper joins without.
        max_event_s: Longer sounds are heard in an excerpt of this length.
        style: Caption style.
        stage_a: Make TeminAL A's single and combined sounds.
    """

    name: ClassVar[str] = "triplets"
    repeats: PositiveInt | dict[str, PositiveInt] = 1
    crossfade_s: Seconds = Field(default=0.0, ge=0, le=30)
    max_event_s: Seconds | None = Field(default=None, gt=0)
    style: Style = Style.PAPER
    stage_a: bool = False

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

        Raises:
            PlanError: If a split holds clips of one class only.
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
                fix="add clips, change the splits, or try another `seed`",
            )
        _refuse_namesakes(found)
        pairs = tuple(
            pair for pair in permutations(sorted(found), 2) if not are_kin(pair[0], pair[1])
        )
        if not pairs:
            raise PlanError(
                f"split {split}: each of the labels {', '.join(sorted(found))} could be said of "
                "the others' sounds",
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
                fix="give one of them another name, or make them one label",
            )


@dataclass(frozen=True)
class ClassPairs:
    """The groups of one split, each computed alone; each round holds every pair, shuffled."""

    settings: Triplets
    split: str
    repeats: int
    pairs: tuple[tuple[str, str], ...]
    clips: Mapping[str, Sequence[Clip]]
    setting: Setting

    def __len__(self) -> int:
        return self.repeats * len(self.pairs)

    def group(self, index: int) -> Sequence[Draft]:
        """Forward, reversed and overlay of one ordered pair; or TeminAL A's two."""
        round_, position = divmod(index, len(self.pairs))
        first, second = self.pairs[self._order(round_)[position]]
        rng = self.setting.randomness.at(f"triplets/{self.split}", index)
        crossfade = to_frames(self.settings.crossfade_s, self.setting.rate)
        longest = longest_event(self.settings.max_event_s, crossfade, self.setting)
        clip_a = pick(self.clips[first], rng)
        clip_b = pick(_from_other_recordings(self.clips[second], clip_a), rng)
        a, b = (
            Event(clip.labels[0], excerpt(clip, longest, self.setting, rng))
            for clip in (clip_a, clip_b)
        )
        style = self.settings.style
        wording = Wording(CONNECTIVES, Phrase.of_label, style, int(rng.integers(frames(style))))
        if self.settings.stage_a:
            return _draft_single_and_combined(a, b)
        return _triplet(a, b, crossfade, wording, Tolerance(crossfade, self.setting.audible))

    def _order(self, round_: int) -> Int64[np.ndarray, " pairs"]:
        operation = f"triplets/{self.split}/order"
        return permutation(self.setting.randomness, operation, round_, len(self.pairs))


def _from_other_recordings(clips: Sequence[Clip], clip: Clip) -> Sequence[Clip]:
    """The clips that were not cut from the same recording, where there are any."""
    return [other for other in clips if other.recording != clip.recording] or clips


def _triplet(
    a: Event, b: Event, crossfade: Frames, wording: Wording, tolerance: Tolerance
) -> list[Draft]:
    members: tuple[tuple[Pair, Connective], ...] = (
        (Concat(a, b, crossfade), Connective.BEFORE),
        (Concat(b, a, crossfade), Connective.AFTER),
        (Overlay(a, b), Connective.WHILE),
    )
    return [draft_contrast(scene, word, wording, tolerance) for scene, word in members]


def _draft_single_and_combined(a: Event, b: Event) -> list[Draft]:
    """TeminAL A's prompts: a sound alone, and both together (appendix A.3)."""
    first, second = Phrase.of_label(a.label).plain, Phrase.of_label(b.label).plain
    rule, kind = "rule:stage-a", "presence"
    alone = Caption(f"single sound of {first}", Only(Event(a.label)), kind, "", rule)
    both = Caption(
        f"combined sound of {first} and {second}",
        And(Event(a.label), Event(b.label)),
        kind,
        "",
        rule,
    )
    single, combined = a, Overlay(a, b)
    return [
        Draft(single, judge(as_main(alone), [both], timeline(single), Tolerance())),
        Draft(combined, judge(as_main(both), [alone], timeline(combined), Tolerance())),
    ]
