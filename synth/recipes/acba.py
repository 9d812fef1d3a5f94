"""`acba`: two captioned clips joined by a crossfade, their captions by an ordering word.

After Wu et al. (2023), section 3.3: captions that hold no ordering word, a 1 s linear crossfade,
and "s1 before s2" or "s2 after s1" for clip 1 followed by clip 2. Clips without captions are said
by their label. Unlike the authors' script: whole-word filter, seeded, nothing padded or lost, and
the two sentences share no content word and no family of words ("a man talks", "someone speaks"), so
that neither can be said to describe the other's sound. In natural style a caption is put into the
form that its place in the sentence asks for, and one that has none is not used.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle, islice
from typing import Annotated, ClassVar, Final, NamedTuple

import numpy as np
from pydantic import Field, field_validator

from synth.base.errors import PlanError
from synth.base.memo import remember
from synth.base.rng import pick, shuffle
from synth.base.units import Frames, Seconds, to_frames
from synth.captions.caption import Style, frames
from synth.captions.contrast import Wording
from synth.labels.connective import ORDER, Connective
from synth.labels.lexicon import Phrase, are_confusable, are_kin, families
from synth.recipes.base import (
    Clip,
    Draft,
    Groups,
    Length,
    Recipe,
    Setting,
    SplitCounts,
    SplitGroups,
    all_different,
    check_splits,
    excerpt,
    explain_misleading,
    explain_too_short,
    is_proven,
    longest_event,
    make_listener,
    require_two,
    share_out,
)
from synth.scene.scene import Concat, Event
from synth.text.grammar.tokens import content_words, share_family, whole_words
from synth.text.order.temporal import Unjoinable, say_caption

ORDER_WORDS: Final = tuple(word.value for word in ORDER)


class Acba(Recipe):
    """Pairs of clips, joined in one order or in both.

    Args:
        pairs: Total samples, shared among the splits by their number of clips; or samples per
            split.
        relations: Ordering words, all equally likely.
        crossfade_s: Overlap of the two clips.
        max_event_s: Longer clips are cut to an excerpt of this length.
        style: Caption style.
        exclude_words: Captions with one of these words are not used. With "and" added, about the
            paper's 19k captions of AudioCaps remain.
        minimal_pairs: Use each pair of clips in both orders, two samples per group. If off, each
            sample has its own pair, as in the paper.
        share_words: Allow two captions that share a content word, or have two words for one sound.
    """

    name: ClassVar[str] = "acba"
    pairs: SplitCounts = 50_000
    relations: Annotated[tuple[Connective, ...], all_different("ordering words")] = (
        Connective.BEFORE,
        Connective.AFTER,
    )
    crossfade_s: Seconds = Field(default=1.0, ge=0, le=30)
    max_event_s: Length | None = None
    style: Style = Style.NATURAL
    exclude_words: tuple[str, ...] = ORDER_WORDS
    minimal_pairs: bool = True
    share_words: bool = False

    @field_validator("relations")
    @classmethod
    def _order_words(cls, relations: tuple[Connective, ...]) -> tuple[Connective, ...]:
        if not all(relation.is_order for relation in relations):
            raise ValueError("acba joins sounds in order; 'while' is for triplets")
        return relations

    def sentences(self, clip: Clip) -> list[str]:
        """The captions that can be joined."""
        return [text for text in clip.captions if not self.explain(text)]

    def say(self, caption: str) -> Phrase | Unjoinable:
        """A caption inside a sentence: as it is in the paper's style, else by its grammar."""
        return say_caption(caption) if self.style is Style.NATURAL else Phrase.of_caption(caption)

    def explain(self, caption: str) -> str:
        """Why a caption cannot be joined, "" where it can."""
        plain = Phrase.of_caption(caption).plain
        excluded = whole_words(self.exclude_words)
        if not plain:
            return "is empty"
        if excluded and excluded.search(plain):
            return "holds one of the words " + ", ".join(self.exclude_words)
        phrase = self.say(caption)
        return phrase.value if isinstance(phrase, Unjoinable) else ""

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Events must be longer than the crossfade, and `pairs` must be for the spec's splits."""
        longest_event(self.max_event_s, to_frames(self.crossfade_s, setting.rate), setting)
        check_splits("recipe.acba.pairs", self.pairs, splits)

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip needs a caption without ordering words, or one label, and twice the crossfade."""
        if clip.captions and not self.sentences(clip):
            return f"no caption can be joined: the first {self.explain(clip.captions[0])}"
        if not clip.captions and len(clip.labels) != 1:
            return f"has no caption and {len(clip.labels)} labels; acba needs one of either"
        if not clip.captions and (reason := explain_misleading(clip.labels[0], self.style)):
            return reason
        crossfade = to_frames(self.crossfade_s, setting.rate)
        if reason := explain_too_short(clip, crossfade, setting):
            return reason
        # Joined even to itself, too much of it may be covered: it would lead, and find no partner.
        longest = longest_event(self.max_event_s, crossfade, setting)
        part = excerpt(clip, longest, setting, setting.randomness.at("acba/sparse", 0))
        joined = Concat(Event("one", part), Event("other", part), crossfade)
        if is_proven(joined, make_listener([clip], setting), setting):
            return None
        return (
            "is heard too seldom: half of what is heard of it must be left by a crossfade of "
            f"{crossfade / setting.rate:g} s"
        )

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Pairs of clips of different recordings."""
        return ClipPairs.by_split(self, share_out(self.pairs, clips), clips, setting)


# Clip pairs: two clips that can follow one another, and the samples of both orders.


MAX_DRAWS: Final = 300
_CAPTIONS: Final = 4
"""So often a partner is asked for one of its captions."""
_KNOWN: Final = 1 << 14
"""Pairs of which it is kept whether they can be joined."""
_OPPOSITE: Final = {
    Connective.BEFORE: Connective.AFTER,
    Connective.AFTER: Connective.BEFORE,
}


class Saying(NamedTuple):
    """What a clip is called in a scene, its class or its whole caption, and in a sentence."""

    label: str
    phrase: Phrase


class JoinedPair(NamedTuple):
    """Two clips as they are heard, and the phrases of their labels."""

    first: Event
    second: Event
    phrases: Mapping[str, Phrase]


@dataclass(frozen=True)
class ClipPairs(SplitGroups[Acba]):
    """Groups of two clips; `count` is of samples.

    Every clip leads equally often: group i is led by the clip at i in a permutation that is drawn
    anew each time all clips have led. One that finds no partner leaves its place to the next.

    No two groups have the same two clips while half of all pairs are enough. The clips stand in a
    circle; each leads only those of the half that follows it, and other ones in each round. One in
    the place of the clip before it takes the second partner that it finds, and so on.
    """

    def __post_init__(self) -> None:
        recordings = {clip.recording for clip in self.clips}
        require_two(self.split, "acba needs", "recordings", recordings)
        sayings = {clip.id if clip.captions else clip.labels for clip in self.clips}
        require_two(self.split, "acba needs", "labels", sayings)

    @property
    def _group_size(self) -> int:
        return 2 if self.settings.minimal_pairs else 1

    def __len__(self) -> int:
        return -(-self.count // self._group_size)

    def group(self, index: int) -> Sequence[Draft]:
        """One pair of clips, in one order or both."""
        rng = self.rng(index)
        pair = self._find_new(index) or self._find_any(index, rng)
        if pair is not None:
            return self._members(pair, rng)[: self.count - index * self._group_size]
        fixes, alike = ["add clips"], ""
        if not self.settings.share_words:
            alike = ", whose captions share no word, nor name the same kind of sound"
            fixes.insert(0, "set `recipe.acba.share_words: true`")
        if self.settings.crossfade_s > 0:
            fixes.append("shorten recipe.acba.crossfade_s")
        raise PlanError(
            f"split {self.split}: no two clips found that can be heard one after the other{alike}",
            fix=", or ".join(fixes),
        )

    @cached_property
    def crossfade(self) -> Frames:
        """Overlap of the two clips."""
        return to_frames(self.settings.crossfade_s, self.setting.rate)

    @cached_property
    def longest(self) -> Frames | None:
        """Frames that each of the clips may last."""
        return longest_event(self.settings.max_event_s, self.crossfade, self.setting)

    def _members(self, pair: JoinedPair, rng: np.random.Generator) -> list[Draft]:
        relations, style = self.settings.relations, self.settings.style
        word = pick(relations, rng)
        frame = int(rng.integers(frames(style)))
        wording = Wording(relations, pair.phrases.__getitem__, style, frame)
        opposite = _OPPOSITE.get(word, word)
        words = word, opposite if opposite in relations else word
        orders = zip(self._orders(pair.first, pair.second), words, strict=True)
        is_labelled = all(
            phrase == Phrase.of_label(label) for label, phrase in pair.phrases.items()
        )
        return [
            self.draft_contrast(scene, connective, wording, is_labelled)
            for scene, connective in islice(orders, self._group_size)
        ]

    def _orders(self, a: Event, b: Event) -> tuple[Concat, Concat]:
        return Concat(a, b, self.crossfade), Concat(b, a, self.crossfade)

    @cached_property
    def _sayings(self) -> dict[str, list[Saying]]:
        """By clip, those that were asked for."""
        return {}

    def _draw_saying(self, clip: Clip, rng: np.random.Generator) -> Saying:
        if clip.id not in self._sayings:
            phrases = map(self.settings.say, self.settings.sentences(clip))
            sayings = [Saying(text.plain, text) for text in phrases if isinstance(text, Phrase)]
            labels = [Saying(name, Phrase.of_label(name)) for name in clip.labels[:1]]
            self._sayings[clip.id] = sayings or labels
        sayings = self._sayings[clip.id]
        return pick(sayings, rng) if clip.captions else sayings[0]

    def _leaders(self, index: int) -> Iterator[int]:
        """Places in the circle of who may lead a group: one that finds none leaves it to the next.

        Where it stands in the circle is drawn once for each round.
        """
        round_, position = divmod(index, len(self.clips))
        order = self.permute("/order", round_, len(self.clips))
        return (int(order[(position + step) % len(order)]) for step in range(len(order)))

    def _find_new(self, index: int) -> JoinedPair | None:
        """Two clips that no other group has; None where there seem to be none."""
        count = len(self.clips)
        round_ = index // count
        rounds = -(-len(self) // count)
        for step, leader in enumerate(self._leaders(index)):
            # Two that face each other are led by the first of them.
            farthest = count // 2 if leader < count // 2 else (count - 1) // 2
            partners = range(1 + round_, farthest + 1, rounds)
            if step < len(partners):
                rng = self.rng(round_ * count + leader, "/new")
                pair = next(islice(self._pairs(leader, partners, rng), step, None), None)
                if pair is not None:
                    return pair
        return None

    def _find_any(self, index: int, rng: np.random.Generator) -> JoinedPair | None:
        """Two clips that another group may have, too."""
        others = range(1, len(self.clips))
        pairs = (next(self._pairs(leader, others, rng), None) for leader in self._leaders(index))
        return next(filter(None, pairs), None)

    @cached_property
    def _circle(self) -> Sequence[Clip]:
        return shuffle(self.clips, self.rng(0, "/circle"))

    def _pairs(
        self, leader: int, distances: range, rng: np.random.Generator
    ) -> Iterator[JoinedPair]:
        """A leader with each partner that it finds so far behind it, none twice."""
        lead = self._circle[leader]
        saying = self._draw_saying(lead, rng)
        first = self._cut(lead, saying, rng)
        few = min(MAX_DRAWS, len(distances))
        order = rng.choice(len(distances), few, replace=False)
        used: set[int] = set()
        # Another of its captions may fit.
        for at in islice(cycle(order.tolist()), min(MAX_DRAWS, _CAPTIONS * few)):
            partner = self._circle[(leader + distances[at]) % len(self.clips)]
            if at in used or partner.recording == lead.recording:
                continue
            answer = self._draw_saying(partner, rng)
            if not self._can_meet(saying, answer):
                continue
            second = self._cut(partner, answer, rng)
            if self._can_be_joined(first, second):
                used.add(at)
                phrases = {saying.label: saying.phrase, answer.label: answer.phrase}
                yield JoinedPair(first, second, phrases)

    def _cut(self, clip: Clip, saying: Saying, rng: np.random.Generator) -> Event:
        return Event(saying.label, excerpt(clip, self.longest, self.setting, rng))

    def _can_be_joined(self, first: Event, second: Event) -> bool:
        """Whether both orders are proven; once few partners are left, most were tried before."""
        pair = frozenset((first, second))
        proven = self._known.get(pair)
        if proven is None:
            scenes = self._orders(first, second)
            proven = all(is_proven(scene, self.listener, self.setting) for scene in scenes)
            remember(self._known, pair, proven, _KNOWN)
        return proven

    @cached_property
    def _known(self) -> OrderedDict[frozenset[Event], bool]:
        return OrderedDict()

    def _can_meet(self, one: Saying, other: Saying) -> bool:
        """Whether neither can name the other's sound: labels by the lexicon, captions by words."""
        if self.settings.share_words:
            return not are_kin(one.label, other.label)
        texts = [f"{option.phrase.plain}, {option.phrase.clause}" for option in (one, other)]
        if families(one.label) and families(other.label):
            if are_confusable(one.label, other.label):
                return False
            return content_words(texts[0]).isdisjoint(content_words(texts[1]))
        return not share_family(*texts) and not are_kin(one.label, other.label)
