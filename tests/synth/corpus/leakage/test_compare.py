"""Leakage between sets of clips: counted by recording, by bytes and by sound, with examples."""

from __future__ import annotations

import json

from synth.corpus.leakage import Shared, leakage, measure_between_splits
from tests.kit.known_sounds import clip, event, tone


def test_sets_that_share_nothing_are_disjoint() -> None:
    found = leakage([clip("a", event(0, 2.0))], [clip("b", event(1, 2.0)), clip("c")])
    assert found.disjoint
    assert (found.clips_a, found.clips_b, found.shared, found.pairs) == (1, 2, 0, ())
    assert (found.unheard_a, found.unheard_b) == (0, 1)


def test_each_way_of_sharing_is_counted() -> None:
    heard = event(0, 2.0)
    rows_b = [
        clip("b/1", heard, recording="freesound/1"),
        clip("b/2", recording="freesound/2"),
        clip("b/3", recording="freesound/3"),
    ]
    rows_a = [
        clip("a/all", heard, recording="freesound/1", sha256=rows_b[0]["sha256"]),
        clip("a/take", event(9, 2.0), recording="freesound/2"),
        clip("a/bytes", event(8, 2.0), sha256=rows_b[2]["sha256"]),
        clip("a/sound", heard[8000:] * 0.3),
        clip("a/new", event(3, 2.0)),
    ]
    found = leakage(rows_a, rows_b)
    assert not found.disjoint
    assert found.shared == 4
    assert (found.by_recording, found.by_bytes, found.by_sound) == (2, 2, 2)
    assert found.pairs[:2] == (
        Shared("a/all", "b/1", "recording", "recording freesound/1"),
        Shared("a/all", "b/1", "bytes", "the same file as b/1"),
    )
    assert [(pair.a, pair.by) for pair in found.pairs[3:]] == [
        ("a/take", "recording"),
        ("a/bytes", "bytes"),
        ("a/sound", "sound"),
    ]


def test_the_json_holds_the_counts_and_ten_examples() -> None:
    rows = [clip(f"clip/{number}", recording="same") for number in range(12)]
    found = json.loads(json.dumps(leakage(rows, rows).to_json()))
    assert found["shared"] == found["by_recording"] == found["by_bytes"] == 12
    assert found["by_sound"] == 0
    assert found["unheard_a"] == found["unheard_b"] == 12
    assert len(found["examples"]) == 10
    assert "pairs" not in found


def test_empty_values_and_steady_tones_are_not_shared() -> None:
    bare = {"recording": "", "sha256": "", "fingerprint": b""}
    assert leakage([clip("a") | bare], [clip("b") | bare]).disjoint
    assert leakage([{"id": "a", "recording": "x"}], [{"id": "b", "recording": "y"}]).disjoint
    assert leakage([], []).disjoint
    steady = leakage([clip("a", tone(440.0, 2.0))], [clip("b", tone(440.0, 2.0))])
    assert steady.disjoint
    assert (steady.unheard_a, steady.unheard_b) == (1, 1)


def test_every_two_splits_are_compared() -> None:
    train, copy = clip("train", event(0, 2.0)), clip("test", event(0, 2.0))
    found = measure_between_splits({"train": [train], "val": [clip("val")], "test": [copy]})
    shared = {pair: each.by_sound for pair, each in found.items()}
    assert shared == {("train", "val"): 0, ("train", "test"): 1, ("val", "test"): 0}
