"""trl takes preferences as they are."""

from __future__ import annotations

import importlib
from pathlib import Path

import datasets

from synth.corpus.corpus import Corpus
from tests.kit.chats import assistant, read_lines
from tests.kit.export_corpora import Exported


def test_trl_takes_preferences_as_they_are(
    short: Corpus, exported: Exported, tmp_path: Path
) -> None:
    trl = importlib.import_module("trl")
    path = exported(short, "preference") / "test.jsonl"
    found = datasets.load_dataset("json", data_files=str(path), cache_dir=str(tmp_path))["train"]
    for row, line in zip(found, read_lines(path), strict=True):
        assert trl.is_conversational(row)
        assert row["prompt"] + row["chosen"] == line["messages"]
        assert row["rejected"] == [assistant(line["rejected_response"])]
