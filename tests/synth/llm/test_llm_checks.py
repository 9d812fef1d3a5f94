"""Checks of answers: of texts, of notation, of order and binding, of truth on a timeline."""

from __future__ import annotations

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
from synth.scene.scene import Concat, Event, Excerpt, Overlay
from synth.scene.timeline import timeline
from tests.kit.cases import cases
from tests.kit.tables import read_data

CASES = read_data("texts/llm_checks.yaml")


def faults(check: Any, texts: list[str], answer: Any = None, **fields: Any) -> list[str]:
    (made,) = read_checks([check])
    return made.faults(Case(PromptItem("i", fields), answer or {"texts": texts}, texts))


@cases(
    ("check", "fields", "text", "fault"),
    [
        (each["check"], each.get("fields", {}), text, fault)
        for each in CASES["one_text"]
        for text, fault in each["texts"].items()
    ],
)
def test_a_text(check: Any, fields: dict[str, Any], text: str, fault: str) -> None:
    found = faults(check, [text], **fields)
    assert bool(found) == bool(fault), found
    assert not fault or any(fault in each for each in found)
    assert len(found) < 2 or check == "tags"


@cases(("check", "texts", "fields", "fault"), CASES["several_texts"])
def test_several_texts(check: Any, texts: list[str], fields: dict[str, Any], fault: str) -> None:
    found = faults(check, texts, **fields)
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)


@cases(("check", "text", "notation", "fields", "fault"), CASES["notations"])
def test_check_of_notation(
    check: Any, text: str, notation: str, fields: dict[str, Any], fault: str
) -> None:
    found = faults(check, [text], {"n": notation}, **fields)
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)
    assert not faults({"recomposed": {"original": "n"}}, [], {"n": ""}), "no text needs none"


@cases(("code", "text"), CASES["languages"])
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


@cases(("listed", "reason"), CASES["misspelt"])
def test_a_misspelt_check_or_setting_is_named(listed: list[Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_checks(listed)


def test_words_are_read_by_their_lemmas_and_left_open_where_they_are_open() -> None:
    forms = (("barks", "barking"), ("cries", "cry"), ("geese", "goose"), ("clapped", "claps"))
    assert [pair for pair in forms if not lemmas(pair[0]) & lemmas(pair[1])] == []
    later = "A man speaks. A dog barks later."
    for caption in ("", "…", later, "A dog barks after a man speaks after rain falls"):
        assert parse_order(parse_content(caption)) is None
    measures = CASES["measures"]
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


@cases("name", CASES["refused"])
def test_what_a_prompt_refuses_and_takes(name: str) -> None:
    prompt = load_prompt(name)
    for is_taken, pairs in ((False, CASES["refused"][name]), (True, CASES["taken"][name])):
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
