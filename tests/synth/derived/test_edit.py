"""Edits: instructions that lead from one sample to another, judged on both."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import asked
import pytest

from synth.base.errors import CorpusError
from synth.base.rng import Randomness
from synth.derived.edits import (
    FRAMES,
    Edit,
    FoundEdits,
    Take,
    edit_from_json,
    fault,
    find_edits,
    takes,
    wordings,
)
from synth.labels.lexicon import Phrase
from synth.recipes.base import Levels, Setting
from synth.recipes.edits import Edits
from synth.recipes.scenes import Scenes
from synth.scene.activity import Stretch
from synth.truth.change import ChangeKind, list_claims

FRAMES_OF_ALL = 10 * asked.RATE


@pytest.fixture(scope="module")
def about() -> dict[str, Take]:
    """The samples of 100 pairs, by id."""
    clips = [clip for clip in asked.clips() if clip.frames >= asked.RATE]
    levels = Levels(-23.0, 20.0, 15.0)
    where = Setting(
        asked.RATE, FRAMES_OF_ALL, levels, 1600, Randomness(7), least_frames=FRAMES_OF_ALL
    )
    rows = asked.rows(Edits(pairs=100), clips, setting=where)
    found = takes(
        [row | {"frames": FRAMES_OF_ALL, "gain_db": 0.0} for row in rows],
        asked.catalogue(clips),
        1600,
    )
    return {take.subject.id: take for take in found}


@pytest.fixture(scope="module")
def found(about: dict[str, Take]) -> FoundEdits:
    return find_edits(list(about.values()), Randomness(0))


def test_every_pair_is_an_edit_that_holds(about: dict[str, Take], found: FoundEdits) -> None:
    assert len(found.edits) == 100
    assert not found.unlike
    for edit in found.edits:
        assert fault(edit, about[edit.before], about[edit.after]) is None
    assert {edit.change.kind for edit in found.edits} == set(ChangeKind)


def test_rows_are_read_back_and_hold(about: dict[str, Take], found: FoundEdits) -> None:
    for edit in found.edits:
        row = json.loads(json.dumps(edit.to_json()))
        assert edit_from_json(row) == edit


def test_a_sound_that_comes_or_goes_is_placed_by_another_as_often_as_not(
    found: FoundEdits,
) -> None:
    presence = [
        edit for edit in found.edits if edit.change.kind in (ChangeKind.ADD, ChangeKind.REMOVE)
    ]
    plain = [edit for edit in presence if edit.claims == next(list_claims(edit.change))]
    assert 0.2 < len(plain) / len(presence) < 0.8


def test_instructions_read_as_people_write(found: FoundEdits) -> None:
    said = [
        text.removesuffix(".")
        for edit in found.edits
        for text in (edit.instruction, edit.reverse_instruction)
    ]
    assert all(text[0].isupper() and "{" not in text and " the the " not in text for text in said)
    assert any(" dB" in text for text in said)
    assert not any("by 0 dB" in text for text in said)


def test_every_frame_names_what_it_is_about(found: FoundEdits) -> None:
    for edit in found.edits:
        for text in wordings(edit.change, edit.claims):
            for label in edit.change.sounds:
                phrase = Phrase.of_label(label)
                forms = phrase.noun, phrase.definite, phrase.gerund
                assert any(form.lower() in text.lower() for form in forms)
    assert all(len(frames) == len(set(frames)) > 1 for frames in FRAMES.values())


def test_words_say_nothing_of_other_sounds_and_take_out_the_whole_one(found: FoundEdits) -> None:
    """Others may come before both of two, and a sound may last longer than one beside it."""
    for edit in found.edits:
        for text in wordings(edit.change, edit.claims):
            assert "first" not in text
            assert edit.change.kind is not ChangeKind.REMOVE or "while" not in text.lower()


def changed(edit: Edit, about: dict[str, Take]) -> list[tuple[str, Edit, Take, Take]]:
    """An edit with one thing about it that is wrong."""
    before, after = about[edit.before], about[edit.after]
    onset, offset = edit.change.stretch
    moved = replace(edit.change, stretch=Stretch(onset, offset + 1))
    return [
        ("leads from", edit, after, before),
        ("length", edit, before, replace(after, frames=1)),
        ("gains", edit, before, replace(after, gain_db=-0.01)),
        ("differs between", replace(edit, change=moved), before, after),
        ("not of its kind", replace(edit, claims=edit.claims[::-1]), before, after),
        ("instruction does", replace(edit, instruction="Remove it."), before, after),
        ("reverse", replace(edit, reverse_instruction=edit.instruction), before, after),
    ]


def test_the_judge_finds_what_is_wrong(about: dict[str, Take], found: FoundEdits) -> None:
    kinds = {edit.change.kind: edit for edit in found.edits}
    for kind, edit in kinds.items():
        for said, wrong, before, after in changed(edit, about):
            if kind.is_level and said == "not of its kind":
                continue  # both claims are that it is heard
            reason = fault(wrong, before, after)
            assert reason is not None
            assert said in reason


def test_an_instruction_of_another_edit_is_found(about: dict[str, Take], found: FoundEdits) -> None:
    for edit, other in pairwise(found.edits):
        asked_for = wordings(edit.change, edit.claims)
        if other.instruction not in asked_for:
            wrong = replace(edit, instruction=other.instruction)
            assert fault(wrong, about[edit.before], about[edit.after]) is not None


def test_samples_that_differ_in_more_than_one_edit_have_none() -> None:
    clips = asked.clips()
    rows = asked.rows(Scenes(scenes=40), clips)
    found = takes(
        [row | {"frames": FRAMES_OF_ALL, "gain_db": 0.0} for row in rows],
        asked.catalogue(clips),
        asked.AUDIBLE,
    )
    told = find_edits(found, Randomness(0))
    about = {take.subject.id: take for take in found}
    assert len(told.edits) + told.unlike == 10 * 6
    assert told.unlike > 30
    assert all(fault(edit, about[edit.before], about[edit.after]) is None for edit in told.edits)


@pytest.mark.parametrize(
    "change",
    [{"kind": "erase"}, {"claims": ["{}", "{}"]}, {"onset": "0"}, {"sounds": [1]}],
)
def test_other_rows_are_refused(found: FoundEdits, change: dict[str, object]) -> None:
    with pytest.raises(CorpusError):
        edit_from_json(found.edits[0].to_json() | change)
