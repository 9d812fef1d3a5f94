"""TextSwap: one keyword per category exchanged for a contrary, which makes a caption false.

After Manco et al., Augment, Drop & Swap, section 5.1. The paper's dictionary is not public; ours is
built by rule from any vocabulary, and holds the excluded pairs with the reason. An alternative must
contradict: it stands in another family ("rock" and "hip hop", a high and a low mood, violin and
piano), shares no word that would make it a kind of the other ("alternative rock"), and is seldom on
the same recording where the data tell.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Bool, Int, Int64

from synth.base.atomic import replacing
from synth.base.progress import UNOBSERVED, Observer
from synth.labels.lexicon import Tag
from synth.labels.words import words_of
from synth.text.grammar.tokens import has_markup
from synth.text.negation.mending import find_sure, words
from synth.text.negation.negation import find_stated_tags
from synth.text.tags.tag_relations import (
    compare_names,
    explain_alike,
    explain_nearness,
    find_listed,
    holds_words,
    is_implied,
    is_named_in,
    leaves_open,
    makes_likely,
    meaning,
    name_keys,
    share_family,
)
from synth.text.tags.tags import TagCategory, TagVocabulary, fix_article, is_plural, phrase_tag

# The dictionary of TextSwap: which tag of a vocabulary may stand in for which, and why not.


SCHEMA: Final = pa.schema(
    [
        pa.field(name, pa.bool_() if name == "allowed" else pa.string(), nullable=False)
        for name in ("tag", "category", "alternative", "allowed", "reason")
    ]
)


_WRITTEN: Final = pa.schema(
    [
        one.with_type(pa.dictionary(pa.int32(), one.type)) if pa.types.is_string(one.type) else one
        for one in SCHEMA
    ]
)
"""The same as it is written: a text once, and its number in each row."""
_BATCH: Final = 1 << 19
"""SwapPairs that are written at once."""


@dataclass(frozen=True, slots=True)
class SwapPairs:
    """How many pairs a dictionary refuses, by reason, and how many tags have an alternative."""

    reasons: Counter[str]
    tags: int


@dataclass(frozen=True)
class _Index:
    """The tags of a category by what tells of them.

    Args:
        meanings: By place, the number of what a tag means.
        samples: A tag of each meaning.
        named: By a part of its name, the places of the tags that have it.
        nameless: The places of tags without a word.
        alike: By meaning, what its tags are to those of each meaning, and whether their names are
            compared first, once somebody asked.
    """

    tags: tuple[Tag, ...]
    meanings: Int64[np.ndarray, " tags"]
    samples: tuple[Tag, ...]
    named: Mapping[Hashable, Sequence[int]]
    nameless: Sequence[int]
    alike: dict[int, tuple[Int64[np.ndarray, " meanings"], Bool[np.ndarray, " meanings"]]] = field(
        default_factory=dict
    )

    @classmethod
    def of(cls, tags: tuple[Tag, ...]) -> _Index:
        """Of a category's tags."""
        samples: dict[Hashable, tuple[int, Tag]] = {}
        numbers = [samples.setdefault(meaning(tag), (len(samples), tag))[0] for tag in tags]
        named: dict[Hashable, list[int]] = {}
        for at, tag in enumerate(tags):
            for key in name_keys(tag.name):
                named.setdefault(key, []).append(at)
        nameless = [at for at, tag in enumerate(tags) if not name_keys(tag.name)]
        return cls(
            tags, np.array(numbers), tuple(tag for _, tag in samples.values()), named, nameless
        )

    def near(self, tag: Tag) -> Sequence[int]:
        """The places of all tags whose names may be near."""
        keys = name_keys(tag.name)
        places = {at for key in keys for at in self.named.get(key, ())}
        return [*places, *self.nameless] if keys else range(len(self.tags))


@dataclass(frozen=True)
class Dictionary:
    """Which tags of a vocabulary may stand in for which, decided for a tag when it is asked for.

    Args:
        together: By tag, the others that recordings bear too often along with it, and how often.
    """

    vocabulary: TagVocabulary
    together: Mapping[Tag, Mapping[Tag, str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        vocabulary: TagVocabulary,
        items: Iterable[Collection[Tag]] = (),
        max_share: float = 0.05,
    ) -> Dictionary:
        """The dictionary of a vocabulary.

        Args:
            items: The tags of recordings, to learn which go together; none where they are not
                known.
            max_share: Largest share of the rarer tag's recordings that may bear the other too.
        """
        count: Counter[Tag] = Counter()
        both: Counter[tuple[Tag, Tag]] = Counter()
        for tags in items:
            ordered = sorted(set(tags))
            count.update(ordered)
            both.update(combinations(ordered, 2))
        together: dict[Tag, dict[Tag, str]] = {}
        for (first, second), shared in both.items():
            rarer = min(count[first], count[second])
            if shared > max_share * rarer:
                reason = f"together on {shared / rarer:.0%} of the rarer one's recordings"
                together.setdefault(first, {})[second] = reason
                together.setdefault(second, {})[first] = reason
        return cls(vocabulary, together)

    @cached_property
    def _indices(self) -> Mapping[str, _Index]:
        return {name: _Index.of(tags) for name, tags in self.vocabulary.by_category.items()}

    @cached_property
    def _known(self) -> dict[Tag, tuple[frozenset[Tag], frozenset[Tag]]]:
        """What was asked for so far."""
        return {}

    @cached_property
    def _codes(self) -> dict[str, int]:
        """The reasons met so far, by number."""
        return {"": 0}

    def _encode(self, reason: str) -> int:
        return self._codes.setdefault(reason, len(self._codes))

    def explain(self, tag: Tag) -> list[str]:
        """For each tag of its category, why it may not stand in for the tag; "" where it may."""
        codes = self._explain(tag).tolist()
        reasons = list(self._codes)
        return [reasons[code] for code in codes]

    def _explain(self, tag: Tag) -> Int64[np.ndarray, " tags"]:
        """The same in numbers."""
        index = self._indices[tag.category]
        own = index.meanings[bisect_left(index.tags, tag)]
        if own not in index.alike:
            index.alike[own] = (
                np.array([self._encode(explain_alike(tag, other)) for other in index.samples]),
                np.array([compare_names(tag, other) for other in index.samples]),
            )
        alike, named = index.alike[own]
        codes: Int64[np.ndarray, " tags"] = alike[index.meanings]
        near = np.array(index.near(tag) if named.any() else (), dtype=np.int64)
        for at in near[named[index.meanings[near]]].tolist():
            if reason := explain_nearness(tag.name, index.tags[at].name):
                codes[at] = self._encode(reason)
        for other, reason in self.together.get(tag, {}).items():
            at = bisect_left(index.tags, other)
            if at < len(index.tags) and index.tags[at] == other and not codes[at]:
                codes[at] = self._encode(reason)
        return codes

    def _look_up(self, tag: Tag) -> tuple[frozenset[Tag], frozenset[Tag]]:
        """Its alternatives; these, and those of its category of which it says nothing."""
        if tag not in self._tags:
            return frozenset(), frozenset()
        if tag not in self._known:
            tags = self.vocabulary.by_category[tag.category]
            pairs = zip(tags, self.explain(tag), strict=True)
            allowed = frozenset(other for other, reason in pairs if not reason and other != tag)
            open_ = (other for other in tags if other != tag and leaves_open(tag, other))
            self._known[tag] = allowed, allowed.union(open_)
        return self._known[tag]

    @cached_property
    def _tags(self) -> frozenset[Tag]:
        return frozenset(self.vocabulary.tags)

    def draw(self, tag: Tag, known: Collection[Tag], rng: np.random.Generator) -> Tag | None:
        """One of the alternatives, each as likely as the others; None where there is none."""
        allowed, _ = self._look_up(tag)
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
                allowed, around = self._look_up(tag)
                contraries[kind] = contraries.get(kind, frozenset()) | allowed
                beside[kind] = beside.get(kind, around) & around
        return frozenset().union(*(contraries[kind] & beside[kind] for kind in contraries))

    def are_contrary(self, tag: Tag, other: Tag) -> bool:
        """Whether one may stand in for the other."""
        return other in self._look_up(tag)[0]

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

    def write(self, path: Path, observer: Observer = UNOBSERVED) -> SwapPairs:
        """Write every pair of a category as Parquet, whole or not at all."""
        counts: Counter[str] = Counter()
        with_one = 0
        observer.start("textswap", len(self.vocabulary.tags), "tags")
        with (
            replacing(path) as partial,
            pq.ParquetWriter(partial, _WRITTEN, compression="zstd", store_schema=False) as writer,
        ):
            for category, tags in self.vocabulary.by_category.items():
                size = max(1, _BATCH // len(tags))
                for start in range(0, len(tags), size):
                    rows = range(start, min(start + size, len(tags)))
                    codes = np.stack([self._explain(tags[row]) for row in rows])
                    is_other = np.arange(len(tags)) != np.array(rows)[:, None]
                    row, alternative = np.nonzero(is_other)
                    reason = codes[is_other]
                    names = [tag.name for tag in tags]
                    columns = [
                        _spread(names, row + start),
                        _spread([category], np.zeros_like(row)),
                        _spread(names, alternative),
                        pa.array(reason == 0),
                        _spread([*self._codes], reason),
                    ]
                    writer.write_table(pa.table(columns, schema=_WRITTEN))
                    for text, count in zip(self._codes, np.bincount(reason), strict=False):
                        counts[text] += int(count)
                    with_one += len(np.unique(row[reason == 0]))
                    observer.advance("textswap", len(rows))
        observer.finish("textswap")
        return SwapPairs(+counts, with_one)


def _spread(values: Sequence[str], places: Int[np.ndarray, " rows"]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), pa.array(values))


def are_alike(tag: Tag, other: Tag) -> bool:
    """Whether two tags have the same form and number, so that a sentence holds for either."""
    phrase, rival = phrase_tag(tag), phrase_tag(other)
    return (
        phrase.form is rival.form
        and is_plural(phrase.words) is is_plural(rival.words)
        and (phrase.words in words("collective")) is (rival.words in words("collective"))
    )


# The exchange itself.


_SEXES: Final = frozenset({"male", "female"})


@dataclass(frozen=True, slots=True)
class Swapped:
    """A caption with keywords exchanged; "" where nothing could be exchanged."""

    text: str = ""
    swaps: tuple[tuple[Tag, Tag], ...] = ()


def swap(
    caption: str, known: Collection[Tag], dictionary: Dictionary, rng: np.random.Generator
) -> Swapped:
    """Exchange one keyword of each category for a contrary, at all its mentions.

    A genre or a mood that has others beside it in the caption stays, as no sentence is of "happy
    and dark" music; so does a voice where both sexes sing, and a tag that is denied.
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
    drawn = draw_swaps(whole, own, dictionary, rng)
    swaps = tuple(pair for pair in drawn if not is_named_in(pair[1], caption))
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
            term = phrase_tag(alternative).words
            before = fix_article(text[: match.start], term)
            if not before.strip() or before.rstrip()[-1] in ".!?":
                term = term[0].upper() + term[1:]
            text = f"{before}{term}{text[match.end :]}"
    return text
