"""Towers from transformers, random weights from a folder with a config, nothing downloaded."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from transformers import (
    BertConfig,
    PreTrainedTokenizerFast,
    Wav2Vec2Config,
    Wav2Vec2FeatureExtractor,
)

from synth.base.errors import SpecError
from tests.kit.tiny_models import WAVEFORM_SIZES, model_over
from train.data.tokenizer import TextTokenizer
from train.model.clap import build_model
from train.model.loading import model_rate, transformers_model
from train.model.network import Clap

RATE = 16_000


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    audio, text = tmp_path / "audio", tmp_path / "text"
    Wav2Vec2Config(**WAVEFORM_SIZES).save_pretrained(audio)
    words = TextTokenizer.of_texts(["a dog barks before rain falls"])
    BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    ).save_pretrained(text)
    (text / "words.json").write_text(words.to_json())
    PreTrainedTokenizerFast(
        tokenizer_file=str(text / "words.json"), pad_token="[PAD]", unk_token="[UNK]"
    ).save_pretrained(text)
    return audio, text


def clap(audio: Path, text: Path) -> Clap:
    config = model_over(audio, text, dim=16)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build_model(config, RATE, vocabulary=0).eval()


def test_both_towers_encode(folders: tuple[Path, Path]) -> None:
    model = clap(*folders)
    generator = torch.Generator().manual_seed(0)
    waveform = torch.randn(2, 3 * RATE // 2, generator=generator) * 0.1
    audio = model.encode_audio(waveform)
    ids = TextTokenizer.of_model(str(folders[1]))(["a dog barks", "rain falls before a dog barks"])
    text = model.encode_text(ids.ids, ids.mask)
    assert audio.shape == text.shape == (2, 16)
    assert torch.allclose(audio.norm(dim=1), torch.ones(2))
    assert ids.mask.sum(dim=1).tolist() == [3, 6]


def test_weights_that_are_not_safetensors_are_never_opened_nor_passed_over(
    folders: tuple[Path, Path],
) -> None:
    audio, text = folders
    whole = transformers_model(str(text))
    torch.save(whole.state_dict(), text / "pytorch_model.bin")
    with pytest.raises(SpecError, match="cannot be loaded") as error:
        clap(audio, text)
    assert "safetensors" in error.value.fix
    (text / "pytorch_model.bin").unlink()
    whole.save_pretrained(text)
    again = transformers_model(str(text)).state_dict()
    assert all(torch.equal(again[name], value) for name, value in whole.state_dict().items())


def test_a_corpus_at_another_rate_than_the_model_is_told(folders: tuple[Path, Path]) -> None:
    assert model_rate(str(folders[0])) == 16_000
    Wav2Vec2FeatureExtractor(sampling_rate=24_000).save_pretrained(folders[0])
    with pytest.raises(SpecError, match="24000 Hz, but the corpus is at 16000 Hz") as error:
        clap(*folders)
    assert "sample_rate: 24000" in error.value.fix


def test_a_model_that_is_not_there_or_takes_no_waveform_is_told(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match="cannot be loaded"):
        clap(tmp_path, folders[1])
    with pytest.raises(SpecError, match="is no audio tower"):
        clap(folders[1], folders[1])


EVIL = """\
import pathlib
pathlib.Path(__file__).with_name("ran").touch()
"""


@pytest.mark.parametrize(
    ("name", "facts", "refused"),
    [
        ("config.json", {"auto_map": {"AutoModel": "evil.M"}}, ""),
        ("config.json", {"attn_implementation": "evil/kernels"}, ""),
        ("tokenizer_config.json", {"auto_map": {"AutoTokenizer": ["evil.T", "evil.T"]}}, ""),
        (
            "config.json",
            {"auto_map": {"AutoConfig": "evil.C"}, "model_type": "evil"},
            "Python code of its own, which is never run",
        ),
        ("adapter_config.json", {"base_model_name_or_path": "evil"}, "an adapter"),
        ("model.safetensors.index.json", {"weight_map": {"a": "../b"}}, "weights lie elsewhere"),
        ("config.json", {"hidden_size": "wide"}, "text"),
        ("tokenizer_config.json", {"model_max_length": "long"}, "tokenizer"),
        ("tokenizer.json", None, "is not a regular file"),
        ("config.json", None, "is not a regular file"),
        ("model.safetensors", None, "is not a regular file"),
    ],
)
def test_code_in_a_folder_is_neither_run_nor_offered_and_odd_files_are_refused(
    folders: tuple[Path, Path],
    name: str,
    facts: dict[str, object] | None,
    refused: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: pytest.fail("asked"))
    audio, text = folders
    (text / "evil.py").write_text(EVIL)
    path = text / name
    if facts is None:
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    else:
        before = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(before | facts))
    with pytest.raises(SpecError, match=refused) if refused else nullcontext():
        clap(audio, text)
        TextTokenizer.of_model(str(text))
    assert not (text / "ran").exists()
