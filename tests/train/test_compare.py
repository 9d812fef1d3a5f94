"""`segue compare`: the tests of several runs side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.table import Table

from synth.base.doors import make_console
from synth.base.errors import CorpusError, SpecError
from train.bench.metrics import Metric
from train.bench.report import METRICS_FILE
from train.cli.compare import compare_command
from train.cli.show import metric_table


def write_test(run: Path, test: str, **values: float) -> Path:
    """A run's folder with one test in it."""
    folder = run / test
    folder.mkdir(parents=True, exist_ok=True)
    metrics = {
        name: {"value": value, "low": value - 0.1, "high": value + 0.1, "chance": 0.5, "n": 40}
        for name, value in values.items()
    }
    (folder / METRICS_FILE).write_text(json.dumps(metrics))
    return run


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [
        write_test(tmp_path / "a" / "seed-0", "eval-pairs-test", order=0.75, group=0.5),
        write_test(tmp_path / "b" / "seed-0", "eval-pairs-test", order=0.55),
    ]


def test_what_runs_share_is_told_side_by_side(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    write_test(runs[1], "eval-other-test", order=0.9)
    result = compare_command(runs)
    assert list(result.facts["tests"]) == ["eval-pairs-test"], "one run alone has the other test"
    told = result.facts["tests"]["eval-pairs-test"]
    assert (told[str(runs[0])]["order"]["value"], told[str(runs[1])]["order"]["value"]) == (
        0.75,
        0.55,
    )
    result.show()
    shown = capsys.readouterr().out
    assert "a/seed-0" in shown
    assert "b/seed-0" in shown
    rows = {line.split()[1]: line for line in shown.splitlines() if "50.0 %" in line}
    assert "75.0 % (65.0 to 85.0)" in rows["order"]
    assert rows["group"].rstrip("│ ").endswith("-"), "the second run has no such metric"


def test_tables_cut_nothing_at_80_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    metric = Metric(0.977, 0.96, 0.991, 0.5, 1075, text=0.5, trivial=0.553)
    make_console().print(metric_table("t", {"negatives_relation": metric}), soft_wrap=False)
    assert "97.7 % (96.0 to 99.1)   50.0 %   50.0 %    55.3 %   1,075" in capsys.readouterr().out
    names = [f"/tmp/newcomer/{'a' * 30}/baseline", f"/tmp/newcomer/{'a' * 30}/changed"]
    table = Table("model", *["text"] * 4, title="t")
    for name in names:
        table.add_row(name, *["97.7 % (96.0"] * 4)
    make_console(soft_wrap=False).print(table)
    printed = capsys.readouterr().out
    assert "…" not in printed
    folded = "".join(line.split("│")[1].strip() for line in printed.splitlines() if "│" in line)
    assert all(name in folded for name in names)


def test_what_cannot_be_compared_is_one_clear_error(runs: list[Path], tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="expected two runs or more"):
        compare_command([runs[0], runs[0] / ".." / "seed-0"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="has no test results"):
        compare_command([runs[0], tmp_path / "empty"])
    with pytest.raises(CorpusError, match="no test nowhere"):
        compare_command(runs, "nowhere")
    other = write_test(tmp_path / "c", "eval-other-test", order=0.6)
    with pytest.raises(CorpusError, match="no test that two runs share"):
        compare_command([runs[0], other])
