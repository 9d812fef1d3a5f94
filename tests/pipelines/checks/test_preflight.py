"""Preflight: what a plan gives each rank, against webdataset and the trainer themselves."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import webdataset
from hypothesis import assume, given
from hypothesis import strategies as st

from pipelines.checks.preflight import disk
from pipelines.checks.preflight.judge import (
    describe_fixes,
    find_best_shards,
    find_faults,
    refuse_unfit,
)
from pipelines.checks.preflight.report import PreflightReport, run_preflight
from pipelines.checks.preflight.splits import (
    Deal,
    PlannedSplit,
    TrainerShare,
    deal_shards,
    pack_shards,
)
from pipelines.checks.preflight.training import LoaderKind, Training
from pipelines.config.spec import Spec
from synth.base.errors import PlanError, SpecError
from synth.base.progress import UNOBSERVED
from tests.kit.builds import segue_here
from train.data.order import BatchOrder

counts = st.integers(1, 6)
sizes = st.lists(st.integers(1, 9), min_size=1, max_size=60)


@contextmanager
def rank_of(rank: int, ranks: int, worker: int, workers: int) -> Iterator[None]:
    """The environment by which webdataset knows which process it is."""
    names = {"RANK": rank, "WORLD_SIZE": ranks, "WORKER": worker, "NUM_WORKERS": workers}
    with mock.patch.dict(os.environ, {name: str(value) for name, value in names.items()}):
        yield


def planned(groups: Sequence[int], shards: int, name: str = "train") -> PlannedSplit:
    return PlannedSplit(name, tuple(groups), tuple(pack_shards(groups, shards)))


# The deal


@given(st.integers(0, 60), counts, counts)
def test_the_deal_is_that_of_webdataset(shards: int, ranks: int, workers: int) -> None:
    places = deal_shards(shards, ranks, workers)
    for rank in range(ranks):
        for worker in range(workers):
            with rank_of(rank, ranks, worker, workers):
                mine = webdataset.split_by_node(iter(range(shards)))
                hand = np.flatnonzero(places == rank * workers + worker).tolist()
                assert list(webdataset.split_by_worker(mine)) == hand


@given(sizes, counts, counts, st.integers(1, 8))
def test_all_ranks_can_take_the_steps_and_nothing_is_seen_twice(
    shards: list[int], ranks: int, workers: int, batch: int
) -> None:
    deal = Deal.of(shards, ranks, workers, batch)
    for rank in deal.samples.tolist():
        assert sum(len(range(batch, hand + 1, batch)) for hand in rank) >= deal.steps
    assert deal.steps in deal.steps_of_ranks
    assert (deal.shards.sum(), deal.samples.sum()) == (len(shards), sum(shards))
    assert deal.unseen == sum(shards) - deal.steps * batch * ranks >= 0


@given(sizes, counts, counts, st.randoms())
def test_no_order_of_the_shards_gives_a_worker_less_than_the_poorest_hand(
    shards: list[int], ranks: int, workers: int, random: Any
) -> None:
    least = Deal.of(shards, ranks, workers, 1).poorest
    shuffled = list(shards)
    random.shuffle(shuffled)
    deal = Deal.of(shuffled, ranks, workers, 1)
    assert deal.samples.min() >= least[1]
    assert deal.shards.min() == least[0]


# webdataset over a built corpus


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root whose bank is filled by the first who asks; nothing is to be rendered there."""
    return tmp_path_factory.mktemp("ingested")


@pytest.fixture(scope="module")
def shard_files(tiny_corpus: Path) -> list[str]:
    return sorted(map(str, tiny_corpus.glob("shards/tiny/*/train/*.tar")))


def held(urls: Sequence[str]) -> list[int]:
    return [len(list(webdataset.WebDataset(url, shardshuffle=False))) for url in urls]


def pipeline(urls: list[str], batch: int) -> webdataset.DataPipeline:
    return webdataset.DataPipeline(
        webdataset.SimpleShardList(urls),
        webdataset.split_by_node,
        webdataset.split_by_worker,
        webdataset.tarfile_to_samples(),
        webdataset.batched(batch, partial=False),
    )


@pytest.mark.slow
def test_a_loader_ended_at_the_steps_gives_every_rank_as_many(shard_files: list[str]) -> None:
    """With real loader workers, as a training script has them."""
    ranks, workers, batch = 2, 2, 4
    deal = Deal.of(held(shard_files), ranks, workers, batch)
    assert deal.steps > 0
    for rank in range(ranks):
        with mock.patch.dict(os.environ, {"RANK": str(rank), "WORLD_SIZE": str(ranks)}):
            data = pipeline(shard_files, batch)
            # Spawned: a fork of the test process ends as its libraries see fit.
            loader = webdataset.WebLoader(
                data,
                batch_size=None,
                num_workers=workers,
                multiprocessing_context="spawn",
                persistent_workers=True,
            )
            assert sum(1 for _ in loader) == deal.steps_of_ranks[rank]
            assert sum(1 for _ in loader.with_epoch(deal.steps)) == deal.steps


# The trainer


equal_groups = st.builds(
    lambda size, number: [size] * number, st.integers(1, 9), st.integers(1, 60)
)


@given(equal_groups | sizes, st.integers(1, 40), counts, st.booleans())
def test_the_share_is_the_trainers(groups: list[int], batch: int, ranks: int, keep: bool) -> None:
    assume(not keep or max(groups) <= batch)
    share = TrainerShare.of(groups, batch, ranks, keep)
    assume(share.units >= ranks)
    numbers = np.repeat(np.arange(len(groups)), groups)
    pool = np.arange(sum(groups))
    if share.is_alone:
        with pytest.raises(SpecError, match="alone in a batch"):
            BatchOrder.of(pool, numbers, batch, keep, 3, "stage-0")
        return
    order = BatchOrder.of(pool, numbers, batch, keep, 3, "stage-0")
    assert (order.batches, order.per_batch) == (share.steps, share.units)
    low, high = share.rank_samples
    unseen = []
    for epoch in range(2):
        seen = set()
        for step in range(epoch * order.batches, (epoch + 1) * order.batches):
            parts = [order.batch(step, rank, ranks) for rank in range(ranks)]
            assert all(low <= len(part) <= high for part in parts)
            seen.update(np.concatenate(parts).tolist())
        unseen.append(sum(groups) - len(seen))
    assert max(unseen) == share.unseen


# The shards of a plan


@given(sizes, st.integers(1, 30))
def test_packing_never_divides_a_group(groups: list[int], samples: int) -> None:
    shards: list[int] = []
    for size in groups:
        if shards and shards[-1] + size <= samples:
            shards[-1] += size
        else:
            shards.append(size)
    assert pack_shards(groups, samples) == shards


@pytest.mark.parametrize("samples", [1, 4, 9, 1000])
def test_packing_is_the_plans_own(tiny: Callable[..., Spec], ingested: Path, samples: int) -> None:
    spec = tiny(shards={"samples": samples})
    training = Training(1, 1, 3, loaders=(LoaderKind.TRAINER,))
    places, total, report = run_preflight(spec, training, ingested, 0, UNOBSERVED)
    assert sum(split.samples for split in report.splits) == total
    for split in report.splits:
        assert list(split.shards) == pack_shards(split.groups, samples)
    assert not places.shards.exists()


# Refusals


def test_what_would_starve_or_hang_a_rank_is_refused() -> None:
    for groups, shards, training, words in (
        ([3] * 2352, 512, Training(8, 4, 256), "14 shards for 8 ranks x 4 loader workers = 32"),
        ([3] * 100, 3, Training(2, 1, 400, loaders=(LoaderKind.TRAINER,)), "do not fill a batch"),
        ([12] * 100, 12, Training(2, 1, 8), "a group of 12 samples does not fit a batch of 8"),
        ([12] * 100, 12, Training(8, 1, 64), "holds 5 groups of up to 12 samples, too few for 8"),
        ([1] * 101, 10, Training(11, 1, 22), r"may get 1 sample \(in 1 of 11 shards\)"),
    ):
        with pytest.raises(PlanError, match=words) as caught:
            refuse_unfit([planned(groups, shards)], training)
        assert caught.value.fix


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=80),
    st.integers(1, 60),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(1, 12),
    st.sets(st.sampled_from(list(LoaderKind)), min_size=1),
)
def test_what_is_accepted_gives_every_rank_equal_steps_and_what_is_refused_has_a_mend(
    groups: list[int], shards: int, gpus: int, workers: int, each: int, loaders: set[LoaderKind]
) -> None:
    split = planned(groups, shards)
    training = Training(gpus, workers, gpus * each, loaders=tuple(loaders))
    found = find_faults([split], training)
    if found:
        assert describe_fixes([split], training)
        best = find_best_shards([split], training)
        assert best is None or not find_faults([split.repack(best)], training)
        return
    deal = split.deal(training)
    if loaders != {LoaderKind.TRAINER}:
        assert deal.steps > 0
        assert deal.samples.min() >= each
    if LoaderKind.TRAINER in loaders:
        assert split.share(training).steps > 0
        assert min(split.share(training).units_of_ranks) > 0


def test_training_that_cannot_be_foretold_is_refused(
    tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    for training, fix in (
        (Training(8, 1, 4), "--batch 8 or more"),
        (Training(8, 1, 250), "--batch 248 or --batch 256"),
        (Training(1, 1, 8, price_per_gpu_hour=2.0), "--steps-per-s"),
        (Training(1, 1, 8, steps_per_s=float("nan")), "a number"),
    ):
        with pytest.raises(SpecError) as caught:
            run_preflight(tiny(), training, tmp_path / "out", 0, UNOBSERVED)
        assert fix in caught.value.fix
        assert not (tmp_path / "out").exists()


def test_a_split_that_the_plan_has_not_is_told(tiny: Callable[..., Spec], ingested: Path) -> None:
    with pytest.raises(SpecError, match=r"no split val.*train, test"):
        run_preflight(tiny(), Training(1, 1, 4, splits=("val",)), ingested, 0, UNOBSERVED)


# Disk, time, cost


def tiny_report(spec: Spec, out: Path, **changes: Any) -> PreflightReport:
    return run_preflight(spec, Training(2, 1, 8, **changes), out, 0, UNOBSERVED)[2]


def test_the_disk_is_foretold(tiny: Callable[..., Spec], ingested: Path, out: Path) -> None:
    foretold = tiny_report(tiny(), ingested).disk
    assert foretold.ratio.known.startswith("measured on")
    assert foretold.there == 0
    shards = [path.stat().st_size for path in out.rglob("*.tar")]
    padding = 10_240 * len(shards)  # tar ends in zeros, which count in a corpus as small as this
    assert foretold.shards == pytest.approx(sum(shards), abs=padding + 0.1 * sum(shards))
    after = tiny_report(tiny(), out).disk
    assert (after.needed, after.there) == (0, sum(shards))
    other = tiny_report(tiny(seed=8, audio={"format": "wav"}), out).disk.ratio
    assert other.value == pytest.approx(1.0, abs=0.01)


def test_a_corpus_that_does_not_fit_the_disk_is_refused_with_the_numbers(
    tiny: Callable[..., Spec], ingested: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda path: 1_000)
    with pytest.raises(PlanError, match=r"needs \d+\.\d+ MB more .* 0\.00 MB are free.*--out"):
        tiny_report(tiny(), ingested)


def test_cost_follows_from_the_users_numbers(tiny: Callable[..., Spec], ingested: Path) -> None:
    unknown = tiny_report(tiny(), ingested).to_json()
    assert all(each["cost"] is None for each in unknown["cost"].values())
    assert any("--steps-per-s" in note for note in unknown["notes"])
    report = tiny_report(
        tiny(), ingested, epochs=10, steps_per_s=0.01, price_per_gpu_hour=3.0
    ).to_json()
    cost = report["cost"]["trainer"]
    assert cost["steps"] == 10 * report["splits"]["train"]["trainer"]["steps"]
    assert cost["gpu_hours"] == pytest.approx(2 * cost["steps"] / 0.01 / 3600, abs=1e-3)
    assert cost["cost"] == pytest.approx(3 * cost["gpu_hours"], abs=0.01)


def test_no_recordings_no_rendering_time(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    spec = tiny(
        source={"vocabulary": {"labels": ["dog", "rain", "siren", "wind"], "takes": 4}},
        splits={"train": 1.0},
    )
    report = tiny_report(spec, tmp_path)
    assert report.to_json()["render"] is None
    assert report.disk.ratio.known == "assumed"


# The command line


def test_preflight_renders_nothing(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    options = ["--gpus", "2", "--workers", "2", "--batch", "8", "--json"]
    done = segue_here("plan", tiny_file(), "--out", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    line = done.stdout.splitlines()[-1]
    found = json.loads(line)
    train = found["preflight"]["splits"]["train"]
    assert train["dealt"]["shards_per_worker"]["min"] >= 1
    assert train["dealt"]["steps"] * 8 + train["dealt"]["unseen"] == train["samples"]
    assert found["preflight"]["render"]["measured_samples"] > 0
    assert not list((tmp_path / "out").rglob("*.tar"))


def test_a_refusals_fix_mends(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    options = ["--out", tmp_path / "out", "--gpus", "4", "--workers", "2", "--batch", "12"]
    failed = segue_here("plan", tiny_file(shards={"samples": 60}), *options, "--json")
    assert failed.returncode == 1
    found = json.loads(failed.stdout.splitlines()[-1])
    assert "4 ranks x 2 loader workers = 8" in found["error"]
    assert len(failed.stderr.splitlines()) == 2
    samples = re.search(r"shards: {samples: (\d+)}", found["fix"])
    fixed = segue_here("plan", tiny_file(shards={"samples": int(samples[1])}), *options)
    assert fixed.returncode == 0, fixed.stderr
    assert "steps on all ranks" in fixed.stdout


def test_plan_alone_says_what_it_said(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    done = segue_here("plan", tiny_file(), "--out", tmp_path / "out", "--workers", "0", "--json")
    names = "samples seconds paths quarantined findings blocked"
    assert set(json.loads(done.stdout.splitlines()[-1])) == set(names.split())
    alone = segue_here("plan", tiny_file(), "--out", tmp_path / "out", "--gpus", "2")
    assert alone.returncode == 1
    assert "--gpus and --batch go together" in alone.stderr
