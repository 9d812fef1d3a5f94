"""Workers plan as one process does: the same bytes, the same errors, nothing left behind."""

from __future__ import annotations

import json
import os
import pickle
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from pipelines.builder import drafting
from pipelines.builder.build import locate_library
from pipelines.builder.drafting import SharedDrafter, cut_runs, draft_all
from pipelines.builder.findings import Findings, LeftOut, Tally
from pipelines.builder.plan import PackedShard, pack, plan
from pipelines.builder.usable import Shortage
from pipelines.config.spec import Spec
from pipelines.engines.engine import Engine, engine
from synth.base.errors import CorpusError, PlanError, SegueError
from synth.base.progress import UNOBSERVED
from synth.base.rng import Randomness
from synth.corpus.schema import canonical_json
from synth.labels.lexicon import Tag
from synth.recipes import recipe_class
from synth.recipes.base import Clip, Groups, Levels, Setting
from synth.truth.ear import LevelTable, StoredEnvelope
from tests.kit.builds import product
from tests.kit.drafted import Deadly, Failing, Sparse, Uneven, drafter_of
from tests.kit.envelopes import envelope
from tests.kit.pools import pool_workers
from tests.kit.started import interrupt, start_segue
from tests.kit.waiting import wait_for

GROUPS = {"train": Uneven(70), "test": Uneven(9)}
NAMES = (("dog", "rock", "happy"), ("rain", "jazz", "calm"), ("siren", "rock", "calm"))
CLIPS = [
    Clip(
        f"lib/{number}",
        (NAMES[number % 3][0],),
        (f"A {NAMES[number % 3][1]} piece that is {NAMES[number % 3][2]}.",),
        f"r{number}",
        64_000,
        -20.0,
        envelope(64_000),
        (Tag("genre", NAMES[number % 3][1]), Tag("mood", NAMES[number % 3][2])),
    )
    for number in range(9)
]
SPEC: dict[str, Any] = {
    "corpus": "words",
    "source": {"vocabulary": {"labels": ["Dog", "Rain", "Siren", "Wind"], "takes": 6}},
    "recipe": {"triplets": {"repeats": 4, "style": "natural"}},
    "splits": {"train": 0.6, "test": 0.4},
    "shards": {"samples": 40},
}


class CountingEngine:
    """An engine that counts what its workers are asked."""

    def __init__(self, given: Engine, width: int | None = None) -> None:
        self._given = given
        self.width = given.width if width is None else width
        self.calls = 0
        self.cancelled = threading.Event()

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        return self._given.submit(function, *args, **kwargs)

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.fixture(autouse=True)
def _few_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafting, "LEAST_SHARED", 1)
    monkeypatch.setattr(drafting, "RUN_GROUPS", 4)


@pytest.fixture(scope="module")
def two() -> Any:
    with engine(2) as found:
        yield found


def shards_of(
    groups: Mapping[str, Groups], where: Engine, folder: Path, most: int = 10
) -> list[PackedShard]:
    return [*pack("tiny", most, draft_all(drafter_of(groups), where, folder, "key"))]


def pack_one_by_one(groups: Mapping[str, Groups], most: int) -> list[list[dict[str, Any]]]:
    """The oracle: each group by itself, each row by itself."""
    shards: list[list[dict[str, Any]]] = []
    index = 0
    for split, found in groups.items():
        rows: list[dict[str, Any]] = []
        made = number = 0
        for run in cut_runs({split: found}):
            for group in run.groups:
                alone = run._replace(groups=range(group, group + 1))
                drafted = drafter_of(groups).draft(alone).rows.to_pylist()
                if rows and len(rows) + len(drafted) > most:
                    shards.append(rows)
                    rows = []
                    number += 1
                for row in drafted:
                    name = f"tiny-{split}-{made:08d}"
                    shard = f"tiny-{split}-{number:06d}.tar"
                    rows.append(row | {"id": name, "index": index, "shard": shard})
                    index += 1
                    made += 1
        shards.append(rows)
    return shards


@pytest.mark.parametrize("most", [1, 3, 10, 1000])
def test_rows_are_packed_as_if_one_by_one(two: Engine, tmp_path: Path, most: int) -> None:
    where = CountingEngine(two)
    found = shards_of(GROUPS, where, tmp_path, most)
    expected = pack_one_by_one(GROUPS, most)
    assert [shard.rows.to_pylist() for shard in found] == expected
    assert [shard.name for shard in found] == [rows[0]["shard"] for rows in expected]
    texts = [[canonical_json(row | {"index": 0}) for row in rows] for rows in expected]
    assert [shard.texts for shard in found] == texts
    assert where.calls == 18 + 3


@pytest.mark.parametrize("recipe", ["triplets", "acba", "scenes", "negation", "tag_captions"])
def test_workers_draft_what_the_recipe_drafts_here(recipe: str) -> None:
    """Groups travel as pickles, so whatever a recipe keeps in them must."""
    setting = Setting(16_000, None, Levels(-23.0, 20.0, 15.0), 1600, Randomness(7))
    settings = {"scenes": {"scenes": 8}, "acba": {"pairs": 8}}.get(recipe, {})
    groups = recipe_class(recipe)(**settings).groups({"train": CLIPS}, setting)["train"]
    travelled = pickle.loads(pickle.dumps(groups))
    numbers = range(len(groups))
    assert [travelled.group(at) for at in numbers] == [groups.group(at) for at in numbers]


def test_a_plan_of_workers_has_the_same_bytes(
    two: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.builder.plan.draft_all", draft_all)  # else plans are made once
    spec = Spec.model_validate(SPEC)
    made = []
    for where in (CountingEngine(two, width=0), CountingEngine(two)):
        out = tmp_path / str(where.width)
        library, places = locate_library(spec, out, two, UNOBSERVED)
        plan(spec, library, places, where, UNOBSERVED)
        assert not [*places.manifests.glob(".*")]
        made.append((where.calls > 0, product(out)))
    (here, alone), (there, together) = made
    assert (here, there) == (False, True)
    assert alone == together


@pytest.mark.parametrize(
    "groups", [{"train": Failing(70, 30)}, {"a": Uneven(8), "b": Failing(9, 0)}]
)
def test_the_first_fault_is_told(two: Engine, tmp_path: Path, groups: Mapping[str, Groups]) -> None:
    told = []
    for where in (CountingEngine(two, width=0), CountingEngine(two)):
        with pytest.raises(PlanError) as error:
            shards_of(groups, where, tmp_path)
        told.append((error.value.message, error.value.fix))
        assert where.cancelled.is_set() is bool(where.width)
    assert told[0] == told[1]
    assert not [*tmp_path.iterdir()]


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_killed_worker_is_one_clear_error(tmp_path: Path) -> None:
    with engine(2) as where, pytest.raises(SegueError, match="a worker process was killed"):
        shards_of({"train": Deadly(70, 30)}, where, tmp_path)
    assert not [*tmp_path.iterdir()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find workers")
def test_interrupt_ends_planning_workers(tmp_path: Path) -> None:
    spec = tmp_path / "words.yaml"
    long = SPEC | {"recipe": {"triplets": {"repeats": 100_000}}}
    spec.write_text(json.dumps(long))
    options = ["--out", tmp_path / "out", "--workers", "2"]
    process = start_segue("plan", spec, *options)
    try:
        assert wait_for(lambda: len(pool_workers(process.pid)) == 2)
        assert interrupt(process) == "stopped; run the same command again\n"
    finally:
        process.kill()
    assert {path.name for path in (tmp_path / "out").rglob("words/*/*")} == {
        "claim.json",
        "clips.parquet",
        "quarantine.parquet",
    }


def test_groups_that_cannot_travel_or_are_few_are_drafted_here(
    two: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Own(Uneven):
        lock = threading.Lock()

    where = CountingEngine(two)
    found = shards_of({"train": Own(70)}, where, tmp_path)
    assert where.calls == 0
    assert [shard.rows for shard in found] == [
        shard.rows for shard in shards_of({"train": Uneven(70)}, where, tmp_path)
    ]
    assert not [*tmp_path.iterdir()]
    monkeypatch.setattr(drafting, "LEAST_SHARED", 80)
    where = CountingEngine(two)
    shards_of(GROUPS, where, tmp_path)
    assert where.calls == 0


def test_nothing_is_unpickled_but_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "groups"
    path.write_bytes(pickle.dumps("a stranger's"))
    with pytest.raises(CorpusError, match="overwrote"):
        SharedDrafter(path, "0" * 64, 0).read()


def test_workers_share_the_levels_of_clips(tmp_path: Path) -> None:
    levels = np.float32([-20.0, -21.5, -30.0, -22.0])
    table = LevelTable(levels, levels - 2, np.array([0, 3, 4]))
    given = drafter_of(GROUPS)
    clips = {str(row): StoredEnvelope(table, row, -20.0, 800.0, 1600) for row in range(2)}
    given = replace(given, listener=replace(given.listener, envelopes=clips))
    found = SharedDrafter.write(tmp_path / "groups", given).read().listener.envelopes
    one, other = found["0"], found["1"]
    assert one.table is other.table
    assert not one.table.levels_db.flags.owndata
    assert one.read().levels_db == pytest.approx([-20.0, -21.5, -30.0])
    assert other.read().weighted_db == pytest.approx([-24.0])


def test_who_stops_early_leaves_nothing_behind(two: Engine, tmp_path: Path) -> None:
    where = CountingEngine(two)
    drafted = draft_all(drafter_of(GROUPS), where, tmp_path, "key")
    next(drafted)
    drafted.close()
    assert where.cancelled.is_set()
    assert not [*tmp_path.iterdir()]


# Groups that a plan goes without: counted and told, and an error where a split loses all.


ONE_CLIP_EACH: dict[str, Any] = {
    "corpus": "words",
    "source": {"vocabulary": {"labels": ["Dog", "Rain", "Siren", "Wind", "Frog"], "takes": 1}},
    "recipe": "triplets",
    "splits": {"test": 1.0},
}


@pytest.fixture(params=[1, 10_000])
def _shared_from(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafted by the workers, or by this process."""
    monkeypatch.setattr(drafting, "LEAST_SHARED", request.param)


@pytest.mark.usefixtures("_shared_from")
def test_groups_left_out_are_counted_with_their_kinds(two: Engine, tmp_path: Path) -> None:
    groups = {"train": Sparse(70, 3), "test": Sparse(9, 1)}
    tally = Tally({"train": 70, "test": 9}, Shortage("", ""))
    drafted = [*draft_all(drafter_of(groups), two, tmp_path, "key")]
    for each in drafted:
        tally.count(each)
    (found,) = tally.conclude()
    first = [f"kind {n}" for n in range(20) if n % 3][:10]
    assert found == LeftOut("train", 46, 70, "too few clips", 20, first)
    assert found.line == (
        "split train: 46 of 70 groups left out: too few clips: kind 1; kind 2; kind 4; kind 5; "
        "kind 7; kind 8; kind 10; kind 11; kind 13; kind 14; and 10 more"
    )
    rows = [row for shard in pack("tiny", 10, drafted) for row in shard.rows.to_pylist()]
    assert len({row["group"] for row in rows if row["split"] == "train"}) == 70 - 46


@pytest.mark.usefixtures("_shared_from")
def test_a_split_that_loses_all_groups_is_an_error(two: Engine, tmp_path: Path) -> None:
    groups = {"train": Sparse(70, 3), "test": Sparse(9, 0)}
    tally = Tally({"train": 70, "test": 9}, Shortage(" (2 clips were refused)", ""))
    for each in draft_all(drafter_of(groups), two, tmp_path, "key"):
        tally.count(each)
    with pytest.raises(PlanError) as caught:
        tally.conclude()
    assert str(caught.value) == (
        "split test: no group can be made; kind 8: too few clips (2 clips were refused) (add clips)"
    )


def test_a_plan_tells_what_it_goes_without_also_when_it_is_read_again(
    two: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One clip a class: where both orders of a pair would sound the same, one is kept."""
    monkeypatch.setattr("pipelines.builder.plan.draft_all", draft_all)  # else plans are made once
    spec = Spec.model_validate(ONE_CLIP_EACH)
    made = []
    for least in (1, 10_000):
        monkeypatch.setattr(drafting, "LEAST_SHARED", least)
        out = tmp_path / str(least)
        library, places = locate_library(spec, out, two, UNOBSERVED)
        for _ in range(2):
            plan(spec, library, places, two, UNOBSERVED)
            (left_out,) = Findings.read(places.manifests, {}).left_out
        made.append(product(out))
    assert made[0] == made[1]
    scenes = pq.read_table(places.manifests / "plan.parquet").column("scene").to_pylist()
    assert len(set(scenes)) == len(scenes) == 3 * (left_out.of - left_out.groups)
    assert (left_out.of, left_out.groups > 0) == (20, True)
