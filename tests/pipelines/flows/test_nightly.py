"""The night's settings and gates: what is asked of a version before `latest` points to it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from pipelines.builder.schedule import RenderSettings
from pipelines.config.spec import Spec
from pipelines.engines.engine import engine
from pipelines.flows import night
from pipelines.flows.night import Gate, compare_metrics, judge, refuse_failed, write_record
from pipelines.flows.schedule import GateSettings, read_nightly, settings_beside
from pipelines.llm.runner import Stop
from pipelines.llm.settings import AskSettings
from pipelines.store.places import Places
from pipelines.store.store import Store
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import Silent
from synth.corpus.corpus import LATEST_FILE, QUARANTINE_FILE, SAMPLES_FILE
from tests.kit.builds import UNCERTIFIED, rewrite_rows


@pytest.fixture
def places(tiny_corpus: Path, tmp_path: Path) -> Places:
    """A built corpus of the test's own, whose one version is the last one."""
    out = tmp_path / "out"
    shutil.copytree(tiny_corpus, out, ignore=UNCERTIFIED)
    versions = out / "data_manifests" / "tiny"
    return Places(Store(out), "tiny", (versions / LATEST_FILE).read_text().strip())


def settings_file(folder: Path, value: Any) -> Path:
    path = folder / "tiny.nightly.yaml"
    path.write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return path


def by_name(gates: list[Gate]) -> dict[str, Gate]:
    return {gate.name: gate for gate in gates}


def test_wrong_settings_are_one_clear_error(tmp_path: Path) -> None:
    cases: list[tuple[Any, str]] = [
        ({"gate": {}}, "unknown setting 'gate'; did you mean 'gates'"),
        ({"gates": {"quarantine": 2}}, "gates.quarantine: "),
        ({"render": {"timeout_s": 0}}, "render.timeout_s: "),
        ({"render": {"retrys": 1}}, "render has no setting 'retrys'; did you mean 'retries'"),
        ({"gates": {"metrics": {"bat": 0.1}}}, "compare trained models"),
        ({"gates": {"metrics": {"median_rank": 1}}, "train": {}}, "lower is better"),
        ("gates: {samples: 1}\ngates: {}\n", "'gates' is given twice"),
        ("gates: !!python/name:os.system\n", "not YAML"),
        ("- gates\n", "expected keys and values"),
    ]
    for value, complaint in cases:
        with pytest.raises(SpecError, match=r"tiny\.nightly\.yaml") as caught:
            read_nightly(settings_file(tmp_path, value))
        assert complaint in str(caught.value)


def test_settings_lie_beside_the_spec_and_their_paths_are_taken_from_there(tmp_path: Path) -> None:
    assert settings_beside(tmp_path / "tiny.yaml") is None
    task = {"task": "paraphrase", "out": "said.parquet", "model": "m"}
    settings_file(tmp_path, {"enrich": [task], "train": {"config": "model.yaml"}})
    found = settings_beside(tmp_path / "tiny.yaml")
    assert found is not None
    read = read_nightly(found)
    assert read.enrich[0].out == tmp_path / "said.parquet"
    assert read.train is not None
    assert read.train.config == tmp_path / "model.yaml"


def test_good_version_passes_every_gate_and_says_what_was_found(places: Places) -> None:
    gates = judge(places, GateSettings(blind=1.0, trivial=1.0), Silent())
    assert [gate.name for gate in gates] == [
        "audit",
        "quarantine",
        "samples",
        "leaked",
        "blind",
        "trivial",
    ]
    assert all(gate.passed for gate in gates)
    report = write_record(places, gates, {}).read_text()
    assert report.startswith(f"# tiny {places.version}: promoted\n")
    refuse_failed(places, gates)


def quieter(rows: list[dict[str, Any]]) -> None:
    rows[0]["gain_db"] -= 1.0


def truer(rows: list[dict[str, Any]]) -> None:
    rows[0]["negatives"] = rows[0]["positives"] or rows[1]["positives"]


def telltale(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        for negative in row["negatives"]:
            negative["text"] += " in vain"


def refusals(rows: list[dict[str, Any]]) -> None:
    names = ("id", "location", "stage", "reason")
    rows += [dict.fromkeys(names, "x") | {"id": f"c{n}"} for n in range(5)]


@pytest.mark.parametrize(
    ("gate", "settings", "name", "change", "found"),
    [
        ("audit", {}, SAMPLES_FILE, truer, "{id}"),
        ("audio", {"audio": 12}, SAMPLES_FILE, quieter, "1 finding in 12 samples, first in {id}"),
        ("blind", {"blind": 0.6}, SAMPLES_FILE, telltale, "100.0%"),
        ("quarantine", {}, QUARANTINE_FILE, refusals, "20.0% of 25 clips"),
        ("samples", {"samples": 1.5}, SAMPLES_FILE, len, "144"),
    ],
    ids=["audit", "audio", "blind", "quarantine", "samples"],
)
def test_version_that_is_not_as_it_should_be_is_stopped(
    places: Places,
    gate: str,
    settings: dict[str, Any],
    name: str,
    change: Callable[[list[dict[str, Any]]], object],
    found: str,
) -> None:
    if gate == "audio":
        heard = by_name(judge(places, GateSettings(**settings), Silent()))["audio"]
        assert (heard.passed, heard.found) == (True, "0 findings in 12 samples")
    rows = rewrite_rows(places.manifests / name, change)
    gates = judge(places, GateSettings(**settings), Silent())
    assert not by_name(gates)[gate].passed
    assert found.format(**rows[0]) in by_name(gates)[gate].found
    with pytest.raises(CorpusError, match=rf"tiny \w+ is not promoted: .*{gate}: ") as caught:
        refuse_failed(places, gates)
    assert f"`latest` stays at {places.version}" in caught.value.fix


def test_model_that_is_worse_than_the_last_versions_is_stopped(places: Places) -> None:
    wanted = GateSettings(metrics={"bat": 0.02})
    first = compare_metrics(places, wanted, {"bat": {"value": 0.1}})
    assert by_name(first)["bat"].passed
    write_record(places, first, {"bat": {"value": 0.80}})
    assert by_name(compare_metrics(places, wanted, {"bat": {"value": 0.79}}))["bat"].passed
    worse = by_name(compare_metrics(places, wanted, {"bat": {"value": 0.77}}))["bat"]
    assert (worse.passed, worse.found, worse.wanted) == (False, "0.7700", "0.7800 or more")
    with pytest.raises(CorpusError, match="the test has no metric 'bat'"):
        compare_metrics(places, wanted, {"r1": {"value": 0.5}})


def test_interrupt_that_a_task_of_a_language_model_has_met_ends_the_night(
    tmp_path: Path, tiny: Callable[..., Spec], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "said.parquet"
    task = AskSettings(task="paraphrase", out=said, model="m", local=True)
    stopped = SimpleNamespace(stopped=Stop.for_interrupt())
    monkeypatch.setattr(night, "generate", lambda settings, observer: stopped)
    monkeypatch.setattr(
        night, "locate_library", lambda *_: (None, SimpleNamespace(manifests=tmp_path))
    )
    monkeypatch.setattr(night, "plan", lambda *_: [])
    spec = tiny().model_copy(update={"enrich": (said,)})
    with pytest.raises(KeyboardInterrupt), engine(0) as where:
        night.buy(spec, [task], tmp_path, where, Silent())


def test_settings_of_all_defaults_need_no_file(tmp_path: Path) -> None:
    assert (read_nightly(None).gates.leaked, read_nightly(None).gates.audio) == (0, None)
    assert read_nightly(None).render == RenderSettings()
    assert read_nightly(settings_file(tmp_path, "")).train is None
