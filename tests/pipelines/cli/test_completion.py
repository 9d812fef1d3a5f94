"""Completion in a shell, by the protocol that bash speaks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pipelines.cli.common.completion import MARKS, corpus_completions, source_completions
from pipelines.spec.new.recipes import complete_starts
from synth.corpus.corpus import CORPUS_FILE, LATEST_FILE

_PROGRAM = "import sys; sys.argv = ['segue']; from pipelines.cli.app import main; main()"


def complete(*words: str, folder: Path | None = None) -> list[str]:
    """What bash is offered for the last word."""
    environment = os.environ | {
        "_SEGUE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("segue", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_are_completed() -> None:
    assert complete("ve") == ["versions"]
    assert complete("llm", "ru") == ["run"]


def test_options_and_their_values_are_completed() -> None:
    assert {"--head", "--out", "--resume"} <= set(complete("train", "x", "--"))
    assert complete("train", "x", "--head", "tr") == ["transformer"]


def test_manifest_folders_are_completed(tmp_path: Path) -> None:
    (tmp_path / "data_manifests" / "acba").mkdir(parents=True)
    (tmp_path / "data_manifests" / "acba" / LATEST_FILE).touch()
    (tmp_path / "other").mkdir()
    found = complete("browse", "", folder=tmp_path)
    assert found == complete("train", "", folder=tmp_path)
    assert found == ["data_manifests/acba", "data_manifests/", "other/"]
    assert corpus_completions(f"{tmp_path}/data_manifests/a") == [f"{tmp_path}/data_manifests/acba"]
    assert corpus_completions(f"{tmp_path}/da") == [f"{tmp_path}/data_manifests/"]
    assert corpus_completions(f"{tmp_path}/nowhere/a") == []
    assert set(MARKS) == {LATEST_FILE, CORPUS_FILE}


def test_recipes_and_sources_are_completed() -> None:
    assert complete_starts("t") == ["tag_captions", "triplets"]
    assert source_completions("esc") == ["esc10", "esc50"]
