"""TextSwap: one keyword per category exchanged for a contrary, which makes a caption false.

After Manco et al., Augment, Drop & Swap, section 5.1. The paper's dictionary is not public; ours is
built by rule from any vocabulary, and holds the excluded pairs with the reason. An alternative must
contradict: it stands in another family ("rock" and "hip hop", a high and a low mood, violin and
piano), shares no word that would make it a kind of the other ("alternative rock"), and is seldom on
the same recording where the data tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synth.base.atomic import replacing
from synth.base.progress import Observer, Silent, track
from synth.labels.lexicon import Tag
from synth.labels.words import words_of
from synth.text.grammar.tokens import has_markup
from synth.text.negation.mending import find_sure, words
from synth.text.negation.negation import find_stated_tags
from synth.text.tags.tag_relations import (
    explain_not_contrary,
    find_listed,
    holds_words,
    is_implied,
    leaves_open,
    makes_likely,
    share_family,
)
from synth.text.tags.tags import TagCategory, TagVocabulary, fix_article, is_plural, phrase_tag

# The dictionary of TextSwap: which tag of a vocabulary may stand in for which, and why not.


SCHEMA: Final = pa.schema(
    [
        pa.field("tag", pa.string(), nullable=False),
        pa.field("category", pa.string(), nullable=False),
        pa.field("alternative", pa.string(), nullable=False),
        pa.field("allowed", pa.bool_(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class SwapEntry:
    """Whether one tag may stand in for another.

    Args:
        alternative: What would replace it, of the same category.
        reason: Why it may not; "" where it may.
    """

    tag: Tag
    alternative: Tag
    reason: str = ""


def build(
    vocabulary: TagVocabulary,
    items: Iterable[Collection[Tag]] = (),
    max_share: float = 0.05,
    observer: Observer | None = None,
) -> list[SwapEntry]:
    """Every pair of tags of one category, with the reason where they do not contradict.

    Args:
        items: The tags of recordings, to learn which go together; none where they are not known.
        max_share: Largest share of the rarer tag's recordings that may bear the other too.
    """
    count: Counter[Tag] = Counter()
    both: Counter[tuple[Tag, Tag]] = Counter()
    for tags in items:
        ordered = sorted(set(tags))
        count.update(ordered)
        both.update(combinations(ordered, 2))
    entries: list[SwapEntry] = []
    categories = list(vocabulary.by_category.values())
    for tags_of in track(categories, observer or Silent(), "textswap", "categories"):
        for first, second in combinations(tags_of, 2):
            reason = explain_not_contrary(first, second)
            rarer = min(count[first], count[second])
            together = both[min(first, second), max(first, second)]
            if not reason and together > max_share * rarer:
                reason = f"together on {together / rarer:.0%} of the rarer one's recordings"
            entries += [SwapEntry(first, second, reason), SwapEntry(second, first, reason)]
    rank = {tag: at for at, tag in enumerate(sorted({entry.tag for entry in entries}))}
    return sorted(entries, key=lambda entry: (rank[entry.tag], rank[entry.alternative]))


@dataclass(frozen=True)
class Dictionary:
    """The allowed exchanges of a vocabulary."""

    entries: tuple[SwapEntry, ...]

    @cached_property
    def vocabulary(self) -> TagVocabulary:
        """Its tags."""
        return TagVocabulary.of(self._tags)

    @cached_property
    def _tags(self) -> frozenset[Tag]:
        return frozenset(entry.tag for entry in self.entries)

    @cached_property
    def _allowed(self) -> Mapping[Tag, frozenset[Tag]]:
        allowed: dict[Tag, set[Tag]] = {}
        for entry in self.entries:
            if not entry.reason:
                allowed.setdefault(entry.tag, set()).add(entry.alternative)
        return {tag: frozenset(others) for tag, others in allowed.items()}

    @cached_property
    def _beside(self) -> Mapping[Tag, frozenset[Tag]]:
        """By tag, those of its category that contradict it or of which it says nothing."""
        return {
            tag: self._allowed.get(tag, frozenset()).union(
                other for other in tags if other != tag and leaves_open(tag, other)
            )
            for tags in self.vocabulary.by_category.values()
            for tag in tags
        }

    def draw(self, tag: Tag, known: Collection[Tag], rng: np.random.Generator) -> Tag | None:
        """One of the alternatives, each as likely as the others; None where there is none."""
        allowed = self._allowed.get(tag, frozenset())
        candidates = sorted(allowed & self.find_contraries((tag, *known)))
        order = (candidates[at] for at in rng.permutation(len(candidates)))
        return next(
            (
                alternative
                for alternative in order
                if are_alike(tag, alternative) and self.is_apart(alternative, known)
            ),
            None,
        )

    def find_contraries(self, known: Collection[Tag]) -> frozenset[Tag]:
        """The tags that contradict a known one, and each other of its category that is not open."""
        contraries: dict[str, frozenset[Tag]] = {}
        beside: dict[str, frozenset[Tag]] = {}
        for tag in dict.fromkeys(known):
            if tag in self._tags:
                kind = tag.category
                contraries[kind] = contraries.get(kind, frozenset()) | self._allowed.get(
                    tag, frozenset()
                )
                beside[kind] = beside.get(kind, self._beside[tag]) & self._beside[tag]
        return frozenset().union(*(contraries[kind] & beside[kind] for kind in contraries))

    def are_contrary(self, tag: Tag, other: Tag) -> bool:
        """Whether one may stand in for the other."""
        return other in self._allowed.get(tag, frozenset())

    def is_apart(self, alternative: Tag, known: Collection[Tag]) -> bool:
        """Whether no known tag of which the dictionary does not tell implies a contrary."""
        untold = [
            other
            for other in known
            if other.category != alternative.category or other not in self._tags
        ]
        implied = any(
            makes_likely(other, alternative) or share_family(other, alternative) for other in untold
        )
        return not implied and not is_implied(alternative, untold)

    def write(self, path: Path) -> None:
        """Write it as Parquet, whole or not at all."""
        columns = {
            "tag": [entry.tag.name for entry in self.entries],
            "category": [entry.tag.category for entry in self.entries],
            "alternative": [entry.alternative.name for entry in self.entries],
            "allowed": [not entry.reason for entry in self.entries],
            "reason": [entry.reason for entry in self.entries],
        }
        with replacing(path) as partial:
            pq.write_table(pa.table(columns, schema=SCHEMA), partial, compression="zstd")


def are_alike(tag: Tag, other: Tag) -> bool:
    """Whether two tags have the same form and number, so that a sentence holds for either."""
    ours, theirs = phrase_tag(tag), phrase_tag(other)
    return (
        ours.form is theirs.form
        and is_plural(ours.words) is is_plural(theirs.words)
        and (ours.words in words("collective")) is (theirs.words in words("collective"))
    )


# The exchange itself.


_SEXES: Final = frozenset({"male", "female"})


@dataclass(frozen=True, slots=True)
class Swapped:
    """A caption with keywords exchanged.

    Args:
        text: The new caption; "" where nothing could be exchanged.
    """

    text: str = ""
    swaps: tuple[tuple[Tag, Tag], ...] = ()


def swap(
    caption: str, known: Collection[Tag], dictionary: Dictionary, rng: np.random.Generator
) -> Swapped:
    """Exchange one keyword of each category for a contrary, at all its mentions.

    A genre or a mood that has others beside it in the caption stays, as no sentence is of "happy
    and dark" music; so does a voice where both sexes sing.

    Args:
        caption: The caption; a tag that it denies is left alone.
    """
    if has_markup(caption):
        return Swapped()
    stated = find_stated_tags(caption, dictionary.vocabulary)
    own = tuple(dict.fromkeys((*known, *stated, *find_listed(caption))))
    matches = dictionary.vocabulary.find(caption)
    sure = find_sure(caption, matches, bare=True)
    unsure = {match.tag for match in matches if match not in sure}
    whole = tuple(
        tag for tag in stated if tag not in unsure and not _has_company(tag, stated, caption)
    )
    swaps = tuple(draw_swaps(whole, own, dictionary, rng))
    if not swaps:
        return Swapped()
    return Swapped(_exchange(caption, dict(swaps), dictionary.vocabulary), swaps)


def _has_company(tag: Tag, stated: Iterable[Tag], caption: str) -> bool:
    kind = phrase_tag(tag).kind
    if kind is TagCategory.VOCAL:
        return {word.key for word in words_of(caption)} >= _SEXES
    if kind not in {TagCategory.GENRE, TagCategory.MOOD}:
        return False
    listed = (other for other in find_listed(caption) if not holds_words(tag.name, other.name))
    return any(phrase_tag(other).kind is kind for other in (*stated, *listed) if other != tag)


def draw_swaps(
    stated: Sequence[Tag], own: Sequence[Tag], dictionary: Dictionary, rng: np.random.Generator
) -> Iterator[tuple[Tag, Tag]]:
    """One stated tag of each category, with a contrary of all that a recording bears."""
    for category in dict.fromkeys(tag.category for tag in stated):
        tags = [tag for tag in stated if tag.category == category]
        for at in rng.permutation(len(tags)):
            alternative = dictionary.draw(tags[at], own, rng)
            if alternative is not None:
                yield tags[at], alternative
                break


def _exchange(caption: str, swaps: Mapping[Tag, Tag], vocabulary: TagVocabulary) -> str:
    text = caption
    for match in reversed(vocabulary.find(caption)):
        alternative = swaps.get(match.tag)
        if alternative is not None:
            said = phrase_tag(alternative).words
            before = fix_article(text[: match.start], said)
            if not before.strip() or before.rstrip()[-1] in ".!?":
                said = said[0].upper() + said[1:]
            text = f"{before}{said}{text[match.end :]}"
    return text
