"""Towers from transformers, random weights from a folder with a config, nothing downloaded."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, PreTrainedTokenizerFast, Wav2Vec2Config

from synth.errors import SpecError
from train.config import AudioConfig, ModelConfig, TextConfig, TowerKind
from train.model import Clap, build_model
from train.tokenizer import TextTokenizer

RATE = 16_000


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    audio, text = tmp_path / "audio", tmp_path / "text"
    Wav2Vec2Config(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        conv_dim=(8, 8),
        conv_stride=(10, 8),
        conv_kernel=(10, 8),
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
        num_feat_extract_layers=2,
    ).save_pretrained(audio)
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
    config = ModelConfig(
        dim=16,
        audio=AudioConfig(kind=TowerKind.TRANSFORMERS, name=str(audio)),
        text=TextConfig(kind=TowerKind.TRANSFORMERS, name=str(text)),
    )
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


def test_a_model_that_is_not_there_or_takes_no_waveform_is_told(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match="cannot be loaded"):
        clap(tmp_path, folders[1])
    with pytest.raises(SpecError, match="does not take waveform"):
        clap(folders[1], folders[1])
