"""Nothing that Segue starts speaks to anything beyond this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.common.show import quieten_prefect
from pipelines.flows.holder import HOME
from pipelines.flows.schedule import Night, Times
from pipelines.flows.servers import QUIET
from tests.kit.builds import ingested, product, segue
from tests.kit.prefect_database import lend_database

ROOT = Path(__file__).resolve().parents[3]
HERE = ("127.0.0.1", "::1", "localhost", "unix", "None", "")
HEARING = """
import json, os, sys

FILE = os.open(os.environ["SEGUE_HEARD"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
NAMES = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
ADDRESSES = ("socket.connect", "socket.sendto", "socket.sendmsg")

def tell(**facts):
    os.write(FILE, (json.dumps({"process": os.getpid(), **facts}) + "\\n").encode())

def hear(event, args):
    if event in NAMES:
        name = args[0]
        tell(event=event, to=name.decode() if isinstance(name, bytes) else str(name))
    elif event in ADDRESSES and args[1] is not None:
        tell(event=event, to=str(args[1][0]) if isinstance(args[1], tuple) else "unix")

sys.addaudithook(hear)
tell(event="started", command=" ".join(sys.orig_argv), settings=dict(os.environ))
"""
SPEAKING = """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 9))
try:
    socket.getaddrinfo("telemetry.invalid", 443)
except OSError:
    pass
"""

OPENING = """
import sys
sys.path += {paths}
from pathlib import Path
from tests.kit.tiny_models import save_clap
from train.data.tokenizer import TextTokenizer
from train.model.clap import clap_config
from train.model.loading import feature_extractor, transformers_model

folder = str(save_clap(Path({folder!r})))
clap_config(folder), feature_extractor(folder), TextTokenizer.of_model(folder)
transformers_model(folder)
"""


@pytest.fixture
def listening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], list[dict[str, Any]]]:
    """Hears every process that is started from here; called, it tells what was heard."""
    folder, heard = tmp_path / "hearing", tmp_path / "heard.jsonl"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HEARING)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("SEGUE_HEARD", str(heard))
    for name in [*os.environ]:
        if name.startswith("PREFECT_") or name in QUIET:
            monkeypatch.delenv(name)
    return lambda: [json.loads(line) for line in heard.read_text().splitlines()]


def strangers(heard: list[dict[str, Any]]) -> set[str]:
    return {line["to"] for line in heard if "to" in line} - {*HERE}


def test_what_is_said_to_others_is_heard(listening: Callable[[], list[dict[str, Any]]]) -> None:
    """A name and an address that nobody has."""
    subprocess.run([sys.executable, "-c", SPEAKING], check=True)
    assert strangers(listening()) == {"192.0.2.1", "telemetry.invalid"}


def test_build_on_prefects_own_server_makes_the_same_bytes_and_speaks_to_this_machine_alone(
    listening: Callable[[], list[dict[str, Any]]],
    tiny_file: Callable[..., Path],
    tiny_corpus: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    out = ingested(tiny_corpus, tmp_path)
    lend_database(out / HOME, tmp_path_factory)
    done = segue("build", tiny_file(), "--out", out, "--workers", "2", "--prefect", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["rendered"] == 12
    assert product(out) == product(tiny_corpus)
    heard = listening()
    assert strangers(heard) == set()
    started = [line for line in heard if line["event"] == "started"]
    (server,) = (line for line in started if "pipelines.flows.servers" in line["command"])
    assert any(line.get("to") == "127.0.0.1" for line in heard), "the flow was not heard"
    assert QUIET.items() <= server["settings"].items()
    # Decoders and workers are its forks, so that they are heard and have its settings.
    (forked,) = (line for line in started if "multiprocessing.forkserver" in line["command"])
    assert QUIET.items() <= forked["settings"].items()


def test_schedules_are_told_to_be_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipelines.flows import serving
    from pipelines.flows.serving import deployment_of

    class Enough(Exception):  # noqa: N818
        pass

    @contextmanager
    def no_server(night: Night) -> Iterator[str]:
        raise Enough
        yield

    for name in QUIET:
        monkeypatch.setenv(name, "as the user has it")
    monkeypatch.setenv("SEGUE_SERVED_BY", "")
    monkeypatch.setattr(serving, "_server", no_server)
    night = Night("tiny", tmp_path / "tiny.yaml", tmp_path, 1, None, Times(every_s=10))
    with pytest.raises(Enough):
        serving.serve(night, False, lambda _: None, lambda _: None)
    assert {name: os.environ[name] for name in QUIET} == QUIET
    assert deployment_of(night, "nights").job_variables == {"env": QUIET}


def test_commands_and_the_image_report_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The services of docker-compose.yml are looked at by tests/test_compose.py."""
    for name in QUIET:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    quieten_prefect()
    assert {name: os.environ.get(name) for name in QUIET} == QUIET
    image = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\s+(\w+)=(\S+?)(?: \\)?$", image, re.MULTILINE))
    assert QUIET.items() <= said.items()


def test_model_in_a_folder_is_opened_without_a_word_to_anyone(
    tmp_path: Path, listening: Callable[[], list[dict[str, Any]]]
) -> None:
    code = OPENING.format(paths=[str(ROOT)], folder=str(tmp_path / "clap"))
    subprocess.run([sys.executable, "-c", code], check=True)
    assert [line for line in listening() if "to" in line] == []
