"""ms-swift reads the exports `preference` and `grpo`, and the reward of the latter."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from synth.corpus.corpus import Corpus
from tests.kit.chats import assistant, read_lines
from tests.kit.export_corpora import Exported


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """ms-swift's own loader of a file."""
    monkeypatch.setenv("MODELSCOPE_CACHE", str(tmp_path))
    swift = importlib.import_module("swift.dataset")
    return lambda path, **options: swift.load_dataset(
        [str(path)], split_dataset_ratio=0, strict=True, **options
    )[0]


@pytest.mark.parametrize("name", ["train.jsonl", "train_audios.jsonl"])
def test_ms_swift_reads_every_preference(
    short: Corpus, exported: Exported, load: Any, name: str
) -> None:
    inputs = importlib.import_module("swift.template.template_inputs").TemplateInputs
    path = exported(short, "preference") / name
    for row, line in zip(map(inputs.from_dict, load(path)), read_lines(path), strict=True):
        assert row.chosen.messages == line["messages"]
        assert row.chosen.audios == line["audios"]
        assert row.rejected.audios == line.get("rejected_audios", line["audios"])
        said = line.get("rejected_response", line["messages"][-1]["content"])
        assert row.rejected.messages == [line["messages"][0], assistant(said)]


def test_ms_swift_pays_every_reward(short: Corpus, exported: Exported, load: Any) -> None:
    """Its loader, its plugins, and the function that scores completions in its GRPO trainer."""
    torch = importlib.import_module("torch")
    folder = exported(short, "grpo")
    lines = read_lines(folder / "train.jsonl")
    rows = load(folder / "train.jsonl", remove_unused_columns=False)  # as its GRPO has it
    importlib.import_module("swift.utils.utils").import_external_file(str(folder / "reward.py"))
    reward = importlib.import_module("swift.rewards").orms["segue"](args=None)
    samples = importlib.import_module("swift.rl_core.data").GRPOSample
    scoring = importlib.import_module("swift.rl_core.grpo_algorithm").compute_rewards_per_func
    for column, paid in (("solution", 1), ("rival", 0)):
        scored = [samples.from_row(row) for row in rows]
        for sample, line in zip(scored, lines, strict=True):
            assert (sample.messages, sample.audios) == (line["messages"], line["audios"])
            sample.messages.append(assistant(f"So: <answer>{line[column]}</answer>"))
        rewards = scoring(scored, [reward], [None], torch.device("cpu"))
        assert rewards.tolist() == [[paid]] * len(lines)
