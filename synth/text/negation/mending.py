"""Denying tags inside a caption, in English: only in places whose grammar is known.

Three places are: a quality before the noun for the music ("a rock song": "a song that is not
rock"), things in a list behind "with" or "features" ("with guitar and bass": "without guitar or
bass", "with bass but no guitar"), and qualities behind "is". A caption in which one of the tags
stands anywhere else is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from synth.text.grammar.pos_lexicon import POS, possible_pos_tags
from synth.text.negation.marked_caption import (
    SEPARATORS,
    STOPS,
    MarkedCaption,
    Place,
    TextEdit,
    Wordings,
    closed_words,
    is_adverb,
    is_closed,
    words,
)
from synth.text.negation.mending_lists import mend_in_list
from synth.text.tags.tag_captions import deny_qualities, enumerate_words
from synth.text.tags.tag_words import TagCategory, TagForm, article, find_category, phrase_tag
from synth.text.tags.tags import TagMatch


def mend(
    caption: str, matches: Sequence[TagMatch], denied: Collection[TagMatch], negators: Wordings
) -> tuple[str, TagMatch | None]:
    """The caption with some of its tags denied.

    Args:
        caption: The caption.
        matches: All tags in it, in order.
        denied: Those to deny.
        negators: The negators.

    Returns:
        The new caption and None; or "" and the first tag that stands where no edit is safe.
    """
    found = MarkedCaption.of(caption, matches, denied, negators)
    edits: list[TextEdit] = []
    open_ = set(found.denied)
    while open_:
        first = min(open_)
        edit = next((each for place in _PLACES if (each := place(found, first))), None)
        if edit is None or not edit[1] <= open_:
            return "", found.tokens[first].match
        edits.append(edit[0])
        open_ -= edit[1]
    return _apply(caption, edits), None


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
        caption: The caption.
        matches: Its tags.
        bare: Whether a thing must stand in a list of things by itself, and nothing may tell how
            it is played or by how many: nothing else is strummed as a guitar is.
    """
    found = MarkedCaption.of(caption, matches, (), Wordings("", ""))
    return tuple(
        token.match
        for at, token in enumerate(found.tokens)
        if token.match and not _is_named(found, at) and _means_music(found, at)
        if not bare or _is_bare(found, at)
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
    opening = index - 1
    while caption.is_form(opening, TagForm.ADJECTIVE) or caption.at(opening) in SEPARATORS:
        opening -= 1
    behind = STOPS | {",", "with"} | words("verb")
    return caption.at(opening) in {"is", "are"} and caption.at(head) in behind


def _apply(caption: str, edits: Sequence[TextEdit]) -> str:
    text = caption
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text[:1].upper() + text[1:] if caption[:1].isupper() else text


def _before_noun(caption: MarkedCaption, index: int) -> Place:
    """`a mellow rock song with ...`: `a song that is not mellow or rock, with ...`."""
    head = _edge(caption, index, +1)
    opening = _edge(caption, index, -1)
    last = _end_of_noun(caption, head)
    determiners = {"a", "an", "this", "the"} if caption.at(last) in words("music") else {"a", "an"}
    if last < head or caption.at(opening) not in determiners:
        return None
    ours = [at for at in range(opening + 1, last) if at in caption.denied]
    if not all(at < head and caption.is_form(at, TagForm.ADJECTIVE) for at in ours):
        return None
    if any(is_adverb(caption.at(at - 1)) for at in ours):
        return None
    era = range(last + 1, last + 4)
    if _is_era(caption, era) and era[-1] not in caption.denied:
        last = era[-1]
    predicate = f"is {_deny(caption, ours)}"
    tail = _behind_noun(caption, opening, last, predicate)
    if tail is None:
        return None
    kept = _join_remaining(caption, range(opening + 1, head), ours)
    named = f"{kept} {caption.run(range(head, last + 1))}".strip()
    determiner = caption.spelling(opening)
    if caption.at(opening) in {"a", "an"}:
        proper = article(named)
        determiner = proper.capitalize() if determiner[0].isupper() else proper
    start, end = caption.tokens[opening].start, caption.tokens[last].end
    return TextEdit(start, end, f"{determiner} {named}{tail}"), frozenset(ours)


def _is_era(caption: MarkedCaption, span: range) -> bool:
    """Whether "from the 80s" stands there."""
    said = caption.at(span[0]), caption.at(span[1])
    return said == ("from", "the") and caption.is_form(span[2], TagForm.ERA)


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
    said = dict.fromkeys(map(phrase_tag, tags))
    genres = [each.words for each in said if each.kind is not TagCategory.MOOD]
    moods = [each.words for each in said if each.kind is TagCategory.MOOD]
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
    opening = index
    while opening >= 0 and (
        caption.is_form(opening, TagForm.ADJECTIVE) or caption.at(opening) in SEPARATORS
    ):
        opening -= 1
    end = index
    while end < len(caption.tokens) and (
        caption.is_form(end, TagForm.ADJECTIVE) or caption.at(end) in SEPARATORS
    ):
        end += 1
    while caption.at(end - 1) in SEPARATORS:
        end -= 1
    if caption.at(opening) not in {"is", "are"} or caption.at(end) not in STOPS | {",", "with"}:
        return None
    span = [at for at in range(opening + 1, end) if caption.tokens[at].match]
    ours = [at for at in span if at in caption.denied]
    kept = [caption.spelling(at) for at in span if at not in caption.denied]
    if not ours or opening + 1 >= end:
        return None
    denial = _deny(caption, ours)
    text = f"{enumerate_words(kept)} but {denial}" if kept else denial
    if caption.at(end) == "with":
        text += ","  # "not jazz music without saxophone" may be jazz with it
    start = caption.tokens[opening + 1].start
    return TextEdit(start, caption.tokens[end - 1].end, text), frozenset(ours)


_PLACES: Final[tuple[Callable[[MarkedCaption, int], Place], ...]] = (
    _before_noun,
    mend_in_list,
    _behind_is,
)
