"""Negated captions: one absent tag denied, or half or all of a caption's own tags.

After Vasilakis et al., Towards effective negation modeling in joint audio-text models for music:
*negation insert* (section 2.1) puts a tag that is not in the caption behind a negator; *half* and
*fully negated* captions (section 2.2) put one before half of the caption's tags, rounded up, or all
of them. `natural` style writes what a person would; a caption in which a tag stands where its
grammar is not known is left out, and a list of tags becomes a sentence. Such a half denies what can
be denied in place, at most half of the tags.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from synth.labels.lexicon import Tag, lower_initial
from synth.labels.words import words_of
from synth.text.grammar.tokens import has_markup
from synth.text.negation.mending import Wordings, find_sure, mend, words
from synth.text.negation.negators import (
    Negated,
    NegationExtent,
    NegationOutcome,
    NegationReason,
    Negators,
    add_denial,
    find_denials,
    is_denied,
    shipped_negators,
)
from synth.text.tags.tag_captions import FRAMES, describe
from synth.text.tags.tag_relations import (
    explain_undeniable,
    families,
    find_listed,
    holds_words,
    implies,
    is_implied,
    is_named_in,
    is_vague,
)
from synth.text.tags.tags import (
    TagCategory,
    TagForm,
    TagMatch,
    TagVocabulary,
    fix_article,
    phrase_tag,
)

_PLACE: Final = re.compile(r"(?:^|(?<=\s))(?=[^\W_])")
_FINAL_MARKS: Final = ".!?;, "
_TRIES: Final = 12


@dataclass(frozen=True, slots=True)
class Negation:
    """How captions are negated.

    Args:
        natural: Mend the grammar, rather than put a negator before the tag as printed.
    """

    vocabulary: TagVocabulary
    natural: bool = False
    negators: Negators = field(default_factory=shipped_negators)


@dataclass(frozen=True, slots=True)
class _Read:
    """A caption, its tags, and those of them that it says are there."""

    caption: str
    matches: tuple[TagMatch, ...]
    stated: tuple[TagMatch, ...]

    @property
    def tags(self) -> tuple[Tag, ...]:
        return tuple(dict.fromkeys(match.tag for match in self.stated))

    @property
    def rest(self) -> str:
        """What it says beside tags."""
        rest = self.caption
        for match in reversed(self.matches):
            rest = f"{rest[: match.start]} {rest[match.end :]}"
        return rest

    @property
    def is_list(self) -> bool:
        """Whether it says nothing but tags: "violin, bass, no drums", "bass in a happy song"."""
        keys = {word.key for word in words_of(self.rest)}
        return keys <= words("plain") | words("music") | words("determiner")


def find_stated_tags(caption: str, vocabulary: TagVocabulary) -> tuple[Tag, ...]:
    """The tags that a caption says are there: named, and nowhere denied."""
    return _read(caption, vocabulary).tags


def negate(
    caption: str,
    mode: NegationExtent,
    how: Negation,
    rng: np.random.Generator,
    known: Collection[Tag] = (),
    insert: Tag | None = None,
) -> Negated:
    """The caption with an absent tag denied, or with half or all of its tags denied.

    A tag that the caption denies already ("no drums") is neither counted nor denied again, and what
    stands there stays; so are the other mentions of such a tag.

    Args:
        known: Further tags of the recording, which no inserted denial may touch.
        insert: The tag that an inserted denial must be of; any that fits, if there is none.
    """
    if has_markup(caption):
        return Negated(mode, NegationOutcome.NONE, reason=NegationReason.MARKUP)
    read = _read(caption, how.vocabulary)
    if mode is NegationExtent.INSERT:
        return _insert(read, how, rng, known, (insert,) if insert else how.vocabulary.tags)
    if not read.matches:
        return Negated(mode, NegationOutcome.NONE, reason=NegationReason.NO_TAG)
    if not read.tags:
        return Negated(mode, NegationOutcome.NONE, reason=NegationReason.ALL_DENIED)
    return (_negate_naturally if how.natural else _negate_plainly)(read, mode, how, rng)


def _read(caption: str, vocabulary: TagVocabulary) -> _Read:
    matches = vocabulary.find(caption)
    stretches = find_denials(caption, matches)
    gone = {match.tag for match in matches if is_denied(match, stretches)}
    return _Read(caption, matches, tuple(match for match in matches if match.tag not in gone))


def _choose(tags: Sequence[Tag], mode: NegationExtent, rng: np.random.Generator) -> tuple[Tag, ...]:
    """All tags, or half of them, rounded up, in the caption's order.

    With a tag goes whatever implies it: who denies "electronic" denies "techno". None where no half
    can be denied so.
    """
    if mode is NegationExtent.FULL:
        return tuple(tags)
    count = _count(len(tags), mode)
    drawn: set[Tag] = set()
    for at in rng.permutation(len(tags)):
        more = drawn | {tag for tag in tags if implies(tag, tags[at])}
        if len(more) <= count and not any(
            implies(tag, denied) for denied in more for tag in tags if tag not in more
        ):
            drawn = more
    kept = [tag for tag in tags if tag not in drawn]
    if len(drawn) != count or _contradicts(kept, drawn):
        return ()
    return tuple(tag for tag in tags if tag in drawn)


def _count(tags: int, mode: NegationExtent) -> int:
    return tags if mode is NegationExtent.FULL else -(-tags // 2)


def _negate_plainly(
    read: _Read, mode: NegationExtent, how: Negation, rng: np.random.Generator
) -> Negated:
    """A random negator before each mention of the tags."""
    tags = _choose(read.tags, mode, rng)
    if not tags:
        return Negated(mode, NegationOutcome.NONE, reason=NegationReason.IMPLIED)
    kept = tuple(tag for tag in read.tags if tag not in tags)
    names = [match.tag for match in read.matches]
    for _ in range(_TRIES):
        text = read.caption
        for match in reversed(read.stated):
            if match.tag in tags:
                text = put_before(text, match.start, str(rng.choice(how.negators.plain)))
        if [match.tag for match in how.vocabulary.find(text)] == names:
            return Negated(mode, NegationOutcome.NEGATED, text, tuple(tags), kept)
    return Negated(mode, NegationOutcome.NONE, reason=NegationReason.MISREAD)


def put_before(text: str, at: int, words: str) -> str:
    """Words put in before a position; "a", "an" and the first capital agree with them."""
    before, after = text[:at], text[at:]
    before = fix_article(before, words)
    if not before.strip() and after[:1].isupper():
        return f"{before}{words[0].upper()}{words[1:]} {lower_initial(after)}"
    return f"{before}{words} {after}"


def _insert(
    read: _Read,
    how: Negation,
    rng: np.random.Generator,
    known: Collection[Tag],
    candidates: Sequence[Tag],
) -> Negated:
    names = sorted(match.tag for match in read.matches)
    taken = [*dict.fromkeys(match.tag for match in read.matches), *known]
    for tag in _draw_absent(read.caption, how, rng, taken, candidates):
        if how.natural:
            text = add_denial(read.caption, tag, how.negators, rng)
        else:
            text = _insert_tag(read, tag, how.negators, rng)
        if sorted(match.tag for match in how.vocabulary.find(text)) == sorted([*names, tag]):
            return Negated(NegationExtent.INSERT, NegationOutcome.NEGATED, text, (tag,), read.tags)
    return Negated(NegationExtent.INSERT, NegationOutcome.NONE, reason=NegationReason.NO_OTHER_TAG)


def _draw_absent(
    caption: str,
    how: Negation,
    rng: np.random.Generator,
    taken: Sequence[Tag],
    candidates: Sequence[Tag],
) -> Iterator[Tag]:
    """Candidates in random order that neither the caption nor the recording has, even in part."""
    for at in rng.permutation(len(candidates)):
        tag = candidates[at]
        sayable = not how.natural or can_be_denied(tag)
        near = is_implied(tag, taken) or is_named_in(tag, caption)
        if sayable and not near and not explain_undeniable(tag, caption, taken):
            yield tag


def can_be_denied(tag: Tag) -> bool:
    """Whether a sentence can deny a tag, and it is known what else would say it."""
    phrase = phrase_tag(tag)
    known = families(tag) or phrase.kind not in {TagCategory.GENRE, TagCategory.MOOD}
    return bool(known) and not is_vague(tag) and phrase.form not in {TagForm.NONE, TagForm.THEME}


def _insert_tag(read: _Read, tag: Tag, negators: Negators, rng: np.random.Generator) -> str:
    """A negator and the tag, between any two words that are not inside a tag or a denial."""
    caption, words = read.caption, f"{rng.choice(negators.plain)} {tag.name}"
    closed = [(match.start, match.end) for match in read.matches]
    closed += [(denial.start, denial.stop) for denial in find_denials(caption, read.matches)]
    places = [
        place.start()
        for place in _PLACE.finditer(caption)
        if not any(start < place.start() < end for start, end in closed)
    ]
    end = len(caption.rstrip(_FINAL_MARKS))
    at = int(rng.choice([*places, end]))
    if at == end:
        return f"{caption[:end]} {words}{caption[end:]}".strip()
    return put_before(caption, at, words)


def _negate_naturally(
    read: _Read, mode: NegationExtent, how: Negation, rng: np.random.Generator
) -> Negated:
    """The caption edited, or told anew where it says nothing but tags; a half keeps something."""
    if mode is NegationExtent.HALF and len(read.tags) == 1:
        return Negated(mode, NegationOutcome.NONE, reason=NegationReason.ONE_TAG)
    unsure = {*read.stated} - {*find_sure(read.caption, read.stated)}
    sure = {*read.tags} - {match.tag for match in unsure} - {*filter(is_vague, read.tags)}
    # What is denied at once: all tags, or one sure one after another, with whatever implies it.
    at_once: list[Sequence[Tag]] = [read.tags] if sure else []
    if mode is not NegationExtent.FULL:
        certain = [tag for tag in read.tags if tag in sure]
        drawn = [certain[at] for at in rng.permutation(len(certain))]
        at_once = [[tag for tag in read.tags if implies(tag, denied)] for denied in drawn]
    negators = Wordings(str(rng.choice(how.negators.quality)), str(rng.choice(how.negators.thing)))
    edited = Negated(mode, NegationOutcome.NONE, reason=_explain(read, at_once, mode))
    for tags in at_once if edited.reason == NegationReason.GRAMMAR else ():
        denied = {*tags, *edited.denied}
        if denied <= sure and len(denied) <= _count(len(read.tags), mode):
            edited = _edit(read, denied, mode, how, negators) or edited
    return edited if edited.text or not read.is_list else _restate(read, mode, rng)


def _explain(
    read: _Read, at_once: Sequence[Collection[Tag]], mode: NegationExtent
) -> NegationReason:
    """Why a caption is not edited; `GRAMMAR` where it may be."""
    if not at_once:
        return NegationReason.UNSURE
    if find_denials(read.caption, read.matches):
        return NegationReason.DENIES
    if all(len(tags) > _count(len(read.tags), mode) for tags in at_once):
        return NegationReason.IMPLIED
    return NegationReason.GRAMMAR


def _edit(
    read: _Read, absent: Collection[Tag], mode: NegationExtent, how: Negation, negators: Wordings
) -> Negated | None:
    """The caption with some tags denied in place; None where grammar or sense forbids it."""
    denied = tuple(tag for tag in read.tags if tag in absent)
    kept = tuple(tag for tag in read.tags if tag not in absent)
    stated = {match for match in read.stated if match.tag in absent}
    text, unmended = mend(read.caption, read.matches, stated, negators)
    own = [f"{tag.name} {phrase_tag(tag).words} {phrase_tag(tag).noun}" for tag in read.tags]
    others = [
        other
        for other in find_listed(read.caption)
        if not any(holds_words(name, other.name) for name in own)
    ]
    is_safe = not _contradicts((*kept, *others), denied)
    again = any(is_named_in(tag, read.rest) for tag in denied)  # "a guitar ... other guitars"
    if unmended or again or not is_safe or not _says(text, how.vocabulary, denied, kept):
        return None
    return Negated(mode, NegationOutcome.NEGATED, text, denied, kept)


def _restate(read: _Read, mode: NegationExtent, rng: np.random.Generator) -> Negated:
    """The tags of a list that can be said; what it denies is heard where all of it is denied."""
    named = dict.fromkeys(match.tag for match in read.matches)
    sayable = [tag for tag in named if phrase_tag(tag).form is not TagForm.NONE]
    tags = [tag for tag in sayable if tag in read.tags]
    missing = [tag for tag in sayable if tag not in read.tags]
    denied = _choose(tags, mode, rng)
    is_full = mode is NegationExtent.FULL
    present = missing if is_full else [tag for tag in tags if tag not in denied]
    is_empty = any(is_vague(tag) and not families(tag) for tag in denied)
    if not tags or not (is_full or present) or is_empty:
        return Negated(mode, NegationOutcome.NONE, reason=NegationReason.UNSAYABLE)
    if not denied or _contradicts(present, denied):
        return Negated(mode, NegationOutcome.NONE, reason=NegationReason.IMPLIED)
    absent = denied if is_full else (*denied, *missing)
    sentence = describe(present, absent, int(rng.integers(FRAMES)))
    kept = () if is_full else sentence.present
    return Negated(mode, NegationOutcome.RESTATED, sentence.text, denied, kept)


def _contradicts(kept: Sequence[Tag], denied: Collection[Tag]) -> bool:
    """Whether tags that stay say what is denied, as "pop" and "rock" say "pop rock"."""
    together = " ".join(tag.name for tag in kept)
    return any(
        holds_words(together, tag.name) or any(implies(other, tag) for other in kept)
        for tag in denied
    )


def _says(
    text: str, vocabulary: TagVocabulary, absent: Collection[Tag], present: Collection[Tag]
) -> bool:
    """Whether the text, read again, denies and states just these tags."""
    read = _read(text, vocabulary)
    stated = set(read.tags)
    named = {match.tag for match in read.matches}
    return stated == set(present) and set(absent) <= named - stated
