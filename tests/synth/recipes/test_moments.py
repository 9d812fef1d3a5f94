"""`moments`: long scenes of any number of sounds, whose windows are certain."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from synth.audio.bank import Bank
from synth.audio.render import Mixdown, render
from synth.base.errors import PlanError
from synth.recipes.base import Draft
from synth.recipes.moments import Moments
from synth.scene.scene import from_text, labels, to_text
from synth.scene.timeline import duration, timeline
from synth.truth.ear import Ear
from synth.truth.frames import find_windows
from synth.truth.truth import Hearing
from tests.kit.asked import SPREAD
from tests.kit.banks import write_bank
from tests.kit.cases import cases
from tests.kit.planned import AUDIBLE, RATE, make_setting, plan, spread_clips
from tests.synth.recipes.test_scenes import CLIPS

SETTING = make_setting()


def say(draft: Draft) -> tuple[set[str], set[str]]:
    """What its captions say that is true, and what is false."""
    captions = draft.captions
    true = {caption.text for caption in (captions.caption, *captions.positives)}
    return true, {caption.text for caption in captions.negatives}


@cases(
    ("settings", "sounds"),
    [
        ({}, range(4, 17)),
        ({"sounds": 3, "repeats": 1, "length_s": (20, 30)}, range(3, 4)),
        ({"sounds": 6, "repeats": 30, "length_s": (600, 600), "max_event_s": 2}, range(40, 181)),
        ({"polyphony": 4, "pause_s": 5}, range(4, 17)),
    ],
)
def test_both_scenes_of_a_pair_are_asked_for_all_of_their_sounds(
    settings: dict[str, object], sounds: range
) -> None:
    recipe = Moments(pairs=4, **settings)
    least, most = (length * RATE for length in recipe.length_s)
    for group in plan(recipe, CLIPS):
        (one, other), texts = group, [say(draft) for draft in group]
        assert texts[0] == texts[1][::-1], "what is true of one is false of the other"
        assert len(texts[0][0]) == len(texts[0][1]) == recipe.sounds
        assert one.frames == other.frames
        for draft in group:
            assert least <= draft.frames <= most
            assert draft.lead + duration(draft.scene) <= draft.frames
            counts = Counter(labels(draft.scene))
            assert len(counts) == recipe.sounds
            assert max(counts.values()) <= recipe.repeats
            assert counts.total() in sounds
            assert from_text(to_text(draft.scene)) == draft.scene, "it is not nested too deeply"
            assert draft.timeline is not None
            hearing = Hearing(draft.timeline, SETTING.tolerance)
            captions = draft.captions
            assert all(
                map(hearing.proves, (c.claim for c in (captions.caption, *captions.positives)))
            )
            assert all(hearing.refutes(caption.claim) for caption in captions.negatives)
            for label in counts:
                assert find_windows(label, draft.timeline, SETTING.tolerance.pause)
            check_layers(draft, recipe)


def check_layers(draft: Draft, recipe: Moments) -> None:
    """So many sounds at once at most, and silence where none is."""
    places = timeline(draft.scene).placements
    edges = sorted([(p.onset, 1) for p in places] + [(p.offset, -1) for p in places])
    at_once, silences = 0, []
    for (at, step), (after, _) in pairwise(edges):
        at_once += step
        assert at_once <= recipe.polyphony
        if not at_once:
            silences.append(after - at)
    assert min(silences) >= recipe.pause_s * RATE


def peak(work: Callable[[], object]) -> int:
    """Bytes that are held at most while something is done."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_many_sounds_need_no_more_memory_than_a_few(tmp_path: Path) -> None:
    noise = {
        clip.id: np.random.default_rng(number).uniform(-0.2, 0.2, clip.frames).astype(np.float32)
        for number, clip in enumerate(CLIPS)
    }
    bank = Bank.open(write_bank(tmp_path, noise, RATE))
    sizes = []
    for repeats in (1, 60):
        recipe = Moments(pairs=1, length_s=(300, 300), repeats=repeats, max_event_s=2, pause_s=0.3)
        draft = plan(recipe, CLIPS)[0][0]
        sizes.append(len(labels(draft.scene)))
        mixdown = Mixdown(SETTING.fade, 0.0)
        play = partial(render, draft.scene, bank, mixdown, draft.frames, draft.lead)
        play()  # what it imports is no part of it
        played = peak(play)
        assert played < 6.5 * draft.frames, "the mix as floats and as integers, and one sound"
    assert sizes[1] > 20 * sizes[0]


@cases(
    ("settings", "facts", "message"),
    [
        ({"pause_s": 0.5}, {"ear": Ear(pause_s=1.0)}, "pause of 0.5 s interrupts no window"),
        ({"pause_s": 0.1}, {}, "pause of 0.1 s interrupts no window"),
        ({}, {"max_frames": 90 * RATE}, "scenes have a length of their own"),
        ({"sounds": 50, "length_s": (50, 60)}, {}, "leave no room"),
        ({"sounds": 30}, {}, "whose windows are certain"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    settings: dict[str, object], facts: dict[str, object], message: str
) -> None:
    setting = make_setting(**facts)
    recipe = Moments(**{"pairs": 1, **settings})

    def work() -> None:
        recipe.check(setting, ["train"])
        plan(recipe, CLIPS, setting)

    with pytest.raises(PlanError, match=message) as caught:
        work()
    assert caught.value.fix


def test_clips_of_one_label_that_can_be_made_out_are_used() -> None:
    recipe, clips = Moments(pairs=1), spread_clips(SPREAD[:2], 1)
    assert recipe.refusal(clips[0], SETTING) is None
    assert "cannot be made out" in str(
        recipe.refusal(clips[0], make_setting(audible=clips[0].frames + AUDIBLE))
    )
