"""Checks of single texts: make, novelty, length, language, figures and names."""

from __future__ import annotations

from typing import Any

import pytest

from synth.llm.checks.check import Case
from synth.llm.checks.registry import read_checks
from synth.llm.checks.text_checks import detect_languages
from synth.llm.reply import PromptItem


def faults(check: Any, texts: list[str], **fields: Any) -> list[str]:
    (made,) = read_checks([check])
    return made.faults(Case(PromptItem("i", fields), {"texts": texts}, texts))


@pytest.mark.parametrize(
    ("check", "texts", "fields", "fault"),
    [
        ("plain", [], {}, ""),
        ("plain", ["A dog barks.", "Rock 'n' roll", "3 dogs", "(soft) rain"], {}, ""),
        ("plain", [""], {}, "empty"),
        ("plain", ["…"], {}, "empty"),
        ("plain", ["A dog\nbarks"], {}, "one line"),
        ("plain", [" A dog"], {}, "one line"),
        ("plain", ["- A dog barks"], {}, "plain text"),
        ("plain", ["1. A dog barks"], {}, "plain text"),
        ("plain", ["Caption: a dog barks"], {}, "plain text"),
        ("plain", ["A **dog** barks"], {}, "plain text"),
        ("plain", ["<b>dog</b>"], {}, "plain text"),
        ("plain", ['"A dog barks"'], {}, "quotes"),
        ("plain", ["„Ein Hund bellt“"], {}, "quotes"),
        ({"differs": {}}, [], {"caption": "x"}, ""),
        ({"differs": {}}, ["A dog barked"], {"caption": "A dog barks"}, ""),
        ({"differs": {}}, ["a  DOG barks!"], {"caption": "A dog barks."}, "original itself"),
        ({"differs": "text"}, ["Cafe\u0301 noise"], {"text": "café noise"}, "original itself"),
        ("distinct", [], {}, ""),
        ("distinct", ["a dog", "a cat"], {}, ""),
        ("distinct", ["a dog", "A dog."], {}, "given twice"),
        ({"max_words": 3}, ["a rock'n'roll well-known"], {}, ""),
        ({"max_words": 2}, ["one two three"], {}, "has 3 words; at most 2"),
        ({"words": {"least": 2, "most": 5}}, ["one"], {}, "at least 2"),
        ({"words": {"least": 2, "most": 5}}, [], {}, ""),
        ({"count": 2}, ["a", "b"], {}, ""),
        ({"count": 2}, ["a", "b", "c"], {}, "at most 2"),
        ({"count": {"least": 1}}, [], {}, "at least 1"),
        ({"count": {"field": "count"}}, ["a", "b"], {"count": 1}, "at most 1"),
        ({"figures": {}}, ["3,5 km, 1.000 m"], {"text": "3.5 km, 1,000 m"}, ""),
        ({"figures": {}}, ["1 000 voix"], {"text": "1,000 voices"}, ""),
        ({"figures": {}}, ["1000 Stimmen"], {"text": "1,000 voices"}, ""),
        ({"figures": {}}, ["aus den 80ern"], {"text": "from the 1980s"}, ""),
        ({"figures": {}}, ["des années 1980"], {"text": "from the 80s"}, ""),
        ({"figures": {}}, ["２ Hunde"], {"text": "2 dogs"}, ""),  # noqa: RUF001
        ({"figures": {}}, ["zwei Hunde"], {"text": "2 dogs"}, "loses the number 2"),
        ({"figures": {}}, ["3 Hunde"], {"text": "dogs"}, "adds the number 3"),
        ({"names": {}}, ["Ein Lied von Mozart"], {"text": "A song by Mozart"}, ""),
        ({"names": {}}, ["Une chanson à Londres"], {"text": "A song in London"}, ""),
        ({"names": {}}, ["Ein deutsches Lied"], {"text": "It is a German song"}, ""),
        ({"names": {}}, ["Ein Lied von Haydn"], {"text": "A song by Mozart"}, 'keep "Mozart"'),
        ({"names": {}}, ["Eine Trommel"], {"text": "A TR-808 beat"}, 'keep "TR-808"'),
        ({"names": {}}, ["Titel ohne Namen"], {"text": "A Song With Many Capitals"}, ""),
        ({"names": {}}, ["ohne"], {"text": "rain", "names": ["Café X"]}, 'keep "Café X"'),
    ],
)
def test_check(check: Any, texts: list[str], fields: dict[str, Any], fault: str) -> None:
    found = faults(check, texts, **fields)
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "A dog barks while rain falls"),
        ("en", "Someone laughs"),
        ("de", "Ein Hund bellt, während es regnet"),
        ("de", "Leise Regengeräusche mit Donner"),
        ("de", "Eine Tür schlägt zu"),
        ("fr", "Un chien aboie pendant qu'il pleut"),
        ("fr", "Une voix de femme chante"),
        ("it", "Un cane abbaia mentre piove"),
        ("it", "Una donna parla e poi qualcuno ride"),
        ("es", "Un perro ladra mientras llueve"),
        ("es", "El viento sopla con fuerza"),
        ("es", "Una canción de rock con guitarra"),
    ],
)
def test_language(code: str, text: str) -> None:
    assert detect_languages(text) == {code}
    assert not faults({"language": {}}, [text, text.upper()], language=code)
    for other in {"en", "de", "fr", "it", "es"} - {code}:
        assert faults({"language": other}, [text])


def test_a_few_words_of_no_language_are_taken_and_many_are_not() -> None:
    assert detect_languages("") == detect_languages("Jazz") == frozenset()
    assert not faults({"language": "de"}, ["Jazz", "Techno Remix"])
    assert (
        "no known language"
        in faults({"language": "de"}, ["Sade koputtaa ikkunaan kovaa talvella"])[0]
    )
    assert faults({"language": "de"}, ["犬 が 吠える 声 です 雨"])


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        (["differ"], "no check 'differ'"),
        ([{"max_words": "many"}], "checks.0.max_words.most"),
        ([{"max_words": 0}], "checks.0.max_words.most"),
        (["plain", {"words": {"leest": 1}}], "checks.1.words.leest: there is no such setting"),
        ([{"plain": 3}], "settings by name"),
        ([{"plain": {}, "distinct": {}}], "one check"),
        ([{"language": "nl"}], "checks.0.language.code"),
        ([{"truth": "likely"}], "checks.0.truth.expect"),
        (["truth"], "checks.0.truth.expect"),
        ([3], "one check"),
    ],
)
def test_a_misspelt_check_or_setting_is_named(listed: list[Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_checks(listed)
