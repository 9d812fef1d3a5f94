"""Checks of notation, of tags, and of truth on a timeline."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synth.llm.checks.check import Case
from synth.llm.checks.claim_checks import scene_fields
from synth.llm.checks.registry import read_checks
from synth.llm.reply import PromptItem
from synth.scene.activity import Activity, Stretch
from synth.scene.claim import claim_to_text
from synth.scene.scene import Concat, Event, Excerpt, Overlay, parse
from synth.scene.timeline import timeline

LABELS = ["Bark", "Rain", "Whimper (dog)", "Male speech, man speaking", "C++ talk", "Übung"]


def faults(check: Any, texts: list[str], answer: Any = None, **fields: Any) -> list[str]:
    (made,) = read_checks([check])
    return made.faults(Case(PromptItem("i", fields), answer or {}, texts))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Bark + Rain", ""),
        ("(Bark + Whimper (dog)) * Male speech, man speaking", ""),
        ('"C++ talk" * Übung', ""),
        ("Bark +", "expected a label"),
        ("(Bark + Rain", "never closed"),
        ("", "expected a label"),
        ("Barks + Rain", 'did you mean "Bark"?'),
        ("bark + Rain", "no label of the list"),
        ("Bark", "has 1 sounds; 2 to 3"),
        ("Bark + Rain + Übung + Whimper (dog)", "has 4 sounds"),
        ("Bark + Bark", "twice"),
    ],
)
def test_scenes(text: str, fault: str) -> None:
    found = faults({"scenes": {"least": 2, "most": 3}}, [text], labels=LABELS)
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)


def test_scenes_given_twice_in_another_spelling() -> None:
    texts = ["Bark * Rain + Übung", "Rain * Bark + Übung"]
    assert "given before" in faults({"scenes": {}}, texts, labels=LABELS)[0]
    assert not faults({"scenes": {}}, [], labels=LABELS)
    assert not faults({"scenes": {}}, ["any + label"])


@pytest.mark.parametrize(
    ("text", "same", "fault"),
    [
        ("b + a * c", False, ""),
        ("a + b + c", False, ""),
        ("a + c * b", False, "must not be the same"),
        ("a + (c * b)", True, ""),
        ("a * b + c", True, "must be the same"),
        ("a + b", False, "exactly the labels"),
        ("a + b * d", False, "exactly the labels"),
        ("a + ", False, "no scene notation"),
    ],
)
def test_recomposed(text: str, same: bool, fault: str) -> None:
    check = {"recomposed": {"original": "n", "same": same}}
    found = faults(check, [text], {"n": "a + b * c"})
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)


def test_recomposed_goes_by_the_claim_of_the_item() -> None:
    claim = json.loads(claim_to_text(parse("a + b")))
    check = {"recomposed": {"original": "n"}}
    assert faults(check, ["a + b"], {"n": "b + a"}, claim=claim)
    assert not faults(check, ["b + a"], {"n": "b + a"}, claim=claim)
    assert faults(check, ["b + a"], {"n": "("})
    assert not faults(check, [], {"n": ""})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("A Hip-Hop piece with alternative rock and piano", ""),
        ("hiphop, alternative rock, piano", ""),
        ("Hip hop rock with piano", 'does not name "alternative rock"'),
        ("Hip hop and alternative rock, no piano", 'denies "piano"'),
        ("Hip hop, alternative rock, piano and jazz", 'not among the tags: "jazz"'),
        ("Hip hop, alternative rock, grand piano", "grand piano"),
    ],
)
def test_tags(text: str, fault: str) -> None:
    own = ["hip hop", "alternative rock", "piano"]
    known = [*own, "rock", "jazz", "grand piano", "pop"]
    found = faults({"tags": {}}, [text], tags=own, vocabulary=known)
    assert bool(found) is bool(fault), found
    assert not fault or any(fault in each for each in found)


def test_tags_without_a_vocabulary_and_with_marks() -> None:
    own = ["Drum & Bass", "música popular"]
    assert not faults({"tags": {}}, ["drum and bass, MÚSICA POPULAR and jazz"], tags=own)
    assert faults({"tags": {}}, ["drum, bass, música popular"], tags=own)
    assert not faults({"tags": {}}, [], tags=own)


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


@pytest.mark.parametrize("fields", [scene_fields(SCENE, ALL_THROUGH, 10), {"events": EVENTS}])
@pytest.mark.parametrize(
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
    assert "no timeline" in faults({"truth": "proven"}, ["Rain"], **heard | {"activity": [{}]})[0]


def test_truth_without_a_timeline_or_with_a_broken_one() -> None:
    assert not faults({"truth": "refuted"}, ["a + b"], caption="x")
    assert not faults({"truth": "proven"}, [], events=EVENTS)
    assert "no timeline" in faults({"truth": "proven"}, ["a"], scene={"event": "a"})[0]
    gone = [{"label": "a", "onset": 1.0, "offset": 1.0}]
    assert "no timeline" in faults({"truth": "proven"}, ["a"], events=gone)[0]
    late = [{"label": "a", "onset": -1.0, "offset": 1.0}]
    assert "no timeline" in faults({"truth": "proven"}, ["a"], events=late)[0]
