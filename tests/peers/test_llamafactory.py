"""LLaMA-Factory reads the exports `chat` and `preference`."""

from __future__ import annotations

import importlib
from argparse import Namespace
from pathlib import Path

import pytest

from synth.corpus.corpus import Corpus
from tests.kit.chats import assistant, read_lines
from tests.kit.export_corpora import Exported


@pytest.mark.parametrize("name", ["chat", "preference"])
def test_llamafactory_reads_every_row(
    short: Corpus,
    exported: Exported,
    tmp_path: Path,
    torchaudio: None,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    # It asks for an older transformers, which reading does not need.
    monkeypatch.setenv("DISABLE_VERSION_CHECK", "1")
    factory = importlib.import_module("llamafactory.data.loader")
    parser = importlib.import_module("llamafactory.data.parser")
    arguments = importlib.import_module("llamafactory.hparams").DataArguments
    transformers = importlib.import_module("transformers")
    folder = exported(short, name)
    (attribute,) = parser.get_dataset_list(["short_test"], str(folder))
    model = Namespace(cache_dir=str(tmp_path), hf_hub_token=None, trust_remote_code=False)
    training = transformers.Seq2SeqTrainingArguments(output_dir=str(tmp_path), report_to=[])
    data = arguments(dataset="short_test", dataset_dir=str(folder))
    found = factory._load_single_dataset(attribute, model, data, training)
    for row, line in zip(found, read_lines(folder / "test.jsonl"), strict=True):
        *prompt, answer = line["messages"]
        rejected = [assistant(line["rejected_response"])] if name == "preference" else []
        assert row["_prompt"] == prompt
        assert row["_response"] == [answer, *rejected]
        assert row["_audios"] == [str(folder / path) for path in line["audios"]]
