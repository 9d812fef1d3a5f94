"""`attributes`: the same sounds, otherwise in one attribute."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from synth.audio.dsp import active_span, attacks, block_frames, levels
from synth.base.errors import LeftOutError, PlanError
from synth.base.rng import Randomness
from synth.captions.caption import Style
from synth.labels.lexicon import Treatment, is_countable
from synth.recipes.attributes import Attribute, Attributes, measure_room
from synth.recipes.base import Clip, Levels, Setting
from synth.recipes.counts import Counts, find_units
from synth.scene.claim import Count
from synth.scene.scene import Concat, Event, events
from synth.scene.timeline import duration
from synth.sources.catalogue import Acceptance
from synth.sources.sounds.esc50 import Esc10, Esc50
from synth.truth.ear import Envelope
from tests.kit import asked
from tests.kit.cases import cases
from tests.kit.planned import BLOCK, RATE, flatten, level_clip, make_setting, plan
from tests.kit.tables import read_rows
from tests.synth.truth.oracle import judge_draft


@cases("attribute", get_args(Attribute))
@cases("style", Style)
def test_each_sentence_is_true_of_one_member_alone(attribute: Attribute, style: Style) -> None:
    recipe = Attributes(pairs=8, attributes=(attribute,), style=style)
    found = plan(recipe, asked.TREATED)
    for group in found:
        assert len(group) == 2
        texts = {draft.captions.caption.text for draft in group}
        assert len(texts) == len(group)
        for draft in group:
            assert judge_draft(draft, RATE) == []
            assert {each.text for each in draft.captions.negatives} < texts
            assert {each.edit for each in draft.captions.negatives} == {attribute}
        for one, other in combinations(group, 2):
            clips = [
                sorted(event.played.clip.partition("~")[0] for event in events(each.scene))
                for each in (one, other)
            ]
            assert clips[0] == clips[1]
    assert len({group[0].captions.caption.text for group in found}) > 1


def test_treated_clips_are_heard_in_their_own_attributes_only() -> None:
    for group in plan(Attributes(pairs=80), asked.TREATED):
        assert not any("~" in event.played.clip for draft in group for event in events(draft.scene))


@cases(
    ("attribute", "more", "less"),
    [
        ("again_faster", Treatment.FAST, Treatment.SLOW),
        ("again_higher", Treatment.HIGH, Treatment.LOW),
    ],
)
def test_what_is_treated_does_not_tell_which_is_more(
    attribute: Attribute, more: Treatment, less: Treatment
) -> None:
    """One recording's slower rendition is too long to be played, another has no lower one."""
    longer = [level_clip("cat", (-20.0,) * 80), level_clip("cat", (-20.0,) * 60, more)]
    longer += [level_clip("cat", (-20.0,) * 150, less), level_clip("cow", (-20.0,) * 40)]
    longer += [level_clip("cow", (-20.0,) * 40, more)]
    recipe = Attributes(pairs=40, attributes=(attribute,))
    treated = Counter(
        event.played.clip.partition("~")[2]
        for draft in flatten(plan(recipe, asked.TREATED + longer))
        for event in events(draft.scene)
    )
    assert treated == {"": 80, more: 40, less: 40}


def test_what_cannot_be_proven_is_left_out() -> None:
    quiet = [level_clip("rain", (-20.0, -90.0, -90.0, -90.0) * 20), asked.PLAIN[2]]
    with pytest.raises(LeftOutError, match="found no clips"):
        plan(Attributes(pairs=1, attributes=("duration",)), quiet)
    for recipe, clips, told in (
        (Attributes(attributes=("trend",)), asked.PLAIN, "trend need treated clips, found none"),
        (Attributes(), asked.PLAIN[:1], "clips of two labels, found 1"),
    ):
        with pytest.raises(PlanError, match=told):
            recipe.groups({"train": clips}, make_setting())
    # A position is that in a sample to which nothing is added.
    Attributes().check(make_setting(), ("train",))
    with pytest.raises(PlanError, match="padding moves sounds"):
        Attributes().check(make_setting(least_frames=RATE), ("train",))


@cases("attribute", [each for each in get_args(Attribute) if each != "position"])
def test_samples_of_the_length_that_is_asked_for_have_room(attribute: Attribute) -> None:
    seconds = measure_room(attribute, 3.0)
    recipe = Attributes(pairs=6, attributes=(attribute,))
    where = make_setting(round(seconds * RATE))
    recipe.check(where, ("train",))
    with pytest.raises(PlanError, match=f"too short for {attribute}: it needs"):
        recipe.check(make_setting(round(seconds * RATE) - RATE), ("train",))
    for draft in flatten(plan(recipe, asked.TREATED, where)):
        assert where.max_frames is not None
        assert duration(draft.scene) <= where.max_frames


# `counts`: one short sound, heard once, twice or three times


LOUD, QUIET = -20.0, -60.0
BARK = (LOUD, -22.0, -30.0, QUIET)
ATTACK = (1, 0, 0, 0)


Part = tuple[tuple[float, ...], tuple[int, ...]]


def clip(number: int, *parts: Part, label: str = "dog") -> Clip:
    levels = tuple(level for part, _ in parts for level in part)
    attacks = tuple(attack for _, part in parts for attack in part)
    return level_clip(label, levels, attacks=attacks, number=number)


PAUSE = ((QUIET,) * 6, (0,) * 6)
ONE = clip(0, (BARK, ATTACK))
THREE = clip(1, (BARK, ATTACK), PAUSE, (BARK, ATTACK), PAUSE, (BARK, ATTACK))
DOUBLE = clip(2, ((LOUD, LOUD, LOUD, QUIET), (1, 0, 1, 0)))


def test_members_have_one_sound_as_often_as_they_say() -> None:
    for group in plan(Counts(repeats=20), [ONE, THREE]):
        assert [len(events(draft.scene)) for draft in group] == [1, 2, 3]
        sounds = {event.played for draft in group for event in events(draft.scene)}
        assert len({(sound.clip, sound.start, sound.frames) for sound in sounds}) == 1
        for times, draft in enumerate(group, 1):
            assert draft.captions.caption.claim == Count(Event("dog"), times)
            assert {each.edit for each in draft.captions.negatives} == {"count"}
            assert len(draft.captions.negatives) == 2
            assert judge_draft(draft, RATE) == []
        once, twice, thrice = (draft.captions.caption.text for draft in group)
        assert re.search(r"\bonce\b", once)
        assert twice == once.replace("once", "twice")
        assert thrice == once.replace("once", "three times")


def test_all_but_once_take_the_same_time_and_pauses_are_as_asked() -> None:
    recipe = Counts(repeats=30, pause_s=(0.3, 0.5))
    pauses = []
    for _, twice, thrice in plan(recipe, [ONE]):
        assert abs(duration(twice.scene) - duration(thrice.scene)) <= 2
        assert isinstance(thrice.scene, Concat)
        pauses.append(-thrice.scene.crossfade / RATE)
    assert 0.3 <= min(pauses) < 0.35
    assert 0.45 < max(pauses) <= 0.5


def test_text_alone_tells_nothing_but_in_the_paper_style_has_every_count() -> None:
    (group,) = plan(Counts(times=(1, 2, 4)), [ONE])
    mains = {draft.captions.caption.text for draft in group}
    for draft in group:
        false = [negative.text for negative in draft.captions.negatives]
        assert sorted((draft.captions.caption.text, *false)) == sorted(mains)
    (group,) = plan(Counts(style=Style.PAPER), [ONE])
    assert [draft.captions.caption.text for draft in group] == [
        "dog once",
        "dog twice",
        "dog three times",
    ]
    assert all(len(draft.captions.negatives) == 2 for draft in group)


def test_units_are_single_attacks_between_silences() -> None:
    where = make_setting()
    starts = [unit.start for unit in find_units(THREE, RATE, where)]
    assert starts == [0, 10 * BLOCK, 20 * BLOCK]
    assert all(unit.frames == 3 * BLOCK for unit in find_units(THREE, RATE, where))
    assert find_units(DOUBLE, RATE, where) == []
    assert find_units(THREE, 3 * BLOCK - 1, where) == []
    faint = clip(3, (BARK, ATTACK), PAUSE, ((-40.0, -50.0, -70.0), (1, 0, 0)))
    assert [unit.start for unit in find_units(faint, RATE, where)] == [0]
    # An attack in the next block may begin in this one.
    near = clip(4, ((LOUD, -50.0, -50.0, LOUD, QUIET), (1, 0, 0, 1, 0)))
    assert [unit.frames for unit in find_units(near, RATE, where)] == []


@cases(
    ("found", "why"),
    [
        (clip(5, (BARK, ATTACK), label="rain"), "names no short event"),
        (DOUBLE, "holds no single sound of at most 1.5 s"),
        (replace(ONE, envelope=replace(ONE.envelope, attacks=None)), "holds no single sound"),
    ],
)
def test_a_clip_that_cannot_be_counted_is_told(found: Clip, why: str) -> None:
    assert why in str(Counts().refusal(found, make_setting()))
    assert Counts().refusal(THREE, make_setting()) is None


def test_samples_fit_their_length() -> None:
    recipe, where = Counts(repeats=10), make_setting(max_frames=3 * RATE // 2)
    recipe.check(where, ("train",))
    for group in plan(recipe, [ONE, THREE], where):
        assert max(duration(draft.scene) for draft in group) <= 3 * RATE // 2
    with pytest.raises(PlanError, match="leaves no room for a sound"):
        recipe.check(make_setting(max_frames=RATE // 2), ("train",))
    with pytest.raises(PlanError, match="may not be heard") as error:
        Counts(pause_s=(0.1, 0.5)).check(where, ("train",))
    assert "at least 0.2 s" in error.value.fix


def test_a_sound_that_fades_too_late_is_left_out() -> None:
    # It is faintly heard for so long after its end that no pause is left.
    tail = (-20.0, *[-50.0] * 20, QUIET)
    with pytest.raises(LeftOutError, match="surely heard as often") as error:
        plan(Counts(pause_s=(0.21, 0.22)), [clip(6, (tail, (1, *[0] * 21)))])
    assert "dog" in error.value.fix


# Recordings sorted by eye: what Segue takes for one sound is one.


SHEET_RATE = 44_100
PRECISION = 0.98


@cache
def measure(library: Esc10 | Esc50) -> dict[str, tuple[float, Clip]]:
    """What is on the sheets, by file name: where the sound begins in s, and the sound."""
    names = {
        row["filename"]
        for name in ("clips.csv", "stretches.csv")
        for row in read_rows(f"counts/{name}")
    }
    found = {}
    for ref in library.refs():
        if Path(ref.location).name in names:
            recording = library.load(ref)
            assert recording.rate == SHEET_RATE
            span = active_span(recording.audio, SHEET_RATE, Acceptance().active_range_db)
            assert span is not None
            audio = recording.audio[span.onset : span.offset]
            heard = np.round(levels(audio, SHEET_RATE), 1).tolist()  # as the catalogue has them
            block = block_frames(SHEET_RATE)
            envelope = Envelope(heard, heard, block, len(audio), attacks(audio, SHEET_RATE))
            clip = Clip(ref.id, ref.labels, (), ref.recording, len(audio), -23.0, envelope)
            found[Path(ref.location).name] = span.onset / SHEET_RATE, clip
    return found


def count_attacks(clip: Clip) -> int | None:
    return clip.read_envelope().count_attacks(0, clip.frames)


def test_the_sheets_are_whole() -> None:
    clips, stretches = read_rows("counts/clips.csv"), read_rows("counts/stretches.csv")
    assert len({row["filename"] for row in clips}) == len(clips) == 200
    assert {row["verdict"] for row in (*clips, *stretches)} == {"one", "several", "unclear"}


def test_a_clip_of_one_attack_is_one_sound(shared_data: Callable[[str], Path]) -> None:
    found = measure(Esc50(root=shared_data("ESC-50")))
    verdicts = Counter(
        row["verdict"]
        for row in read_rows("counts/clips.csv")
        if count_attacks(found[row["filename"]][1]) == 1
    )
    assert verdicts["one"] >= 5
    assert verdicts["one"] >= PRECISION * verdicts.total()


@pytest.mark.parametrize(("library", "least"), [("esc50", 38), ("esc10", 80)])
def test_a_part_that_is_counted_is_one_sound(
    library: str, least: int, shared_data: Callable[[str], Path]
) -> None:
    source = {"esc50": Esc50, "esc10": Esc10}[library]
    found = measure(source(root=shared_data("ESC-50" if library == "esc50" else "ESC-10")))
    setting = Setting(SHEET_RATE, None, Levels(-23.0, 20.0, 15.0), SHEET_RATE // 10, Randomness(0))
    sorted_by_eye = defaultdict(list)
    for row in read_rows("counts/stretches.csv"):
        if row["library"] == library and is_countable(row["label"]):
            sorted_by_eye[row["filename"]].append(row)
    verdicts = Counter[str]()
    for name, stretches in sorted_by_eye.items():
        begin_s, clip = found[name]
        known = {
            (round(float(row["begin_s"]), 2), round(float(row["end_s"]), 2)): row["verdict"]
            for row in stretches
        }
        for unit in find_units(clip, Counts().longest(setting), setting):
            ends = (unit.start, unit.start + unit.frames)
            span = tuple(round(begin_s + end / SHEET_RATE, 2) for end in ends)
            assert span in known, f"{name}: sort {span[0]} to {span[1]} s by eye, too"
            verdicts[known[span]] += 1
    assert verdicts.total() >= least
    assert verdicts["one"] >= PRECISION * verdicts.total()
