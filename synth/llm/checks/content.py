"""The words of a caption that carry its content, and what it tells of their order in time.

Nouns and verbs are compared by lemma and without deciding which of the two a form is: "barks" is
"barking" is "bark". Words that only frame a sound ("is heard", "starts", "in the background") and
those that tell order are no content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Final, TypeAlias

from synth.text.grammar.pos_lexicon import POS, possible_pos_tags
from synth.text.grammar.tokens import tokenize, word_set
from synth.text.grammar.verb_forms import lemma_of
from synth.text.grammar.words import function_words
from synth.text.order.connectives import ConnectiveKind, find_connectives

_FRAMING: Final = word_set(
    "accompanied accompany accompanying afterward afterwards amid amidst audio beforehand began "
    "begin beginning begins begun continue continued end ended ending ends eventually finally "
    "finish finishes first follow followed following follows happen happened happening happens "
    "initially last lastly later meanwhile middle moment moments occurred occurring order "
    "overlap overlapping overlaps precede preceded precedes preceding present simultaneous "
    "simultaneously started stopped subsequently succeeded succeeding time"
)
_CONTENT: Final = frozenset({POS.NOUN, POS.PROPN, POS.VERB})
_TOGETHER: Final = word_set("with amid amidst alongside along accompanied meanwhile")
_LISTING: Final = frozenset({"and", ",", ";", "or", "plus"})
_NEXT: Final = frozenset({ConnectiveKind.THEN, ConnectiveKind.FOLLOWED_BY, ConnectiveKind.BEFORE})
_AT_ONCE: Final = frozenset({ConnectiveKind.AS, ConnectiveKind.WHILE})
_UNREAD: Final = word_set(
    "later earlier next previously subsequently finally afterward afterwards beforehand first last "
    "preceded precedes preceding follows following until till once when since eventually "
    "initially lastly simultaneously follow precede succeeded succeeding"
)
Group: TypeAlias = frozenset[tuple[str, int]]
"""The content words of a part of a caption, each with how often it has it."""


@dataclass(frozen=True, slots=True)
class StatedOrder:
    """The order that a caption tells.

    Args:
        stages: Its parts from the first to the last. What parts of a stage are to one another is
            left open ("a dog barks and a bell rings"), unless they are together.
        together: The pairs of parts that are said to be at once.
    """

    stages: tuple[tuple[Group, ...], ...]
    together: frozenset[frozenset[Group]] = frozenset()

    def relations(self) -> dict[tuple[str, str], int]:
        """By pair of words, how their parts lie: 1 for first before second, -1 behind, 0 at once.

        Only of words that stand once in the caption; pairs without a certain relation are missing.
        """
        counts = Counter(word for stage in self.stages for group in stage for word, _ in group)
        often = {word for stage in self.stages for group in stage for word, n in group if n > 1}
        at = {
            word: (place, group)
            for place, stage in enumerate(self.stages)
            for group in stage
            for word, _ in group
            if counts[word] == 1 and word not in often
        }
        found = {}
        for (one, (place, group)), (other, (later, second)) in permutations(at.items(), 2):
            if place != later:
                found[one, other] = 1 if place < later else -1
            elif frozenset({group, second}) in self.together:
                found[one, other] = 0
        return found


@dataclass(frozen=True, slots=True)
class Content:
    """The content words of a caption.

    Args:
        parts: By part of the caption, the words in the order of the text.
        joins: What stands between a part and the next: "then", "and"; one fewer than parts.
        fronted: The connective before the first part, "" for none.
        unread: Whether it tells an order by words that `parse_order` cannot read.
    """

    parts: tuple[tuple[str, ...], ...]
    joins: tuple[str, ...]
    fronted: str
    unread: bool

    def words(self) -> tuple[str, ...]:
        """All the words, in the order of the text."""
        return tuple(word for part in self.parts for word in part)


@lru_cache(maxsize=4096)
def parse_content(caption: str) -> Content:
    """The content words of a caption, in parts cut at connectives, "and" and marks."""
    words = [token.lower for token in tokenize(caption)]
    cuts: dict[int, tuple[int, str]] = {
        found.start: (found.end, found.kind.value)
        for found in find_connectives(words)
        if not found.fault
    }
    parts: list[list[str]] = [[]]
    joins: list[str] = [""]
    index = 0
    while index < len(words):
        end, join = cuts.get(index, (index + 1, _join(words[index])))
        if not join:
            if is_content(words[index]):
                parts[-1].append(words[index])
        elif parts[-1]:
            parts.append([])
            joins.append(join)
        else:
            joins[-1] = _pick_stronger(joins[-1], join)
        index = end
    if not parts[-1]:
        parts.pop()
        joins.pop()
    return Content(
        tuple(map(tuple, parts)),
        tuple(joins[1:]),
        joins[0] if joins and joins[0] not in {"and", "."} else "",
        not _UNREAD.isdisjoint(words),
    )


def _join(word: str) -> str:
    if word in _TOGETHER:
        return ConnectiveKind.WHILE.value
    return "and" if word in _LISTING else "." if word in {".", "!", "?", ":"} else ""


def _pick_stronger(first: str, second: str) -> str:
    """Of two joins side by side the one that tells more: of ", and then" it is "then"."""
    return first if second in {"and", "."} and first not in {"", "and"} else second


@lru_cache(maxsize=65_536)
def is_content(word: str) -> bool:
    """Whether a word may be a noun or a verb, and is none that only frames others."""
    if word in function_words() or word in _FRAMING or not word[:1].isalpha():
        return False
    return not _CONTENT.isdisjoint(possible_pos_tags(word))


@lru_cache(maxsize=65_536)
def lemmas(word: str) -> frozenset[str]:
    """What a form may be a form of, as a noun and as a verb; itself among them."""
    from lemminflect import getAllLemmas

    known = getAllLemmas(word)
    found = {word, *(form for tag in ("NOUN", "VERB") for form in known.get(tag, ()))}
    if POS.VERB in possible_pos_tags(word):
        found.add(lemma_of(word))
    if not known and word.endswith("s") and not word.endswith("ss"):
        found.add(word[:-1])
    return frozenset(found - {""})


def in_words_of(words: Sequence[str], original: Sequence[str]) -> list[str]:
    """Words in the forms in which an original has them; a word that it lacks stays as it is."""
    left = Counter(original)
    found = list(words)
    for at, word in enumerate(words):
        if left[word]:
            left[word] -= 1
        else:
            found[at] = ""
    for at, word in enumerate(words):
        if found[at]:
            continue
        forms = lemmas(word)
        match = next((one for one in left if left[one] and not forms.isdisjoint(lemmas(one))), "")
        left[match] -= bool(match)
        found[at] = match or word
    return found


def align(content: Content, original: Content) -> Content:
    """The same content with its words in the forms in which the original has them."""
    words = iter(in_words_of(content.words(), original.words()))
    parts = tuple(tuple(next(words) for _ in part) for part in content.parts)
    return Content(parts, content.joins, content.fronted, content.unread)


def parse_order(content: Content) -> StatedOrder | None:
    """What is told from the first to the last; None where the words leave it open.

    Read are "then", "followed by", "before", "after", "as", "while", "with" and lists, one after
    the other or "before" and "after" at the head of a caption of two parts.
    """
    joins = content.joins
    if content.unread or "." in joins or not content.parts:
        return None
    groups = [frozenset(Counter(part).items()) for part in content.parts]
    if content.fronted:
        return _parse_fronted(content, groups)
    if ConnectiveKind.AFTER in joins:
        return (
            StatedOrder(tuple((group,) for group in reversed(groups))) if len(joins) == 1 else None
        )
    stages: list[tuple[Group, ...]] = [(groups[0],)]
    together: set[frozenset[Group]] = set()
    for join, before, group in zip(joins, groups, groups[1:], strict=False):
        if join in _NEXT:
            stages.append((group,))
            continue
        stages[-1] = (*stages[-1], group)
        if join in _AT_ONCE:
            together.add(frozenset({before, group}))
    return StatedOrder(tuple(stages), frozenset(together))


def _parse_fronted(content: Content, groups: list[Group]) -> StatedOrder | None:
    """Of "After A, B" and "As A, B"."""
    if content.joins != ("and",):
        return None
    if content.fronted in _AT_ONCE:
        return StatedOrder((tuple(groups),), frozenset({frozenset(groups)}))
    if content.fronted not in {ConnectiveKind.BEFORE, ConnectiveKind.AFTER}:
        return None
    order = groups if content.fronted == ConnectiveKind.AFTER else groups[::-1]
    return StatedOrder(tuple((group,) for group in order))
