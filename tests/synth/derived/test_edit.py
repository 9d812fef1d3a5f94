"""Edits: instructions that lead from one sample to another, judged on both."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from synth.base.rng import Randomness
from synth.derived.edits import EDIT, Edit, Rows, find_edits, wordings
from synth.derived.questions import Derived, Subject, subjects
from synth.derived.wording import list_frames
from synth.labels.lexicon import Phrase
from synth.recipes.base import Clip, Levels, Recipe, Setting
from synth.recipes.edits import Edits
from synth.recipes.scenes import Scenes
from synth.scene.scene import from_text
from synth.truth.change import ChangeKind, find_change, list_claims
from tests.kit import asked

FRAMES_OF_ALL = 10 * asked.RATE
SETTING = Setting(
    asked.RATE,
    FRAMES_OF_ALL,
    Levels(-23.0, 20.0, 15.0),
    1600,
    Randomness(7),
    least_frames=FRAMES_OF_ALL,
)


class Edited(NamedTuple):
    """Samples of one length and gain, by id, and their edits."""

    rows: Rows
    about: dict[str, Subject]
    edits: Derived[Edit]


def edited(recipe: Recipe, clips: list[Clip], setting: Setting | None, audible: int) -> Edited:
    rows = {
        row["id"]: row | {"frames": FRAMES_OF_ALL, "gain_db": 0.0}
        for row in asked.rows(recipe, clips, setting=setting)
    }
    about = {each.id: each for each in subjects(rows.values(), asked.catalogue(clips), audible)}
    return Edited(rows, about, find_edits([*about.values()], rows, Randomness(0)))


@pytest.fixture(scope="module")
def pairs() -> Edited:
    """100 pairs."""
    clips = [clip for clip in asked.clips() if clip.frames >= asked.RATE]
    return edited(Edits(pairs=100), clips, SETTING, 1600)


def leads(edit: Edit, samples: Edited) -> bool:
    """Whether one scene becomes the other by the edit, and its claims are proven."""
    sides = edit.before, edit.after
    before, after = (from_text(samples.rows[side]["scene"]) for side in sides)
    proven = all(
        samples.about[side].proves(claim) for side, claim in zip(sides, edit.claims, strict=True)
    )
    asked_for = edit.instruction in wordings(edit.change, edit.claims)
    return proven and asked_for and edit.change == find_change(before, after)


def test_every_pair_is_an_edit_that_holds(pairs: Edited) -> None:
    assert len(pairs.edits.made) == 100
    assert pairs.edits.left_out == {EDIT: 0}
    assert all(leads(edit, pairs) for edit in pairs.edits.made)
    assert {edit.change.kind for edit in pairs.edits.made} == set(ChangeKind)


def test_a_sound_that_comes_or_goes_is_placed_by_another_as_often_as_not(pairs: Edited) -> None:
    kinds = (ChangeKind.ADD, ChangeKind.REMOVE)
    presence = [edit for edit in pairs.edits.made if edit.change.kind in kinds]
    plain = [edit for edit in presence if edit.claims == next(list_claims(edit.change))]
    assert 0.2 < len(plain) / len(presence) < 0.8


def test_instructions_read_as_people_write(pairs: Edited) -> None:
    said = [
        text.removesuffix(".")
        for edit in pairs.edits.made
        for text in (edit.instruction, edit.reverse_instruction)
    ]
    assert all(text[0].isupper() and "{" not in text and " the the " not in text for text in said)
    assert any(" dB" in text for text in said)
    assert not any("by 0 dB" in text for text in said)


def test_words_name_their_sounds_no_others_and_take_out_the_whole_one(pairs: Edited) -> None:
    """Others may come before both of two, and a sound may last longer than one beside it."""
    assert all(len(frames) == len(set(frames)) > 1 for frames in list_frames("edit").values())
    for edit in pairs.edits.made:
        phrases = [Phrase.of_label(label) for label in edit.change.sounds]
        for text in map(str.lower, wordings(edit.change, edit.claims)):
            for phrase in phrases:
                forms = phrase.noun, phrase.definite, phrase.gerund
                assert any(form.lower() in text for form in forms)
            assert "first" not in text
            assert edit.change.kind is not ChangeKind.REMOVE or "while" not in text


def test_samples_that_differ_in_more_than_one_edit_have_none() -> None:
    samples = edited(Scenes(scenes=40), asked.clips(), None, asked.AUDIBLE)
    unlike = samples.edits.left_out[EDIT]
    assert len(samples.edits.made) + unlike == 10 * 6
    assert unlike > 30
    assert all(leads(edit, samples) for edit in samples.edits.made)
    louder = {name: row | {"gain_db": at} for at, (name, row) in enumerate(samples.rows.items())}
    assert not find_edits([*samples.about.values()], louder, Randomness(0)).made
