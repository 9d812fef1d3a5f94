"""`edits`: pairs of scenes that differ by one edit, under one normalisation."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from synth.audio.dsp import PCM_SCALE
from synth.base.errors import LeftOutError, PlanError
from synth.base.units import to_gain
from synth.recipes.base import Clip, Draft, Setting
from synth.recipes.edits import EditFamily, Edits
from synth.scene.timeline import duration, places
from synth.truth.change import ChangeKind, find_change, list_claims
from tests.kit import asked
from tests.kit.cases import cases
from tests.kit.planned import RATE, make_setting, plan
from tests.synth.truth.oracle import Oracle, find_borders, judge_draft

FRAMES = 10 * RATE
KINDS = {
    EditFamily.PRESENCE: {ChangeKind.ADD, ChangeKind.REMOVE},
    EditFamily.REPLACE: {ChangeKind.REPLACE},
    EditFamily.LEVEL: {ChangeKind.QUIETER, ChangeKind.LOUDER},
    EditFamily.ORDER: {ChangeKind.SWAP},
}


def setting(**facts: Any) -> Setting:
    return make_setting(FRAMES, **({"least_frames": FRAMES, "peak_db": -1.0} | facts))


def clips() -> list[Clip]:
    found = [clip for clip in asked.clips() if clip.frames >= RATE]
    return [replace(clip, peak_db=-20.0 + at % 20) for at, clip in enumerate(found)]


def drafts(recipe: Edits, found: list[Clip] | None = None) -> list[list[Draft]]:
    return plan(recipe, found or clips(), setting())


@pytest.fixture(scope="module")
def pairs() -> list[list[Draft]]:
    return drafts(Edits(pairs=120, max_events=4))


def test_members_differ_by_one_edit_of_each_kind_equally_often(pairs: list[list[Draft]]) -> None:
    found: Counter[EditFamily] = Counter()
    directions: Counter[ChangeKind] = Counter()
    rounds: list[list[EditFamily]] = []
    for at, (before, after) in enumerate(pairs):
        change = find_change(before.scene, after.scene)
        assert change is not None
        (family,) = (each for each, kinds in KINDS.items() if change.kind in kinds)
        found[family] += 1
        rounds += [] if at % 4 else [[]]
        rounds[-1].append(family)
        directions[change.kind] += 1
        assert max(duration(before.scene), duration(after.scene)) <= FRAMES
    assert set(found.values()) == {30}
    assert {frozenset(each) for each in rounds} == {frozenset(EditFamily)}
    assert len(set(map(tuple, rounds))) > 10
    assert set(directions) == set(ChangeKind)


def test_all_edits_of_a_scene_are_alike_but_for_their_sounds() -> None:
    families = (EditFamily.PRESENCE, EditFamily.REPLACE, EditFamily.LEVEL)
    groups = drafts(Edits(pairs=30, choices=2, changes=families, max_events=4))
    for members in groups:
        assert len(members) == 3
        assert [judge_draft(member, RATE) for member in members] == [[], [], []]
        alike = []
        for source in members:
            others = [member for member in members if member is not source]
            changes = [find_change(source.scene, other.scene) for other in others]
            made = {change and (change.kind, change.gain_db) for change in changes}
            sounds = {change and change.sounds for change in changes}
            alike.append(len(made) == 1 and None not in made and len(sounds) == 2)
        assert any(alike)


def test_captions_and_claims_are_true_to_a_second_judge(pairs: list[list[Draft]]) -> None:
    for before, after in pairs[::3]:
        assert judge_draft(before, RATE) == judge_draft(after, RATE) == []
        change = find_change(before.scene, after.scene)
        assert change is not None
        assert before.timeline is not None
        assert after.timeline is not None
        claim, then = next(list_claims(change))
        one, other = (
            Oracle(each.timeline, 1600, find_borders(each.timeline)) for each in (before, after)
        )
        assert one.proves(claim)
        assert other.proves(then)
        if not change.kind.is_level:
            assert one.refutes(then)
            assert other.refutes(claim)


def test_no_sample_can_exceed_the_peak(pairs: list[list[Draft]]) -> None:
    """Frame by frame: the peaks of all sounds that play in it, added."""
    peaks = {clip.id: clip.peak_db for clip in clips()}
    loudest = 0.0
    for draft in (draft for pair in pairs[:40] for draft in pair):
        sums = np.zeros(FRAMES)
        for place in places(draft.scene):
            heard = place.event.played
            sums[place.onset : place.offset] += to_gain(peaks[heard.clip] + heard.gain_db)
        assert sums.max() <= to_gain(-1.0) - 1 / PCM_SCALE
        loudest = max(loudest, sums.max())
    assert loudest > to_gain(-1.1)


def test_sounds_that_are_not_edited_are_the_same_samples(pairs: list[list[Draft]]) -> None:
    for before, after in pairs:
        change = find_change(before.scene, after.scene)
        assert change is not None
        kept = [
            {place for place in places(each.scene) if place.event.label not in change.sounds}
            for each in (before, after)
        ]
        assert kept[0] == kept[1]


def test_no_pair_has_two_sounds_that_one_noun_could_mean() -> None:
    """As "remove the fire" of fire and artillery fire, which nobody confuses by ear."""
    some = clips()[:4]
    alike = [
        replace(clip, labels=(label,))
        for clip, label in zip(some, ["Fire", "Artillery fire"] * 2, strict=True)
    ]
    alone = [clip for clip in clips() if clip.labels == ("Bark",)]
    for few in (alike, alone):
        with pytest.raises(LeftOutError, match="could be proven"):
            drafts(Edits(pairs=1), few)
    apart = [replace(clip, labels=(clip.labels[0].replace("Fire", "Rain"),)) for clip in alike]
    assert drafts(Edits(pairs=1, changes=(EditFamily.LEVEL,), max_events=2), apart)


@cases(
    ("recipe", "where", "said"),
    [
        (Edits(), setting(least_frames=0), "one length"),
        (Edits(), replace(setting(), max_frames=None), "one length"),
        (Edits(), setting(peak_db=-3.0), "not be turned down equally"),
        (Edits(pause_s=(0.01, 0.02)), setting(), "not be heard"),
        (Edits(max_event_s=0.05), setting(), "leave no room"),
        (Edits(choices=3), setting(), "recipe.edits.choices: 3 sounds"),
        (Edits(choices=2, max_events=2), setting(), "recipe.edits.choices: 2 sounds"),
    ],
)
def test_a_setting_that_breaks_the_promise_is_refused(
    recipe: Edits, where: Setting, said: str
) -> None:
    Edits().check(setting(), ["train"])
    with pytest.raises(PlanError, match=said):
        recipe.check(where, ["train"])
