"""Schedules: nights that begin by themselves, one at a time, and render nothing twice."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import WorkPool
from prefect.client.schemas.responses import DeploymentResponse
from prefect.states import Pending
from prefect.variables import Variable
from prefect.workers.process import ProcessJobConfiguration

from pipelines.builder.schedule import RenderSettings
from pipelines.cli.__main__ import AGAIN, STOPPED
from pipelines.config.spec import Spec
from pipelines.engines.engine import engine
from pipelines.flows import night
from pipelines.flows.holder import HOME, bury_all_runs
from pipelines.flows.night import Gate, compare_metrics, judge, refuse_failed, write_record
from pipelines.flows.schedule import (
    HEADER,
    GateSettings,
    Night,
    NightlySettings,
    Times,
    read_nightly,
    settings_beside,
    write_prefect_yaml,
)
from pipelines.flows.servers import running_server
from pipelines.flows.serving import NightRun, deployment_of, known_server, last_runs, register
from pipelines.llm.runner import Stop
from pipelines.llm.settings import AskSettings
from pipelines.store.places import Places
from pipelines.store.store import Store
from synth.base.errors import CorpusError, SegueError, SpecError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import LATEST_FILE, QUARANTINE_FILE, SAMPLES_FILE
from tests.kit.builds import TINY, UNCERTIFIED, product, rewrite_rows, segue_here
from tests.kit.prefect_database import lend_database
from tests.kit.started import marked, start_segue
from tests.kit.tables import read_data
from tests.kit.waiting import PATIENCE_S, wait_for

NIGHTS = 2
"""The first begins at once, the second by itself."""
ERRORS = "errors.txt"


@dataclass
class Service:
    """A schedule that runs over a built corpus."""

    out: Path
    spec: Path
    process: subprocess.Popen[str]
    before: dict[str, str]

    def completed(self) -> int:
        try:
            with known_server(self.out):
                return sum(run.state == "Completed" for run in last_runs("tiny", 100))
        except SegueError:  # on a loaded machine its server may be started again just now
            return 0

    def journal(self) -> str:
        (path,) = self.out.rglob("journal.jsonl")
        return path.read_text()


def start(spec: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    words = ("night", "schedule", spec, "--out", out, "--workers", "0", "--json", *options)
    process = start_segue(*words, mark=out, stderr=(out.parent / ERRORS).open("w"))
    assert any("api" in json.loads(line) for line in process.stdout)  # slow starts tell so first
    return process


@pytest.fixture(scope="module")
def schedules() -> Iterator[list[Service]]:
    """Those that were started; the last may still run."""
    started: list[Service] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PREFECT_API_URL", raising=False)
        yield started
    for each in started:
        each.process.terminate()
        each.process.wait(PATIENCE_S)


@pytest.fixture
def service(
    schedules: list[Service], tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Service:
    """A schedule of a few seconds over a corpus that is built already, on its own server.

    Tests share it until one ends it: workers that steal take tests in any order.
    """
    if not schedules or schedules[-1].process.poll() is not None:
        folder = tmp_path_factory.mktemp("served")
        out, spec = folder / "out", folder / "tiny.yaml"
        shutil.copytree(tiny_corpus, out)
        lend_database(out / HOME, tmp_path_factory)
        spec.write_text(yaml.safe_dump(TINY))
        before = product(out)
        process = start(spec, out, "--every", "4s", "--now")
        schedules.append(Service(out, spec, process, before))
    return schedules[-1]


def ask_prefect(service: Service, *words: str) -> str:
    """What a command of Prefect's tells of the schedule, as docs/nightly.md shows it."""
    with known_server(service.out) as address:
        done = subprocess.run(
            [Path(sys.executable).with_name("prefect"), *words],
            env=os.environ | {"PREFECT_API_URL": address},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def set_paused(paused: bool) -> None:
    """Let no night of `tiny` begin, or let them begin again."""
    with get_client(sync_client=True) as client:
        deployment = client.read_deployment_by_name("nightly/tiny")
        (client.pause_deployment if paused else client.resume_deployment)(deployment.id)


def run_now() -> None:
    """Have a night of `tiny` begin."""
    with get_client(sync_client=True) as client:
        deployment = client.read_deployment_by_name("nightly/tiny")
        client.create_flow_run_from_deployment(deployment.id)


def test_schedule_of_a_few_seconds_runs_by_itself_and_renders_nothing(service: Service) -> None:
    journal = service.journal()
    with known_server(service.out):
        set_paused(False)  # another test may have left it so
    assert wait_for(lambda: service.completed() >= NIGHTS, 0.5)
    assert service.journal() == journal
    assert product(service.out) == service.before
    with known_server(service.out):
        runs = last_runs("tiny", 100)
        set_paused(True)  # each night takes seconds of a processor
    version = (service.out / "data_manifests/tiny/latest").read_text().strip()
    assert runs[-1].name == f"tiny {version}"
    reported = map(json.loads, service.process.stdout)
    ended = next(each for each in reported if each["state"] == "Completed")
    assert ended["name"] in {run.name for run in runs}
    assert ", 0 of them rendered now" in ended["message"]
    assert {run.state for run in runs} <= {"Completed", "Running", "Cancelled", "Pending"}


def test_a_schedule_is_paused_resumed_and_run_by_prefects_commands(service: Service) -> None:
    assert wait_for(lambda: service.completed() >= 1, 0.5)
    assert "nightly/tiny" in ask_prefect(service, "deployment", "ls")
    with known_server(service.out), get_client(sync_client=True) as client:
        (schedule,) = client.read_deployment_by_name("nightly/tiny").schedules
    assert str(schedule.id)[:8] in ask_prefect(
        service, "deployment", "schedule", "ls", "nightly/tiny"
    )
    ask_prefect(service, "deployment", "schedule", "pause", "nightly/tiny", str(schedule.id))
    before = {run.id for run in last_states(service)}
    ask_prefect(service, "deployment", "run", "nightly/tiny")
    assert wait_for(lambda: {run.id for run in last_states(service)} > before, 0.5)
    assert "tiny" in ask_prefect(service, "flow-run", "ls", "--flow-name", "nightly")
    ask_prefect(service, "deployment", "schedule", "resume", "nightly/tiny", str(schedule.id))


def last_states(service: Service) -> list[NightRun]:
    with known_server(service.out):
        return last_runs("tiny", 100)


def test_second_schedule_over_the_same_root_is_refused(service: Service) -> None:
    second = segue_here("night", "schedule", service.spec, "--out", service.out, "--every", "1h")
    assert second.returncode == 1
    assert "a schedule is already running here" in second.stderr


async def configure(pool: WorkPool, deployment: DeploymentResponse) -> dict[str, str | None]:
    """The environment that a worker gives to a run, as Prefect's workers find it."""
    async with get_client() as client:
        configuration = await ProcessJobConfiguration.from_template_and_values(
            pool.base_job_template, deployment.job_variables, client=client
        )
    return configuration.env


def test_a_night_is_registered_one_run_at_a_time(service: Service, tmp_path: Path) -> None:
    times = Times(cron="0 3 * * *", timezone="Europe/Berlin")
    variables = {
        "LLM_KEY": "{{ prefect.blocks.secret.llm-key }}",
        "LLM_URL": "{{ prefect.variables.llm_url }}",
    }
    night = Night("other", service.spec, tmp_path, 2, None, times, variables)
    with known_server(service.out), get_client(sync_client=True) as client:
        found = client.read_deployment(register(night, "nights"))
        pool = client.read_work_pool("nights")
        assert pool.type == "process"
        Secret(value="from-a-block").save("llm-key", overwrite=True)
        Variable.set("llm_url", "http://127.0.0.1:1", overwrite=True)
        begun = asyncio.run(configure(pool, found))
        Variable.set("gates", {"gates": {"leaked": 3}}, overwrite=True)
        gates = {"__prefect_kind": "workspace_variable", "variable_name": "gates"}
        run = client.create_flow_run_from_deployment(found.id, parameters={"nightly": gates})
        client.delete_deployment(found.id)
    assert found.entrypoint == "pipelines.flows.nightly"
    assert found.parameters == night.parameters
    assert NightlySettings.model_validate(run.parameters["nightly"]).gates.leaked == 3
    assert begun["LLM_KEY"] == "from-a-block"
    assert begun["LLM_URL"] == "http://127.0.0.1:1"
    assert found.schedules[0].schedule.cron == "0 3 * * *"
    assert found.concurrency_options.collision_strategy == "CANCEL_NEW"
    assert found.global_concurrency_limit.limit == 1


def test_run_that_was_killed_while_pending_keeps_no_slot(service: Service, tmp_path: Path) -> None:
    night = Night("pending", service.spec, tmp_path, 2, None, Times())
    with known_server(service.out), get_client(sync_client=True) as client:
        identity = register(night, "nights")

        def begun() -> str:
            run = client.create_flow_run_from_deployment(identity)
            result = client.set_flow_run_state(run.id, Pending())
            return "" if result.state is None else result.state.name or ""

        assert (begun(), begun()) == ("Pending", "Cancelled")
        assert bury_all_runs("nightly/pending") == 1
        assert begun() == "Pending"
        client.delete_deployment(identity)
    with known_server(service.out):
        assert bury_all_runs("nightly/pending") == 0


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to look for orphans")
def test_a_killed_or_interrupted_schedule_leaves_nobody_behind(service: Service) -> None:
    """It ends the schedule. Ctrl-C reaches the run that is under way, too."""
    with known_server(service.out):
        run_now()
    assert wait_for(lambda: running(service) == "Running", 0.5)
    service.process.kill()
    service.process.wait()
    assert wait_for(lambda: not marked(service.out), 0.5), marked(service.out)
    assert running_server(service.out / HOME) is None
    with pytest.raises(SegueError, match="no Prefect server"), known_server(service.out):
        pass
    service.process = start(service.spec, service.out, "--every", "1h", "--now")
    done = service.completed()
    assert wait_for(lambda: service.completed() > done, 0.5), "a dead run keeps the only slot"
    assert running(service) != "Running"
    assert product(service.out) == service.before

    with known_server(service.out):
        run_now()
    assert wait_for(lambda: len(marked(service.out)) > 2)  # the schedule, its server, the run
    os.killpg(service.process.pid, signal.SIGINT)
    assert service.process.wait(PATIENCE_S) == 130
    assert (service.out.parent / ERRORS).read_text() == f"{STOPPED}; {AGAIN}\n"
    assert wait_for(lambda: not marked(service.out), 0.5), marked(service.out)


def running(service: Service) -> str:
    """The state of a run that is under way, empty where none is."""
    with known_server(service.out):
        states = [run.state for run in last_runs("tiny", 100)]
    return "Running" if "Running" in states else ""


@pytest.mark.parametrize("every", ["ten", "0s", "10", "5 m", "-1s"])
def test_span_that_is_none_is_refused(every: str) -> None:
    with pytest.raises(SpecError, match="expected an interval"):
        Times.of(None, every)


def test_cron_that_is_none_is_a_clear_error(tmp_path: Path) -> None:
    night = Night("tiny", tmp_path / "tiny.yaml", tmp_path, 1, None, Times(cron="at dawn"))
    with pytest.raises(SpecError, match="--cron at dawn, --timezone UTC: Invalid cron string"):
        deployment_of(night)


def test_prefect_yaml_is_the_same_whatever_came_first_and_others_files_stay(tmp_path: Path) -> None:
    first = Night("a", tmp_path / "a.yaml", tmp_path, 1, None, Times(every_s=10))
    second = replace(first, corpus="b", times=Times(cron="0 3 * * *"))
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    for path, nights in ((one, [first, second]), (other, [second, first, second])):
        for planned in nights:
            write_prefect_yaml(path, planned, "nights")
    assert one.read_bytes() == other.read_bytes()
    deployments = yaml.safe_load(one.read_text())["deployments"]
    assert [each["name"] for each in deployments] == ["a", "b"]
    assert deployments[1]["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}
    assert deployments[1]["work_pool"]["job_variables"]["env"]["DO_NOT_TRACK"] == "1"

    foreign = tmp_path / "prefect.yaml"
    foreign.write_text("# mine\nname: mine\n")
    with pytest.raises(SpecError, match="was not written by"):
        write_prefect_yaml(foreign, first, "nights")
    assert foreign.read_text() == "# mine\nname: mine\n"
    foreign.write_text(HEADER + "deployments: 3\n")
    with pytest.raises(SpecError, match="damaged"):
        write_prefect_yaml(foreign, first, "nights")


def test_deploy_command_writes_the_environment_and_refuses_what_is_none(tmp_path: Path) -> None:
    spec, file = tmp_path / "tiny.yaml", tmp_path / "prefect.yaml"
    spec.write_text(yaml.safe_dump(TINY))
    key = "{{ prefect.blocks.secret.llm-key }}"
    common = ("night", "deploy", spec, "--pool", "nights", "--file", file, "--no-register")
    done = segue_here(*common, "--out", tmp_path, "--env", f"LLM_KEY={key}", "--env", "EMPTY=")
    assert done.returncode == 0, done.stderr
    (written,) = yaml.safe_load(file.read_text())["deployments"]
    found = written["work_pool"]["job_variables"]["env"]
    assert (found["LLM_KEY"], found["EMPTY"]) == (key, "")
    refused = segue_here(*common, "--out", tmp_path, "--env", "LLM_KEY")
    assert refused.returncode == 1
    assert "--env number 1: expected NAME=VALUE" in refused.stderr


# The night's settings and gates: what is asked of a version before `latest` points to it.


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
    for value, complaint in read_data("flows/wrong_nights.yaml"):
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
    assert read.train.config == tmp_path / "model.yaml"


def test_good_version_passes_every_gate_and_says_what_was_found(places: Places) -> None:
    gates = judge(places, GateSettings(blind=1.0, trivial=1.0), UNOBSERVED)
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
        heard = by_name(judge(places, GateSettings(**settings), UNOBSERVED))["audio"]
        assert (heard.passed, heard.found) == (True, "0 findings in 12 samples")
    rows = rewrite_rows(places.manifests / name, change)
    gates = judge(places, GateSettings(**settings), UNOBSERVED)
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
        night.buy(spec, [task], tmp_path, where, UNOBSERVED)


def test_settings_of_all_defaults_need_no_file(tmp_path: Path) -> None:
    assert (read_nightly(None).gates.leaked, read_nightly(None).gates.audio) == (0, None)
    assert read_nightly(None).render == RenderSettings()
    assert read_nightly(settings_file(tmp_path, "")).train is None
