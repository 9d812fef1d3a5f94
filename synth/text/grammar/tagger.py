"""Parts of speech of the words of a caption: spaCy's where it is installed, else our own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, Protocol, runtime_checkable

from synth.text.grammar.tag_lexicon import (
    Tag,
    Tags,
    ends_as_gerund,
    ends_as_third_person,
    possible_tags,
    singular_of,
)
from synth.text.grammar.tokens import Token, word_set

SPACY_MODEL: Final = "en_core_web_sm"

_OPENS_NOUN: Final = frozenset({Tag.DET, Tag.ADJ, Tag.NUM, Tag.ADP})
_PEOPLE: Final = frozenset({"male", "female", "adult", "human", "teen"})
_SINGULAR_PRONOUNS: Final = word_set(
    "he she it who someone somebody something everyone everybody everything one"
)
_PLURALS: Final = word_set("cattle children fish geese men people police sheep women")
_IRREGULAR_PARTICIPLES: Final = word_set(
    "been begun blown broken come done driven fallen flown given gone grown heard held "
    "hit kept left made put run seen shot shut started stopped struck sung taken thrown "
    "turned"
)


@runtime_checkable
class Tagger(Protocol):
    """Gives each token of a sentence its part of speech."""

    @property
    def name(self) -> str:
        """What a manifest calls it."""
        ...

    def tag(self, tokens: Sequence[Token]) -> Tags:
        """One tag for each token."""
        ...


class EmbeddedTagger:
    """A lexicon and rules over a word's neighbours, made for audio captions.

    The same tags on every machine with the pinned lemminflect dictionary.
    """

    name: Final = "embedded"

    def tag(self, tokens: Sequence[Token]) -> Tags:
        """One tag for each token, decided from left to right."""
        words = [token.lower for token in tokens]
        options = [possible_tags(word) for word in words]
        tags: list[Tag] = []
        for index in range(len(words)):
            tags.append(_decide(index, words, options, tags))
        return tuple(tags)


class SpacyTagger:
    """The tags of an English spaCy pipeline over our own tokens.

    Args:
        pipeline: A loaded spaCy `Language`.
        name: What a manifest calls it.
    """

    def __init__(self, pipeline: Any, name: str = SPACY_MODEL) -> None:
        self._pipeline = pipeline
        self._name = name

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    def tag(self, tokens: Sequence[Token]) -> Tags:
        """One tag for each token; a tag unknown to us is X."""
        if not tokens:
            return ()
        from spacy.tokens import Doc

        doc = self._pipeline(Doc(self._pipeline.vocab, words=[token.text for token in tokens]))
        known = set(Tag)
        return tuple(Tag(token.pos_) if token.pos_ in known else Tag.X for token in doc)


@cache
def best_tagger() -> Tagger:
    """SpaCy's `en_core_web_sm` where spaCy and the model are installed, else the embedded one."""
    try:
        import spacy.util
    except ImportError:
        return EmbeddedTagger()
    if not spacy.util.is_package(SPACY_MODEL):
        return EmbeddedTagger()
    return SpacyTagger(spacy.load(SPACY_MODEL, exclude=["parser", "ner", "lemmatizer"]))


def _decide(index: int, words: list[str], options: list[Tags], tags: list[Tag]) -> Tag:
    able = options[index]
    after = options[index + 1] if index + 1 < len(options) else (Tag.PUNCT,)
    if able[-1] is Tag.VERB and _is_past(words[index]):
        return _participle(index, words, able, after, tags)
    if len(able) == 1:
        return able[0]
    if Tag.AUX in able:
        return _auxiliary(index, words, options, able)
    if ends_as_gerund(words[index]) and Tag.VERB in able:
        return Tag.VERB
    if Tag.ADJ in able or Tag.ADV in able:
        return _adjective(index, words, able, after, tags)
    return _noun_or_verb(index, words, options, tags)


def _auxiliary(index: int, words: list[str], options: list[Tags], able: Tags) -> Tag:
    """Whether "has" helps another verb, and "can" is a modal or a tin."""
    ahead = [at for at in range(index + 1, len(words)) if options[at][0] is not Tag.ADV][:1]
    following = words[ahead[0]] if ahead else ""
    if Tag.NOUN in able:
        helps = following in {"be", "not"} or possible_tags(following or ".")[-1] is Tag.VERB
        return Tag.AUX if helps and not following.endswith(("ing", "s")) else Tag.NOUN
    helps = following in {"to", "not"} or _is_participle(following)
    return Tag.AUX if helps else Tag.VERB


def _participle(index: int, words: list[str], able: Tags, after: Tags, tags: list[Tag]) -> Tag:
    """A verb ("followed by", "is closed"), but an adjective before its noun ("muffled speech")."""
    before = tags[-1] if tags else Tag.PUNCT
    if index and words[index - 1] in {"high", "low"}:
        return Tag.ADJ
    if before in {Tag.NOUN, Tag.PROPN, Tag.PRON, Tag.AUX} or after[0] not in {Tag.NOUN, Tag.ADJ}:
        return Tag.VERB
    return Tag.ADJ


def _adjective(index: int, words: list[str], able: Tags, after: Tags, tags: list[Tag]) -> Tag:
    word, before = words[index], tags[-1] if tags else Tag.PUNCT
    noun_follows = after[0] in {Tag.NOUN, Tag.ADJ}
    if Tag.VERB in able and Tag.NOUN not in able:
        return Tag.VERB if before in {Tag.NOUN, Tag.PRON, Tag.PART} else able[0]
    if Tag.NOUN not in able:
        return able[0]
    if word in _PEOPLE and noun_follows:
        ends_clause = Tag.VERB in after and ends_as_third_person(words[index + 1])
        return Tag.NOUN if ends_clause else Tag.ADJ
    if noun_follows or (Tag.VERB in after and word not in _PEOPLE):
        return Tag.ADJ
    return Tag.NOUN


def _noun_or_verb(index: int, words: list[str], options: list[Tags], tags: list[Tag]) -> Tag:
    """Whether "barks" is something heard or something done."""
    word = words[index]
    back = index - 1
    while back >= 0 and tags[back] is Tag.ADV:
        back -= 1
    before = tags[back] if back >= 0 else Tag.PUNCT
    following = options[index + 1] if index + 1 < len(options) else (Tag.PUNCT,)
    if back >= 0 and words[back] in {"to", "not", "can", "will", "could", "cannot"}:
        return Tag.VERB
    if _is_participle(word):
        return Tag.NOUN if before in _OPENS_NOUN else Tag.VERB
    if before is Tag.CCONJ or "then" in words[back + 1 : index]:
        return _after_conjunction(index, back, words, following, tags)
    if before not in {Tag.NOUN, Tag.PROPN, Tag.PRON}:
        return Tag.NOUN
    if _clause_follows(index, words, following) and following[0] is not Tag.NOUN:
        return Tag.NOUN
    if word == "sounds" and not _is_determined(tags):
        return Tag.NOUN
    if ends_as_third_person(word):
        return Tag.NOUN if _is_plural(words[back]) and before is Tag.NOUN else Tag.VERB
    if before is Tag.PRON:
        return Tag.NOUN if words[back] in _SINGULAR_PRONOUNS else Tag.VERB
    pair = (back > 1 and tags[back - 1] is Tag.CCONJ) or _is_plural(words[back])
    return Tag.VERB if pair and Tag.NOUN not in following[:1] else Tag.NOUN


def _after_conjunction(
    index: int, back: int, words: list[str], following: Tags, tags: list[Tag]
) -> Tag:
    """A verb where it matches a verb before "and", a noun where it opens a clause of its own."""
    finite = [at for at in range(back + 1) if _may_be_finite(words[at], tags[at])]
    if not finite or _clause_follows(index, words, following):
        return Tag.NOUN
    last = words[finite[-1]]
    return (
        Tag.VERB if ends_as_third_person(last) == ends_as_third_person(words[index]) else Tag.NOUN
    )


def _is_determined(tags: list[Tag]) -> bool:
    """Whether the phrase at the end has its article: "a horn sounds" is said, "horn sounds" not."""
    for tag in reversed(tags):
        if tag in {Tag.DET, Tag.NUM, Tag.PRON}:
            return True
        if tag in {Tag.ADP, Tag.CCONJ, Tag.PUNCT, Tag.SCONJ}:
            return False
    return False


def _may_be_finite(word: str, tag: Tag) -> bool:
    return tag is Tag.AUX or (
        tag is Tag.VERB and not ends_as_gerund(word) and not _is_participle(word)
    )


def _clause_follows(index: int, words: list[str], following: Tags) -> bool:
    return Tag.AUX in following or (
        Tag.VERB in following and not words[index + 1].endswith(("ing", "ed"))
    )


def _is_past(word: str) -> bool:
    return word.endswith("ed") and not word.endswith("eed")


def _is_participle(word: str) -> bool:
    return _is_past(word) or word in _IRREGULAR_PARTICIPLES


def _is_plural(word: str) -> bool:
    return singular_of(word) is not None or word in _PLURALS
