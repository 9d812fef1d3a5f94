"""Captions of a group that are not refuted do not stand against its sounds."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from synth.scene.activity import Activity, Stretch
from synth.scene.claim import claim_to_text
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, statement, to_text
from synth.scene.timeline import timeline
from train.data.meaning import find_unrefuted
from train.data.rows import Row

DOG, RAIN = Event("dog", Excerpt("a", 0, 1000)), Event("rain", Excerpt("b", 0, 6000))


def row(scene: Scene, group: str = "g", crop: Any = None, **others: Any) -> Row:
    facts = {
        "group": group,
        "scene": to_text(scene),
        "activity": [place.heard.to_json() for place in timeline(scene).placements],
        "claim": claim_to_text(statement(scene)),
        "negatives": [],
        **others,
    }
    return Row(facts, 0, crop=crop)


def unrefuted(*rows: Row) -> list[list[bool]]:
    claims = [row["claim"] for row in rows]
    return torch.as_tensor(find_unrefuted(rows, claims, audible=100)).tolist()


def test_an_order_that_may_be_true_of_the_mix_does_not_stand_against_it() -> None:
    # It rains on for 5 s when the dog is silent: "a dog barks, then it rains" is no lie.
    before, after, mixed = Concat(DOG, RAIN), Concat(RAIN, DOG), Overlay(RAIN, DOG)
    assert unrefuted(row(before), row(after), row(mixed)) == [
        [False, False, False],
        [False, False, False],
        [True, False, False],
    ]


def test_only_captions_of_one_group_are_judged() -> None:
    rows = row(Concat(DOG, RAIN), "g"), row(Overlay(RAIN, DOG), "h")
    assert unrefuted(*rows) == [[False, False], [False, False]]


def test_the_negatives_of_a_row_are_known_to_be_false() -> None:
    said = {"text": "x", "claim": claim_to_text(statement(Concat(DOG, RAIN)))}
    rows = row(Concat(DOG, RAIN)), row(Overlay(RAIN, DOG), negatives=[said])
    assert unrefuted(*rows) == [[False, False], [False, False]]


def test_of_a_part_nothing_is_refuted_but_its_negatives() -> None:
    rows = row(Concat(DOG, RAIN)), row(Concat(RAIN, DOG), crop=(0, 500))
    assert unrefuted(*rows) == [[False, False], [True, False]]


def test_what_is_heard_decides() -> None:
    heard = [
        Activity((Stretch(0, 1000),), (Stretch(0, 1000),)).to_json(),
        Activity((Stretch(0, 1050),), (Stretch(0, 1050),)).to_json(),
    ]
    mixed = row(Overlay(DOG, RAIN), activity=heard)
    assert unrefuted(row(Concat(DOG, RAIN)), mixed) == [[False, False], [False, False]]


@pytest.mark.parametrize("count", [0, 1])
def test_a_batch_may_hold_nothing_to_judge(count: int) -> None:
    rows = [row(DOG)] * count
    assert unrefuted(*rows) == [[False]] * count
