"""Denying tags inside a caption, in English: only in places whose grammar is known.

Three places are: a quality before the noun for the music ("a rock song": "a song that is not
rock"), things in a list behind "with" or "features" ("with guitar and bass": "without guitar or
bass", "with bass but no guitar"), and qualities behind "is". A caption in which one of the tags
stands anywhere else is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from synth.base.shipped import read_shipped_rows
from synth.labels.words import COMPOUND, tokenize
from synth.text.grammar.tagger import POS, possible_pos_tags
from synth.text.tags.tag_captions import deny_qualities, enumerate_words
from synth.text.tags.tags import TagCategory, TagForm, TagMatch, article, find_category, phrase_tag

# A caption as words, marks and tags, some of the tags to be denied; and the words' roles.


LISTING: Final = "lexicons/mending_words.csv"
SEPARATORS: Final = frozenset({",", "and", "&"})
STOPS: Final = frozenset({".", "!", "?", ";", ":"})
_ADJECTIVE: Final = re.compile(
    r"(?i)(?:\w{2,}(?:ing|ed|ic|al|ful|ous|ive|ant|ent|less|able|ible|ary|ish|esque)|low|high|poor|"
    r"slow|fast|medium|quality|tempo|mid|live|short|long|simple|wide|old|new|modern|heavenly|raw|"
    r"female|male|flat|dry|tight|clean|rich|full|big|small|young|human|complex|unique|dense|subtle|"
    r"(?!\w*(?:ody|ony|rgy|try|ity|ncy|ory|phy|lly|day|joy|play)$)\w{3,}y|\w+-\w+)"
)


@cache
def words(role: str) -> frozenset[str]:
    """The listed words of a role: "music" nouns, "verb", "function" words, "sound" nouns ..."""
    return frozenset(row["word"] for row in read_shipped_rows(LISTING) if row["role"] == role)


@cache
def closed_words() -> frozenset[str]:
    """Words that end a noun phrase: function words and finite verbs."""
    return words("function") | words("verb")


def is_closed(word: str) -> bool:
    """Whether a word, or the one it is contracted with ("that's"), ends a noun phrase."""
    return word in closed_words() or word.split("'")[0] in closed_words()


def is_adverb(word: str) -> bool:
    """Whether a word grades the one behind it: "very", "incredibly"."""
    return word in words("adverb") or (word.endswith("ly") and word not in {"lively", "lovely"})


@dataclass(frozen=True, slots=True)
class MarkedToken:
    """A word, a mark or a whole tag (`match`), from character `start` to before `end`."""

    lower: str
    start: int
    end: int
    match: TagMatch | None


@dataclass(frozen=True, slots=True)
class Wordings:
    """The negators drawn for one caption: for a quality ("not"), for a thing ("without")."""

    quality: str
    thing: str


@dataclass(frozen=True, slots=True)
class MarkedCaption:
    """A caption in tokens; `denied` are the positions of the tags to deny."""

    text: str
    tokens: tuple[MarkedToken, ...]
    denied: frozenset[int]
    negators: Wordings

    @classmethod
    def of(
        cls,
        caption: str,
        matches: Sequence[TagMatch],
        denied: Collection[TagMatch],
        negators: Wordings,
    ) -> MarkedCaption:
        """From a caption and the tags in it, in order."""
        tokens: list[MarkedToken] = []
        at = 0
        for match in (*matches, None):
            end = match.start if match else len(caption)
            tokens.extend(
                MarkedToken(token.lower, at + token.start, at + token.end, None)
                for token in tokenize(caption[at:end], f"{COMPOUND}/&")
            )
            if match:
                tokens.append(MarkedToken(match.text.lower(), match.start, match.end, match))
                at = match.end
        wanted = frozenset(at for at, token in enumerate(tokens) if token.match in denied)
        return cls(caption, tuple(tokens), wanted, negators)

    def at(self, index: int) -> str:
        """The token in lower case; a stop before the first and behind the last."""
        return self.tokens[index].lower if 0 <= index < len(self.tokens) else "."

    def is_form(self, index: int, *forms: TagForm) -> bool:
        """Whether the token is a tag of one of the forms."""
        if not 0 <= index < len(self.tokens):
            return False
        match = self.tokens[index].match
        return match is not None and phrase_tag(match.tag).form in forms

    def is_premodifier(self, index: int) -> bool:
        """Whether the token may stand between an article and its noun."""
        word = self.at(index)
        after = self.at(index + 1)
        if word in {"tempo", "quality"} and (after in SEPARATORS or after.endswith("ing")):
            return False  # "a slow tempo and soft tones"
        return self.is_form(index, TagForm.ADJECTIVE) or (
            _ADJECTIVE.fullmatch(word) is not None
            and word not in closed_words()
            and word not in words("music")
        )

    def pass_qualities(self, index: int, step: int) -> int:
        """The first token from one on that is no quality, nor a mark between such."""
        while self.is_form(index, TagForm.ADJECTIVE) or self.at(index) in SEPARATORS:
            index += step
        return index

    def spelling(self, index: int) -> str:
        """The token as the caption has it."""
        token = self.tokens[index]
        return self.text[token.start : token.end]

    def run(self, indices: Sequence[int]) -> str:
        """Some tokens, with spaces between."""
        return " ".join(map(self.spelling, indices))


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Text to put in place of a stretch of the caption, in characters from 0."""

    start: int
    end: int
    text: str


Place: TypeAlias = tuple[TextEdit, frozenset[int]] | None
"""An edit and the positions of the tags it denies; None where none is safe."""


# Denying things in a list: "with guitar and bass" to "without guitar or bass".


def mend_in_list(caption: MarkedCaption, index: int) -> Place:
    """`with guitar and bass`: `without guitar or bass`, or `with bass but no guitar`."""
    opening = index - 1
    while opening >= 0 and caption.at(opening) not in words("opens list"):
        if caption.at(opening) in STOPS:
            return None
        opening -= 1
    verb = _opener(caption, opening)
    items, end = _items(caption, opening + 1)
    if verb is None or not any(index in item for item in items) or _goes_on(caption, end):
        return None
    denied = [item for item in items if not caption.denied.isdisjoint(item)]
    kept = [item for item in items if item not in denied]
    themes = {any(caption.is_form(at, TagForm.THEME) for at in item) for item in denied}
    if len(themes) > 1 or any(_cannot_be_denied(caption, item) for item in denied):
        return None  # "without piano or love theme" may deny the theme alone
    text = _list_text(caption, verb, kept, denied)
    places = frozenset(at for item in denied for at in item if at in caption.denied)
    start = caption.tokens[opening - verb.count(" ")].start
    return TextEdit(start, caption.tokens[end - 1].end, text), places


def _opener(caption: MarkedCaption, opening: int) -> str | None:
    """The word, or two, before a list; None where a denial cannot follow it."""
    word, before = caption.at(opening), caption.at(opening - 1)
    if opening < 0 or before in {"is", "are", "was", "were"} or word == "including":
        return None
    if word == "by":
        governor = caption.at(opening - 2)  # "all backed by", "is led by", "perfectly backed by"
        is_free = before in words("by opens list") and not is_closed(governor)
        return f"{before} by" if is_free and not is_adverb(governor) else None
    is_bound = before in words("binds with") or before.endswith("ed") or is_adverb(before)
    if word == "with" and is_bound:
        return None
    return caption.spelling(opening)


def _goes_on(caption: MarkedCaption, end: int) -> bool:
    """Whether what follows the list could be read as more or a part of it, and so as denied."""
    if caption.at(end) != ",":
        return caption.at(end) not in STOPS  # "guitar playing rhythm, and drums"
    after = end + 1 + (caption.at(end + 1) in {"and", "&"})
    word, following = caption.at(after), caption.at(after + 1)
    clause = word.endswith(("ing", "ed")) and following in closed_words() | words("adverb")
    return not (clause or word in closed_words() - words("determiner") - {"as"})


def _cannot_be_denied(caption: MarkedCaption, item: range) -> bool:
    """Whether "no" before the item would also deny a tag that is to stay, or a number."""
    if caption.at(item[0]) in {"this", "that"}:
        return True
    first = item[1] if caption.at(item[0]) in words("determiner") else item[0]
    stays = any(caption.tokens[at].match and at not in caption.denied for at in item)
    return stays or caption.at(first) in words("quantity") or is_adverb(caption.at(first))


def _list_text(
    caption: MarkedCaption, verb: str, kept: Sequence[range], denied: Sequence[range]
) -> str:
    bare = enumerate_words([_bare(caption, item) for item in denied], "or")
    if kept:
        return f"{verb} {enumerate_words([caption.run(item) for item in kept])} but no {bare}"
    if verb.lower() != "with" and not verb.endswith(" by"):
        return f"{verb} no {bare}"
    negator = caption.negators.thing
    if negator.split()[-1] == "no":
        return f"{negator} {bare}"
    names = [_bare(caption, item) for item in denied]
    whole = [
        f"{article(name)} {name}" if caption.at(item[0]) in {"a", "an"} else name
        for name, item in zip(names, denied, strict=True)
    ]
    return f"{negator} {enumerate_words(whole, 'or')}"


def _bare(caption: MarkedCaption, item: range) -> str:
    """The tag alone, as "no steady bass" may leave another bass."""
    return caption.run(range(max(caption.denied & {*item}), item.stop))


def _items(caption: MarkedCaption, at: int) -> tuple[list[range], int]:
    """The things of a list, each up to its noun, and where the list ends."""
    items: list[range] = []
    end = at
    while (item := _item(caption, at)) is not None:
        items.append(item)
        end = at = item.stop
        if caption.at(at) == ",":
            at += 1
        if caption.at(at) in {"and", "&"}:
            at += 1
        if at == end:
            break
    return items, end


def _item(caption: MarkedCaption, start: int) -> range | None:
    """From a determiner or the first word to the last word before a mark or a closed word."""
    first = start + 1 if caption.at(start) in words("determiner") else start
    at = first
    while at < len(caption.tokens) and _in_item(caption, at):
        at += 1
    if at == first or _is_clause(caption, first, at) or _is_half(caption, start, at - 1):
        return None
    return range(start, at)


def _in_item(caption: MarkedCaption, at: int) -> bool:
    word = caption.at(at)
    closed = is_closed(word) or word in _PARTING
    return caption.tokens[at].match is not None or (word[0].isalnum() and not closed)


def _is_clause(caption: MarkedCaption, first: int, end: int) -> bool:
    """Whether a would-be item is a participle and what it governs: "creating a mood"."""
    last = caption.at(end - 1)
    governs = caption.at(end) in words("determiner") | {"by", "to"}
    if governs and (end - first == 1 or caption.at(end) in words("determiner")):
        return True
    return last.endswith("ed") or is_adverb(caption.at(first))


def _is_half(caption: MarkedCaption, start: int, last: int) -> bool:
    """Whether a comma only parts two adjectives: "a sweet, flute-like instrument"."""
    qualifies = caption.tokens[last].match is None or caption.is_form(last, TagForm.ADJECTIVE)
    word = caption.at(last)
    if last == start + 1 and caption.at(start) in {"a", "an"}:  # "a soft and"
        return qualifies and POS.ADJ in possible_pos_tags(word)
    return qualifies and caption.is_premodifier(last) and not word.endswith("ing")


def mend(
    caption: str, matches: Sequence[TagMatch], denied: Collection[TagMatch], negators: Wordings
) -> tuple[str, TagMatch | None]:
    """The caption, in which `matches` are all tags in order, with some of them denied.

    Returns:
        The new caption and None; or "" and the first tag that stands where no edit is safe.
    """
    marked = MarkedCaption.of(caption, matches, denied, negators)
    edits: list[TextEdit] = []
    open_ = set(marked.denied)
    while open_:
        first = min(open_)
        edit = next((made for place in _PLACES if (made := place(marked, first))), None)
        if edit is None or not edit[1] <= open_:
            return "", marked.tokens[first].match
        edits.append(edit[0])
        open_ -= edit[1]
    text = caption
    for change in sorted(edits, key=lambda change: change.start, reverse=True):
        text = text[: change.start] + change.text + text[change.end :]
    return text[:1].upper() + text[1:] if caption[:1].isupper() else text, None


_JOINTS: Final = frozenset("/&-")
_PARTING: Final = SEPARATORS | words("opens list") | words("follows music")


def find_sure(
    caption: str, matches: Sequence[TagMatch], *, bare: bool = False
) -> tuple[TagMatch, ...]:
    """The matches that surely mean their tag, by where they stand.

    A quality stands before a noun for the music, or behind "is"; a thing is no part of a longer
    name, as "bass" is in "synth bass", and "guitar" in "electric guitar". Nothing is sure in a
    quotation or beside a slash, nor is "world" in "a whole new world".

    Args:
        bare: Whether a thing must stand in a list of things by itself, and nothing may tell how
            it is played or by how many: nothing else is strummed as a guitar is.
    """
    marked = MarkedCaption.of(caption, matches, (), Wordings("", ""))
    return tuple(
        token.match
        for at, token in enumerate(marked.tokens)
        if token.match and not _is_named(marked, at) and _means_music(marked, at)
        if not bare or _is_bare(marked, at)
    )


def _opens_item(word: str) -> bool:
    return word in SEPARATORS | STOPS | words("opens list")


def _is_bare(caption: MarkedCaption, index: int) -> bool:
    if not caption.is_form(index, TagForm.MASS, TagForm.COUNT):
        return True
    before = index - 2 if caption.at(index - 1) in words("determiner") else index - 1
    return (
        _opens_item(caption.at(before))
        and caption.at(index + 1) in SEPARATORS | STOPS | {"in"}
        and words("playing").isdisjoint(token.lower for token in caption.tokens)
    )


def _is_named(caption: MarkedCaption, index: int) -> bool:
    """Whether a tag stands in a quotation, or has a capital that is not its own."""
    token = caption.tokens[index]
    if caption.text.count('"', 0, token.start) % 2:
        return True
    match = token.match
    own = match is not None and phrase_tag(match.tag).words[0].isupper()
    if "&" in {caption.at(index - 1), caption.at(index + 1)}:
        return True  # "drum & bass" is neither
    if _JOINTS & {*caption.text[token.start - 1 : token.start], *caption.text[token.end :][:1]}:
        return True
    text = caption.spelling(index)
    first = index == 0 or caption.at(index - 1) in STOPS
    return text[0].isupper() and not (first or own or text.isupper())


def _means_music(caption: MarkedCaption, index: int) -> bool:
    if caption.is_form(index, TagForm.MASS, TagForm.COUNT):
        before, own = caption.at(index - 1), caption.at(index)
        if find_category(f"{before} {own}") or find_category(f"{before} {own.split()[0]}"):
            return False  # "electric guitar", also in a "guitar solo", whatever tags there are
        if own in words("part") and not _opens_item(before):
            return False  # the "badly tuned strings" of a banjo
        free = (
            not _names(caption, index - 1)
            or caption.is_premodifier(index - 1)
            or POS.ADJ in possible_pos_tags(before)
        )
        after = caption.at(index + 1)
        parted = not after[0].isalnum() or is_closed(after) or after in _PARTING
        return free and parted and after != "of"
    if caption.is_form(index, TagForm.THEME):
        last = index
        while caption.is_form(last, TagForm.THEME) or caption.at(last) in SEPARATORS:
            last += 1
        return caption.at(last) in {"theme", "themes"}
    if caption.is_form(index, TagForm.ERA):
        return True
    head = _edge(caption, index, +1)
    last = _end_of_noun(caption, head)
    if head <= last and caption.at(last) in words("music"):
        return True
    opening = caption.pass_qualities(index - 1, -1)
    behind = STOPS | {",", "with"} | words("verb")
    return caption.at(opening) in {"is", "are"} and caption.at(head) in behind


def _before_noun(caption: MarkedCaption, index: int) -> Place:
    """`a mellow rock song with ...`: `a song that is not mellow or rock, with ...`."""
    head = _edge(caption, index, +1)
    opening = _edge(caption, index, -1)
    last = _end_of_noun(caption, head)
    determiners = {"a", "an", "this", "the"} if caption.at(last) in words("music") else {"a", "an"}
    if last < head or caption.at(opening) not in determiners or caption.at(last) == "music":
        return None
    if caption.at(opening - 1) in {"is", "are"} and caption.at(opening - 2) in {
        caption.at(last),
        "there",
    }:
        return None  # "the song is a song that", "there is a tune that is not catchy, being"
    places = [at for at in range(opening + 1, last) if at in caption.denied]
    if not all(at < head and caption.is_form(at, TagForm.ADJECTIVE) for at in places):
        return None
    if any(is_adverb(caption.at(at - 1)) or _has_company(caption, at) for at in places):
        return None
    era = range(last + 1, last + 4)
    is_era = (caption.at(era[0]), caption.at(era[1])) == ("from", "the")
    if is_era and caption.is_form(era[2], TagForm.ERA) and era[2] not in caption.denied:
        last = era[2]
    predicate = f"is {_deny(caption, places)}"
    tail = _behind_noun(caption, opening, last, predicate)
    if tail is None:
        return None
    kept = _join_remaining(caption, range(opening + 1, head), places)
    noun = range(head + (caption.at(head) == "music"), last + 1)  # no "music song"
    named = f"{kept} {caption.run(noun)}".strip()
    determiner = caption.spelling(opening)
    if caption.at(opening) in {"a", "an"}:
        proper = article(named)
        determiner = proper.capitalize() if determiner[0].isupper() else proper
    start, end = caption.tokens[opening].start, caption.tokens[last].end
    return TextEdit(start, end, f"{determiner} {named}{tail}"), frozenset(places)


def _has_company(caption: MarkedCaption, index: int) -> bool:
    """Whether a mood is one of several, and nobody knows what the others say: "perky, happy"."""
    match = caption.tokens[index].match
    if match is None or phrase_tag(match.tag).kind is not TagCategory.MOOD:
        return False
    for step in (-1, 1):
        if caption.at(caption.pass_qualities(index + step, step) - step) in SEPARATORS:
            return True
    return False


def _end_of_noun(caption: MarkedCaption, head: int) -> int:
    """The last word of a noun of up to three words: "song", "bass line"; `head - 1` for none."""
    last = head - 1
    while last < head + 2 and _names(caption, last + 1):
        last += 1
    return head - 1 if _names(caption, last + 1) else last


def _names(caption: MarkedCaption, index: int) -> bool:
    word = caption.at(index)
    participle = word.endswith(("ed", "ing")) and word not in words("music")
    others = SEPARATORS | words("follows music")
    return word[0].isalpha() and not (participle or is_closed(word) or word in others)


def _edge(caption: MarkedCaption, index: int, step: int) -> int:
    """The first token on one side that is no premodifier."""
    at = index + step
    while (
        caption.is_premodifier(at)
        or caption.at(at) in SEPARATORS
        or (step < 0 and is_adverb(caption.at(at)))
    ):
        at += step
    return at


def _deny(caption: MarkedCaption, indices: Sequence[int]) -> str:
    """Qualities behind "is": "not happy", "not rock music"."""
    tags = [match.tag for at in indices if (match := caption.tokens[at].match)]
    phrases = dict.fromkeys(map(phrase_tag, tags))
    genres = [phrase.words for phrase in phrases if phrase.kind is not TagCategory.MOOD]
    moods = [phrase.words for phrase in phrases if phrase.kind is TagCategory.MOOD]
    return deny_qualities(moods, genres, caption.negators.quality)


def _behind_noun(caption: MarkedCaption, opening: int, last: int, predicate: str) -> str | None:
    """What the denial looks like behind the noun, None where it cannot stand there."""
    after = caption.at(last + 1)
    ends = after in STOPS or (after == "," and caption.at(last + 2) in closed_words())
    if caption.at(opening) in {"a", "an"}:
        if ends or after in words("verb"):
            return f" that {predicate}"
        if after == "that":
            return f" that {predicate} and"
        goes_on = after in words("follows music") or after.endswith(("ing", "ed"))
        return f" that {predicate}," if goes_on else None
    if after in words("verb"):
        return f" {predicate}, and"
    return f", which {predicate}" if ends else None


def _join_remaining(caption: MarkedCaption, span: range, left_out: Collection[int]) -> str:
    """The premodifiers that stay; those of one list, "rock, pop and jazz", are one still."""
    groups: list[list[int]] = []
    for at in span:
        if caption.at(at) in SEPARATORS:
            continue
        if not groups or caption.at(at - 1) not in SEPARATORS:
            groups.append([])
        groups[-1].append(at)
    parts: list[str] = []
    for group in groups:
        stay = [caption.spelling(at) for at in group if at not in left_out]
        marks = {caption.at(at) for at in range(group[0], group[-1])} & SEPARATORS
        parts += [", ".join(stay) if marks <= {","} else enumerate_words(stay)] if stay else []
    return " ".join(parts)


def _behind_is(caption: MarkedCaption, index: int) -> Place:
    """`is happy and calm`: `is not happy or calm`, or `is calm but not happy`."""
    opening, end = (caption.pass_qualities(index, step) for step in (-1, 1))
    while caption.at(end - 1) in SEPARATORS:
        end -= 1
    ends = caption.at(end) in STOPS | {"with"} or (
        caption.at(end) == "," and caption.at(end + 1) in closed_words()
    )  # behind "exciting, youthful and emotional" the list goes on
    if caption.at(opening) not in {"is", "are"} or not ends:
        return None
    span = [at for at in range(opening + 1, end) if caption.tokens[at].match]
    places = [at for at in span if at in caption.denied]
    kept = [caption.spelling(at) for at in span if at not in caption.denied]
    if not places or opening + 1 >= end:
        return None
    denial = _deny(caption, places)
    text = f"{enumerate_words(kept)} but {denial}" if kept else denial
    if caption.at(end) == "with":
        text += ","  # "not jazz music without saxophone" may be jazz with it
    start = caption.tokens[opening + 1].start
    return TextEdit(start, caption.tokens[end - 1].end, text), frozenset(places)


_PLACES: Final[tuple[Callable[[MarkedCaption, int], Place], ...]] = (
    _before_noun,
    mend_in_list,
    _behind_is,
)
