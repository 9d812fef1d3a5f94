"""What may only change on purpose."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synth.base.rng import Randomness, digest
from synth.corpus.schema import canonical_json, caption_row
from synth.recipes import recipe_class
from synth.recipes.base import Clip, Levels, Setting
from synth.scene.scene import to_text
from tests.kit.envelopes import envelope

CLIPS = [
    Clip(
        id=f"lib/{label}-{take}",
        labels=(label,),
        captions=(),
        recording=f"lib/{label}-{take}",
        frames=16_000 * (2 + take),
        loudness_lufs=-20.0 - take,
        envelope=envelope(
            16_000 * (2 + take),
            tuple(-30.0 - (step * 7) % 13 for step in range(20 * (2 + take))),
        ),
    )
    for label in ("dog", "rain", "siren")
    for take in range(3)
]


@pytest.mark.parametrize(
    ("recipe", "settings", "expected"),
    [
        ("triplets", {"max_event_s": 1.5, "style": "natural"}, "9de97d00c67c8fad"),
        ("triplets", {"stage_a": True}, "53dd073752e00ddf"),
        ("acba", {"pairs": 20}, "d67c908c6404f7f0"),
        ("scenes", {"scenes": 16, "variants": 2, "max_events": 2}, "d273ac4e5a5b18dd"),
    ],
)
def test_plans_are_pinned(recipe: str, settings: dict[str, Any], expected: str) -> None:
    """If this fails, plans have changed: raise `PLAN_VERSION`, then fix the pin.

    Else finished corpora would be taken for what the new code would plan.
    """
    setting = Setting(16_000, None, Levels(-23.0, 20.0, 15.0), 0, Randomness(7))
    groups = recipe_class(recipe)(**settings).groups({"train": CLIPS}, setting)["train"]
    plan = [
        [
            json.loads(to_text(draft.scene)),
            caption_row(draft.captions.caption) | {"kind": "caption"},
            [caption_row(each) for each in draft.captions.positives],
            [caption_row(each) for each in draft.captions.negatives],
        ]
        for index in range(len(groups))
        for draft in groups.group(index)
    ]
    assert digest(canonical_json(plan))[:16] == expected
