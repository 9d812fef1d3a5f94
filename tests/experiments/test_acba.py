from __future__ import annotations

import json

from experiments.acba import drop_order, mostly_unordered, nouns_and_verbs_only


def test_an_unordered_caption_names_both_sounds_and_no_order() -> None:
    assert drop_order("A dog barks before rain falls") == "A dog barks and rain falls"
    assert drop_order("After rain falls, a dog barks") == "Rain falls and a dog barks"


def test_most_of_the_original_captions_tell_no_order() -> None:
    claim = '{"crossfade":0,"sequence":[{"event":"dog"},{"event":"rain"}]}'
    row = {"caption": "A dog barks before rain falls", "claim": claim, "recipe": "acba"}
    row |= {"relation": "before"}
    rows = [row | {"group": f"g{k}", "positives": [1], "negatives": [1]} for k in range(500)]
    kept = [each for each in map(mostly_unordered, rows) if each["relation"]]
    assert 2 < len(kept) < 25
    changed = mostly_unordered(rows[0])
    assert changed["negatives"] == []
    assert "and" in json.loads(changed["claim"])
    assert nouns_and_verbs_only(rows[0])["caption"] == "dog barks rain falls"
