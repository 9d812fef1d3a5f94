"""The Prefect flows: the same corpus, honest ends, nothing promoted that does not pass."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import pytest
import yaml
from prefect import flow, get_run_logger
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    FlowRunFilter,
    FlowRunFilterId,
    LogFilter,
    LogFilterFlowRunId,
)
from prefect.client.schemas.objects import State
from prefect.client.schemas.sorting import FlowRunSort
from prefect.events.schemas.automations import AutomationCore
from prefect.settings import PREFECT_API_URL, PREFECT_LOGGING_TO_API_ENABLED, temporary_settings

from pipelines.builder.build import Summary, build
from pipelines.builder.plan import ShardPlan
from pipelines.builder.render import RenderJob, render_missing
from pipelines.builder.schedule import RenderSettings
from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from pipelines.flows.corpus import REFUSED, flow_of
from pipelines.flows.holder import bury_dead_run
from pipelines.flows.local import build_with_prefect
from pipelines.flows.servers import own_server
from pipelines.store.lease import sole_writer
from synth.base.errors import SegueError, SpecError
from synth.corpus.corpus import LATEST_FILE, Corpus
from tests.kit.builds import TINY, merged, product, segue, segue_here, unchanged
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import KEY, KEY_VARIABLE, turn_round
from tests.kit.prefect_database import keep_database, lend_database
from tests.kit.waiting import wait_for

HOLD = """
import sys, time
from pathlib import Path
from prefect import flow
from pipelines.flows.corpus import BODIES, flow_of

def hang(held):
    print(work_run(), flush=True)
    time.sleep(600)

def work_run():
    from prefect.runtime import flow_run
    return flow_run.id

BODIES["nightly"] = hang
flow_of("nightly")(sys.argv[1], sys.argv[2], workers=0)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prefect server for the whole module."""
    home = tmp_path_factory.mktemp("prefect")
    lend_database(home, tmp_path_factory)
    with (
        own_server(home) as address,
        temporary_settings({PREFECT_API_URL: address, PREFECT_LOGGING_TO_API_ENABLED: False}),
    ):
        keep_database(home, tmp_path_factory)
        yield address


def spec_file(folder: Path, **changes: Any) -> str:
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(merged(TINY, changes)))
    return str(path)


def run(name: str, spec: str, out: Path, **parameters: Any) -> State[Any]:
    state: State[Any] = flow_of(name)(spec, str(out), workers=0, **parameters, return_state=True)
    return state


def result_of(name: str, spec: str, out: Path, **parameters: Any) -> Any:
    kept: list[Any] = []
    state = flow_of(name, keep=kept.append)(
        spec, str(out), workers=0, **parameters, return_state=True
    )
    assert state.is_completed(), state
    return kept[0]


def latest(out: Path) -> str:
    return (out / "data_manifests/tiny" / LATEST_FILE).read_text().strip()


def rendered_shards(out: Path) -> list[str]:
    return shards_told(out, "rendered")


def shards_told(out: Path, event: str) -> list[str]:
    """The shards that the journals name with an event."""
    lines = [
        json.loads(line)
        for journal in sorted(out.rglob("journal.jsonl"))
        for line in journal.read_text().splitlines()
    ]
    return [line["shard"] for line in lines if line["event"] == event]


def artifacts(run_id: UUID | None) -> dict[str, Any]:
    """What a run shows, by key."""
    with get_client(sync_client=True) as client:
        found = client.read_artifacts(
            artifact_filter=ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run_id]))
        )
    return {str(each.key): each.data for each in found}


def run_over(out: Path) -> Any:
    """The last flow run over an output folder."""
    with get_client(sync_client=True) as client:
        runs = client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC)
    return next(run for run in runs if run.parameters["out"] == str(out))


def logged(run_id: UUID) -> list[str]:
    """The lines that the page of a run shows."""
    with get_client(sync_client=True) as client:
        lines = client.read_logs(LogFilter(flow_run_id=LogFilterFlowRunId(any_=[run_id])))
    return [line.message for line in lines]


def emitted(server: str, event: str, out: Path) -> dict[str, Any]:
    """What the last event of a name tells of a corpus below `out`; events come a moment later."""
    told: list[dict[str, Any]] = []

    def is_there() -> bool:
        wanted = {"filter": {"event": {"name": [event]}}}
        events = httpx.post(f"{server}/events/filter", json=wanted).json()["events"]
        payloads = (each["payload"] for each in events)
        told.extend(each for each in payloads if each["manifests"].startswith(str(out)))
        return bool(told)

    assert wait_for(is_there, pause_s=0.1), f"no event {event}"
    return told[0]


def test_failed_gate_is_one_clear_line_exit_code_one_and_latest_where_it_was(
    server: str, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", server)
    before = latest(out)
    spec = spec_file(tmp_path, recipe={"triplets": {"repeats": 1}})
    failed = segue("night", "run", spec, "--out", out, "--workers", "0")
    assert failed.returncode == 1
    error = next(line for line in failed.stderr.splitlines() if line.startswith("error:"))
    assert "is not promoted: samples: 72, wanted at least 90.0% of the 144" in error
    assert "Traceback" not in failed.stderr
    assert latest(out) == before

    found = run_over(out)
    lines = logged(found.id)
    assert "ingest ended: 20 clips, 0 quarantined" in lines
    assert "plan ended: 72 samples" in lines
    lost = "gate samples NOT passed: 72, wanted at least 90.0% of the 144"
    assert any(line.startswith(lost) for line in lines)
    assert "is not promoted: samples: 72" in found.state.message
    assert emitted(server, "segue.refused", out)["failed"] == ["samples"]


def test_a_night_promotes_what_passes(server: str, out: Path, tmp_path: Path) -> None:
    before, made = latest(out), len(rendered_shards(out))
    spec = spec_file(tmp_path, seed=8, recipe={"triplets": {"repeats": 1}})
    refused = run("nightly", spec, out)
    assert refused.is_failed()
    assert "not promoted: samples: 72" in str(refused.message)
    assert latest(out) == before
    report = artifacts(refused.state_details.flow_run_id)["tiny-report"]
    assert "not promoted" in report
    assert "| samples | NO | 72 |" in report
    new = len(rendered_shards(out)) - made
    assert new > 0

    loose = {"gates": {"samples": 0.5}}
    result = result_of("nightly", spec, out, nightly=loose)
    assert (result["promoted"], result["rendered"]) == (True, 0)
    assert latest(out) == result["version"] != before
    assert len(rendered_shards(out)) == made + new, "what was built was rendered again"

    shown = artifacts(run_over(out).id)
    assert shown["tiny-progress"] == 100.0
    rows = json.loads(shown["tiny-shards"])
    assert {row["state"] for row in rows} == {"already there"}
    assert len(rows) == result["shards"]
    assert Path(result["report"]).resolve().as_uri() in shown["tiny-report-file"]
    assert "README.md" in shown["tiny-card"]

    told = f"tiny {result['version']}: promoted, 72 samples in {result['shards']} shards, 0 of them"
    assert run_over(out).state.message.startswith(told)
    assert emitted(server, "segue.promoted", out)["version"] == result["version"]
    with get_client(sync_client=True) as client:
        tasks = client.read_task_runs(
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=[run_over(out).id]))
        )
    assert {"plan tiny", "audit tiny", "promote tiny"} <= {task.name for task in tasks}


def test_the_documented_automation_is_taken_by_prefect(server: str) -> None:
    page = (Path(__file__).parents[3] / "docs/nightly.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```yaml\n(name: A night.*?)```", page, re.S)
    asked = yaml.safe_load(text.replace("ID-OF-THE-BLOCK", str(UUID(int=7))))
    assert asked["trigger"]["expect"] == [REFUSED]
    with get_client(sync_client=True) as client:
        made = client.create_automation(AutomationCore.model_validate(asked))
        assert client.find_automation(made) is not None


def test_every_stage_is_a_flow(server: str, tmp_path: Path, tiny_corpus: Path) -> None:
    spec, out = spec_file(tmp_path), tmp_path / "staged"
    assert Path(result_of("ingest", spec, out)["index"]).is_file()
    manifests = Path(result_of("plan", spec, out)["manifests"])
    assert (manifests / "plan.parquet").is_file()
    assert not rendered_shards(out)
    unfinished = run("finalise", spec, out)
    assert "12 of 12 shards are not rendered" in str(unfinished.message)
    assert result_of("enrich", spec, out) == {"answers": []}
    assert result_of("render", spec, out)["rendered"] == 12
    assert not (out / "data_manifests/tiny" / LATEST_FILE).exists()
    assert result_of("build-corpus", spec, out).rendered == 0
    assert product(out) == product(tiny_corpus)


def test_unnamed_enrichment_is_refused_unasked(server: str, out: Path, tmp_path: Path) -> None:
    task = {"task": "paraphrase", "out": str(tmp_path / "said.parquet"), "model": "none"}
    state = run("nightly", spec_file(tmp_path), out, nightly={"enrich": [task]})
    assert "would give no caption" in str(state.message)


def test_night_buys_the_texts_that_the_spec_names_once(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    said, out = tmp_path / "said.parquet", tmp_path / "out"
    recipe = {"triplets": {"style": "natural", "repeats": 1}}
    spec = spec_file(tmp_path, recipe=recipe, enrich=[str(said)])
    with LlmServer(turn_round, key=KEY) as model:
        task = {"task": "order-negatives", "out": str(said), "model": "tiny", "local": True}
        task |= {"base_url": model.base_url, "key_variable": KEY_VARIABLE}
        first = result_of("nightly", spec, out, nightly={"enrich": [task]})
        asked = len(model.bodies)
        again = result_of("nightly", spec, out, nightly={"enrich": [task]})
        assert len(model.bodies) == asked
    assert (first["rendered"], again["rendered"]) == (first["shards"], 0)
    assert again["version"] == first["version"] == latest(out)
    generators = Corpus.open(out / "data_manifests/tiny").facts["generators"]
    assert generators["llm:order-negatives@1/tiny"] > 10


def test_an_overlapping_run_is_refused(server: str, out: Path, tmp_path: Path) -> None:
    with unchanged(out), sole_writer(out / "data_manifests/tiny"):
        state = run("nightly", spec_file(tmp_path), out)
    assert state.is_failed()
    assert "another process is building this corpus" in str(state.message)


def test_a_killed_run_is_marked_crashed(server: str, out: Path, tmp_path: Path) -> None:
    spec = spec_file(tmp_path)
    killed = subprocess.Popen(
        [sys.executable, "-c", HOLD, spec, str(out)],
        env=os.environ | {"PREFECT_API_URL": server, "PREFECT_LOGGING_LEVEL": "CRITICAL"},
        stdout=subprocess.PIPE,
        text=True,
    )
    dead = UUID(killed.stdout.readline().strip())
    assert not bury_dead_run(out, "tiny"), "a living run was taken for dead"
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    with get_client(sync_client=True) as client:
        wanted = FlowRunFilter(id=FlowRunFilterId(any_=[dead]))

        def states() -> list[str]:
            """Prefect's word for the run; its database is a moment behind."""
            runs = client.read_flow_runs(flow_run_filter=wanted)
            return [each.state.name or "" for each in runs if each.state is not None]

        assert wait_for(lambda: states() == ["Running"], 0.1)
        assert run("plan", spec, out).is_completed()
        assert wait_for(lambda: states() == ["Crashed"], 0.1)


def test_flow_that_fails_is_one_clear_line_and_exit_code_one(
    server: str, tiny_file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", server)
    spec = tiny_file(source={"foley": {"classes": ["dog"], "takes": 5}})
    failed = segue_here("build", spec, "--out", tmp_path / "out", "--workers", "0")
    assert failed.returncode == 1
    assert "error: split train: triplets need clips of two classes, found 1" in failed.stderr
    assert "Traceback" not in failed.stderr
    with pytest.raises(SpecError, match="unknown engine 'foo'"):
        build_with_prefect(read_spec(spec), tmp_path / "out", "foo")


@pytest.mark.parametrize("build_there", [build, build_with_prefect], ids=["plain", "prefect"])
def test_shard_that_meets_a_fault_is_tried_again_with_prefect_and_without(
    server: str,
    build_there: Callable[..., Summary],
    tiny: Callable[..., Spec],
    tiny_corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: Counter[str] = Counter()

    def render(job: RenderJob, shard: ShardPlan) -> None:
        tries[shard.shard] += 1
        if tries[shard.shard] == 1 and shard.shard.endswith("2.tar"):
            raise OSError("stale file handle")
        render_missing(job, shard)

    monkeypatch.setattr("pipelines.builder.build.render_missing", render)
    settings = RenderSettings(retry_delay_s=0, timeout_s=1234)
    assert build_there(tiny(), tmp_path, 0, settings=settings).rendered == 12
    again = sorted(shard for shard, count in tries.items() if count == 2)
    assert again == ["tiny-test-000002.tar", "tiny-train-000002.tar"]
    assert sorted(shards_told(tmp_path, "retried")) == again
    assert product(tmp_path) == product(tiny_corpus)
    if build_there is build_with_prefect:
        with get_client(sync_client=True) as client:
            runs = client.read_flow_runs()
        (shown,) = (run.parameters for run in runs if run.parameters["out"] == str(tmp_path))
        assert (shown["spec"]["corpus"], shown["spec"]["seed"]) == ("tiny", 7)
        assert shown["nightly"]["render"]["timeout_s"] == 1234


def test_a_lost_last_answer_is_survived(server: str, tiny: Callable[..., Spec], out: Path) -> None:
    with losing_server(server) as (address, lost):
        with temporary_settings({PREFECT_API_URL: address}):
            summary = build_with_prefect(tiny(), out, 0)
        assert lost.is_set()
    assert (summary.shards, summary.rendered) == (12, 0)


@contextmanager
def losing_server(server: str) -> Iterator[tuple[str, threading.Event]]:
    """The server behind a relay that breaks off once: when it has heard that a run is complete."""
    there = urlsplit(server)
    lost = threading.Event()

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection(there.hostname, there.port)
        asked = bytearray()

        async def ask() -> None:
            while chunk := await reader.read(65536):
                asked.extend(chunk)
                forth.write(chunk)
            forth.close()

        async def answer() -> None:
            while chunk := await back.read(65536):
                if b"set_state" in asked and b'"COMPLETED"' in asked and not lost.is_set():
                    lost.set()
                    break
                asked.clear()
                writer.write(chunk)
            forth.close()
            writer.close()

        await asyncio.gather(ask(), answer(), return_exceptions=True)

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    starting = asyncio.start_server(relay, "127.0.0.1", 0)
    listening = asyncio.run_coroutine_threadsafe(starting, loop).result()
    try:
        port = listening.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}{there.path}", lost
    finally:
        loop.call_soon_threadsafe(listening.close)
        asyncio.run_coroutine_threadsafe(end_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def end_all() -> None:
    """End what else runs on this loop."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for each in others:
        each.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def test_no_server_is_one_clear_error(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    with (
        temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}),
        pytest.raises(SegueError, match="the Prefect server was lost: ConnectError"),
    ):
        build_with_prefect(tiny(), tmp_path, 0)


@flow
def last_words() -> None:
    get_run_logger().info("the last words")


@pytest.mark.slow
def test_the_last_logs_of_a_run_are_kept_and_no_error_is_shown(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capfd: pytest.CaptureFixture[str]
) -> None:
    lend_database(tmp_path, tmp_path_factory)
    with (
        own_server(tmp_path) as address,
        temporary_settings({PREFECT_API_URL: address, PREFECT_LOGGING_TO_API_ENABLED: True}),
    ):
        keep_database(tmp_path, tmp_path_factory)
        last_words()
    with closing(sqlite3.connect(tmp_path / "prefect.db")) as database:
        kept = database.execute("select count(*) from log where message = 'the last words'")
        assert kept.fetchone() == (1,)
    assert "Error logging" not in capfd.readouterr().err
