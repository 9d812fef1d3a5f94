"""ms-swift reads the export `preference`."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from synth.corpus.corpus import Corpus
from tests.kit.chats import assistant, read_lines
from tests.kit.export_corpora import Exported


@pytest.mark.parametrize("name", ["train.jsonl", "train_audios.jsonl"])
def test_ms_swift_reads_every_preference(
    short: Corpus, exported: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("MODELSCOPE_CACHE", str(tmp_path))
    swift = importlib.import_module("swift.dataset")
    inputs = importlib.import_module("swift.template.template_inputs").TemplateInputs
    path = exported(short, "preference") / name
    found, _ = swift.load_dataset([str(path)], split_dataset_ratio=0, strict=True)
    for row, line in zip(map(inputs.from_dict, found), read_lines(path), strict=True):
        assert row.chosen.messages == line["messages"]
        assert row.chosen.audios == line["audios"]
        assert row.rejected.audios == line.get("rejected_audios", line["audios"])
        said = line.get("rejected_response", line["messages"][-1]["content"])
        assert row.rejected.messages == [line["messages"][0], assistant(said)]
