"""`scenes` of up to twelve sounds: sequences, pauses, repeated beds, clips without replacement."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise

import pytest

from synth.base.errors import PlanError
from synth.recipes.base import Draft
from synth.recipes.scenes import Scenes
from synth.scene.claim import claim_labels
from synth.scene.scene import Concat, Event, Overlay, events, labels, operands, statement
from synth.scene.timeline import duration, is_sequence, timeline
from tests.kit.planned import RATE, flatten, make_setting, spread_clips
from tests.synth.recipes.test_scenes import BEDS, CLIPS, SPREAD, judge, parts, plan

MOST = 12


@cache
def long() -> list[list[Draft]]:
    """24 groups of up to twelve sounds, two at once."""
    return plan(Scenes(scenes=96, max_events=MOST, polyphony=2, max_event_s=3))


def drafts() -> list[Draft]:
    return flatten(long())


def test_every_positive_is_proven_and_every_negative_refuted() -> None:
    judge(long(), every=4)


def test_scenes_of_more_sounds_are_sequences_within_the_polyphony() -> None:
    sizes = Counter(len(labels(draft.scene)) for draft in drafts())
    assert min(sizes) == 2
    assert max(sizes) == MOST
    assert len(sizes) >= 8
    overlays = 0
    for draft in drafts():
        said = statement(draft.scene)
        if len(labels(said)) > 2:
            assert is_sequence(said, 2)
            overlays += sum(isinstance(part, Overlay) for part in parts(said, Overlay))
    assert overlays > len(drafts()) / 4


def test_a_long_expression_is_kept_as_it_is() -> None:
    expression = "Bark + any * any + Piano + Siren + any"
    for group in plan(Scenes(scenes=16, expressions=[expression], max_event_s=2)):
        base = statement(group[0].scene)
        assert [len(labels(part)) for part in operands(base)] == [1, 2, 1, 1, 1]
        assert labels(base)[0] == "Bark"
    recipe = Scenes(scenes=4, expressions=[" + ".join(["any"] * MOST)], max_event_s=1)
    ((draft, *_),) = plan(recipe)
    assert all(isinstance(part, Event) for part in operands(draft.scene))
    assert len(labels(draft.scene)) == MOST


# Pauses


def test_sounds_that_follow_one_another_are_apart_by_a_pause() -> None:
    recipe = Scenes(scenes=24, max_events=6, polyphony=1, pause_s=(0.3, 0.9), max_event_s=1)
    groups = plan(recipe)
    judge(groups)
    pauses = {
        after.onset - before.offset
        for draft in flatten(groups)
        for before, after in pairwise(timeline(draft.scene).placements)
    }
    assert min(pauses) >= 0.3 * RATE
    assert max(pauses) <= 0.95 * RATE
    assert len(pauses) > 8


def test_pauses_count_for_the_length_of_a_sample() -> None:
    where = make_setting(20 * RATE)
    recipe = Scenes(scenes=24, max_events=6, polyphony=1, pause_s=(1, 2))
    for group in plan(recipe, where=where):
        assert all(duration(draft.scene) <= 20 * RATE for draft in group)
    with pytest.raises(PlanError, match="6 sounds in a row leave"):
        plan(recipe, where=make_setting(10 * RATE))


# The bed


def test_a_short_bed_is_repeated_with_crossfades() -> None:
    background = {"of": ["Air conditioning"], "repeat_crossfade_s": 0.25}
    tiles = 0
    groups = plan(Scenes(scenes=24, background=background), CLIPS + BEDS)
    judge(groups)
    for draft in flatten(groups):
        if "Air conditioning" not in labels(draft.scene):
            continue  # it could be called by the name of another sound
        told = draft.captions.caption, *draft.captions.positives
        if any("Air conditioning" in claim_labels(caption.claim) for caption in told):
            continue
        assert isinstance(draft.scene, Overlay)
        scene, bed = draft.scene.first, draft.scene.second
        assert duration(bed) == duration(scene) == duration(draft.scene)
        assert {event.label for event in events(bed)} == {"Air conditioning"}
        for join in parts(bed, Concat):
            assert join.crossfade == RATE // 4
            assert duration(join.second) > join.crossfade
        *whole, last = events(bed)
        assert all(event.heard.frames == RATE for event in whole)
        assert last.heard.frames <= RATE
        tiles += len(whole)
    assert tiles > 40


def test_a_bed_that_would_be_repeated_too_often_is_not_laid() -> None:
    background = {"of": ["Air conditioning"], "repeat_crossfade_s": 0.5}
    recipe = Scenes(scenes=8, expressions=["any + any + any + any"], background=background)
    longer = [each for each in CLIPS if each.frames > 5 * RATE] + BEDS[2:]
    for group in plan(recipe, longer):
        assert all(isinstance(draft.scene, Concat) for draft in group)


# Clips in turn


def test_no_clip_is_used_again_before_all_are_used() -> None:
    found = spread_clips(SPREAD, 6)
    recipe = Scenes(scenes=96, max_events=6, polyphony=2, max_event_s=2, without_replacement=True)
    each = [
        {event.heard.clip for draft in group for event in events(draft.scene)}
        for group in plan(recipe, found)
    ]
    used: Counter[str] = Counter()
    rounds = []
    for its in each:
        if any(clip in used for clip in its):
            rounds.append(len(used))
            used.clear()
        used.update(its)
    assert rounds
    assert all(count >= len(found) - 7 for count in rounds)
