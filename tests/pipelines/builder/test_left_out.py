"""Groups that a plan goes without: counted and told, and an error where a split loses all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.builder import drafting
from pipelines.builder.build import locate_library
from pipelines.builder.drafting import draft_all
from pipelines.builder.findings import Findings, LeftOut, Tally
from pipelines.builder.plan import pack, plan
from pipelines.builder.usable import Shortage
from pipelines.config.spec import Spec
from pipelines.engines.engine import Engine, engine
from synth.base.errors import PlanError
from synth.base.progress import Silent
from tests.kit.builds import product
from tests.kit.drafted import Sparse, drafter_of

ONE_CLIP_EACH: dict[str, Any] = {
    "corpus": "words",
    "source": {"vocabulary": {"labels": ["Dog", "Rain", "Siren", "Wind", "Frog"], "takes": 1}},
    "recipe": "triplets",
    "splits": {"test": 1.0},
}


@pytest.fixture(scope="module")
def two() -> Any:
    with engine(2) as found:
        yield found


@pytest.fixture(params=[1, 10_000])
def _shared_from(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafted by the workers, or by this process."""
    monkeypatch.setattr(drafting, "LEAST_SHARED", request.param)


@pytest.mark.usefixtures("_shared_from")
def test_groups_left_out_are_counted_with_the_first_of_their_kinds(
    two: Engine, tmp_path: Path
) -> None:
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
        library, places = locate_library(spec, out, two, Silent())
        for _ in range(2):
            plan(spec, library, places, two, Silent())
            (left_out,) = Findings.read(places.manifests, {}).left_out
        made.append(product(out))
    assert made[0] == made[1]
    scenes = pq.read_table(places.manifests / "plan.parquet").column("scene").to_pylist()
    assert len(set(scenes)) == len(scenes) == 3 * (left_out.of - left_out.groups)
    assert (left_out.of, left_out.groups > 0) == (20, True)
