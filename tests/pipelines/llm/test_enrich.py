"""From a plan through a model to a corpus: what was bought is in it, with its maker's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.builder.build import build, plan_library
from pipelines.checks.audit import audit
from pipelines.config.spec import Spec
from pipelines.llm.run import generate
from synth.base.errors import PlanError, SpecError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from tests.kit.builds import TINY, merged
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import KEY, KEY_VARIABLE, settings, turn_round

GENERATOR = "llm:order-negatives@1/tiny"


def spec(**changes: Any) -> Spec:
    recipe = {"triplets": {"style": "natural", "crossfade_s": 0.25, "max_event_s": 1.0}}
    return Spec.model_validate(merged(merged(TINY, {"recipe": recipe}), changes))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the model says of the tiny corpus's plan; not to be changed."""
    folder = tmp_path_factory.mktemp("answers")
    _, places, _ = plan_library(spec(), folder / "plan", 0, UNOBSERVED)
    out = folder / "orders.parquet"
    given = {"task": "order-negatives", "source": places.manifests, "out": out}
    with LlmServer(turn_round, key=KEY) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_VARIABLE, KEY)
        summary = generate(settings(folder, server.base_url, [], **given), UNOBSERVED)
    assert summary.answered > 100
    assert summary.left == 0
    return out


def test_answers_become_captions_of_their_samples(answers: Path, tmp_path: Path) -> None:
    summary = build(spec(enrich=[str(answers)]), tmp_path / "out", 0)
    plain = build(spec(), tmp_path / "out", 0)
    assert summary.version != plain.version
    manifests = Path(summary.paths["manifests"])
    rows = Corpus.open(manifests).samples().to_pylist()
    bought = {row["id"]: row["texts"] for row in pq.read_table(answers).to_pylist()}
    made = {
        row["id"]: [each["text"] for each in row["negatives"] if each["generator"] == GENERATOR]
        for row in rows
    }
    assert made == bought
    assert sum(map(len, made.values())) > 10
    found = audit(manifests)
    assert not found.violations
    assert found.negatives == sum(len(row["negatives"]) for row in rows)
    assert Corpus.open(manifests).facts["generators"][GENERATOR] == sum(map(len, made.values()))
    card = (Path(summary.paths["shards"]) / "README.md").read_text()
    assert GENERATOR in card
    assert "Some were written by a language model" in card
    assert "no language model took part" in (Path(plain.paths["shards"]) / "README.md").read_text()
    files = [*tmp_path.rglob("*"), *answers.parent.rglob("*")]
    assert not [path for path in files if path.is_file() and KEY.encode() in path.read_bytes()]


def test_answers_that_do_not_fit_are_refused(answers: Path, tmp_path: Path) -> None:
    other = spec(enrich=[str(answers)], seed=8)
    with pytest.raises(PlanError, match=r"the answer does not fit the sample.*segue llm run"):
        build(other, tmp_path / "out", 0)
    few = spec(enrich=[str(answers)], recipe={"triplets": {"most_groups": 3}})
    with pytest.raises(PlanError, match="the plan has no such sample"):
        build(few, tmp_path / "out", 0)
    with pytest.raises(SpecError, match=r"none\.parquet: cannot be read"):
        build(spec(enrich=[str(tmp_path / "none.parquet")]), tmp_path / "out", 0)
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(SpecError, match="not a file of answers"):
        build(spec(enrich=[str(tmp_path / "other.parquet")]), tmp_path / "out", 0)


@pytest.mark.parametrize("generator", [None, "mymodel"])
def test_unknown_authors_are_refused(answers: Path, tmp_path: Path, generator: str | None) -> None:
    table = pq.read_table(answers)
    column = pa.array([generator] * len(table), pa.string())
    table = table.set_column(table.schema.get_field_index("generator"), "generator", column)
    pq.write_table(table, tmp_path / "doctored.parquet")
    with pytest.raises(SpecError, match=r"doctored\.parquet: .*not the provenance of a caption"):
        build(spec(enrich=[str(tmp_path / "doctored.parquet")]), tmp_path / "out", 0)
