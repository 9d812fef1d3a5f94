"""The command line as users and scripts meet it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import numpy as np
import pytest
import soundfile
import typer
from click.testing import Result

import synth.base.entry_points as registry
from pipelines.cli.app import load_command, mount
from pipelines.cli.commands import COMMANDS, GUESSED
from pipelines.cli.common.options import source_completions, start_completions
from pipelines.cli.make.ingest import _read_intake
from pipelines.cli.make.sources import sources_command
from synth.base.errors import SourceError
from synth.corpus.corpus import Corpus
from synth.corpus.schema import read_timeline
from synth.scene.activity import measure, unite
from synth.sources import SOURCES, source_class
from tests.kit.builds import PLAIN, ask_segue, flip, invoke, segue, segue_here
from tests.kit.cases import cases
from tests.kit.tables import read_data


@pytest.mark.slow
def test_build_ends_with_one_json_line(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    done = segue(
        "build", tiny_file(), "--out", tmp_path, "--workers", "0", "--no-prefect", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    *progress, last = map(json.loads, done.stdout.splitlines())
    assert list(dict.fromkeys(line["progress"] for line in progress)) == [
        "ingest",
        "plan",
        "render",
    ]
    ends = {line["progress"]: (line["done"], line["total"], line["unit"]) for line in progress}
    assert ends == {
        "ingest": (20, 20, "clips"),
        "plan": (48, 48, "groups"),
        "render": (12, 12, "shards"),
    }
    assert {"rendered", "skipped", "quarantined", "samples", "shards", "seconds", "paths"} <= set(
        last
    )
    assert Path(last["paths"]["shards"]).is_dir()


def test_errors_are_one_line_with_the_fix_and_a_traceback_for_who_asks(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("corpus: mine\nsource: {esc50: {root: nowhere}}\nrecipe: triplets\n")
    failed = segue_here("build", spec, "--no-prefect")
    assert failed.returncode == 1
    assert failed.stdout == ""
    error, fix = failed.stderr.splitlines()
    assert error.startswith(
        f"error: {tmp_path}/nowhere/audio: the audio folder of ESC-50 not found"
    )
    assert fix.startswith("fix:   give the ESC-50 folder")
    failed = segue("build", tmp_path / "nowhere.yaml", "--no-prefect", "--debug")
    assert failed.returncode == 1
    assert "Traceback" in failed.stderr
    assert "SpecError" in failed.stderr


USAGE = read_data("cli/usage.yaml")
USAGE += ((f"{old} a b", f"Instead of `segue {old}` use {new}.") for old, new in GUESSED.items())
"""What is typed, and what is told."""


def plain(text: str) -> str:
    """What is printed, without frames and breaks of lines."""
    return " ".join(text.replace("│", " ").split())


def test_wrong_usage_is_told_to_people_and_as_one_json_object_to_programs() -> None:
    faults = []
    for typed, told in USAGE:
        shown, asked = segue_here(*typed.split()), segue_here(*typed.split(), "--json")
        (line,) = asked.stdout.splitlines()
        error = json.loads(line)
        guess = "xylophone" in typed and "Did you mean" in shown.stderr
        if guess or told not in plain(shown.stderr) or not (error["error"] and error["fix"]):
            faults.append((typed, shown.stderr, line))
        assert (shown.returncode, asked.returncode) == (2, 2)
    assert faults == []


def test_inspect_shows_and_saves_audio_and_check_checks(tiny_corpus: Path, tmp_path: Path) -> None:
    folder = tiny_corpus / "data_manifests" / "tiny"
    shown = ask_segue("inspect", folder, "--samples", "2", "--save", tmp_path / "wavs")
    checked = segue_here("check", folder, "--samples", "2", "--json")
    assert json.loads(checked.stdout.splitlines()[-1])["checks"] == {
        "manifests as certified": 32,
        "bank parts as certified": 1,
        "shards as certified": 12,
        "samples rebuilt byte for byte": 2,
    }
    assert shown["counts"]["split"]["train"]["samples"] == 72
    for split, counts in shown["counts"]["split"].items():
        rows = Corpus.open(folder).samples(split).to_pylist()
        sounds = [[place.heard for place in read_timeline(row).placements] for row in rows]
        heard = sum(
            measure(unite(span for sound in own for span in (*sound.clear, *sound.likely)))
            for own in sounds
        )
        share = 100 * heard / sum(row["frames"] for row in rows)
        assert counts["heard %"] == round(share, 1)
    for path in shown["saved"]:
        assert soundfile.info(path).frames == 32_000
    told = segue_here("inspect", folder).stdout
    assert "recipe triplets" in told
    assert told.index("  caption  ") < told.index("shortest s"), "tables hide the samples"


def test_check_finds_a_changed_shard_and_a_missing_one(tiny_corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_corpus, tmp_path, dirs_exist_ok=True)
    shard = sorted((tmp_path / "shards").rglob("*.tar"))[0]
    flip(shard)
    failed = segue_here("check", tmp_path / "data_manifests" / "tiny")
    assert failed.returncode == 1
    assert f"{shard}: differs from its receipt" in failed.stderr.replace("\n", " ")
    shard.unlink()
    failed = segue_here("check", tmp_path / "data_manifests" / "tiny")
    assert f"{shard}: missing" in failed.stderr.replace("\n", " ")


def test_the_systems_errors_are_one_line(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    failed = segue_here(
        "build", tiny_file(), "--out", tmp_path / "file" / "x", "--no-prefect", "--json"
    )
    assert failed.returncode == 1
    assert "Traceback" not in failed.stderr
    assert failed.stderr.startswith("error: ")
    assert json.loads(failed.stdout.splitlines()[-1])["error"]


def test_what_the_machine_ends_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for error, said in (
        (MemoryError(), "out of memory"),
        (RecursionError("too deep"), "is damaged: too deep"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "is damaged: "),
    ):

        def fail(error: Exception = error) -> None:
            raise error

        with pytest.raises(typer.Exit) as ended:
            mount("inspect", fail)()
        assert ended.value.exit_code == 1
        told = capsys.readouterr().err
        assert said in told
        assert [line.partition(":")[0] for line in told.splitlines()] == ["error", "fix"]


def test_labels_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for label in ("a[red]", "dog [bark]"):
        for take in range(2):
            path = tmp_path / "lib" / label / f"{take}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, rng.uniform(-0.5, 0.5, 8000), 8000)
    spec = tmp_path / "spec.yaml"
    spec.write_text("corpus: odd\nsource: {folder: {root: lib}}\nrecipe: triplets\n")
    done = segue_here("build", spec, "--out", tmp_path, "--workers", "0", "--no-prefect", "--json")
    shown = segue_here("inspect", json.loads(done.stdout.splitlines()[-1])["paths"]["manifests"])
    assert shown.returncode == 0, shown.stderr
    assert "dog [bark]" in shown.stdout
    assert "a[red]" in shown.stdout


def test_a_command_whose_package_is_not_installed_says_so(tmp_path: Path) -> None:
    """The image of the workers has no torch."""
    (tmp_path / "torch.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')"
    )
    done = segue("train", "x", "--json", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 1
    assert "`segue train` needs the package torch" in done.stderr
    assert "Traceback" not in done.stderr
    assert "torch" in json.loads(done.stdout.splitlines()[-1])["fix"]


def test_a_place_that_cannot_be_written_is_told_with_a_fix() -> None:
    failed = segue_here("new", "triplets", "--out", "/sys/triplets.yaml")
    assert failed.returncode == 1
    assert failed.stderr.splitlines() == [
        "error: /sys/triplets.yaml: Permission denied",
        "fix:   change the permissions there, or use another folder or file",
    ]


@cases(("words", "told"), read_data("cli/useless_options.yaml"))
def test_options_that_count_for_nothing_are_refused(words: str, told: str) -> None:
    done = segue_here(*words.split())
    assert done.returncode == 1
    assert told in done.stderr
    assert "leave" in done.stderr


# Every command teaches by example, and is completed in a shell by the protocol of bash.


_EXAMPLES = re.compile(r"\n\nExamples?: (?P<told>.*)\Z", re.S)


def examples(command: click.Command) -> list[list[str]]:
    """The commands that a command's help ends with, in words."""
    told = _EXAMPLES.search(command.help or "")
    quoted = re.findall(r"`([^`]+)`", told["told"]) if told else []
    return [shlex.split(each) for each in quoted]


@pytest.mark.parametrize("words", COMMANDS)
def test_help_ends_with_examples_that_its_parser_takes(words: str) -> None:
    command = load_command(words)
    found = examples(command)
    assert found, f"segue {words} --help has no Example"
    for example in found:
        called = example[example.index("segue") + 1 :]  # which torchrun may stand before
        assert called[: len(words.split())] == words.split()
        # Raises where an option does not exist, an argument is missing or a value is wrong.
        command.make_context(words, called[len(words.split()) :])


def complete(*words: str) -> list[str]:
    """What bash is offered for the last word."""
    environment = {
        "_SEGUE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("segue", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = segue_here(env=environment)
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_options_and_their_values_are_completed() -> None:
    assert complete("ve") == ["versions"]
    assert complete("llm", "ru") == ["run"]
    assert complete("night", "--") == ["--help"]
    assert complete("text", "te") == ["textswap"]
    assert {"--head", "--out", "--resume"} <= set(complete("train", "x", "--"))
    assert complete("train", "x", "--head", "tr") == ["transformer"]
    assert complete("text", "probe", "cl") == ["clause-swap"]
    assert complete("browse", "") == []  # which has the shell complete paths
    assert start_completions("t") == ["tag_captions", "triplets"]
    assert source_completions("esc") == ["esc10", "esc50"]


# `segue sources`: one line a source, and all that is known of one.


def sources(*arguments: str) -> Result:
    done = invoke(sources_command, *arguments)
    assert done.exception is None or isinstance(done.exception, SourceError)
    return done


def test_the_list_has_one_line_a_source() -> None:
    lines = sources().stdout.splitlines()
    listed = [line.split()[0] for line in lines[: len(SOURCES)]]
    assert listed == list(SOURCES)
    assert all(len(line) <= 110 for line in lines)


def test_every_setting_of_a_source_is_told_with_its_meaning() -> None:
    listed = json.loads(sources("--json").stdout)
    assert list(listed) == list(SOURCES)
    assert listed["esc50"]["settings"]["root"] == "required"
    assert listed["esc50"]["origin"]["licence"]
    assert "tracks.csv" in listed["fma"]["layout"]
    for name in SOURCES:
        told = json.loads(sources(name, "--json").stdout)[name]
        assert set(told["settings"]) == set(source_class(name).model_fields)
        assert all(told["about"][key] for key in told["settings"])
        shown = " ".join(sources(name).stdout.split())
        parts = [*told["about"].values(), *(told["origin"] or {}).values()]
        parts += [f"{key} (" for key in told["about"]]
        assert [part for part in parts if part not in shown] == []


def test_the_nearest_name_is_told() -> None:
    for name, fix in (
        ("ESC50", "did you mean 'esc50'?"),
        ("esc-50", "did you mean 'esc50'?"),
        ("AudioCap", "did you mean 'audiocaps'?"),
        ("qqq", "there are audiocaps, audioset_strong, "),
    ):
        error = sources(name).exception
        assert isinstance(error, SourceError)
        assert error.fix.startswith(fix)
    for library in ("ESC50:/data/ESC-50", "esc51", "Folder:"):  # no missing specs
        with pytest.raises(SourceError, match="did you mean"):
            _read_intake(library)


def test_one_broken_package_spoils_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    # The whole list was an error.
    point = EntryPoint("birds", "no_such_package:Birds", "segue.sources")
    monkeypatch.setattr(registry, "list_installed", lambda group, path: (point,))
    assert "birds" in sources().stdout
    assert "cannot be used" in sources().stdout
    assert isinstance(sources("birds").exception, SourceError)


# Commands answer soon: what is slow to import is imported by what uses it, threads wait idly.


SLOW = (
    *("dask", "duckdb", "fsspec", "matplotlib", "numba", "openai", "pandas", "prefect"),
    *("pyarrow.dataset", "scipy.fft", "scipy.signal", "sklearn", "starlette", "torch"),
    *("transformers", "uvicorn"),
)
OFFER = """
import contextlib, io, sys
from pipelines.cli.app import main
from pipelines.cli.commands import COMMANDS, GROUPS
slow = set(sys.argv[1:])
for name in ("", *GROUPS, *COMMANDS):
    sys.argv = ["segue", *name.split(), "--help"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main()
    assert "Usage" in said.getvalue(), name
    found = sorted(slow & sys.modules.keys())
    assert not found, f"{name} --help imports {found}"
"""
RUN = """
import contextlib, shlex, sys
from pipelines.cli.app import main
words, *slow = sys.argv[1:]
sys.argv = ["segue", *shlex.split(words)]
with contextlib.suppress(SystemExit):
    main()
found = sorted(set(slow) & sys.modules.keys())
assert not found, f"it imports {found}"
"""


def run(code: str, *arguments: str | Path) -> str:
    paths = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | PLAIN | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_of_no_command_loads_what_is_slow() -> None:
    run(OFFER, *SLOW, "jaxtyping", "pyarrow", "rich.progress", "scipy")


@pytest.mark.slow
def test_a_build_with_nothing_to_do_loads_nothing_slow(
    tiny_corpus: Path, tiny_file: Callable[..., Path], tmp_path: Path
) -> None:
    out = shutil.copytree(tiny_corpus, tmp_path / "out")
    # pyarrow imports pandas as soon as an array is made, as the rows of a library are.
    slow = {*SLOW, "jinja2", "snowballstemmer", "synth.llm", "synth.recipes.negation"} - {"pandas"}
    words = f"build {tiny_file()} --out {out} --workers 2 --no-prefect"
    assert "0 shards rendered" in run(RUN, words, *sorted(slow))


@cases(
    ("words", "slow"),
    [
        ("sources", ("pyarrow", "synth.recipes", "synth.sources.sounds.esc50", "yaml")),
        ("sources jam", ("pipelines.config.spec", "synth.recipes")),
        ("check", ("pyarrow", "synth.sources")),
    ],
)
def test_what_says_little_loads_little(words: str, slow: Sequence[str]) -> None:
    assert run(RUN, words, *SLOW, *slow)


SHOWS = """
import os, sys
from pipelines.cli.__main__ import main
sys.argv = ["segue", "--version"]
try:
    main()
finally:
    assert "torch" not in sys.modules
    print(os.environ["OMP_WAIT_POLICY"])
"""


@pytest.mark.parametrize(("given", "expected"), [(None, "passive"), ("active", "active")])
def test_threads_wait_without_using_a_processor(given: str | None, expected: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    if given is not None:
        environment["OMP_WAIT_POLICY"] = given
    done = subprocess.run(
        [sys.executable, "-c", SHOWS], capture_output=True, text=True, env=environment
    )
    assert done.stdout.splitlines()[-1] == expected, done.stderr
