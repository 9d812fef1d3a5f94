"""The report of a training run: curves, results with intervals, and what it learnt from."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.table import Table

from pipelines.cli.look.report import report_command
from pipelines.look.page import write_page
from pipelines.look.report.corpus import run_page
from synth.base.doors import make_console
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import UNOBSERVED
from tests.kit.accessible import MODES, check_accessible, check_focus, check_still
from tests.kit.chromium import Reader, launched
from tests.kit.pages import check_page
from train.bench.corpus import corpus_benchmark
from train.bench.evaluate import Evaluation, assess
from train.bench.metrics.measure import Metric
from train.bench.opening import open_embedder
from train.bench.report import FACTS_FILE, METRICS_FILE, write_report
from train.bench.settings import Task
from train.cli.compare import compare_command
from train.cli.eval import _name_folder
from train.cli.show import metric_table
from train.config.loss import InfoNce
from train.config.model import AudioConfig, ModelConfig
from train.config.run import Stage, TrainConfig
from train.engine.loop import train
from train.engine.run_folder import load_tensors, save_tensors
from train.model.weights import weights_digest

FOUND = Evaluation(
    metrics={
        "bat": Metric(0.75, 0.521, 0.904, 0.5, 1234),
        "text_to_audio_median_rank": Metric(3.0, 2.0, 4.5, 10.0, 20),
        "triplets": Metric(float("nan"), float("nan"), float("nan"), 1 / 3, 0),
    },
    facts={"model": "runs/<b>", "corpus": "tiny", "split": "test"},
    left_out={"negatives: samples without a false text": 3},
)

DIGEST = "0" * 64


@pytest.fixture(scope="module")
def trained(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that has ended; not to be changed."""
    config = TrainConfig(
        corpus=corpus,
        out=tmp_path_factory.mktemp("trained") / "run",
        model=ModelConfig(dim=16, audio=AudioConfig(width=8, mels=16)),
        stages=(Stage(steps=5, relations=("before",), loss=InfoNce()), Stage(steps=7)),
        batch=9,
        tensorboard=False,
        log_every=1,
        eval_every=4,
    )
    train(config)
    return config.out


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return shutil.copytree(trained, tmp_path / "run")


def test_a_run_is_told_with_its_curves_and_the_way_to_test_it(run: Path, corpus: Path) -> None:
    page = run_page(run)
    read = check_page(page.html)
    assert page.facts == {
        "run": "run",
        "finished": True,
        "step": 12,
        "steps": 12,
        "evaluations": [],
        "of other weights": [],
    }
    titles = {"Loss, in nats", "Learning rate", "Norm of the gradient"}
    assert all(title in read.text for title in titles)
    assert "ln 9, equal similarities: 2.197" in read.text
    drawn = {each["class"]: each["points"] for each in read.of("polyline")}
    assert {"curve k0", "curve k1"} == set(drawn)
    assert len(drawn["curve k1"].split()) == 3
    facts = json.loads(
        (corpus / (corpus / "latest").read_text().strip() / "corpus.json").read_text()
    )
    for text in (facts["digest"], facts["version"], "info_nce", "before", "segue eval"):
        assert text in read.text
    assert run_page(run).html == page.html


def test_results_are_told_and_drawn_with_interval_and_chance(run: Path) -> None:
    write_report(FOUND, run / "evaluation", plot=False)
    read = check_page(run_page(run).html)
    (drawn,) = (each for each in read.of("svg") if each.get("class") == "interval")
    assert drawn["aria-label"] == "bat: 75.0 %, 95 % interval 52.1 % to 90.4 %, chance 50.0 %"
    (span,) = (each for each in read.of("line") if each.get("class") == "span")
    assert (span["x1"], span["x2"]) == ("52.10%", "90.40%")
    (chance,) = (each for each in read.of("line") if each.get("class") == "chance")
    assert chance["x1"] == "50.00%"
    for text in ("52.1 % to 90.4 %", "1,234", "2.0 to 4.5", "runs/<b>", "33.3 %"):
        assert text in read.text
    assert "negatives: samples without a false text: 3" in read.text
    assert "segue eval RUN" not in read.text


def test_results_of_other_weights_are_told_as_such(run: Path, corpus: Path) -> None:
    found = assess(open_embedder(run), corpus_benchmark(corpus), [Task.BAT], digest=DIGEST)
    assert found.facts["weights"] == DIGEST
    weights = open_embedder(run).digest
    for name, digest in (("now", weights), ("before", DIGEST)):
        facts = {**FOUND.facts, "weights": digest}
        write_report(replace(FOUND, facts=facts), run / name, plot=False)
    page = run_page(run)
    assert page.facts["of other weights"] == ["before"]
    told = check_page(page.html).text
    assert told.count("a test of other weights than those of the run") == 1
    (run / "model.pt").unlink()
    anew = run_page(run)
    assert anew.facts["of other weights"] == ["before", "now"]
    assert "which has not ended" in check_page(anew.html).text


def test_equal_training_gives_equal_weights_whatever_file_they_lie_in(run: Path) -> None:
    weights = load_tensors(run / "model.pt", torch.device("cpu"))["model"]
    save_tensors(run / "again.pt", {"model": dict(reversed(weights.items()))})
    again = load_tensors(run / "again.pt", torch.device("cpu"))["model"]
    assert weights_digest(again) == weights_digest(weights) == open_embedder(run).digest
    name = next(iter(weights))
    assert weights_digest(weights | {name: weights[name] + 1}) != weights_digest(weights)


def test_the_page_can_be_used_without_a_mouse_and_with_little_sight(run: Path) -> None:
    write_report(FOUND, run / "evaluation", plot=False)
    write_page(run_page(run), run / "run.html")
    with launched() as browser:
        for mode in MODES:
            reader = Reader(browser, reduced_motion="reduce", **mode)
            page = reader.open((run / "run.html").as_uri())
            check_accessible(page)
            check_still(page)
            assert "<summary" in check_focus(page)[-1]
            reader.close()


def test_a_nights_results_are_found_too(run: Path) -> None:
    metrics = {name: one.to_json() for name, one in FOUND.metrics.items()}
    (run / "test-metrics.json").write_text(json.dumps(metrics))
    page = run_page(run)
    assert page.facts["evaluations"] == ["test-metrics"]
    assert "52.1 % to 90.4 %" in check_page(page.html).text


def test_a_run_that_goes_on_is_told_as_such(run: Path) -> None:
    (run / "model.pt").unlink()
    with (run / "log.jsonl").open("a") as log:
        log.write('{"step": 13, "lo')
    page = run_page(run)
    assert not page.facts["finished"]
    told = check_page(page.html).text
    assert "not finished: step 12 is the last that is logged" in told


def test_a_moved_corpus_is_not_taken_for_the_one_learnt_from(run: Path, tmp_path: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    config["train"]["corpus"] = str(tmp_path / "elsewhere")
    (run / "config.json").write_text(json.dumps(config))
    assert "is not there now" in check_page(run_page(run).html).text
    (run / "checkpoint.pt").unlink()
    assert "no checkpoint" in check_page(run_page(run).html).text


def test_a_damaged_file_is_one_clear_error(run: Path) -> None:
    for name, text in (
        ("metrics.json", '{"bat": {"value": "high"}}'),
        ("log.jsonl", '{"loss": 1.0}\n'),
        ("log.jsonl", "no JSON\n"),
        ("config.json", "{}"),
        ("checkpoint.pt", "no tensors"),
    ):
        whole = (run / name).read_bytes() if (run / name).exists() else None
        (run / name).write_text(text)
        with pytest.raises(CorpusError, match=name):
            run_page(run)
        (run / name).unlink()
        if whole is not None:
            (run / name).write_bytes(whole)


def test_the_command_tells_runs_from_corpora(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.html"
    told = report_command(run, out, observer=UNOBSERVED).facts
    assert (told["report"], told["run"], told["finished"]) == (str(out), "run", True)
    check_page(out.read_text(encoding="utf-8"))
    with pytest.raises(SpecError, match="has no samples"):
        report_command(run, out, given={"--samples"}, observer=UNOBSERVED)


# `segue compare`: the tests of several runs side by side.


def write_test(run: Path, test: str, facts: dict[str, str] | None = None, **values: float) -> Path:
    """A run's folder with one test in it."""
    folder = run / test
    folder.mkdir(parents=True, exist_ok=True)
    metrics = {
        name: {"value": value, "low": value - 0.1, "high": value + 0.1, "chance": 0.5, "n": 40}
        for name, value in values.items()
    }
    (folder / METRICS_FILE).write_text(json.dumps(metrics))
    if facts:
        (folder / FACTS_FILE).write_text(json.dumps({"facts": facts}))
    return run


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    return [
        write_test(tmp_path / "a" / "seed-0", "eval-pairs-test", order=0.75, group=0.5),
        write_test(tmp_path / "b" / "seed-0", "eval-pairs-test", order=0.55),
    ]


def test_runs_are_told_side_by_side(runs: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
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


def test_what_tests_of_one_name_differ_in_is_told(
    runs: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    same = {"corpus": "pairs", "version": "12ab"}
    for run in runs:
        facts = same | {"seed": "0", "model": str(run), "weights": run.parent.name}
        write_test(run, "eval-pairs-test", facts, order=0.5)
    compare_command(runs).show()
    assert "may differ" not in capsys.readouterr().out
    write_test(runs[1], "eval-pairs-test", same | {"seed": "0", "retrieval": "5 sounds"}, order=0.5)
    compare_command(runs).show()
    shown = "".join(capsys.readouterr().out.split())  # long paths are folded
    assert shown.count("maydiffer") == 1
    assert f"maydiffer;retrieval:nottoldfor{runs[0]},5soundsfor{runs[1]}" in shown
    (runs[1] / "eval-pairs-test" / FACTS_FILE).unlink()
    compare_command(runs).show()
    shown = "".join(capsys.readouterr().out.split())
    assert f"nobodyknowswhat{runs[1]}wastestedon" in shown


def test_results_are_kept_apart_by_what_was_tested() -> None:
    for data, facts, name in (
        ("data_manifests/pairs", {"corpus": "pairs", "split": "test"}, "eval-pairs-test"),
        ("AudioCaps/test.csv", {"table": "test.csv"}, "eval-AudioCaps-test.csv"),
        ("VGGSound/test.csv", {"table": "test.csv", "fold": "1"}, "eval-VGGSound-test.csv-1"),
        ("probes/bat.parquet", {"set": "bat.parquet"}, "eval-probes-bat.parquet"),
    ):
        assert _name_folder(Path(data), facts) == name


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
    with pytest.raises(CorpusError, match="nothing: no such folder"):
        compare_command([runs[0], tmp_path / "nothing"])
    with pytest.raises(CorpusError, match="no test nowhere"):
        compare_command(runs, "nowhere")
    other = write_test(tmp_path / "c", "eval-other-test", order=0.6)
    with pytest.raises(CorpusError, match="no test that two runs share"):
        compare_command([runs[0], other])
