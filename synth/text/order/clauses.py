"""What kind of phrase a stretch of a caption is, what is done in it, and in which number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Final

from synth.base.shipped import shipped_set
from synth.labels.words import COMPOUND, Token, tokenize
from synth.text.grammar.tagger import (
    POS,
    Tagger,
    agent_verbs,
    ends_as_gerund,
    ends_as_third_person,
    is_known,
    is_past,
    is_plural_word,
    lemma_of,
    possible_pos_tags,
    singular_of,
    sound_nouns,
)
from synth.text.grammar.tokens import STOPS, word_set
from synth.text.tags.tags import article

# What a caption's phrases look like, word class by word class, from end to end.
#
# A stretch of words counts as a phrase or clause only if every word has its place in one: so past
# tenses and reduced passives ("recorded before sunrise"), orders ("use it as"), asides and whatever
# the tagger does not know are left alone, and need not be listed.


class Shape(StrEnum):
    """What a stretch of words is."""

    CLAUSE = "a man speaks"
    PREDICATE = "speaks"
    GERUND_CLAUSE = "a man speaking"
    GERUND = "speaking"
    NOUN_PHRASE = "speech"
    UNCLEAR = ""


_OTHER: Final = "x"
_CODES: Final = {
    POS.NOUN: "n",
    POS.PROPN: "n",
    POS.ADJ: "j",
    POS.ADV: "r",
    POS.ADP: "i",
    POS.DET: "d",
    POS.NUM: "d",
    POS.CCONJ: "c",
}
_BE: Final = frozenset({"is", "are"})
_INDEFINITE: Final = word_set("another everyone everything other others somebody someone something")
POSSESSIVE: Final = word_set("her his its their")

# n noun, d determiner, j adjective, g gerund, e participle, v finite verb, b is/are, r adverb,
# i preposition, c and, t to, p someone
_QUALITY: Final = "(?:r*[jeg](?:c?r*[jeg])*)?"
_NAME: Final = f"(?:d*r?d*{_QUALITY}n+|p|d*(?:r*j)*g+)"
_NOUNS: Final = f"{_NAME}(?:i+{_NAME})*(?:c{_NAME}(?:i+{_NAME})*)*"
_REST: Final = "(?:[rijgdnpec]|tv)*"
_SAID: Final = f"r*(?:v|br*[gei]|br*j)(?:tv)?{_REST}"
_DONE: Final = f"r*(?:g|bg|be)(?:tv)?{_REST}"
_FORMS: Final = {
    Shape.CLAUSE: re.compile(rf"r*{_NOUNS}(?:i|r)*{_SAID}(?:c(?:{_NOUNS})?{_SAID})*"),
    Shape.PREDICATE: re.compile(rf"{_SAID}(?:c{_SAID})*"),
    Shape.GERUND_CLAUSE: re.compile(rf"r*{_NOUNS}{_DONE}"),
    Shape.GERUND: re.compile(_DONE),
    Shape.NOUN_PHRASE: re.compile(rf"r*{_NOUNS}r*(?:i+{_NAME}r*)*"),
}

# "And", or a quality behind its article, without what it belongs to; "idles and continuously".
_CUT_SHORT: Final = re.compile(r"c$|[^ri]c(?:i|r+$)|dr*j+(?:[ivb]|c[dnp]|$)")
# A second clause that none of the words before it joins: "a woman speaking a baby crying",
# "someone sneezes and a baby talking", "a man sits and talking", "a dog barks and a horn"; or a
# verb that does not agree: "a man talks and tap a box".
_LOOSE: Final = {
    Shape.CLAUSE: re.compile(
        r"[vb][^i]*c[dj]*n+r*g|v[^ibgc]*cr*g(?!r*[vb])|(?:[vrg]cr*|jcr*d)[dj]*n+r*(?:i+[djg]*n+)*$|cr*nd"
    ),
    Shape.GERUND_CLAUSE: re.compile(r"[np]r*gr*[djg]*n+r*g|cr*nd"),
}


def fits(shape: Shape, words: Sequence[str], tags: Sequence[POS]) -> bool:
    """Whether words with these tags are a whole phrase of that shape."""
    form = _FORMS.get(shape)
    codes = "".join(_code(words, tags, index) for index in range(len(words)))
    if form is None or form.fullmatch(codes) is None or _CUT_SHORT.search(codes):
        return False
    return shape not in _LOOSE or _LOOSE[shape].search(codes) is None


def _code(words: Sequence[str], tags: Sequence[POS], index: int) -> str:
    word, tag = words[index], tags[index]
    if word in shipped_set("complex"):
        return _OTHER
    if word == "to":
        verb = tags[index + 1 : index + 2] == (POS.VERB,)
        return "t" if verb and not ends_as_gerund(words[index + 1]) else "i"
    if word in _BE:
        return "b"
    if word == "being":
        return "g"
    if word in _INDEFINITE:
        return "p" if tag is POS.PRON else "d"
    if word in POSSESSIVE:
        return "d"
    if tag is POS.VERB:
        passive = index > 0 and words[index - 1] in {"being", *_BE}
        return "g" if ends_as_gerund(word) else "e" if passive or is_past(word) else "v"
    return _CODES.get(tag, _OTHER)


_SUBORDINATE: Final = word_set("that which who where when while as because if until so")
_BASE_AFTER: Final = word_set("to not can could will would does do did")
_COUNTING: Final = frozenset({"couple", "dozen", "few", "hundred", "number", "thousand"})
_NOMINAL: Final = frozenset({POS.NOUN, POS.PROPN, POS.PRON, POS.NUM})
_PARTICLES: Final = word_set("away by down off on out up")
_MOTION: Final = word_set("become come drive fly get go move pass run slow speed start stop turn")
_EDGES: Final = STOPS | {",", ";", ":"}


@dataclass(frozen=True)
class ClausePart:
    """A stretch of a caption."""

    tokens: tuple[Token, ...]
    tags: tuple[POS, ...]

    @classmethod
    def parse(cls, caption: str, tagger: Tagger) -> ClausePart:
        """A whole caption."""
        tokens = tokenize(caption, COMPOUND)
        return cls(tokens, tagger.tag(tokens))

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, span: slice) -> ClausePart:
        return ClausePart(self.tokens[span], self.tags[span])

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The tokens in lower case."""
        return tuple(token.lower for token in self.tokens)

    def is_known(self) -> bool:
        """Whether the tagger knows every word, names inside the sentence left aside."""
        return all(
            token.word is None
            or is_known(token.lower)
            or token.text in shipped_set("proper")
            or (token.word > 0 and token.text[0].isupper())
            for token in self.tokens
        )

    def core(self) -> ClausePart:
        """Without what is subordinate: "a sound that fades" is "a sound"."""
        words = self.words
        for index in range(1, len(words)):
            if words[index] in _SUBORDINATE:
                return self[:index]
        return self

    def only_comma(self) -> int | None:
        """Index of its comma; None where it has none, or several."""
        return self.words.index(",") if self.words.count(",") == 1 else None

    def without_marks(self) -> ClausePart:
        """Without commas and stops at either end; quotes and brackets stay."""
        first, last = 0, len(self)
        while first < last and self.tokens[first].text in _EDGES:
            first += 1
        while last > first and self.tokens[last - 1].text in _EDGES:
            last -= 1
        return self[first:last]

    def without(self, index: int) -> ClausePart:
        """Without one token."""
        tokens, tags = self.tokens, self.tags
        return ClausePart(tokens[:index] + tokens[index + 1 :], tags[:index] + tags[index + 1 :])

    def finite_verbs(self) -> list[int]:
        """Indices of verbs and auxiliaries that need a subject."""
        return [index for index in range(len(self)) if self._is_finite(index)]

    def is_of_a_sound(self) -> bool:
        """Whether what is done is done inside a noun phrase: "the sound of a woman speaking"."""
        gerunds = self.gerunds_with_subject()
        subject = self[: gerunds[0]] if gerunds else self
        first = next((at for at, tag in enumerate(subject.tags) if tag is POS.ADP), 0)
        return first > 0 and subject.words[first - 1] not in shipped_set("groups")

    def has_a_noun_joined(self) -> bool:
        """Whether "and" joins something else than verbs and particles."""
        return any(
            tag is POS.CCONJ and self.tags[self.after(index)] in _NOMINAL | {POS.DET, POS.ADJ}
            for index, tag in enumerate(self.tags[:-1])
        )

    def gerunds_with_subject(self) -> list[int]:
        """Indices of gerunds: the first is said of what stands before it."""
        gerunds = [index for index in range(len(self)) if self.is_gerund(index)]
        return gerunds if gerunds and self.has_subject(gerunds[0]) else []

    def shape(self) -> Shape:
        """What the part is, by its core; unclear where a word of it has no place in that."""
        core = self.core()
        shape = core._guess_shape()
        whole = fits(shape, core.words, core.tags) and self._numbers_agree()
        return shape if whole and self[len(core) :]._is_together() else Shape.UNCLEAR

    def _is_together(self) -> bool:
        """Whether a rest is empty, or "as" or "while" with a clause."""
        if not len(self):
            return True
        behind = {Shape.CLAUSE} if self.words[0] == "as" else {Shape.CLAUSE, Shape.GERUND}
        return self.words[0] in {"as", "while"} and self[1:].shape() in behind

    def _numbers_agree(self) -> bool:
        """Whether "two" stands before a plural, "a" before a singular, and "an" before a vowel."""
        for index in range(len(self) - 1):
            word, ahead = self.words[index], self.tokens[index + 1].text
            if word in {"a", "an"} and article(ahead) != word:
                return False
            noun = self._noun_of(index)
            plural = noun is not None and is_plural_word(noun)
            if (
                noun
                and (word in shipped_set("many") or (word[0].isdigit() and word != "1"))
                and not plural
            ):
                return False
            if noun and word in {"a", "an"} and singular_of(noun) and ahead not in _COUNTING:
                return False
            named = self.tags[index : index + 2] == (POS.NOUN, POS.NOUN) and is_plural_word(word)
            if named and POS.VERB in possible_pos_tags(self.words[index + 1]):
                return False
        return True

    def _noun_of(self, index: int) -> str | None:
        """The last noun of the phrase that a determiner opens; None where another word comes."""
        at = index + 1
        while at < len(self) and self.tags[at] is POS.ADJ:
            at += 1
        first = at
        while at < len(self) and self.tags[at] is POS.NOUN:
            at += 1
        return self.words[at - 1] if at > first else None

    def _guess_shape(self) -> Shape:
        core = self
        start = core.first_of_predicate()
        finite = core.finite_verbs()
        if finite:
            first = finite[0]
            if core._has_two_subjects(first) or core._disagrees(first) or core._may_name(first):
                return Shape.UNCLEAR
            subject = any(tag in _NOMINAL for tag in core.tags[: finite[0] + 1]) or any(
                core.is_gerund(index) or core.words[index] in {"another", "some", "others"}
                for index in range(finite[0])
            )
            return Shape.CLAUSE if subject else Shape.PREDICATE
        gerunds = [index for index in range(len(core)) if core.is_gerund(index)]
        if gerunds and gerunds[0] == start:
            return Shape.GERUND
        if any(core.has_subject(index) for index in gerunds):
            return Shape.GERUND_CLAUSE
        nominal = any(tag in _NOMINAL for tag in core.tags) or bool(gerunds)
        return Shape.NOUN_PHRASE if nominal and not core._ends_in_a_verb() else Shape.UNCLEAR

    def _ends_in_a_verb(self) -> bool:
        """Whether the last noun may be what several before it do: "blades of a saw scream"."""
        last = self.before(len(self))
        joined = self.tags[max(last - 1, 0) : last + 1] == (POS.NOUN, POS.NOUN)
        several = POS.CCONJ in self.tags or any(map(is_plural_word, self.words[:last]))
        return joined and several and POS.VERB in possible_pos_tags(self.words[last])

    def first_of_predicate(self) -> int:
        """Index past leading adverbs."""
        index = 0
        while index < len(self) and self.tags[index] is POS.ADV:
            index += 1
        return index

    def _is_finite(self, index: int) -> bool:
        word, tag = self.words[index], self.tags[index]
        if tag is POS.PRON and word.endswith(("'s", "'re", "'m")):
            return True
        if tag is POS.AUX or (tag is POS.VERB and word in shipped_set("finite aux")):
            return word in shipped_set("finite aux")
        if tag is not POS.VERB or ends_as_gerund(word) or is_past(word):
            return False
        before = self.before(index)
        if self.tags[before] is POS.CCONJ and "to" in self.words[max(before - 2, 0) : before]:
            return False
        return (
            before < 0
            or self.tags[before] is POS.NOUN
            or (self.words[before] not in _BASE_AFTER and self.tags[before] is not POS.AUX)
        )

    def before(self, index: int) -> int:
        """Index of what stands before, adverbs passed over; -1 for nothing."""
        index -= 1
        while index >= 0 and self.tags[index] is POS.ADV:
            index -= 1
        return index

    def is_gerund(self, index: int) -> bool:
        """Whether a verb in -ing stands there, "being" included, that belongs to no noun."""
        word, tag = self.words[index], self.tags[index]
        ends = word == "being" or (tag is POS.VERB and ends_as_gerund(word))
        return ends and not self.is_attributive(index)

    def is_progressive(self, be: int) -> bool:
        """Whether "is" belongs to the gerund behind it: "is loudly talking"."""
        after = self.after(be)
        return after > be and self.is_gerund(after)

    def is_under_way(self) -> bool:
        """Whether its verb is progressive: "a dog is barking"."""
        return any(map(self.follows_be, (at for at in range(len(self)) if self.is_gerund(at))))

    def follows_be(self, gerund: int) -> bool:
        """Whether "is" or "are" stands before a gerund."""
        return self.words[max(self.before(gerund), 0)] in {"is", "are"}

    def is_attributive(self, index: int) -> bool:
        """Whether a verb in -ing belongs to the noun behind it: "tapping noises"."""
        if self.tags[index : index + 2] != (POS.VERB, POS.NOUN):
            return False
        if self.words[index] == "making" or self.words[index + 1] in {"time", "times"}:
            return False
        if not ends_as_gerund(self.words[index]):
            return False
        return index == 0 or self.tags[index - 1] in {POS.DET, POS.ADJ, POS.NUM, POS.ADP}

    def after(self, index: int) -> int:
        """Index of what stands behind, adverbs passed over; the last one for nothing."""
        index += 1
        while index < len(self) - 1 and self.tags[index] is POS.ADV:
            index += 1
        return index

    def _has_two_subjects(self, verb: int) -> bool:
        """Whether "a thud and the man talks" is a noun phrase with a clause behind it."""
        return ends_as_third_person(self.words[verb]) and any(
            self.tags[index] is POS.CCONJ and self.tags[index + 1] is POS.DET
            for index in range(1, verb - 1)
        )

    def _disagrees(self, verb: int) -> bool:
        """Whether verb and subject are of different numbers: "crackling occur", "birds chirps"."""
        before, word = self.before(verb), self.words[verb]
        if self.tags[verb] is not POS.VERB or word in shipped_set("finite aux") or before < 0:
            return False
        front = self[:verb]
        if ends_as_third_person(word):
            return is_plural(front) is True
        singular = self.tags[before] is POS.NOUN or self.is_gerund(before)
        return singular and POS.CCONJ not in front.tags and not is_plural_word(self.words[before])

    def _may_name(self, verb: int) -> bool:
        """Whether a verb may as well be the noun of its subject: "bird calls", "a horn sound"."""
        word = self.words[verb]
        if verb == 0 or self.tags[verb] is not POS.VERB or stem(word) not in sound_nouns():
            return False
        if not ends_as_third_person(word):
            return not any(map(is_plural_word, self.words[:verb]))
        return {"a", "an", "another", "each", "one", "someone"}.isdisjoint(self.words[:verb])

    def has_subject(self, gerund: int) -> bool:
        """Whether a gerund is said of what stands right before it."""
        before = self.before(gerund)
        return before >= 0 and (
            self.tags[before] in _NOMINAL or self.words[before] in {"another", "others"}
        )


def is_doing(part: ClausePart) -> bool:
    """Whether a part without a subject must be done by somebody, not just be heard."""
    start = part.first_of_predicate()
    if start >= len(part):
        return False
    word = part.words[start]
    if word == "being":
        return True
    certain = part.tags[start] is POS.AUX or POS.NOUN not in possible_pos_tags(word)
    if certain and not ends_as_gerund(word):
        return True
    return needs_doer(part) or lemma_of(word) in agent_verbs()


def needs_doer(part: ClausePart) -> bool:
    """Whether a gerund, by an object or a particle, or of motion, is no sound on its own."""
    start = part.first_of_predicate()
    while part.tags[start + 1 : start + 3] == (POS.CCONJ, POS.VERB):
        start += 2  # "opening and closing a door"
    if start + 1 >= len(part):
        return False
    behind, word = part.tags[start + 1], part.words[start + 1]
    particle = behind is POS.ADP and word in _PARTICLES
    if word == "on" and lemma_of(part.words[start]) != "turn":
        particle = start + 2 >= len(part)  # "typing on a keyboard"
    led = behind in {POS.DET, POS.PRON} or particle
    return led or (behind in {POS.ADJ, POS.ADV} and lemma_of(part.words[start]) in _MOTION)


def is_plural(part: ClausePart) -> bool | None:
    """Whether a noun phrase takes "are"; None where that is unclear."""
    core = part.core()
    end = next(
        (
            index
            for index in range(1, len(core))
            if core.tags[index] in {POS.ADP, POS.PUNCT, POS.AUX}
            or (core.is_gerund(index) and core.has_subject(index))
        ),
        len(core),
    )
    if POS.CCONJ in core.tags[:end]:
        return _plural_of_list(core[:end])
    several = core[end:].has_a_noun_joined() and core.words[end] != "with"
    if several and (core.words[end] != "of" or (POS.CCONJ, POS.DET) in pairwise(core.tags)):
        return None  # "a voice on the radio and distant horns"
    heads = [index for index in range(end) if core.tags[index] in _NOMINAL]
    if not heads:
        return False
    word = core.words[heads[-1]]
    if {"a", "an", "one"} & set(core.words[:end]) and "few" not in core.words[:end]:
        return word in {"couple", "number", "lot"}
    return is_plural_word(word)


def _plural_of_list(part: ClausePart) -> bool | None:
    """Whether "and" joins things, rather than qualities of one: "a loud and long bang".

    None where that is unclear: "a creaking and tapping noise".
    """
    joints = [at for at, tag in enumerate(part.tags) if tag is POS.CCONJ]
    qualities = POS.ADJ, POS.CCONJ, POS.ADJ
    if joints and all(part.tags[at - 1 : at + 2] == qualities for at in joints):
        return is_plural_word(part.words[-1])
    return None


def stem(word: str) -> str:
    """A noun in the singular; any other word as it is."""
    return singular_of(word) or word
