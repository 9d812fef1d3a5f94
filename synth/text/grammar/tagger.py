"""Parts of speech of the words of a caption: spaCy's where it is installed, else our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

from synth.base.shipped import read_shipped_rows, shipped_set, shipped_words
from synth.labels.words import Token
from synth.text.grammar.tokens import word_set

# The parts of speech that a word form may have, before its neighbours are looked at.


class POS(StrEnum):
    """Parts of speech, by the names of Universal Dependencies."""

    NOUN = "NOUN"
    PROPN = "PROPN"
    VERB = "VERB"
    AUX = "AUX"
    ADJ = "ADJ"
    ADV = "ADV"
    ADP = "ADP"
    PRON = "PRON"
    DET = "DET"
    NUM = "NUM"
    CCONJ = "CCONJ"
    SCONJ = "SCONJ"
    PART = "PART"
    INTJ = "INTJ"
    PUNCT = "PUNCT"
    SYM = "SYM"
    X = "X"


PosTags: TypeAlias = tuple[POS, ...]

_VOWELS: Final = frozenset("aeiouy")
_OF_PLURAL: Final[Mapping[PosTags, PosTags]] = {
    (POS.NOUN,): (POS.NOUN,),
    (POS.VERB,): (POS.VERB,),
    (POS.NOUN, POS.VERB): (POS.NOUN, POS.VERB),
    (POS.ADJ, POS.NOUN): (POS.NOUN,),
    (POS.ADJ, POS.VERB): (POS.VERB,),
}
_PREFERENCE: Final = (POS.AUX, POS.ADJ, POS.ADV, POS.NOUN, POS.VERB, POS.PROPN)


@cache
def shipped_pos_tags() -> Mapping[str, PosTags]:
    """The shipped list: closed classes, and the words of captions that need a decision."""
    rows = read_shipped_rows("lexicons/word_tags.csv")
    return {row["word"]: tuple(POS(name) for name in row["tags"].split()) for row in rows}


@lru_cache(maxsize=65_536)
def possible_pos_tags(word: str) -> PosTags:
    """The tags that a word form may have, in order of preference; never empty.

    Looked for in the shipped list, by the form's own make (digits, hyphens, genitives), in
    lemminflect's dictionary, and at last by its ending.

    Args:
        word: A word or a mark, in lower case, with plain apostrophes.
    """
    if not word[:1].isalnum():
        return (POS.PUNCT,)
    if word in shipped_pos_tags():
        return shipped_pos_tags()[word]
    if word[0].isdigit():
        return (POS.NUM,)
    if word.endswith(("'s", "s'")):
        return (POS.NOUN,)
    plural = _by_singular(word)
    if plural:
        return plural
    if ends_as_gerund(word) and any(
        POS.VERB in shipped_pos_tags().get(base, ()) for base in _gerund_stems(word)
    ):
        return (POS.VERB,)
    tags = _in_dictionary(word)
    if tags:
        return tags
    if "-" in word:
        return _by_last_part(word)
    if word.endswith(("ing", "ed")):
        return (POS.VERB,)
    return (POS.ADV,) if word.endswith("ly") else (POS.NOUN, POS.VERB)


def is_known(word: str) -> bool:
    """Whether a word form, or each part of a hyphenated one, stands in the list or a dictionary."""
    if not word[:1].isalpha() or word in shipped_pos_tags() or "'" in word:
        return True
    if "-" in word:
        return all(map(is_known, filter(None, word.split("-"))))
    stems = _gerund_stems(word) if ends_as_gerund(word) else ()
    return bool(
        _by_singular(word)
        or _in_dictionary(word)
        or any(POS.VERB in shipped_pos_tags().get(stem, ()) for stem in stems)
    )


def ends_as_gerund(word: str) -> bool:
    """Whether a form ends in -ing behind a stem: "honking", but not "sing"."""
    return word.endswith("ing") and not _VOWELS.isdisjoint(word[:-3])


def ends_as_third_person(word: str) -> bool:
    """Whether a form ends in the -s of "honks", which that of "hiss" is not."""
    return word.endswith("s") and not word.endswith("ss")


def singular_of(word: str) -> str | None:
    """The form before -s, -es or -ies, where the list or the dictionary knows one."""
    if not ends_as_third_person(word):
        return None
    bases = [word[:-1]]
    if word.endswith("es"):
        bases.append(word[:-2])
    if word.endswith("ies"):
        bases.insert(0, f"{word[:-3]}y")
    if word.endswith("ves"):
        bases.append(f"{word[:-3]}f")
    return next(
        (base for base in bases if base in shipped_pos_tags() or _in_dictionary(base)), None
    )


def is_plural_word(word: str) -> bool:
    """Whether a noun or pronoun is in the plural."""
    return word in _PLURALS or singular_of(word) is not None


def _by_singular(word: str) -> PosTags | None:
    base = singular_of(word)
    return _OF_PLURAL.get(shipped_pos_tags().get(base, ())) if base else None


@lru_cache(maxsize=65_536)
def _in_dictionary(word: str) -> PosTags:
    from lemminflect import getAllLemmas

    known = set(getAllLemmas(word))
    return tuple(tag for tag in _PREFERENCE if tag.value in known)


def _by_last_part(word: str) -> PosTags:
    first, last = word.split("-", 1)[0], word.rsplit("-", 1)[1]
    first_tag, last_tags = possible_pos_tags(first)[0], possible_pos_tags(last)
    qualifies = first_tag in {POS.ADJ, POS.ADV, POS.NUM, POS.ADP}
    if last.endswith("ed") or (qualifies and last_tags[0] is not POS.ADP):
        return (POS.ADJ,)
    if first_tag is POS.VERB and last_tags[0] in {POS.ADP, POS.ADV}:
        return (POS.VERB,)
    return last_tags


def _gerund_stems(gerund: str) -> tuple[str, ...]:
    """What a gerund may be made of: "meow", "rev", "idle"."""
    stem = gerund[: -len("ing")]
    return (stem, stem[:-1], f"{stem}e")


# Forms of verbs, from lemminflect's dictionary and rules.


_PAST: Final = frozenset({"VBD", "VBN"})


def is_past(word: str) -> bool:
    """Whether a verb form is a past tense or a past participle."""
    return _is_past(word) or not _PAST.isdisjoint(_verb_tags(word))


@lru_cache(maxsize=16_384)
def lemma_of(word: str) -> str:
    """The verb of a form; empty where none is known."""
    from lemminflect import getAllLemmas, getLemma

    for base in (word[:-1], word[: -len("ing")], word.removesuffix("king")):
        listed = base in shipped_pos_tags() and POS.VERB in shipped_pos_tags()[base]
        if listed and (ends_as_gerund(word) or word == f"{base}s"):
            return base
    known = getAllLemmas(word, upos="VERB").get("VERB") or getLemma(word, "VERB")
    return str(known[0]) if known else ""


@lru_cache(maxsize=16_384)
def inflect(word: str, tag: str) -> str:
    """A verb form in another one: Penn tag VBG, VBZ or VBP; empty where none is known."""
    from lemminflect import getInflection

    lemma = lemma_of(word)
    if tag == "VBP":
        return lemma
    if tag == "VBG" and lemma.endswith(("a", "c")):
        return f"{lemma}king" if lemma.endswith("c") else f"{lemma}ing"
    forms = getInflection(lemma, tag) if lemma else ()
    return str(forms[0]) if forms else ""


def agent_verbs() -> frozenset[str]:
    """Verbs whose forms, said of a doer, are doings rather than sounds: "talks", not "clicks"."""
    return shipped_words("lexicons/agent_verbs.txt")


def sound_nouns() -> frozenset[str]:
    """Nouns that name a sound, in the singular, rather than what makes it: "bark", "applause"."""
    return shipped_words("lexicons/sound_nouns.txt")


@lru_cache(maxsize=16_384)
def _verb_tags(word: str) -> frozenset[str]:
    from lemminflect import getAllInflections

    lemma = lemma_of(word)
    if not lemma or lemma == word:
        return frozenset()
    return frozenset(
        tag for tag, forms in getAllInflections(lemma, upos="VERB").items() if word in forms
    )


SPACY_MODEL: Final = "en_core_web_sm"

_OPENS_NOUN: Final = frozenset({POS.DET, POS.ADJ, POS.NUM, POS.ADP})
_PEOPLE: Final = frozenset({"male", "female", "adult", "human", "teen"})
_LINKS: Final = frozenset({POS.AUX, POS.VERB})
_CARRYING: Final = frozenset({POS.NOUN, POS.PROPN, POS.VERB})
_PLURALS: Final = word_set("cattle children fish geese men people police sheep they women")
_OUTCOMES: Final = frozenset({"open", "shut"})


@runtime_checkable
class Tagger(Protocol):
    """Gives each token of a sentence its part of speech."""

    @property
    def name(self) -> str:
        """What a manifest calls it."""
        ...

    def tag(self, tokens: Sequence[Token]) -> PosTags:
        """One tag for each token."""
        ...


class EmbeddedTagger:
    """A lexicon and rules over a word's neighbours, made for audio captions.

    The same tags on every machine with the pinned lemminflect dictionary.
    """

    name: Final = "embedded"

    def tag(self, tokens: Sequence[Token]) -> PosTags:
        """One tag for each token, decided from left to right."""
        words = [token.lower for token in tokens]
        options = [
            # A capital inside a sentence, and no other word: "July", "Lisbon".
            (POS.PROPN,)
            if token.word and token.text.istitle() and not is_known(token.lower)
            else possible_pos_tags(token.lower)
            for token in tokens
        ]
        for index in range(1, len(words)):
            idles = words[index] == "idle" and words[index - 1] in {"run", "running", "runs"}
            if idles or (
                words[index] in _OUTCOMES and lemma_of(words[index - 1]) in shipped_set("swings")
            ):
                options[index] = (POS.ADJ,)
        tags: list[POS] = []
        for index in range(len(words)):
            tags.append(_decide(index, words, options, tags))
        return tuple(tags)


@dataclass(frozen=True)
class SpacyTagger:
    """The tags of an English spaCy pipeline, a loaded `Language`, over our own tokens."""

    pipeline: Any
    name: str = SPACY_MODEL

    def tag(self, tokens: Sequence[Token]) -> PosTags:
        """One tag for each token; a tag unknown to us is X."""
        if not tokens:
            return ()
        from spacy.tokens import Doc

        doc = self.pipeline(Doc(self.pipeline.vocab, words=[token.text for token in tokens]))
        known = set(POS)
        return tuple(POS(token.pos_) if token.pos_ in known else POS.X for token in doc)


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


def is_doubtful(words: Sequence[str], tags: Sequence[POS], index: int) -> bool:
    """Whether a word's tag is a guess: it is not known, or may as well name or do something.

    Certain are words of one kind, auxiliaries, people ("male"), gerunds that stand for themselves,
    and participles behind "is".
    """
    word, tag = words[index], tags[index]
    able = possible_pos_tags(word)
    if not is_known(word):
        return True
    if len({form in _CARRYING for form in able}) < 2 or word in _PEOPLE or POS.AUX in able:
        return False
    before = tags[index - 1] if index else POS.PUNCT
    qualifies = tags[index + 1 : index + 2] in {(POS.NOUN,), (POS.ADJ,)}
    if ends_as_gerund(word) or _is_participle(word):
        return (tag is POS.VERB) is qualifies and before is not POS.AUX
    return not (word in shipped_pos_tags() and tag is POS.ADJ and before in _LINKS)


def _decide(index: int, words: list[str], options: list[PosTags], tags: list[POS]) -> POS:
    able = options[index]
    after = options[index + 1] if index + 1 < len(options) else (POS.PUNCT,)
    if able[-1] is POS.VERB and _is_past(words[index]):
        return _participle(index, words, able, after, tags)
    if len(able) == 1:
        return able[0]
    if POS.AUX in able:
        return _auxiliary(index, words, options, able)
    if ends_as_gerund(words[index]) and POS.VERB in able:
        return POS.VERB
    if POS.ADJ in able or POS.ADV in able:
        return _adjective(index, words, able, after, tags)
    return _noun_or_verb(index, words, options, tags)


def _auxiliary(index: int, words: list[str], options: list[PosTags], able: PosTags) -> POS:
    """Whether "has" helps another verb, and "can" is a modal or a tin."""
    ahead = [at for at in range(index + 1, len(words)) if options[at][0] is not POS.ADV][:1]
    following = words[ahead[0]] if ahead else ""
    if POS.NOUN in able:
        many = options[index - 1][0] is POS.PRON or is_plural_word(words[index - 1])
        does = many and possible_pos_tags(following or ".")[-1] is POS.VERB
        helps = following in {"be", "not"} or (does and not following.endswith(("ing", "s")))
        return POS.AUX if helps else POS.NOUN
    helps = following in {"to", "not"} or _is_participle(following)
    return POS.AUX if helps else POS.VERB


def _participle(
    index: int, words: list[str], able: PosTags, after: PosTags, tags: list[POS]
) -> POS:
    """A verb ("followed by", "is closed"), but an adjective before its noun ("muffled speech")."""
    before = tags[-1] if tags else POS.PUNCT
    if index and words[index - 1] in {"high", "low"}:
        return POS.ADJ
    if before in {POS.NOUN, POS.PROPN, POS.PRON, POS.AUX} or after[0] not in {POS.NOUN, POS.ADJ}:
        return POS.VERB
    return POS.ADJ


def _adjective(index: int, words: list[str], able: PosTags, after: PosTags, tags: list[POS]) -> POS:
    word, before = words[index], tags[-1] if tags else POS.PUNCT
    noun_follows = after[0] in {POS.NOUN, POS.ADJ}
    if POS.VERB in able and POS.NOUN not in able:
        return (
            POS.VERB
            if words[index - 1] == "being" or before in {POS.NOUN, POS.PRON, POS.PART}
            else able[0]
        )
    if POS.NOUN not in able:
        return able[0]
    if word in _PEOPLE and noun_follows:
        ends_clause = POS.VERB in after and ends_as_third_person(words[index + 1])
        return POS.NOUN if ends_clause else POS.ADJ
    if noun_follows or (POS.VERB in after and word not in _PEOPLE):
        return POS.ADJ
    return POS.NOUN


def _noun_or_verb(index: int, words: list[str], options: list[PosTags], tags: list[POS]) -> POS:
    """Whether "barks" is something heard or something done."""
    word = words[index]
    back = index - 1
    while back >= 0 and tags[back] is POS.ADV:
        back -= 1
    before = tags[back] if back >= 0 else POS.PUNCT
    following = options[index + 1] if index + 1 < len(options) else (POS.PUNCT,)
    if words[max(back, 0)] in {"to", "not", "can", "will", "could"} and before is not POS.NOUN:
        return POS.VERB
    if _is_participle(word):
        return POS.NOUN if before in _OPENS_NOUN else POS.VERB
    if before is POS.CCONJ or "then" in words[back + 1 : index]:
        return _after_conjunction(index, back, words, following, tags)
    if before not in {POS.NOUN, POS.PROPN, POS.PRON}:
        return POS.NOUN
    if _clause_follows(index, words, following) and following[0] is not POS.NOUN:
        return POS.NOUN
    if word == "sounds" and not _is_determined(tags):
        return POS.NOUN
    if ends_as_third_person(word):
        return POS.NOUN if is_plural_word(words[back]) and before is POS.NOUN else POS.VERB
    if before is POS.PRON:
        return POS.NOUN if words[back] in shipped_set("singular pronouns") else POS.VERB
    pair = (back > 1 and tags[back - 1] is POS.CCONJ) or is_plural_word(words[back])
    return POS.VERB if pair and POS.NOUN not in following[:1] else POS.NOUN


def _after_conjunction(
    index: int, back: int, words: list[str], following: PosTags, tags: list[POS]
) -> POS:
    """A verb where it matches a verb before "and", a noun where it opens a clause of its own."""
    finite = [at for at in range(back + 1) if _may_be_finite(words[at], tags[at])]
    sounds = tags[back - 1 : back] == [POS.NOUN] and singular_of(words[back - 1]) in sound_nouns()
    if sounds and ends_as_third_person(words[index]):
        return POS.NOUN
    if not finite or _clause_follows(index, words, following):
        return POS.NOUN
    last = words[finite[-1]]
    return (
        POS.VERB if ends_as_third_person(last) == ends_as_third_person(words[index]) else POS.NOUN
    )


def _is_determined(tags: list[POS]) -> bool:
    """Whether the phrase at the end has its article: "a horn sounds" is said, "horn sounds" not."""
    for tag in reversed(tags):
        if tag in {POS.DET, POS.NUM, POS.PRON}:
            return True
        if tag in {POS.ADP, POS.CCONJ, POS.PUNCT, POS.SCONJ}:
            return False
    return False


def _may_be_finite(word: str, tag: POS) -> bool:
    return tag is POS.AUX or (
        tag is POS.VERB and not ends_as_gerund(word) and not _is_participle(word)
    )


def _clause_follows(index: int, words: list[str], following: PosTags) -> bool:
    return POS.AUX in following or (
        POS.VERB in following and not words[index + 1].endswith(("ing", "ed"))
    )


def _is_past(word: str) -> bool:
    return word.endswith("ed") and not word.endswith("eed")


def _is_participle(word: str) -> bool:
    return _is_past(word) or word in shipped_set("irregular participles")
