"""What trivial audio tells, only of recordings never learned from; baselines of a split."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth.audio.dsp import Audio, to_pcm
from synth.base.progress import UNOBSERVED
from synth.base.rng import Randomness
from synth.corpus.corpus import Corpus
from synth.shortcuts.audio import (
    FEATURES,
    ClaimOutline,
    _list_uses,
    describe_audio,
    hold_out,
    judge_pairs,
    run_trivial_test,
)
from synth.shortcuts.baselines import SHORTCUTS_FILE, find_baselines
from synth.shortcuts.figures import RivalSet, SplitSentences
from tests.kit.builds import TINY
from tests.kit.cases import cases
from tests.kit.corpora import manifests

RATE = 8000


def tone(seconds: float, gain: float = 0.5) -> Audio:
    return np.full(round(seconds * RATE), gain, dtype=np.float32)


def test_features_of_a_sample_that_is_known() -> None:
    parts = [tone(0.5, 0), tone(1.0), tone(0.04, 0), tone(0.16), tone(0.3, 0), tone(0.4, 0.25)]
    audio = np.concatenate([*parts, tone(0.2, 0)])
    features = dict(zip(FEATURES, describe_audio(to_pcm(audio), RATE), strict=True))
    expected = {
        **{"length_s": 2.6, "before_s": 0.5, "after_s": 0.2, "active_s": 1.6, "segment_s": 0.8},
        **{"longest_s": 1.2, "gap_s": 0.3, "segments": 2, "peak_db": -6.02, "last_db": -12.04},
    }
    assert {name: features[name] for name in expected} == pytest.approx(expected, abs=0.01)
    energy = np.square(audio, dtype=np.float64)
    assert features["level_db"] == pytest.approx(10 * np.log10(energy.mean()), abs=0.01)
    assert features["crest_db"] == pytest.approx(features["peak_db"] - features["level_db"])
    seconds = (np.arange(len(audio)) + 0.5) / RATE
    centre = np.average(seconds, weights=energy)
    assert features["centre_s"] == pytest.approx(centre, abs=1e-3)
    assert features["centre"] == pytest.approx(centre / 2.6, abs=1e-3)
    spread = np.sqrt(np.average(np.square(seconds - centre), weights=energy))
    assert features["spread_s"] == pytest.approx(spread, abs=1e-3)


@cases("audio", [tone(0.001), tone(1.0, 0), tone(0.05), tone(1.0, 1)])
def test_features_of_any_sample_are_finite(audio: Audio) -> None:
    assert np.isfinite(describe_audio(to_pcm(audio), RATE)).all()


DOG, RAIN = {"event": "dog"}, {"event": "rain"}


@cases(
    ("claim", "orders", "value"),
    [
        ({"crossfade": 0, "sequence": [DOG, RAIN]}, 1, 0.0),
        ({"overlay": [DOG, {"sequence": [RAIN, DOG]}]}, 1, 0.0),
        ({"count": DOG, "times": 3}, 0, 3.0),
        ({"measure": "gap", "of": [DOG, RAIN], "value": 4000}, 0, 0.5),
        ({"measure": "louder", "of": [DOG, RAIN], "value": -1}, 0, 0.0),
    ],
)
def test_outlines_name_no_label(claim: dict[str, Any], orders: int, value: float) -> None:
    text = json.dumps(claim)
    outline = ClaimOutline.of(text, RATE)
    assert (outline.orders, outline.value) == (orders, value)
    swapped = text.replace("dog", "?").replace("rain", "dog").replace("?", "rain")
    assert ClaimOutline.of(swapped, RATE) == outline
    assert "dog" not in outline.form


def test_groups_are_judged_whose_recordings_are_all_held_out() -> None:
    rng = Randomness(0).at("uses", 0)
    uses = rng.random((40, 30)) < 0.1
    for number in range(20):
        held = hold_out(uses, Randomness(1).at("held", number))
        assert held.mean() <= 0.25
        assert (uses.any(axis=1) & ~(uses & ~held).any(axis=1)).any()


ORDERED = ("triplets", "first")
BOTH = ClaimOutline.of(json.dumps({"overlay": [DOG, RAIN]}), RATE)
ORDER = ClaimOutline.of(json.dumps({"sequence": [DOG, RAIN]}), RATE)


@cases(
    ("signal", "least", "most"),
    [
        ("length", 0.97, 1.0),
        ("nothing", 0.4, 0.6),
        ("recording", 0.4, 0.6),
    ],
)
def test_what_holds_for_other_recordings_is_learned_and_nothing_else(
    signal: str, least: float, most: float
) -> None:
    """Two recordings a group; the truth may hang on the audio, on nothing, or on a recording."""
    rng = Randomness(2).at(signal, 0)
    groups, recordings = 200, 50
    used = np.stack([rng.choice(recordings, 2, replace=False) for _ in range(groups)])
    uses = np.zeros((groups, recordings), dtype=np.bool_)
    uses[np.arange(groups)[:, None], used] = True
    is_order = rng.random(groups) < 0.5
    if signal == "recording":
        is_order = (rng.random(recordings) < 0.5)[used[:, 0]]
    features = rng.normal(size=(groups, len(FEATURES)))
    features[:, 0] += 6 * is_order if signal == "length" else 10 * used[:, 0]
    texts = [BOTH, ORDER]
    pairs = [RivalSet(at, "", int(true), (int(not true),), at) for at, true in enumerate(is_order)]
    fits, margins = judge_pairs(pairs, features, texts, uses, seed=0)
    judged = ~np.isnan(margins)
    assert judged.mean() > 0.3
    assert least <= np.mean((fits[judged] > 0) == [False, True]) <= most
    assert least <= np.mean(margins[judged] > 0) <= most


def test_sentences_of_one_form_are_never_told_apart() -> None:
    pairs = [RivalSet(at, "", at % 2, (1 - at % 2,), at) for at in range(40)]
    features = np.arange(40.0 * len(FEATURES)).reshape(40, -1)
    _, margins = judge_pairs(pairs, features, [ORDER, ORDER], np.eye(40, dtype=np.bool_), seed=0)
    assert (margins[~np.isnan(margins)] == 0).all()


def test_groups_without_negatives_shift_no_recordings() -> None:
    negative = {"text": "rain", "kind": "replace", "against": ""}
    rows: list[dict[str, Any]] = [
        {"group": name, "caption": "dog", "positives": [], "relation": "", "clips": [name]}
        | {"negatives": [negative] * (name in "bd")}
        for name in "abcd"
    ]
    columns = {"b": 0, "d": 1}
    uses = _list_uses(rows, {name: name for name in "abcd"})
    for rival in SplitSentences.of(rows, {"dog": 0, "rain": 1}).rivals:
        own = columns[rows[rival.sample]["group"]]
        assert uses[rival.group].nonzero()[0].tolist() == [own]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus.open(manifests(TINY, tmp_path_factory))


def test_a_corpus_is_judged_by_what_its_shards_hold(corpus: Corpus) -> None:
    result = run_trivial_test(corpus, 1000, splits=["train"])
    assert {each.split for each in result.figures} == {"train"}
    measures = {"fits", "member", "first"}
    assert {each.measure for each in result.figures} == measures
    assert {each.kind for each in result.figures} == {"", "relation", "reorder", "triplets"}
    for each in result.figures:
        assert each.kind != "reorder" or each.value == each.chance, each
    (first,) = (each for each in result.figures if (each.kind, each.measure) == ORDERED)
    assert first.chance == pytest.approx(1 / 3)
    assert run_trivial_test(corpus, 1000, splits=["train"]) == result


@pytest.mark.slow
def test_baselines_are_measured_once(corpus: Corpus, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(corpus.folder, tmp_path / "copy"))
    facts = {**corpus.facts, "shards": str(corpus.shards)}
    copy = Corpus(folder, facts)
    baselines = find_baselines(copy, "train", UNOBSERVED)
    assert baselines.keys() == {"", "relation", "reorder", "triplets"}
    assert baselines["reorder"].trivial == 0.5
    kept = json.loads((folder / SHORTCUTS_FILE).read_text())
    for figure in kept["trivial"]["train"]:
        figure["value"] = 0.25
    (folder / SHORTCUTS_FILE).write_text(json.dumps(kept))
    assert {each.trivial for each in find_baselines(copy, "train", UNOBSERVED).values()} == {0.25}
    (folder / SHORTCUTS_FILE).write_text(json.dumps({**kept, "digest": "of another"}))
    assert find_baselines(copy, "train", UNOBSERVED) == baselines
