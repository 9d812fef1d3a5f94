"""What is true of parts of samples, and of samples of one group."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from synth.base.errors import SpecError
from synth.corpus.schema import read_timeline
from synth.scene.activity import Activity, Stretch
from synth.scene.claim import And, Count, Not, Only, claim_from_json, claim_to_text
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, statement, to_text
from synth.scene.timeline import timeline
from synth.truth.frames import Crop
from synth.truth.relations import Tolerance
from train.config.run import CropTold, Stage, TrainConfig
from train.data.crop import Cropper
from train.data.loader import Assembler
from train.data.meaning import find_unrefuted
from train.data.rows import Row
from train.data.split import SplitData
from train.data.tokenizer import TextTokenizer

ALL = Stage(steps=1)
DOG, RAIN = Event("dog"), Event("rain")
HEARD = Concat(
    Event("dog", Excerpt("a", 0, 1000, 0.0)), Event("rain", Excerpt("b", 0, 1000, 0.0)), 0
)


BOTH = Concat(DOG, RAIN)


def test_a_part_keeps_the_order_of_what_is_left_and_lacks_what_is_cut_away() -> None:
    """A remnant is neither there nor away; the whole as its own part is judged as before."""
    faults: list[object] = []
    for start, frames, clips, proven, refuted, open_ in (
        (0, 2000, ("a", "b"), [BOTH], [Overlay(DOG, RAIN)], []),
        (500, 1000, ("a", "b"), [BOTH], [Concat(RAIN, DOG)], []),
        (1000, 1000, ("b",), [Not(DOG), RAIN], [DOG, BOTH], []),
        (950, 1000, ("b",), [RAIN], [], [DOG, BOTH]),
    ):
        crop = Crop.of(timeline(HEARD), start, frames, Tolerance(0, 100))
        if crop.clips != clips:
            faults.append((start, crop.clips))
        for claims, expected in (
            (proven, (True, False)),
            (refuted, (False, True)),
            (open_, (False, False)),
        ):
            for claim in claims:
                verdict = crop.hearing.proves(claim), crop.hearing.refutes(claim)
                if verdict != expected:
                    faults.append((start, claim_to_text(claim), verdict))
    assert faults == []


def test_of_two_remnants_any_may_be_missed() -> None:
    three = Concat(HEARD, Event("siren", Excerpt("c", 0, 1000, 0.0)), 0)
    crop = Crop.of(timeline(three), 950, 1100, Tolerance(0, 100))
    siren = Event("siren")
    for claim in (Only(RAIN), And(RAIN, And(DOG, Not(siren))), And(RAIN, Not(DOG))):
        assert not crop.hearing.proves(claim)
        assert not crop.hearing.refutes(claim)
    assert crop.clips == ("b",)


def test_the_caption_of_a_clip_tells_of_the_whole_clip() -> None:
    crop = Crop.of(timeline(HEARD), 100, 1900, Tolerance(0, 100), indivisible={"dog", "rain"})
    assert not crop.hearing.proves(DOG)
    assert not crop.hearing.refutes(DOG)
    assert crop.hearing.proves(RAIN)


def test_sounds_that_are_whole_in_a_part_are_still_counted() -> None:
    two = timeline(Concat(HEARD.first, HEARD.first, -500))
    heard = replace(
        two,
        placements=tuple(
            place._replace(activity=replace(place.heard, onsets=1)) for place in two.placements
        ),
    )
    tolerance = Tolerance(0, 100)
    inside, rest, cut = (
        Crop.of(heard, *at, tolerance) for at in ((0, 2500), (1200, 1300), (100, 2400))
    )
    assert inside.hearing.proves(Count(DOG, 2))
    assert rest.hearing.proves(Count(DOG, 1))
    assert rest.hearing.refutes(Count(DOG, 2))
    assert not cut.hearing.proves(Count(DOG, 2))
    assert not cut.hearing.refutes(Count(DOG, 3))


def test_every_caption_of_a_cropped_sample_holds_in_what_is_heard(data: SplitData) -> None:
    cropper = Cropper(data, 16_000, seed=0)
    cropped = 0
    for row in data.rows(range(len(data))):
        for step in range(5):
            told = cropper.crop(row, ALL, step)
            assert told == cropper.crop(row, ALL, step)
            if told.crop is None:
                continue
            cropped += 1
            start, frames = told.crop
            (sound,), whole = data.sounds([told]).numpy(), data.pcm(row)
            assert np.array_equal(sound[80:-80], whole[start + 80 : start + frames - 80])  # 5 ms
            assert start == 0 or abs(sound[0]) <= 0.01 * abs(int(whole[start])) + 1
            assert 0 <= start <= row["frames"] - frames
            assert len(data.sounds([told])[0]) == frames == 16_000
            tolerance = Tolerance(audible=data.audible)
            crop = Crop.of(read_timeline(row), start, frames, tolerance)
            true = [told["claim"], *(text["claim"] for text in told["positives"])]
            assert all(crop.hearing.proves(claim_from_json(json.loads(claim))) for claim in true)
            false = [text["claim"] for text in told["negatives"]]
            assert all(crop.hearing.refutes(claim_from_json(json.loads(claim))) for claim in false)
    assert cropped > 50


def test_told_as_a_whole_every_part_keeps_every_caption(data: SplitData) -> None:
    cropper = Cropper(data, 16_000, 0, CropTold.WHOLE)
    long = [row for row in data.rows(range(len(data))) if row["frames"] > 16_000]
    told = [cropper.crop(row, ALL, 0) for row in long]
    assert len(told) > 20
    assert all(part == replace(row, crop=part.crop) for part, row in zip(told, long, strict=True))
    cropper.refuse_long(np.arange(len(data)), ALL, longest=16_000)


def test_short_samples_stay_whole(data: SplitData, settings: Callable[..., TrainConfig]) -> None:
    row = data.rows([0])[0]
    assert Cropper(data, row["frames"], 0).crop(row, ALL, 0) == row
    tokenizer = TextTokenizer.of_texts(data.vocabulary())
    config = settings(crop_s=0.1)
    batch = Assembler.of(data, tokenizer, config, cached=False).batch([0], config.stages[1], 0)
    assert batch.whole == 1
    assert batch.audio.pcm.shape[1] == row["frames"]


def test_what_the_model_cannot_take_whole_is_told(data: SplitData) -> None:
    cropper = Cropper(data, 1600, 0)
    positions = np.arange(len(data))
    cropper.refuse_long(positions, ALL, longest=data.longest)
    with pytest.raises(SpecError, match=r"no part of 0\.1 s proves a caption.*crop_s"):
        cropper.refuse_long(positions, ALL, longest=1600)
    Cropper(data, 24_000, 0).refuse_long(positions, ALL, longest=24_000)


def test_a_stage_hears_of_its_relations_only(data: SplitData) -> None:
    stage = Stage(steps=1, relations=("before",))
    cropper = Cropper(data, 16_000, 0)
    for row in data.rows(data.pool(stage).tolist()):
        told = cropper.crop(row, stage, 1)
        assert " before " in told["caption"]


# Captions of a group that are not refuted do not stand against its sounds.


BARK, FALL = Event("dog", Excerpt("a", 0, 1000)), Event("rain", Excerpt("b", 0, 6000))


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
    before, after, mixed = Concat(BARK, FALL), Concat(FALL, BARK), Overlay(FALL, BARK)
    assert unrefuted(row(before), row(after), row(mixed)) == [
        [False, False, False],
        [False, False, False],
        [True, False, False],
    ]


def test_a_caption_is_judged_in_its_group_by_what_is_heard_and_known_to_be_false() -> None:
    said = {"text": "x", "claim": claim_to_text(statement(Concat(BARK, FALL)))}
    ends = [Stretch(0, end) for end in (1000, 1050)]
    heard = [Activity((each,), (each,)).to_json() for each in ends]
    rivals = {
        "together": (row(Overlay(FALL, BARK)), True),
        "in another group": (row(Overlay(FALL, BARK), "h"), False),
        "a negative": (row(Overlay(FALL, BARK), negatives=[said]), False),
        "heard for 50 ms longer": (row(Overlay(BARK, FALL), activity=heard), False),
        # Of a part nothing else is refuted.
        "a part": (row(Concat(FALL, BARK), crop=(0, 500)), True),
    }
    judged = {
        name: unrefuted(row(Concat(BARK, FALL)), rival) for name, (rival, _) in rivals.items()
    }
    expected = {name: [[False, False], [stands, False]] for name, (_, stands) in rivals.items()}
    assert judged == expected


@pytest.mark.parametrize("count", [0, 1])
def test_a_batch_may_hold_nothing_to_judge(count: int) -> None:
    rows = [row(BARK)] * count
    assert unrefuted(*rows) == [[False]] * count
