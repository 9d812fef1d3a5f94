"""What a clip's tags tell of its treatment."""

from __future__ import annotations

from synth.labels.lexicon import Tag, find_treatment, heard_tags


def test_a_treatment_is_no_sound_beside_others() -> None:
    tags = [{"category": "instrument", "name": "guitar"}, {"category": "treatment", "name": "hall"}]
    assert heard_tags(tags) == (Tag("instrument", "guitar"),)
    assert find_treatment(tags) == "hall"
