"""What a test leaves on disk, and what its figures say in words."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from train.bench.evaluate import Evaluation
from train.bench.metrics.measure import Metric
from train.bench.report import format_markdown, write_report
from train.bench.verdicts import explain_metrics, read_glossary, verdicts

FOUND = Evaluation(
    metrics={
        "bat": Metric(0.75, 0.5, 0.9, 0.5, 1234),
        "text_to_audio_median_rank": Metric(3.0, 2.0, 4.5, 10.0, 20),
        "zste_t2a": Metric(0.5, 0.25, 0.75, 2 / 2450, 20),
        "triplets": Metric(float("nan"), float("nan"), float("nan"), 1 / 3, 0),
    },
    facts={"model": "runs/a|b", "corpus": "tiny", "version": "12ab", "split": "test", "seed": "0"},
    left_out={"negatives: samples without a false text": 3},
)


def test_json_holds_every_metric_and_markdown_can_be_read(tmp_path: Path) -> None:
    files = write_report(FOUND, tmp_path / "report")
    assert set(files) == {"metrics.json", "facts.json", "report.md", "report.png"}
    metrics = json.loads(files["metrics.json"].read_text())
    assert list(metrics) == list(FOUND.metrics)
    assert metrics["bat"] == {"value": 0.75, "low": 0.5, "high": 0.9, "chance": 0.5, "n": 1234}
    assert metrics["triplets"]["value"] is None
    facts = json.loads(files["facts.json"].read_text())
    assert facts == {"facts": dict(FOUND.facts), "left_out": dict(FOUND.left_out)}
    lines = files["report.md"].read_text().splitlines()
    assert "model: runs/a\\|b, corpus: tiny, version: 12ab, split: test, seed: 0" in lines
    assert "| bat | 75.0 % | 50.0 % to 90.0 % | 50.0 % | 1,234 |" in lines
    assert "| text_to_audio_median_rank | 3.0 | 2.0 to 4.5 | 10.0 | 20 |" in lines
    assert "| zste_t2a | 50.0 % | 25.0 % to 75.0 % | 0.082 % | 20 |" in lines
    assert "| triplets | - | - to - | 33.3 % | 0 |" in lines
    assert "- negatives: samples without a false text: 3" in lines
    assert files["report.png"].read_bytes().startswith(b"\x89PNG")
    assert "report.png" not in write_report(FOUND, tmp_path / "other", plot=False)


def test_what_needs_no_listening_stands_beside_chance(tmp_path: Path) -> None:
    told = replace(FOUND.metrics["bat"], text=0.5, trivial=0.625)
    files = write_report(replace(FOUND, metrics={**FOUND.metrics, "bat": told}), tmp_path)
    metrics = json.loads(files["metrics.json"].read_text())
    assert (metrics["bat"]["text"], metrics["bat"]["trivial"]) == (0.5, 0.625)
    lines = files["report.md"].read_text().splitlines()
    assert "| metric | value | 95 % interval | chance | text alone | trivial audio | n |" in lines
    assert "| bat | 75.0 % | 50.0 % to 90.0 % | 50.0 % | 50.0 % | 62.5 % | 1,234 |" in lines
    assert "| triplets | - | - to - | 33.3 % | - | - | 0 |" in lines


def test_equal_results_give_equal_bytes(tmp_path: Path) -> None:
    first, second = (write_report(FOUND, tmp_path / name) for name in "ab")
    for name in ("metrics.json", "facts.json", "report.md"):
        assert first[name].read_bytes() == second[name].read_bytes()
    assert format_markdown(FOUND) == format_markdown(FOUND)


def test_a_plots_title_takes_any_name(tmp_path: Path) -> None:
    named = replace(FOUND, facts={"model": r"runs/$\x$/" + 30 * "long/", "table": "clotho.csv"})
    assert write_report(named, tmp_path)["report.png"].stat().st_size > 0


# What the figures of a test say in words.


def metric(value: float, low: float, high: float, chance: float = 0.5) -> Metric:
    return Metric(value, low, high, chance, 100)


def test_verdicts_leave_chance_out() -> None:
    heard, not_told, turned = metric(0.7, 0.6, 0.8), metric(0.5, 0.4, 0.6), metric(0.2, 0.1, 0.3)
    assert "order: heard (" in verdicts({"bat": heard, "negatives_reorder": heard})[0]
    assert "order: no different from chance" in verdicts({"bat": not_told})[0]
    assert "order: partly heard" in verdicts({"bat": heard, "negatives_reorder": not_told})[0]
    assert "below chance" in verdicts({"bat": turned})[0]

    def said(*figures: float) -> str:
        return verdicts({"triplets": metric(*figures, chance=1 / 3)})[0]

    assert "told apart" in said(0.8, 0.7, 0.9)
    assert "not beyond recognising while alone" in said(0.66, 0.6, 0.7)
    assert "no different from chance" in said(0.35, 0.3, 0.4)
    assert "below chance" in said(0.0, 0.0, 0.0)
    assert "below chance" in verdicts({"text_to_audio_r1": metric(0, 0, 0.01, 0.02)})[0]
    (told,) = verdicts({"audio_to_text_r1": metric(0.2, 0.1, 0.3, 0.02)})
    assert "R@1 is 10 times chance" in told
    assert verdicts({"bat": metric(math.nan, math.nan, math.nan)}) == ()
    assert verdicts({"compa_all_text": metric(0.3, 0.2, 0.4, 0.25)}) == ()


def test_every_metric_is_explained_by_the_entry_nearest_to_its_name() -> None:
    assert list(explain_metrics(["zste_t5a_half_credit"])) == ["zste_t5a_half_credit"]
    assert list(explain_metrics(["negation_half_audio_to_text_r10"])) == ["negation_*"]
    assert list(explain_metrics(["audio_to_text_r1", "text_to_audio_r1"])) == ["*_r1"]
    assert list(explain_metrics(["pte_original_r1", "as_swapped_r10"])) == ["pte_*", "as_*"]
    assert all(
        list(explain_metrics([name.replace("*", "x")])) == [name] for name in read_glossary()
    )
