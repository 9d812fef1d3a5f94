"""Checks of answers: of texts, of notation, of order and binding, of truth on a timeline."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synth.llm.checks.check import Case
from synth.llm.checks.claim_checks import scene_fields
from synth.llm.checks.figure_checks import find_measures
from synth.llm.checks.order_checks import lemmas, parse_content, parse_order
from synth.llm.checks.text_checks import detect_languages
from synth.llm.prompt import load_prompt, read_checks
from synth.llm.reply import PromptItem
from synth.scene.activity import Activity, Stretch
from synth.scene.claim import claim_to_text
from synth.scene.scene import Concat, Event, Excerpt, Overlay, parse
from synth.scene.timeline import timeline
from tests.kit.cases import cases

LABELS = ["Bark", "Rain", "Whimper (dog)", "Male speech, man speaking", "C++ talk", "Übung"]
TAGS = ["hip hop", "alternative rock", "piano"]
VOCABULARY = {"tags": TAGS, "vocabulary": [*TAGS, "rock", "jazz", "grand piano", "pop"]}
ORDERED = {"caption": "A man speaks before a dog barks"}
THREE = {"caption": "A cup breaks, then a bell rings while two men laugh"}
MARKED = {"tags": ["Drum & Bass", "música popular"]}
SCENES = {"scenes": {"least": 2, "most": 3}}
BOUND = {"caption": "A woman speaks while a baby cries in the background"}


def faults(check: Any, texts: list[str], answer: Any = None, **fields: Any) -> list[str]:
    (made,) = read_checks([check])
    return made.faults(Case(PromptItem("i", fields), answer or {"texts": texts}, texts))


ONE_TEXT: list[tuple[Any, dict[str, Any], dict[str, str]]] = [
    (
        "plain",
        {},
        {
            "": "empty",
            "…": "empty",
            "A dog\nbarks": "one line",
            " A dog": "one line",
            "- A dog barks": "plain text",
            "1. A dog barks": "plain text",
            "Caption: a dog barks": "plain text",
            "A **dog** barks": "plain text",
            "<b>dog</b>": "plain text",
            '"A dog barks"': "quotes",
            "„Ein Hund bellt“": "quotes",
        },
    ),
    (
        SCENES,
        {"labels": LABELS},
        {
            "Bark + Rain": "",
            "(Bark + Whimper (dog)) * Male speech, man speaking": "",
            '"C++ talk" * Übung': "",
            "Bark +": "expected a label",
            "(Bark + Rain": "never closed",
            "": "expected a label",
            "Barks + Rain": 'did you mean "Bark"?',
            "bark + Rain": "no label of the list",
            "Bark": "has 1 sounds; 2 to 3",
            "Bark + Rain + Übung + Whimper (dog)": "has 4 sounds",
            "Bark + Bark": "twice",
        },
    ),
    (
        "reordered",
        ORDERED,
        {
            "A man speaks after a dog barks": "",
            "A dog barks before a man speaks": "",
            "A dog barks, and then a man is speaking": "",
            "A man speaking with a dog barking": "",
            "A dog barks after a man speaks": "no order that contradicts",
            "After a man speaks, a dog barks": "no order that contradicts",
            "Before a dog barks, a man speaks": "no order that contradicts",
            "The man speaks and then the dog barks!": "no order that contradicts",
            "A man speaking, followed by a dog barking": "no order that contradicts",
            "A cat barks before a man speaks": 'leaves out "dog" and adds "cat"',
            "A dog before a man speaks": 'leaves out "barks"',
            "A dog barks and barks before a man speaks": 'adds "barks"',
            "A man speaks later than a dog barks": "unclearly",
            "A man speaks and a dog barks": "no order that contradicts",
        },
    ),
    (
        "reordered",
        THREE,
        {
            "Two men laugh, then a cup breaks while a bell rings": "",
            "A cup breaks, then two men laugh as a bell rings": "no order that contradicts",
            "As a bell rings and two men laugh, a cup breaks": "unclearly",
            "A cup breaks, then a bell rings, then two men laugh": "",
            "A cup breaks, then a bell rings and two men laugh": "no order that contradicts",
        },
    ),
    (
        "rebound",
        BOUND,
        {
            "A baby speaks while a woman cries in the background": "",
            "A woman cries with a baby speaking in the background": "",
            "A woman speaks while a baby cries": "same verb",
            "A baby is crying as a woman is speaking": "same verb",
            "A woman speaks while a dog cries": 'adds "dog"',
            "A woman and a baby cry": 'leaves out "speaks"',
        },
    ),
    (
        "same_order",
        ORDERED,
        {
            "A man talks and then a dog barks": "",
            "A dog barks after a man has spoken": "",
            "A dog and a man make sounds": "",
            "A dog barks before a man speaks": "changes the order",
            "A man speaks before no dog barks": "deny",
        },
    ),
    (
        "tags",
        VOCABULARY,
        {
            "A Hip-Hop piece with alternative rock and piano": "",
            "hiphop, alternative rock, piano": "",
            "Hip hop rock with piano": 'does not name "alternative rock"',
            "Hip hop and alternative rock, no piano": 'denies "piano"',
            "Hip hop, alternative rock, piano and jazz": 'not among the tags: "jazz"',
            "Hip hop, alternative rock, grand piano": "grand piano",
        },
    ),
    *(
        ("reordered", {"caption": caption}, {text: fault})
        for caption, text, fault in (
            ("A dog barks and a man speaks", "A man speaks, then a dog barks", "tells none"),
            ("A dog barks as a man speaks", "A man speaks, then a dog barks", ""),
            (
                "As a dog barks, a man speaks",
                "A man speaks while a dog barks",
                "no order that contra",
            ),
            ("A dog barks. A man speaks later.", "A dog barks after a man speaks", ""),
            ("Loud and low thuds, then a dog barks", "A dog barks, then loud and low thuds", ""),
            ("Shots occur, then a dog barks", "A dog barks with shots occurring", ""),
            ("Rain falls", "Falling of rain", "single event"),
            (
                "Ein Café — naïve bells ring, then geese honk",
                "Geese honk, then ein café — naïve bells ring",
                "",
            ),
            ("Geese honk, then mice squeak", "A mouse squeaks, then a goose honks", ""),
        )
    ),
    *(
        (check, fields, {text: fault})
        for check, fields, text, fault in (
            ({"differs": {}}, {"caption": "A dog barks"}, "A dog barked", ""),
            ({"differs": {}}, {"caption": "A dog barks."}, "a  DOG barks!", "original itself"),
            ({"differs": "text"}, {"text": "café noise"}, "Cafe\u0301 noise", "original itself"),
            ({"words": 3}, {}, "a rock'n'roll well-known", ""),
            ({"words": 2}, {}, "one two three", "has 3 words; at most 2"),
            ({"words": {"least": 2, "most": 5}}, {}, "one", "at least 2"),
            ({"figures": {}}, {"text": "3.5 km, 1,000 m"}, "3,5 km, 1.000 m", ""),
            ({"figures": {}}, {"text": "1,000 voices"}, "1 000 voix", ""),
            ({"figures": {}}, {"text": "1,000 voices"}, "1000 Stimmen", ""),
            ({"figures": {}}, {"text": "from the 1980s"}, "aus den 80ern", ""),
            ({"figures": {}}, {"text": "from the 80s"}, "des années 1980", ""),
            ({"figures": {}}, {"text": "2 dogs"}, "２ Hunde", ""),  # noqa: RUF001
            ({"figures": {}}, {"text": "2 dogs"}, "zwei Hunde", "loses the number 2"),
            ({"figures": {}}, {"text": "dogs"}, "3 Hunde", "adds the number 3"),
            ({"names": {}}, {"text": "A song by Mozart"}, "Ein Lied von Mozart", ""),
            ({"names": {}}, {"text": "A song by Mozart"}, "Ein Lied von Haydn", 'keep "Mozart"'),
            ({"names": {}}, {"text": "A song in London"}, "Une chanson à Londres", ""),
            ({"names": {}}, {"text": "It is a German song"}, "Ein deutsches Lied", ""),
            ({"names": {}}, {"text": "A TR-808 beat"}, "Eine Trommel", 'keep "TR-808"'),
            ({"names": {}}, {"text": "A Song With Many Capitals"}, "Titel ohne Namen", ""),
            ({"names": {}}, {"text": "rain", "names": ["Café X"]}, "ohne", 'keep "Café X"'),
            ({"shares": 0.5}, ORDERED, "A guy speaks while a hound is barking", ""),
            ({"shares": 0.3}, ORDERED, "A lovely tune", "0 of 4"),
            ({"scenes": {}}, {}, "any + label", ""),
            ("tags", MARKED, "drum and bass, MÚSICA POPULAR and jazz", ""),
            ("tags", MARKED, "drum, bass, música popular", "does not name"),
        )
    ),
]
"""Checks, the fields of an item, and texts with what is told of them; "" where they are taken."""


@cases(
    ("check", "fields", "text", "fault"),
    [
        (check, fields, text, fault)
        for check, fields, texts in ONE_TEXT
        for text, fault in texts.items()
    ],
)
def test_a_text(check: Any, fields: dict[str, Any], text: str, fault: str) -> None:
    found = faults(check, [text], **fields)
    assert bool(found) == bool(fault), found
    assert not fault or any(fault in each for each in found)
    assert len(found) < 2 or check == "tags"


@cases(
    ("check", "texts", "fields", "fault"),
    [
        ("plain", [], {}, ""),
        ("plain", ["A dog barks.", "Rock 'n' roll", "3 dogs", "(soft) rain"], {}, ""),
        ({"differs": {}}, [], {"caption": "x"}, ""),
        ("distinct", [], {}, ""),
        ("distinct", ["a dog", "a cat"], {}, ""),
        ("distinct", ["a dog", "A dog."], {}, "given twice"),
        ({"words": {"least": 2, "most": 5}}, [], {}, ""),
        ({"count": 2}, ["a", "b"], {}, ""),
        ({"count": 2}, ["a", "b", "c"], {}, "at most 2"),
        ({"count": {"least": 1}}, [], {}, "at least 1"),
        ({"count": {"field": "count"}}, ["a", "b"], {"count": 1}, "at most 1"),
        *(
            (check, [], {"caption": "Rain falls"}, "")
            for check in ("reordered", "rebound", "same_order")
        ),
        ({"scenes": {}}, ["Bark * Rain + Übung", "Rain * Bark + Übung"], {}, "given before"),
        ({"scenes": {}}, [], {"labels": LABELS}, ""),
        ("tags", [], MARKED, ""),
    ],
)
def test_several_texts(check: Any, texts: list[str], fields: dict[str, Any], fault: str) -> None:
    found = faults(check, texts, **fields)
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)


OTHER = {"recomposed": {"original": "n"}}
TOLD = {"notation_told": "n"}
HINTED = {"notation_told": {"notation": "n", "strict": False}}
CLAIMED = {"claim": json.loads(claim_to_text(parse("a + b")))}


NOTATIONS: list[tuple[Any, str, str, dict[str, Any], str]] = [
    (OTHER, "b + a * c", "a + b * c", {}, ""),
    (OTHER, "a + b + c", "a + b * c", {}, ""),
    (OTHER, "a + c * b", "a + b * c", {}, "must not be the same"),
    (OTHER, "a + b", "a + b * c", {}, "exactly the labels"),
    (OTHER, "a + b * d", "a + b * c", {}, "exactly the labels"),
    (OTHER, "a + ", "a + b * c", {}, "no scene notation"),
    (OTHER, "a + b", "b + a", CLAIMED, "must not be the same"),
    (OTHER, "b + a", "b + a", CLAIMED, ""),
    (OTHER, "b + a", "(", {}, "no scene notation"),
    (TOLD, "A dog barks after a man speaks", "man speaks + dog barks", {}, ""),
    (TOLD, "A man speaks as a dog barks", "man speaks * dog barks", {}, ""),
    (TOLD, "A man speaks while a dog barks", "Male speech, man speaking * Bark", {}, ""),
    (TOLD, "A dog barks after a man speaks", "dog barks + man speaks", {}, "another order"),
    (TOLD, "A dog barks, then a man speaks", "dog barks * man speaks", {}, "another order"),
    (TOLD, "A dog barks", "dog barks + rain", {}, "no word"),
    (HINTED, "A motor runs, then a dog barks", "Engine * Bark", {}, ""),
    (HINTED, "A dog barks, then a man speaks", "man speaks + dog barks", {}, "another order"),
]


@cases(("check", "text", "notation", "fields", "fault"), NOTATIONS)
def test_check_of_notation(
    check: Any, text: str, notation: str, fields: dict[str, Any], fault: str
) -> None:
    found = faults(check, [text], {"n": notation}, **fields)
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)
    assert not faults(OTHER, [], {"n": ""}), "no text needs no notation"


@cases(
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


@cases(
    ("listed", "reason"),
    [
        (["differ"], "no check 'differ'"),
        ([{"words": "many"}], "checks.0.words.most"),
        ([{"words": 0}], "checks.0.words.most"),
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


def test_words_are_read_by_their_lemmas_and_left_open_where_they_are_open() -> None:
    forms = (("barks", "barking"), ("cries", "cry"), ("geese", "goose"), ("clapped", "claps"))
    assert [pair for pair in forms if not lemmas(pair[0]) & lemmas(pair[1])] == []
    later = "A man speaks. A dog barks later."
    for caption in ("", "…", later, "A dog barks after a man speaks after rain falls"):
        assert parse_order(parse_content(caption)) is None
    measures = {
        "A dog barks twice": {"2 times": 1},
        "A dog barks two times": {"2 times": 1},
        "A dog barks a single time": {"1 times": 1},
        "Rain falls for about three seconds": {"3 seconds": 1},
        "It rains for some 3.0 seconds": {"3 seconds": 1},
        "A dog barks, then once more, softer": {"quieter": 1},
        "Among the sounds are a dog and a bell": {},
        "At the beginning, a dog barks": {"at the start": 1},
    }
    assert {text: find_measures(text) for text in measures} == measures


# Truth on a timeline


SCENE = Overlay(
    Concat(Event("Bark", Excerpt("d", 0, 1000)), Event("Doorbell", Excerpt("b", 0, 1000))),
    Event("Rain", Excerpt("r", 0, 2000)),
)
ALL_THROUGH = [place.heard for place in timeline(SCENE).placements]
EVENTS = [
    {"label": "Bark", "onset": 0.0, "offset": 1.0},
    {"label": "Doorbell", "onset": 1.0, "offset": 2.0},
    {"label": "Rain", "onset": 0.0, "offset": 2.0},
]


@cases("fields", [scene_fields(SCENE, ALL_THROUGH, 10), {"events": EVENTS}])
@cases(
    ("text", "verdict"),
    [
        ("Bark + Doorbell", "proven"),
        ("(Bark + Doorbell) * Rain", "proven"),
        ("Doorbell + Bark", "refuted"),
        ("Bark * Doorbell", "refuted"),
        ("Rain + Bark", "refuted"),
        # The rain goes on when the barking is over.
        ("Bark + Rain", "neither"),
        ("Rain + Doorbell", "neither"),
        ("Bark + Goose", "absent"),
        ("Bark +", "broken"),
    ],
)
def test_truth(text: str, verdict: str, fields: dict[str, Any]) -> None:
    for expect in ("proven", "refuted"):
        assert bool(faults({"truth": expect}, [text], **fields)) is not (verdict == expect)


def test_truth_goes_by_what_is_heard() -> None:
    # The barking is over long before the doorbell's clip begins, and the rain is heard with it.
    bark, doorbell = ALL_THROUGH[:2]
    early = [bark, doorbell, Activity((Stretch(0, 1000),), (Stretch(0, 1000),))]
    heard = scene_fields(SCENE, early, 10)
    assert not faults({"truth": "proven"}, ["Bark * Rain", "Rain + Doorbell"], **heard)
    assert faults({"truth": "proven"}, ["Rain + Doorbell"], **scene_fields(SCENE, ALL_THROUGH, 10))
    assert not faults({"truth": "refuted"}, ["Doorbell * Rain"], **heard)
    # Without a timeline nothing is judged, and a broken one is told.
    assert not faults({"truth": "refuted"}, ["a + b"], caption="x")
    assert not faults({"truth": "proven"}, [], events=EVENTS)
    for broken in (
        heard | {"activity": [{}]},
        {"scene": {"event": "a"}},
        {"events": [{"label": "a", "onset": 1.0, "offset": 1.0}]},
        {"events": [{"label": "a", "onset": -1.0, "offset": 1.0}]},
    ):
        assert "no timeline" in faults({"truth": "proven"}, ["Rain"], **broken)[0]


# What whole prompts refuse and take


REFUSED: dict[str, list[tuple[str, str]]] = {
    "binding-negatives": [
        ("A man and a woman speak", "A woman and a man speak"),
        ("Rain and wind blow", "Wind and rain blow"),
        ("A man and a woman talk while a dog barks", "A woman and a man talk while a dog barks"),
        ("A dog barks and a cat meows", "A dog and a cat bark and meow"),
    ],
    "paraphrase": [
        ("A dog barks before a bell rings", "A dog barks while a bell rings"),
        ("A dog barks before a bell rings", "A dog barks as a bell rings"),
        ("A dog barks before a bell rings", "A bell rings; a dog barks later"),
        ("A dog barks while a bell rings", "A dog barks, then a bell rings"),
        ("A dog barks twice", "There is the bark of a dog"),
        ("A dog barks twice", "A dog barks three times in all"),
        ("A dog barks", "A dog is heard to bark just once"),
        ("Rain falls for about three seconds", "Rain can be heard falling for a while"),
        ("A dog barks, then again, this time louder", "A dog barks and then barks once again"),
        ("A dog barking is louder than rain falling", "Rain falling is louder than a dog barking"),
        ("A dog barks at the end", "A dog is barking in this recording"),
    ],
}
TAKEN: dict[str, list[tuple[str, str]]] = {
    "binding-negatives": [("A dog barks while a cat meows", "A dog meows while a cat barks")],
    "paraphrase": [
        ("A dog barks before a bell rings", "A bell rings after a dog barks"),
        ("A dog barks twice", "Two times, a dog barks"),
        ("Rain falls for about three seconds", "For some three seconds rain falls"),
        ("A dog barking is louder than rain falling", "The dog barking is louder than the rain"),
        ("A dog barks at the start", "At the beginning a dog is barking"),
    ],
}


@cases("name", REFUSED)
def test_what_a_prompt_refuses_and_takes(name: str) -> None:
    prompt = load_prompt(name)
    for is_taken, pairs in ((False, REFUSED[name]), (True, TAKEN[name])):
        for caption, text in pairs:
            item = PromptItem("1", {"caption": caption})
            assert (not prompt.faults(item, {prompt.file.texts: [text]})) is is_taken, text


def test_a_denial_is_no_other_order() -> None:
    item = PromptItem("1", {"caption": "A dog barks before a bell rings"})
    for text in (
        "A bell rings while no dog barks",
        "A bell rings, then a dog barks no more",
        "A bell does not ring before a dog barks",
    ):
        negative = {"caption": text, "notation": "bell rings + dog barks"}
        answer = {"notation": "dog barks + bell rings", "negatives": [negative]}
        assert load_prompt("order-negatives").faults(item, answer), text
