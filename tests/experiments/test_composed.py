"""Composed sets: what an instruction means is one of two edits, and nothing else tells which."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.frozen.score import OpenSet, score_set
from pipelines.frozen.composed import BY_CONSTRUCTION, guess_sounds, list_choices, score_choices
from pipelines.frozen.description import read_records
from pipelines.frozen.digests import digest_corpus
from synth.base.errors import CorpusError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from synth.derived.edits import EditChoice
from synth.export.items import list_shards
from synth.scene.scene import from_text
from synth.truth.change import ChangeKind, find_change, list_claims
from tests.kit.builds import segue_here
from tests.kit.frozen_sets import COMPOSED, make_sets
from train.bench.opening import Foreign, RandomModel
from train.bench.settings import Padding

KINDS = COMPOSED["edits"]


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sets(tmp_path_factory.mktemp("sets"), COMPOSED)


@pytest.fixture(scope="module")
def corpus(sets: Path) -> Corpus:
    return Corpus.open(sets / "data_manifests" / "small-v1-foley")


@pytest.fixture(scope="module")
def choices(corpus: Corpus) -> list[EditChoice]:
    return list_choices(corpus, KINDS)


def test_choices_are_told_apart_by_sounds_alone(corpus: Corpus, choices: list[EditChoice]) -> None:
    rows = corpus.samples("test").to_pylist()
    about = {each.id: each for shard in list_shards(corpus) for each in shard.subjects()}
    scenes = {row["id"]: from_text(row["scene"]) for row in rows}
    expected = set()
    for source, one, other in permutations(rows, 3):
        if not source["group"] == one["group"] == other["group"]:
            continue
        changes = [find_change(scenes[source["id"]], scenes[row["id"]]) for row in (one, other)]
        if None in changes or len({(change.kind, change.gain_db) for change in changes}) > 1:
            continue
        first, second = changes
        if first.kind not in KINDS or first.sounds == second.sounds:
            continue
        claims = [next(list_claims(change)) for change in changes]
        proven = all(
            about[source["id"]].proves(before) and about[row["id"]].proves(after)
            for row, (before, after) in zip((one, other), claims, strict=True)
        )
        if proven:
            expected.add((source["id"], frozenset((one["id"], other["id"])), first.kind))
    found = [(each.source, frozenset(each.targets), each.kind) for each in choices]
    assert len(set(found)) == len(found)
    assert set(found) == expected
    assert {each.kind for each in choices} == set(KINDS)
    for each in choices:
        one, other = (text.split() for text in each.instructions)
        assert one != other
        assert one[0] == other[0]
        numbers = [re.findall(r"\d+", text) for text in each.instructions]
        assert numbers[0] == numbers[1]
        for at, (target, rival) in enumerate((each.targets, each.targets[::-1])):
            change = find_change(scenes[each.source], scenes[target])
            named = next(list_claims(change))[1]
            assert about[target].proves(named)
            assert change.kind.is_level or about[rival].refutes(named), at


@given(seed=st.integers(0, 999), ignores=st.sampled_from(["instruction", "target"]))
def test_what_ignores_the_instruction_or_the_target_is_at_chance(seed: int, ignores: str) -> None:
    rng = np.random.default_rng(seed)
    some = [
        EditChoice(f"g{group}", ChangeKind.REMOVE, f"s{at}", (f"a{at}", f"b{at}"), ("one", "two"))
        for at, group in enumerate(rng.integers(0, 5, 9))
    ]
    fits = {each.source: rng.integers(-2, 3, 2) for each in some}

    def prefer(choice: EditChoice, asked: int, at: int) -> float:
        return float(fits[choice.source][asked if ignores == "target" else at])

    assert score_choices(some, prefer) == BY_CONSTRUCTION


def test_baselines_lack_the_source(sets: Path, corpus: Corpus, choices: list[EditChoice]) -> None:
    (built,) = read_records(sets)
    assert built.text_only == BY_CONSTRUCTION
    by_labels, by_spectrum = built.baselines.values()
    told = np.mean([0.5 if each.kind is ChangeKind.QUIETER else 1.0 for each in choices])
    assert by_labels.value == pytest.approx(told, abs=1e-4)
    assert by_spectrum.value > 0.5
    rows = corpus.samples("test").to_pylist()
    one_group = [row | {"group": "all"} for row in rows]
    has = np.ones((len(rows), 1), dtype=np.bool_)
    assert not guess_sounds(corpus, one_group, has).any()


def test_scores_are_those_of_loops_over_dot_products(sets: Path, corpus: Corpus) -> None:
    (built,) = read_records(sets)
    opened = OpenSet.open(built, sets, UNOBSERVED)
    embedder = Foreign(RandomModel(), "random")
    scores = score_set(embedder, opened, opened.list_sounds(), Padding.PAD, UNOBSERVED)
    rows = {row["id"]: row for row in corpus.samples("test").to_pylist()}
    model = RandomModel()

    def hear(name: str) -> np.ndarray:
        row = rows[name]
        pcm = corpus.stored_pcm("test", row["shard"], row["offset"], row["size"])
        return unit(model.audio([pcm.astype(np.float32) / np.float32(32768)])[0])

    hits = []
    for choice in list_choices(corpus, KINDS):
        sounds = [hear(name) for name in choice.targets]
        texts = [unit(model.texts([text])[0]) for text in choice.instructions]
        asked = [unit(hear(choice.source) + text) for text in texts]
        hits += [asked[k] @ sounds[k] > asked[k] @ sounds[1 - k] for k in (0, 1)]
    assert scores["audio"].value == pytest.approx(np.mean(hits))
    assert (scores["audio"].n, scores["audio"].chance) == (len(hits), 0.5)
    assert scores["group"].chance == pytest.approx(1 / 6)


def unit(vector: Any) -> np.ndarray:
    return np.asarray(vector / np.linalg.norm(vector))


def test_the_digest_is_of_the_instructions_too(corpus: Corpus, choices: list[EditChoice]) -> None:
    digests = {
        digest_corpus(corpus, UNOBSERVED, map(asdict, some)) for some in ((), choices, choices[1:])
    }
    assert len(digests) == 3
    with pytest.raises(CorpusError, match="no sample has two edits of one kind"):
        list_choices(corpus, ["louder"])


def test_models_are_compared_beside_the_baselines(sets: Path, tmp_path: Path) -> None:
    ended = segue_here("bench", "run", "random", "--sets", sets, "--out", tmp_path, "--json")
    told = json.loads(ended.stdout.splitlines()[-1])
    page = Path(told["page"]).read_text(encoding="utf-8")
    assert "without the source, by spectrum" in page
    (result,) = told["results"]
    assert len(result["set"]["baselines"]) == 2
