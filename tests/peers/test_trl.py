"""trl takes preferences as they are, and trains on rewards."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path
from typing import Any

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


def make_model() -> tuple[Any, Any]:
    """A tiny model that knows a few words, and its tokenizer."""
    transformers = importlib.import_module("transformers")
    tokenizers = importlib.import_module("tokenizers")
    words = {word: at for at, word in enumerate(("<pad>", "<eos>", "<unk>", "yes", "no"))}
    model = tokenizers.models.WordLevel(words, unk_token="<unk>")
    tokens = tokenizers.Tokenizer(model)
    tokens.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokens, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
    size = {"n_embd": 8, "n_layer": 1, "n_head": 1, "n_positions": 256}
    config = transformers.GPT2Config(vocab_size=len(words), eos_token_id=1, bos_token_id=1, **size)
    return transformers.GPT2LMHeadModel(config), tokenizer


def test_trl_trains_on_every_reward(short: Corpus, exported: Exported, tmp_path: Path) -> None:
    trl = importlib.import_module("trl")
    folder = exported(short, "grpo")
    path = folder / "test.jsonl"
    rows = datasets.load_dataset("json", data_files=str(path), cache_dir=str(tmp_path))["train"]
    lines = read_lines(path)
    assert rows.to_list() == lines
    model, tokenizer = make_model()
    options = {"use_cpu": True, "bf16": False, "report_to": [], "max_steps": 1, "logging_steps": 1}
    trainer = trl.GRPOTrainer(
        model,
        reward_funcs=runpy.run_path(str(folder / "reward.py"))["reward"],
        args=trl.GRPOConfig(
            str(tmp_path), num_generations=2, max_completion_length=4,
            per_device_train_batch_size=4, **options
        ),
        train_dataset=rows,
        processing_class=tokenizer,
    )  # fmt: skip
    trainer.train()
    assert trainer.state.log_history[0]["rewards/reward/mean"] == 0
    for column, paid in (("solution", 1), ("rival", 0)):
        completions = [[assistant(f"So: <answer>{line[column]}</answer>")] for line in lines]
        prompts = [line["prompt"] for line in lines]
        rewards = trainer._calculate_rewards(lines, prompts, completions, [[0]] * len(lines))
        assert rewards.tolist() == [[paid]] * len(lines)
