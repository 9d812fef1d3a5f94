"""`scenes`: groups of nested scenes and long sequences, proven from what the manifest says."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from synth.base.errors import PlanError
from synth.captions.caption import Style
from synth.captions.measuring import SceneMeasure
from synth.labels.connective import Connective
from synth.labels.lexicon import are_confusable, are_kin, category, could_be_called
from synth.recipes.base import Clip, Draft, Setting
from synth.recipes.composing import Mixing
from synth.recipes.scenes import Scenes, read_expressions
from synth.scene.activity import intersect, measure
from synth.scene.claim import And, Measured, Not, Quantity, claim_labels
from synth.scene.edit import Meaning, meaning
from synth.scene.scene import (
    Concat,
    Event,
    Overlay,
    Scene,
    events,
    labels,
    operands,
    parse,
    statement,
)
from synth.scene.timeline import duration, is_sequence, timeline
from synth.sources.own.folder import VocabularySource
from synth.truth.ear import BLOCK_S
from tests.kit import planned
from tests.kit.cases import cases
from tests.kit.planned import AUDIBLE, RATE, clip_of, flatten, make_clip, make_setting, spread_clips
from tests.kit.tables import read_data
from tests.synth.truth.oracle import judge_draft

CASES = read_data("recipes/bad_settings.yaml")

SPREAD = (
    "Bark", "Meow", "Moo", "Rain", "Thunder", "Siren", "Church bell", "Piano", "Acoustic guitar",
    "Snoring", "Laughter", "Motorcycle", "Helicopter", "Chainsaw", "Typing", "Applause",
)  # fmt: skip
CLIPS = spread_clips(SPREAD)


def clip(label: str, take: int, frames: int) -> Clip:
    return make_clip(f"lib/{label}-{take}", label, frames=frames)


def plan(
    recipe: Scenes, found: Sequence[Clip] = CLIPS, where: Setting | None = None
) -> list[list[Draft]]:
    recipe.check(where or make_setting(), ["train"])
    return planned.plan(recipe, found, where)


@cache
def many() -> list[list[Draft]]:
    """60 groups over the 527 labels, planned once."""
    source = VocabularySource(takes=2)
    found = [
        clip_of(source, ref, RATE) for ref in source.refs() if category(ref.labels[0]) != "none"
    ]
    return plan(Scenes(scenes=240), found)


def drafts() -> list[Draft]:
    return flatten(many())


def parts(scene: Scene, kind: type) -> Iterator[Any]:
    if not isinstance(scene, Event):
        if isinstance(scene, kind):
            yield scene
        yield from parts(scene.first, kind)
        yield from parts(scene.second, kind)


# Truth


def judge(groups: Sequence[Sequence[Draft]], every: int = 1, captions: int = 4) -> None:
    """Prove and refute from JSON, as a stranger to the plan would.

    Main captions are exchanged: whatever set of them stands side by side, each is true once.
    """
    for group in groups:
        sets: Counter[frozenset[str]] = Counter()
        for number, draft in enumerate(group):
            dealt = draft.captions
            false = {caption.text for caption in dealt.negatives}
            assert number % every or judge_draft(draft, RATE) == []
            assert 1 <= len(false) == len(dealt.negatives) <= captions
            assert len({dealt.caption.text, *(c.text for c in dealt.positives)}) <= captions
            sets[frozenset({dealt.caption.text, *false})] += 1
        assert all(len(texts) == count for texts, count in sets.items())


def test_every_positive_is_proven_and_every_negative_refuted() -> None:
    judge(many(), every=2)
    for draft in drafts():
        heard = labels(draft.scene)
        assert not any(are_confusable(one, other) for one, other in combinations(heard, 2))
        dealt = draft.captions
        for caption in (dealt.caption, *dealt.positives, *dealt.negatives):
            for name in claim_labels(caption.claim) - set(heard):
                assert not any(could_be_called(label, name) for label in heard)


def test_main_captions_tell_all_of_a_scene_parts_of_it_or_what_is_absent() -> None:
    told = Counter(
        "absent"
        if isinstance(claim, And) and isinstance(claim.second, Not)
        else "all"
        if meaning(claim) == meaning(statement(draft.scene))
        else "part"
        for draft in drafts()
        for claim in [draft.captions.caption.claim]
    )
    assert told["all"] > told.total() / 3
    assert min(told["part"], told["absent"]) > told.total() / 20


def test_sounds_that_are_stated_together_are_heard_together() -> None:
    # A sound that ended 0.4 s into an overlaid one counted as heard before it, not with it.
    for draft in drafts():
        assert draft.timeline is not None
        clear = {place.label: place.heard.clear for place in draft.timeline.placements}
        for overlay in parts(statement(draft.scene), Overlay):
            for ours, theirs in ((overlay.first, overlay.second), (overlay.second, overlay.first)):
                for label in labels(ours):
                    assert any(
                        measure(intersect(clear[label], clear[other])) >= AUDIBLE
                        for other in labels(theirs)
                    )


# Groups


def test_a_group_is_of_the_same_sounds_but_for_one_that_is_exchanged() -> None:
    for group in many():
        assert len(group) == 4
        assert len({meaning(statement(draft.scene)) for draft in group}) == 4
        sounds = [{event.played.clip for event in events(draft.scene)} for draft in group]
        assert sounds[0] == sounds[2] == sounds[3]
        assert len(sounds[0] ^ sounds[1]) == 2
        assert [*map(len, sounds)] == [len(labels(group[0].scene))] * 4


@cases("captions", [1, 2, 3])
@cases("variants", [2, 3, 5])
def test_fewer_captions_and_other_sizes_of_groups(captions: int, variants: int) -> None:
    settings = {"scenes": variants * 4, "variants": variants, "captions": captions}
    if captions == 1 and variants % 2:
        with pytest.raises(ValidationError, match="captions: 1 is too few"):
            Scenes.model_validate(settings)
        return
    groups = plan(Scenes.model_validate(settings))
    assert {len(group) for group in groups} == {variants}
    judge(groups, captions=captions)


def test_relations_positions_and_kinds_are_spread() -> None:
    relations = Counter(draft.captions.caption.connective for draft in drafts())
    assert set(relations) >= set(Connective)
    assert max(relations.values()) <= 0.4 * relations.total()
    kinds = Counter(c.edit for draft in drafts() for c in draft.captions.negatives)
    assert set(kinds) == {"reorder", "relation", "rebind", "replace", "negate"}
    assert max(kinds.values()) <= 0.6 * kinds.total()
    sizes = Counter(len(labels(draft.scene)) for draft in drafts())
    assert set(sizes) == {2, 3, 4}
    assert max(sizes.values()) <= 0.4 * sizes.total()
    operators = Counter(isinstance(draft.scene, Concat) for draft in drafts())
    assert min(operators.values()) >= 0.3 * operators.total()
    seen = {label for draft in drafts() for label in labels(draft.scene)}
    assert len(seen) > 120
    assert not any(category(label) == "none" for label in seen)


def test_nesting_goes_both_ways_and_as_deep_as_four_sounds_allow() -> None:
    scenes = [renumbered(statement(draft.scene)) for draft in drafts()]
    shapes = set(map(meaning, scenes))
    for shape in ("(1 + 2) * 3", "1 + 2 * 3", "1 + 2 + 3 + 4"):
        assert meaning(parse(shape)) in shapes, shape
    assert max(scene.depth for scene in scenes) == 3


def renumbered(scene: Scene) -> Scene:
    numbers = iter("1234")

    def walk(part: Scene) -> Scene:
        if isinstance(part, Event):
            return Event(next(numbers))
        first = walk(part.first)
        return type(part)(first, walk(part.second))

    return walk(scene)


# Composition


@cases("crossfade", [0.0, 0.1, 0.3])
def test_joins_fade_over_a_share_of_the_shorter_part(crossfade: float) -> None:
    for draft in flatten(plan(Scenes(scenes=24, crossfade=crossfade))):
        for join in parts(draft.scene, Concat):
            previous = join.first.second if isinstance(join.first, Concat) else join.first
            shorter = min(duration(previous), duration(join.second))
            assert 0 <= int(crossfade * shorter) - join.crossfade < BLOCK_S * RATE
            assert (duration(join.first) - join.crossfade) % (BLOCK_S * RATE) == 0 or not crossfade


def test_the_shorter_part_lies_inside_the_longer() -> None:
    places = []
    for draft in drafts():
        for overlay in parts(draft.scene, Overlay):
            longer, shorter = duration(overlay.first), duration(overlay.second)
            assert shorter <= longer
            assert 0 <= overlay.offset <= longer - shorter
            if longer > shorter:
                places.append(overlay.offset / (longer - shorter))
    assert 0.4 < sum(places) / len(places) < 0.6
    assert min(places) < 0.1
    assert max(places) > 0.9


def test_overlays_are_mixed_as_asked() -> None:
    for mixing in Mixing:
        recipe = Scenes(scenes=24, max_events=2, mixing=mixing, ratio=0.3, snr_db=(5.0, 9.0))
        gains = set()
        for draft in flatten(plan(recipe)):
            for overlay in parts(draft.scene, Overlay):
                longer, shorter = (event.played.gain_db for event in events(overlay))
                gains.add(round(longer - shorter, 2))
        if mixing is Mixing.SNR:
            assert all(5.0 <= apart <= 9.0 for apart in gains)
            assert len(gains) > 5
        elif mixing is Mixing.SUM:
            assert gains == {0.0}
        else:
            # Both are equally loud, so their weights are 0.3 and 0.7.
            assert [*gains] == pytest.approx([20 * math.log10(0.3 / 0.7)] * len(gains), abs=0.02)


def test_scenes_are_as_long_and_hold_as_many_sounds_as_asked() -> None:
    for seconds in (2, 5):
        groups = plan(Scenes(scenes=24), CLIPS, make_setting(seconds * RATE))
        judge(groups)
        longest = max(duration(draft.scene) for draft in flatten(groups))
        assert seconds * RATE * 0.7 < longest <= seconds * RATE
    for most in (2, 3):
        made = flatten(plan(Scenes(scenes=48, max_events=most, max_event_s=1.0)))
        assert {len(labels(draft.scene)) for draft in made} == set(range(2, most + 1))
        assert all(event.played.frames <= RATE for draft in made for event in events(draft.scene))
    few, more = (
        Scenes(scenes=count).groups({"train": CLIPS}, make_setting())["train"]
        for count in (24, 400)
    )
    assert few.group(5) == more.group(5)


COMPA = (
    "followed by", "and then", "succeeded by", "amidst", "overlayed by", "and"
)  # fmt: skip


def test_paper_style_prints_labels_and_the_words_of_compa() -> None:
    groups = plan(Scenes(scenes=24, style=Style.PAPER))
    words = re.compile("|".join((*map(re.escape, SPREAD), *COMPA)))
    for draft in flatten(groups):
        dealt = draft.captions
        assert judge_draft(draft, RATE) == []
        assert meaning(dealt.caption.claim) == meaning(statement(draft.scene))
        for caption in (dealt.caption, *dealt.positives, *dealt.negatives):
            assert not words.sub("", caption.text).strip()
    few = {len(labels(c.claim)) for d in flatten(groups) for c in d.captions.negatives}
    assert few == {2, 3, 4}


# Expressions and categories


def said(expression: str) -> Meaning:
    return meaning(parse(expression))


def shapes(recipe: Scenes) -> Counter[Meaning]:
    """What the first scene of each group says."""
    return Counter(meaning(statement(group[0].scene)) for group in plan(recipe))


def test_expressions_have_weights() -> None:
    given = shapes(Scenes(scenes=100, expressions={"Bark + Rain": 9, "(Siren + Moo) * Piano": 1}))
    assert set(given) == {said("Bark + Rain"), said("(Siren + Moo) * Piano")}
    assert given[said("Bark + Rain")] > 15
    assert Scenes(expressions=["a + b", "a + b", "a * b"]).expressions == {"a + b": 2, "a * b": 1}


def test_expressions_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scenes.txt"
    path.write_text("# mine\n\n  Bark + Rain  \nMeow * (Siren + Piano)\n", encoding="utf-8")
    assert read_expressions(path) == ["Bark + Rain", "Meow * (Siren + Piano)"]
    used = shapes(Scenes(scenes=48, expressions=str(path)))
    assert set(used) == {said("Bark + Rain"), said("Meow * (Siren + Piano)")}


def test_expressions_may_be_the_answers_of_a_language_model(tmp_path: Path) -> None:
    path = tmp_path / "scenes.parquet"
    pq.write_table(
        pa.table({"texts": [["Bark + Rain"], [], ["Meow * Siren", "Rain + Bark"]]}), path
    )
    assert read_expressions(path) == ["Bark + Rain", "Meow * Siren", "Rain + Bark"]
    path.write_bytes(b"no table")
    with pytest.raises(ValueError, match="cannot be read"):
        read_expressions(path)


@cases("text", [None, "", "# nothing\n"])
def test_a_file_without_scenes_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "scenes.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValidationError, match=r"scenes\.txt: (cannot be read|has no scene)"):
        Scenes(expressions=str(path))


def test_leaves_of_an_expression_may_be_categories_or_any() -> None:
    for group in plan(Scenes(scenes=24, expressions=["animal + any * weather"])):
        said = group[0].scene
        assert isinstance(said, Concat)
        first, *others = labels(said)
        assert category(first) == "animal"
        assert "weather" in map(category, others)


def test_weights_of_categories() -> None:
    recipe = Scenes(scenes=60, categories={"animal": 0, "music": 20})
    found = Counter(category(label) for group in plan(recipe) for label in labels(group[0].scene))
    assert "animal" not in found
    assert found["music"] > found["voice"]


@cases(("settings", "message"), CASES["plans_of_scenes"])
def test_errors_name_the_key_and_the_mend(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message) as caught:
        plan(Scenes(scenes=24, **settings))
    assert caught.value.fix or "column" in message


def test_what_leaves_nothing_to_say_is_a_clear_error() -> None:
    with pytest.raises(PlanError, match=r"need 3 labels .* found Bark, Rain") as caught:
        plan(Scenes(scenes=24), spread_clips(("Bark", "Rain")))
    assert "add sounds of other labels" in caught.value.fix
    padded = replace(make_setting(), least_frames=RATE)
    with pytest.raises(PlanError, match="leave position out of recipe"):
        Scenes(tell=("position",)).check(padded, ("train",))


def test_counts_are_dealt_to_splits_by_their_clips() -> None:
    found = {"train": spread_clips(SPREAD, 6), "test": spread_clips(SPREAD, 2)}
    groups = Scenes(scenes=400).groups(found, make_setting())
    assert {split: len(each) for split, each in groups.items()} == {"train": 75, "test": 25}
    by_split = Scenes(scenes={"train": 8, "test": 4}).groups(found, make_setting())
    assert {split: len(each) for split, each in by_split.items()} == {"train": 2, "test": 1}
    with pytest.raises(PlanError, match="`splits` names train"):
        Scenes(scenes={"test": 8}).check(make_setting(), ["train"])


def test_sounds_of_a_scene_come_from_different_recordings() -> None:
    clips = [
        make_clip(f"lib/{label}-{take}", label, frames=RATE, recording=f"r{take}")
        for label in SPREAD
        for take in range(5)
    ]
    recordings = {each.id: each.recording for each in clips}
    for draft in flatten(plan(Scenes(scenes=24), clips)):
        used = [recordings[event.played.clip] for event in events(draft.scene)]
        assert len(set(used)) == len(used)


# The bed

BEDS = [clip("Wind", 0, 60 * RATE), clip("Stream", 0, 50 * RATE), clip("Air conditioning", 0, RATE)]


def test_a_bed_lies_under_the_whole_scene_and_is_never_named() -> None:
    background = {"of": ["Wind", "water", "Air conditioning"], "snr_db": 12}
    used = Counter[str]()
    for group in plan(Scenes(scenes=48, max_event_s=3, background=background), CLIPS + BEDS):
        beds = set()
        judge([group])
        for draft in group:
            assert isinstance(draft.scene, Overlay)
            scene, bed = draft.scene.first, draft.scene.second
            assert isinstance(bed, Event)
            beds.add((bed.label, bed.played.clip, bed.played.start))
            assert draft.scene.offset == 0
            assert bed.played.frames == duration(scene) == duration(draft.scene)
            assert bed.played.frames <= 60 * RATE
            loudest = max(event.played.gain_db for event in events(scene))
            assert bed.played.gain_db < loudest - 6
            dealt = draft.captions
            for caption in (dealt.caption, *dealt.positives, *dealt.negatives):
                assert not any(are_kin(bed.label, name) for name in claim_labels(caption.claim))
        assert len(beds) == 1
        used[beds.pop()[0]] += 1
    # One second of air conditioning is too short to lie under anything, and is not looped.
    assert set(used) <= {"Wind", "Stream", "Rain"}
    assert min(used["Wind"], used["Stream"]) > 0
    some = Scenes(scenes=120, max_event_s=2, background={"of": ["Wind"], "share": 0.3})
    groups = plan(some, CLIPS + BEDS[:1])
    assert 3 < sum("Wind" in labels(group[0].scene) for group in groups) < 25


def test_captions_tell_what_is_measured_where_it_is_asked_for() -> None:
    recipe = Scenes(scenes=80, captions=10, pause_s=(0.0, 2.0), tell=get_args(SceneMeasure))
    found = flatten(plan(recipe))
    told = {
        each.claim.quantity
        for draft in found
        for each in (*draft.captions.positives, *draft.captions.negatives)
        if isinstance(each.claim, Measured)
    }
    assert told >= {Quantity.DURATION, Quantity.ONSET, Quantity.POSITION, Quantity.GAP}
    assert not [fault for draft in found for fault in judge_draft(draft, RATE)]


# `scenes` of up to twelve sounds: sequences, pauses, repeated beds, clips without replacement.


MOST = 12


@cache
def long() -> list[list[Draft]]:
    """24 groups of up to twelve sounds, two at once."""
    return plan(Scenes(scenes=96, max_events=MOST, polyphony=2, max_event_s=3))


def long_drafts() -> list[Draft]:
    return flatten(long())


def test_long_scenes_are_proven_and_refuted() -> None:
    judge(long(), every=4)


def test_scenes_of_more_sounds_are_sequences_within_the_polyphony() -> None:
    sizes = Counter(len(labels(draft.scene)) for draft in long_drafts())
    assert min(sizes) == 2
    assert max(sizes) == MOST
    assert len(sizes) >= 8
    overlays = 0
    for draft in long_drafts():
        said = statement(draft.scene)
        if len(labels(said)) > 2:
            assert is_sequence(said, 2)
            overlays += sum(isinstance(part, Overlay) for part in parts(said, Overlay))
    assert overlays > len(long_drafts()) / 4


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
        assert all(event.played.frames == RATE for event in whole)
        assert last.played.frames <= RATE
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
        {event.played.clip for draft in group for event in events(draft.scene)}
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
