"""Fitting: two sounds together, of which neither comes first or last to anybody."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np

from synth.recipes.base import Clip, Draft, make_listener
from synth.recipes.fitting import FittedPair, Fitting
from synth.recipes.triplets import Triplets
from synth.scene.scene import Concat, Overlay, events
from tests.kit.envelopes import envelope
from tests.kit.planned import BLOCK, RATE, flatten, make_clip, make_setting, plan
from tests.synth.truth.oracle import judge_draft

LEAST_S = 1.0


def levels_like_esc50(label: int, take: int) -> tuple[float, ...]:
    """Up to 5 s, as in ESC-50: steady, in bursts, dying away, or one short event."""
    rng = np.random.default_rng([label, take])
    count = int(rng.integers(60, 101))
    kind = label % 4
    if kind == 0:
        levels = np.full(count, -25.0)
    elif kind == 1:
        on, off = int(rng.integers(3, 12)), int(rng.integers(3, 20))
        levels = np.where(np.arange(count) % (on + off) < on, -20.0, -75.0)
    elif kind == 2:
        levels = -20.0 - np.arange(count) * rng.uniform(0.2, 1.0)
    else:
        levels = np.full(int(rng.integers(6, 30)), -18.0)
    heard = np.flatnonzero(levels > -60)
    jitter = rng.normal(0, 1.5, len(levels))
    return tuple((levels + jitter)[: heard[-1] + 1].tolist())


def clip(label: int, take: int, levels: tuple[float, ...] = ()) -> Clip:
    levels = levels or levels_like_esc50(label, take)
    frames = BLOCK * len(levels)
    power = float(np.mean(10 ** (np.asarray(levels) / 10)))
    return make_clip(
        f"lib/{label}-{take}",
        f"class_{label:02d}",
        frames=frames,
        loudness_lufs=10 * float(np.log10(power)),
        envelope=envelope(frames, levels, RATE),
    )


LIBRARY = [clip(label, take) for label in range(12) for take in range(6)]
SETTING = make_setting(10 * RATE)
RECIPE = Triplets(least_event_s=LEAST_S)


@cache
def groups() -> list[list[Draft]]:
    return plan(RECIPE, LIBRARY, SETTING)


def test_all_pairs_are_kept() -> None:
    made = [tuple(event.label for event in events(group[0].scene)) for group in groups()]
    names = {clip.labels[0] for clip in LIBRARY}
    assert sorted(made) == sorted(permutations(names, 2))
    for group in groups():
        forward, reversed_, together = (draft.scene for draft in group)
        assert isinstance(forward, Concat)
        assert isinstance(together, Overlay)
        one, other = events(forward)
        assert tuple(events(reversed_)) == (other, one)
        assert tuple(events(together)) == (one, other)


def test_of_most_that_are_together_neither_order_may_be_said() -> None:
    unordered = [{negative.text for negative in group[2].captions.negatives} for group in groups()]
    assert sum(len(each) == 4 for each in unordered) >= 0.8 * len(unordered)
    # Each order is told in two words: "before" and "after".
    assert all(len(each) in (0, 2, 4) for each in unordered)
    # Some fit as they are, some are cut.
    whole = sum(
        event.heard.frames == lengths()[event.heard.clip]
        for group in groups()
        for event in events(group[0].scene)
    )
    assert 0.1 < whole / (2 * len(groups())) < 0.9


def test_every_member_is_right_to_a_second_judge() -> None:
    for draft in flatten(groups()[::3]):
        assert judge_draft(draft, RATE) == []


@cache
def lengths() -> dict[str, int]:
    return {clip.id: clip.frames for clip in LIBRARY}


def test_no_sound_is_cut_to_less_than_asked() -> None:
    longer = Triplets(least_event_s=2.5).groups({"train": LIBRARY}, SETTING)["train"]
    some = [longer.group(index) for index in range(0, len(longer), 9)]
    for made, least_s in ((groups(), LEAST_S), (some, 2.5)):
        shortest = []
        for group in made:
            for event in events(group[0].scene):
                whole = lengths()[event.heard.clip]
                assert 0 <= event.heard.start <= whole - event.heard.frames
                assert event.heard.frames >= min(whole, least_s * RATE)
                if event.heard.frames < whole:
                    shortest.append(event.heard.frames)
        assert min(shortest) < 1.5 * least_s * RATE


def fit(one: Clip, other: Clip, least_s: float = LEAST_S, crossfade: int = 0) -> FittedPair:
    listener = make_listener([one, other], SETTING)
    fitting = Fitting(listener, SETTING, None, least_s, crossfade)
    pair = fitting.find([one], [other], np.random.default_rng(0))
    assert pair is not None
    return pair


def steady(label: int, blocks: int) -> Clip:
    return clip(label, 0, (-25.0,) * blocks)


def test_the_longer_of_two_sounds_is_cut_to_the_shorter() -> None:
    one, other, like = steady(0, 90), steady(1, 40), steady(2, 42)
    # Those of one length are heard whole.
    for first, second, blocks in (
        (one, other, (40, 40)),
        (other, one, (40, 40)),
        (other, like, (40, 42)),
    ):
        made = fit(first, second)
        assert made.unordered == 2
        lasting = tuple(event.heard.frames // BLOCK for event in events(made.overlay))
        assert lasting == blocks
        assert (made.first, made.second) == (made.overlay.first, made.overlay.second)


def test_silence_before_a_sound_counts_for_nothing() -> None:
    late = clip(0, 0, (-85.0,) * 20 + (-25.0,) * 40)
    other = steady(1, 40)
    found = fit(late, other)
    assert found.unordered == 2
    assert isinstance(found.overlay, Overlay)
    heard = make_listener([late, other], SETTING).hear(found.overlay)
    assert len({place.heard.clear for place in heard.placements}) == 1


def test_what_cannot_be_cut_short_enough_is_kept_and_counted() -> None:
    long, blink = steady(0, 90), steady(1, 6)
    found = fit(long, blink)
    # After a sound of 0.3 s the other goes on for 0.7 s at least.
    assert found.unordered == 1
    lasting = [event.heard.frames for event in events(found.overlay)]
    assert min(lasting) == 6 * BLOCK
    assert max(lasting) >= LEAST_S * RATE
    shorter = fit(long, blink, least_s=0.3)
    assert shorter.unordered == 2


def test_a_crossfade_that_would_cover_a_sound_by_half_is_shortened() -> None:
    one, other = steady(0, 60), steady(1, 10)
    for asked, given in ((2, 2), (6, 3), (16, 4)):
        pair = fit(one, other, crossfade=asked * BLOCK)
        assert pair.crossfade == given * BLOCK
