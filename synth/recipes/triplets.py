"""`triplets`: before / after / while over every ordered pair of classes (TeminAL).

The members of a group use the same two clips: forward a + b "A before B", reversed b + a
"A after B", overlay a * b "A while B" (appendix A.3, algorithm 2; 50 classes give 2,450 groups and
7,350 samples). Unlike the authors' code: exact placement, clips of one loudness, and two sounds
that are heard together are fitted to one another, so that neither may be said to come before or
after. `stage_a` makes TeminAL A's corpus instead: one sound and two together.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, ClassVar, Final

import numpy as np
from pydantic import Field

from synth.base.errors import LeftOutError, PlanError
from synth.base.own_label import name_of
from synth.base.rng import pick
from synth.base.units import Seconds, to_frames
from synth.captions.caption import Caption, Pair, Provenance, Style
from synth.captions.contrast import Wording, judge
from synth.captions.narrative import Narrator
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase, are_kin
from synth.recipes.base import (
    Clip,
    Count,
    Draft,
    Groups,
    Length,
    Recipe,
    Setting,
    SplitCounts,
    SplitGroups,
    by_label,
    check_splits,
    explain_unnamed,
    longest_event,
    repeat_each,
    require_two,
)
from synth.recipes.fitting import DO_NOT_FIT, FittedPair, Fitting
from synth.recipes.matching import SPARE_S, match_samples
from synth.scene.claim import And, Only
from synth.scene.edit import EditKind, find_edit
from synth.scene.scene import Concat, Event, Overlay, Scene, events


class Triplets(Recipe):
    """Every ordered pair of classes, in groups that share two clips.

    Args:
        repeats: Groups per ordered pair of classes, each with newly drawn clips; one number for all
            splits, or a number per split.
        most_groups: Maximum number of groups per split, with pairs drawn at random; null for all
            pairs.
        crossfade_s: Overlap of joined sounds; shorter if it would cover more than half of one. The
            paper has none.
        max_event_s: Longer sounds are cut to an excerpt of this length; without it, only to what
            `audio.length` has room for. In natural style samples of a group last about equally
            long: sounds in a row share the time of one, and silence fills up the rest.
        least_event_s: Sounds may be cut to fit together, but never to less than this.
        style: `paper` gives each sample every false sentence as a negative; `natural` the captions
            of the other two of its group, so that the text never reveals which caption is false.
        stage_a: Make single and combined sounds instead, for TeminAL A.
    """

    name: ClassVar[str] = "triplets"
    repeats: SplitCounts = 1
    most_groups: Count | None = None
    crossfade_s: Seconds = Field(default=0.0, ge=0, le=30)
    max_event_s: Length | None = None
    least_event_s: Length = 1.0
    style: Style = Style.PAPER
    stage_a: bool = False

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Events must be longer than the crossfade, and `repeats` must be for the spec's splits."""
        longest_event(self.max_event_s, to_frames(self.crossfade_s, setting.rate), setting)
        check_splits("recipe.triplets.repeats", self.repeats, splits)

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label and be twice as long as the crossfade."""
        crossfade = to_frames(self.crossfade_s, setting.rate)
        return explain_unnamed(clip, "triplets need", self.style, crossfade, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Every ordered pair of a split's classes, `repeats` times.

        Kin (`lexicon.are_kin`: a dog and a bark, rain and heavy rain) make no pair; ESC-50 has
        none. An airplane and an engine do: every caption names both, and denies neither.
        """
        return ClassPairs.by_split(self, repeat_each(self.repeats, clips), clips, setting)


ONE_ORDER: Final = "too few clips for two orders of different sounds"
_TELLINGS: Final = 3
"""True captions of a sample in natural style."""
_CHOICES: Final = 3
"""Choices of words in a sentence: of two sounds and their relation."""
CONNECTIVES: Final = (Connective.BEFORE, Connective.AFTER, Connective.WHILE)


@dataclass(frozen=True)
class ClassPairs(SplitGroups[Triplets]):
    """Groups of two clips of two classes; `count` is of rounds.

    Each round holds every pair, shuffled. The two orders of two classes follow one another in
    `pairs`.
    """

    def __post_init__(self) -> None:
        labels = sorted(self._by_label)
        require_two(self.split, "triplets need", "classes", labels)
        _refuse_namesakes(self._by_label)
        if not self.pairs:
            raise PlanError(
                f"split {self.split}: each of the labels {', '.join(labels)} could "
                "describe the others' sounds",
                fix="add other sounds; or, if nobody could confuse these, say so: "
                f"`labels: {{{name_of(labels[0])}: {{excludes: [{name_of(labels[1])}]}}}}`",
            )

    def __len__(self) -> int:
        every = self.count * len(self.pairs)
        return min(every, self.settings.most_groups or every)

    @cached_property
    def _by_label(self) -> Mapping[str, Sequence[Clip]]:
        return by_label(self.clips)

    @cached_property
    def pairs(self) -> Sequence[tuple[str, str]]:
        """Every ordered pair of classes that are no kin."""
        return [
            pair
            for one, other in combinations(sorted(self._by_label), 2)
            if not are_kin(one, other)
            for pair in ((one, other), (other, one))
        ]

    def group(self, index: int) -> Sequence[Draft]:
        """Forward, reversed and overlay of one ordered pair; or TeminAL A's two.

        The two orders of a pair draw from different halves of its pairs of clips, as equal clips
        would make equal samples. One whose half has nothing that fits takes what the other order
        leaves of its own.
        """
        round_, position = divmod(index, len(self.pairs))
        order = self.permute("/order", round_, len(self.pairs))
        number = round_ * len(self.pairs) + int(order[position])
        rng = self.rng(index)
        pair = self._draw(number)
        if pair is None:
            other = self._draw(number ^ 1)
            if other is None:
                raise self._leave_out(number, DO_NOT_FIT)
            pair = self._find(number, rng, 1 - number % 2, other)
            if pair is None and self.settings.stage_a:  # alone, the second sound is new
                swapped = replace(other, first=other.second, second=other.first)
                return self._draft_single_and_combined(swapped)[:1]
            if pair is None:
                raise self._leave_out(number, ONE_ORDER)
        if self.settings.stage_a:
            return self._draft_single_and_combined(pair)
        members: tuple[tuple[Pair, Connective], ...] = (
            (Concat(pair.first, pair.second, pair.crossfade), Connective.BEFORE),
            (Concat(pair.second, pair.first, pair.crossfade), Connective.AFTER),
            (pair.overlay, Connective.WHILE),
        )
        if self.settings.style is Style.PAPER:
            wording = Wording(CONNECTIVES, Phrase.of_label, Style.PAPER)
            return [self.draft_contrast(scene, word, wording) for scene, word in members]
        drafts = self._draft_triplet([scene for scene, _ in members], rng)
        rng = self.rng(index, "/even")
        return match_samples(drafts, self.listener, self.setting, rng, SPARE_S)

    def _draft_triplet(self, scenes: Sequence[Pair], rng: np.random.Generator) -> list[Draft]:
        """Three samples that exchange their captions; further true ones are told in other words."""
        first, second = (Event(part.label) for part in events(scenes[0]))
        claims = Concat(first, second), Concat(second, first), Overlay(first, second)
        # The reversed order is told by the other word, or by the same with the sounds exchanged.
        words = Connective.BEFORE, pick(CONNECTIVES[:2], rng), Connective.WHILE
        told: list[tuple[Pair, Connective]] = list(zip(claims, words, strict=True))
        mains, *further = (_tell_all(told, rng) for _ in range(_TELLINGS))
        drafts = []
        for at, scene in enumerate(scenes):
            heard = self.listener.hear(scene)
            rivals = mains[:at] + mains[at + 1 :]
            others = [other.as_false(find_edit(claims[at], other.claim)) for other in rivals]
            others += [captions[at] for captions in further]
            captions = judge(mains[at], others, heard, self.setting.tolerance)
            drafts.append(Draft(scene, captions, heard))
        return drafts

    @cached_property
    def fitting(self) -> Fitting:
        """Finds clips that fit one another."""
        crossfade = to_frames(self.settings.crossfade_s, self.setting.rate)
        is_matched = self.settings.style is Style.NATURAL and not self.settings.stage_a
        longest = longest_event(self.settings.max_event_s, crossfade, self.setting)
        if is_matched:  # two parts of sounds in a row last no longer than one of them
            longest = self.setting.longest_of(1, 0, self.settings.max_event_s)
        return Fitting(
            listener=self.listener,
            setting=self.setting,
            longest=longest,
            least_s=self.settings.least_event_s,
            crossfade=crossfade,
            is_matched=is_matched,
        )

    def _draw(self, number: int) -> FittedPair | None:
        """The sounds of an ordered pair, from its own half."""
        return self._find(number, self.rng(number, "/sounds"), number % 2)

    def _find(
        self, number: int, rng: np.random.Generator, half: int, taken: FittedPair | None = None
    ) -> FittedPair | None:
        first, second = (self._by_label[label] for label in self.pairs[number % len(self.pairs)])
        return self.fitting.find(first, second, rng, half, taken)

    def _leave_out(self, number: int, reason: str) -> LeftOutError:
        longer = ", or let sounds last longer (recipe.triplets.max_event_s, audio.length)"
        return LeftOutError(
            reason,
            example=" and ".join(sorted(self.pairs[number % len(self.pairs)])),
            fix=f"add recordings of these labels to split {self.split}"
            + ("" if self.fitting.longest is None else longer),
        )

    def _draft_single_and_combined(self, pair: FittedPair) -> list[Draft]:
        """TeminAL A's prompts: a sound alone, and both together (appendix A.3)."""
        a, b = pair.first, pair.second
        first, second = Phrase.of_label(a.label).plain, Phrase.of_label(b.label).plain
        rule = Provenance.of_rule("stage-a")
        alone = Caption(f"single sound of {first}", Only(Event(a.label)), "", rule)
        claim = And(Event(a.label), Event(b.label))
        both = Caption(f"combined sound of {first} and {second}", claim, "", rule)
        members: tuple[tuple[Scene, Caption, Caption], ...] = (
            (a, alone, both),
            (pair.overlay, both, alone),
        )
        drafts = []
        for scene, main, other in members:
            timeline = self.listener.hear(scene)
            false = other.as_false(EditKind.PRESENCE)
            captions = judge(main, [false], timeline, self.setting.tolerance)
            drafts.append(Draft(scene, captions, timeline))
        return drafts


def _tell_all(claims: Sequence[tuple[Pair, Connective]], rng: np.random.Generator) -> list[Caption]:
    """The captions of a group; those of an order make the same choices of words."""
    shares = rng.random((len(claims), _CHOICES))
    shares[1] = shares[0]
    return [
        Narrator(Style.NATURAL, partial(_pick_next, iter(choices))).relate(claim, word)
        for choices, (claim, word) in zip(shares.tolist(), claims, strict=True)
    ]


def _pick_next(shares: Iterator[float], options: Sequence[Any]) -> Any:
    return options[int(next(shares) * len(options))]


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
