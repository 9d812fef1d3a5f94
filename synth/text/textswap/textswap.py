"""TextSwap: one keyword per category exchanged for a contrary, which makes a caption false.

After Manco et al., Augment, Drop & Swap, section 5.1. The paper's dictionary is not public; ours is
built by rule from any vocabulary, and holds the excluded pairs with the reason. An alternative must
contradict: it stands in another family ("rock" and "hip hop", a high and a low mood, violin and
piano), shares no word that would make it a kind of the other ("alternative rock"), and is seldom on
the same recording where the data tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from synth.labels.tag import Tag
from synth.text.grammar.prose import has_markup
from synth.text.negation.mending import find_sure
from synth.text.negation.negation import find_stated_tags
from synth.text.tags.tag_families import find_listed
from synth.text.tags.tag_kin import holds_words
from synth.text.tags.tag_words import TagCategory, fix_article, phrase_tag
from synth.text.tags.tags import TagVocabulary, words_of
from synth.text.textswap.dictionary import Dictionary

_SEXES: Final = frozenset({"male", "female"})


@dataclass(frozen=True, slots=True)
class Swapped:
    """A caption with keywords exchanged.

    Args:
        text: The new caption; "" where nothing could be exchanged.
        swaps: Each tag with what replaced it.
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
        known: The tags of the recording.
        dictionary: The allowed exchanges.
        rng: The item's generator.
    """
    if has_markup(caption):
        return Swapped()
    stated = find_stated_tags(caption, dictionary.vocabulary)
    own = tuple(dict.fromkeys((*known, *stated, *find_listed(caption))))
    found = dictionary.vocabulary.find(caption)
    sure = find_sure(caption, found, bare=True)
    unsure = {match.tag for match in found if match not in sure}
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
