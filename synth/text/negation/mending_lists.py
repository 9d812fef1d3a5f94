"""Denying things in a list: "with guitar and bass" to "without guitar or bass"."""

from __future__ import annotations

from collections.abc import Sequence

from synth.text.negation.marked_caption import (
    SEPARATORS,
    STOPS,
    MarkedCaption,
    Place,
    TextEdit,
    closed_words,
    is_adverb,
    is_closed,
    words,
)
from synth.text.tags.tag_captions import enumerate_words
from synth.text.tags.tag_words import TagForm


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
    if any(_cannot_be_denied(caption, item) for item in denied) or caption.at(end) == "of":
        return None
    if items[-1] in kept and caption.at(end) not in STOPS | {","}:
        return None  # what follows belongs to the last item, which would no longer be last
    if len({_is_theme(caption, item) for item in denied}) > 1:
        return None  # "without piano or love theme" may deny the theme alone
    text = _list_text(caption, verb, kept, denied)
    ours = frozenset(at for item in denied for at in item if at in caption.denied)
    start = caption.tokens[opening - verb.count(" ")].start
    return TextEdit(start, caption.tokens[end - 1].end, text), ours


def _opener(caption: MarkedCaption, opening: int) -> str | None:
    """The word, or two, before a list; None where a denial cannot follow it."""
    word, before = caption.at(opening), caption.at(opening - 1)
    if opening < 0 or before in {"is", "are", "was", "were"}:
        return None
    if word == "by":
        return f"{before} by" if before in words("by opens list") else None
    if word == "with" and (before in words("binds with") or before.endswith("ed")):
        return None
    return caption.spelling(opening)


def _goes_on(caption: MarkedCaption, end: int) -> bool:
    """Whether what follows the list could be read as more of it, and so as denied."""
    after = end + 1 if caption.at(end) == "," else end
    if caption.at(after) in {"and", "&"}:
        after += 1
    if after == end:
        return False
    word, following = caption.at(after), caption.at(after + 1)
    clause = word.endswith(("ing", "ed")) and following in closed_words() | words("adverb")
    return not (clause or word in closed_words() - words("determiner"))


def _is_theme(caption: MarkedCaption, item: range) -> bool:
    return any(caption.is_form(at, TagForm.THEME) for at in item)


def _cannot_be_denied(caption: MarkedCaption, item: range) -> bool:
    """Whether "no" before the item would also deny a tag that is to stay, or a number."""
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
    whole = [_with_own_article(caption, item) for item in denied]
    return f"{negator} {enumerate_words(whole, 'or')}"


def _bare(caption: MarkedCaption, item: range) -> str:
    first = 1 if caption.at(item[0]) in words("determiner") else 0
    return caption.run(item[first:])


def _with_own_article(caption: MarkedCaption, item: range) -> str:
    return caption.run(item) if caption.at(item[0]) in {"a", "an"} else _bare(caption, item)


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
    if at == first or _is_clause(caption, first, at) or _is_half(caption, at - 1):
        return None
    return range(start, at)


def _in_item(caption: MarkedCaption, at: int) -> bool:
    word = caption.at(at)
    others = SEPARATORS | words("opens list") | words("follows music")
    closed = is_closed(word) or word in others
    return caption.tokens[at].match is not None or (word[0].isalnum() and not closed)


def _is_clause(caption: MarkedCaption, first: int, end: int) -> bool:
    """Whether a would-be item is a participle and what it governs: "creating a mood"."""
    last = caption.at(end - 1)
    governs = caption.at(end) in words("determiner") | {"by", "to"}
    if governs and (end - first == 1 or caption.at(end) in words("determiner")):
        return True
    return last.endswith("ed") or is_adverb(caption.at(first))


def _is_half(caption: MarkedCaption, last: int) -> bool:
    """Whether a comma only parts two adjectives: "a sweet, flute-like instrument"."""
    qualifies = caption.tokens[last].match is None or caption.is_form(last, TagForm.ADJECTIVE)
    return qualifies and caption.is_premodifier(last) and not caption.at(last).endswith("ing")
