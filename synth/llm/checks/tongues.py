"""Which language a sentence is in: English, German, French, Italian or Spanish, by common words.

A word counts 1 for a language that has it alone, and a share for each of those that have it in
common ("in" is English, German and Italian); a letter that only one of them writes counts a half.
The language with the most wins. Captions are short: where two are level both are named, and a text
without any of the words names none. The lists are ours: articles, prepositions, conjunctions,
pronouns and auxiliaries, and the few words that captions of sound and music have in every sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final

LANGUAGES: Final[Mapping[str, str]] = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "it": "Italian",
    "es": "Spanish",
}

_WORDS: Final[Mapping[str, str]] = {
    "en": """the a an and of to in on at by for from with without is are was were be been has have
        it its this that these those as while then before after during into over through under up
        down off followed someone who which not no only some very song music sound sounds speaks
        sings plays played speaking playing singing dog man woman people another again behind near
        loud loudly soft softly slow fast there their his her he she they you i my your or but so
        background voice being running runs blows high amid continuously as""",
    "de": """der die das den dem des ein eine einen einem einer eines und oder aber mit ohne von vom
        zu zum zur im in am an auf aus bei beim bevor nachdem nach vor während dann ist sind war
        wird werden wurde hat haben sich nicht kein keine nur auch als wie wenn für über unter
        durch gegen um es er sie ihr sein seine danach dabei gefolgt jemand lied musik stück
        hintergrund stimme hund mann frau spielt singt spricht bellt leise laut langsam schnell
        hinter neben zwischen""",
    "fr": """le la les l un une des du de d et ou mais avec sans dans sur sous par pour en au aux à
        est sont était être a ont il elle ils elles on qui que qu ce cette ces se s son sa ses ne
        n pas plus puis avant après pendant tandis alors lorsque quand comme très suivi suivie
        chanson musique morceau fond voix chien homme femme parle chante joue aboie douce lente
        quelqu vers chez entre derrière""",
    "it": """il lo la i gli le l un uno una un di del dello della dei degli delle a al allo alla ai
        alle da dal dalla in nel nella nei con senza su sul sulla per tra fra e ed o ma è sono era
        essere ha hanno si che chi cui non più poi prima dopo mentre quando come molto seguito
        seguita canzone brano musica sottofondo voce cane uomo donna parla canta suona abbaia
        lento lenta dolce qualcuno questo questa dietro""",
    "es": """el la los las un una unos unas de del y e o u pero con sin en sobre bajo por para a al
        es son era ser está están ha han se su sus que quien no más luego antes después mientras
        cuando como muy seguido seguida canción pieza música fondo voz perro hombre mujer habla
        canta toca suena ladra lento lenta suave alguien este esta entonces tras detrás entre
        hacia""",
}
_LETTERS: Final[Mapping[str, str]] = {"de": "äß", "fr": "çœêëîûèâ", "it": "ìò", "es": "ñ¿¡"}
_WORD: Final = re.compile(r"[^\W\d_]+")


def detect_languages(text: str) -> frozenset[str]:
    """The codes of the languages that a text may be in: one, several that are level, or none."""
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold())
    scores = dict.fromkeys(LANGUAGES, 0.0)
    for word in _WORD.findall(plain):
        for code in _owners().get(word, ()):
            scores[code] += 1 / len(_owners()[word])
    lowered = unicodedata.normalize("NFC", text).lower()
    for code, letters in _LETTERS.items():
        scores[code] += 0.5 * sum(lowered.count(letter) for letter in letters)
    best = max(scores.values())
    return frozenset(code for code, score in scores.items() if best and score > best - 1e-9)


@cache
def _owners() -> Mapping[str, tuple[str, ...]]:
    """By word, the languages that have it."""
    found: dict[str, tuple[str, ...]] = {}
    for code, words in _WORDS.items():
        for word in dict.fromkeys(words.split()):
            found[word] = (*found.get(word, ()), code)
    return found
