"""The command line as users and scripts meet it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
import typer

from pipelines.cli.app import mount
from pipelines.cli.commands import GUESSED
from tests.kit.builds import flip, segue, segue_here
from tests.kit.cases import cases


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


USAGE = [
    ("buld", "Did you mean 'segue build' or 'segue bench build'?"),
    ("Inspect", "Did you mean 'segue inspect'?"),
    ("nightly", "Did you mean 'segue night'?"),
    ("negate", "Did you mean 'segue text negate'?"),
    ("text tagcaptions", "Did you mean 'segue text tag-captions'?"),
    ("text deploy", "Did you mean 'segue night deploy'?"),
    ("run", "Did you mean 'segue night run' or 'segue llm run' or 'segue bench run'?"),
    ("text xylophone", "No such command 'xylophone'."),
    ("build", "Missing argument 'spec'"),
    ("build x.yaml --workers two", "'--workers': expected a whole number"),
    ("inspect x --samples -3", "expected a value greater than or equal to 0"),
    ("train x --head lstm", "'--head': 'lstm' is not one of"),
    ("night run x.yaml --bogus", "No such option: --bogus"),
    ("--bogus", "No such option: --bogus"),
    *((f"{old} a b", f"Instead of `segue {old}` use {new}.") for old, new in GUESSED.items()),
]
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
    done = segue_here("inspect", folder, "--samples", "2", "--save", tmp_path / "wavs", "--json")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout.splitlines()[-1])
    checked = segue_here("check", folder, "--samples", "2", "--json")
    assert json.loads(checked.stdout.splitlines()[-1])["checks"] == {
        "manifests as certified": 32,
        "bank parts as certified": 1,
        "shards as certified": 12,
        "samples rebuilt byte for byte": 2,
    }
    assert shown["counts"]["split"]["train"]["samples"] == 72
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


def test_errors_of_the_system_are_told_in_one_line_too(
    tiny_file: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    failed = segue_here(
        "build", tiny_file(), "--out", tmp_path / "file" / "x", "--no-prefect", "--json"
    )
    assert failed.returncode == 1
    assert "Traceback" not in failed.stderr
    assert failed.stderr.startswith("error: ")
    assert json.loads(failed.stdout.splitlines()[-1])["error"]


def test_what_the_machine_or_a_damaged_file_ends_is_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
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


@cases(
    ("words", "told"),
    [
        ("plan none.yaml --no-keep-groups --epochs 1", "--epochs, --keep-groups: needs --gpus"),
        ("audit none --samples 8000", "--samples: needs --blind or --trivial"),
        ("audit none --export x --samples 8000", "--samples: needs --blind"),
        ("sql none select --out x.csv --rows 50", "--rows: the whole answer is written"),
        ("new --out none.yaml", "--out: needs a recipe"),
        ("sql none --rows 50", "--rows: needs a query"),
        ("night schedule none.yaml --every 1h --timezone UTC", "--timezone: needs --cron"),
        ("text probe pte none.csv --out x --seed 0", "--seed: pte takes every caption"),
        ("llm run t none.csv --out x --model m --poll 30", "--poll: needs --batch"),
        ("export none --to onnx --out x --absolute", "--absolute: --to onnx exports a model"),
    ],
)
def test_options_that_count_for_nothing_are_refused_with_their_defaults_too(
    words: str, told: str
) -> None:
    done = segue_here(*words.split())
    assert done.returncode == 1
    assert told in done.stderr
    assert "leave" in done.stderr
