"""Forms of verbs, from lemminflect's dictionary and rules."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

from synth.base.shipped import shipped_path
from synth.text.grammar.pos_lexicon import POS, ends_as_gerund, shipped_pos_tags

_PAST: Final = frozenset({"VBD", "VBN"})


def is_past(word: str) -> bool:
    """Whether a verb form is a past tense or a past participle."""
    return (word.endswith("ed") and not word.endswith("eed")) or not _PAST.isdisjoint(
        _verb_tags(word)
    )


@lru_cache(maxsize=16_384)
def lemma_of(word: str) -> str:
    """The verb of a form; empty where none is known."""
    from lemminflect import getAllLemmas, getLemma

    for base in (word[:-1], word[: -len("ing")]):
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
    if tag == "VBG" and lemma.endswith("c"):
        return f"{lemma}king"
    forms = getInflection(lemma, tag) if lemma else ()
    return str(forms[0]) if forms else ""


@cache
def agent_verbs() -> frozenset[str]:
    """Verbs whose forms, said of a doer, are doings rather than sounds: "talks", not "clicks"."""
    listing = shipped_path("lexicons/agent_verbs.txt")
    return frozenset(listing.read_text(encoding="utf-8").split())


@cache
def sound_nouns() -> frozenset[str]:
    """Nouns that name a sound, in the singular, rather than what makes it: "bark", "applause"."""
    listing = shipped_path("lexicons/sound_nouns.txt")
    return frozenset(listing.read_text(encoding="utf-8").split())


@lru_cache(maxsize=16_384)
def _verb_tags(word: str) -> frozenset[str]:
    from lemminflect import getAllInflections

    lemma = lemma_of(word)
    if not lemma or lemma == word:
        return frozenset()
    return frozenset(
        tag for tag, forms in getAllInflections(lemma, upos="VERB").items() if word in forms
    )
