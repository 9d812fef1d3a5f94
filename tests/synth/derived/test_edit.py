"""Edits: instructions that lead from one sample to another, judged on both."""

from __future__ import annotations

import asked
import pytest

from synth.base.rng import Randomness
from synth.derived.edits import (
    FRAMES,
    Edit,
    FoundEdits,
    Take,
    find_edits,
    takes,
    wordings,
)
from synth.labels.lexicon import Phrase
from synth.recipes.base import Levels, Setting
from synth.recipes.edits import Edits
from synth.recipes.scenes import Scenes
from synth.truth.change import ChangeKind, find_change, list_claims

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


def leads(edit: Edit, before: Take, after: Take) -> bool:
    """Whether one scene becomes the other by the edit, and its claims are proven."""
    same = (before.frames, before.gain_db) == (after.frames, after.gain_db)
    proven = before.subject.proves(edit.claims[0]) and after.subject.proves(edit.claims[1])
    asked_for = edit.instruction in wordings(edit.change, edit.claims)
    return same and proven and asked_for and edit.change == find_change(before.scene, after.scene)


def test_every_pair_is_an_edit_that_holds(about: dict[str, Take], found: FoundEdits) -> None:
    assert len(found.edits) == 100
    assert not found.unlike
    for edit in found.edits:
        assert leads(edit, about[edit.before], about[edit.after])
    assert {edit.change.kind for edit in found.edits} == set(ChangeKind)


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
    assert all(leads(edit, about[edit.before], about[edit.after]) for edit in told.edits)
