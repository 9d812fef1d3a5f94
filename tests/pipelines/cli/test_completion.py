"""Completion in a shell, by the protocol that bash speaks."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.cli.common.options import MARKS, corpus_completions, source_completions
from pipelines.config.new import complete_starts
from synth.corpus.corpus import CORPUS_FILE, LATEST_FILE
from tests.kit.builds import segue_here


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


def test_commands_are_completed() -> None:
    assert complete("ve") == ["versions"]
    assert complete("llm", "ru") == ["run"]
    assert complete("night", "--") == ["--help"]
    assert complete("text", "te") == ["textswap"]


def test_options_and_their_values_are_completed() -> None:
    assert {"--head", "--out", "--resume"} <= set(complete("train", "x", "--"))
    assert complete("train", "x", "--head", "tr") == ["transformer"]
    assert complete("text", "probe", "cl") == ["clause-swap"]


def test_manifest_folders_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data_manifests" / "acba").mkdir(parents=True)
    (tmp_path / "data_manifests" / "acba" / LATEST_FILE).touch()
    (tmp_path / "other").mkdir()
    found = complete("browse", "")
    assert found == complete("train", "")
    assert found == ["data_manifests/acba", "data_manifests/", "other/"]
    assert corpus_completions(f"{tmp_path}/data_manifests/a") == [f"{tmp_path}/data_manifests/acba"]
    assert corpus_completions(f"{tmp_path}/da") == [f"{tmp_path}/data_manifests/"]
    assert corpus_completions(f"{tmp_path}/nowhere/a") == []
    assert set(MARKS) == {LATEST_FILE, CORPUS_FILE}


def test_recipes_and_sources_are_completed() -> None:
    assert complete_starts("t") == ["tag_captions", "triplets"]
    assert source_completions("esc") == ["esc10", "esc50"]
