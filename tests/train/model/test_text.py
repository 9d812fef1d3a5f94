"""Text towers: tokens or a summary."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    CLIPConfig,
    CLIPModel,
    CLIPTextConfig,
    GPT2Model,
    ModernBertModel,
    PreTrainedTokenizerFast,
    Qwen3Model,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5EncoderModel,
    T5Model,
    Wav2Vec2Config,
    Wav2Vec2FeatureExtractor,
)

from synth.base.errors import SpecError
from tests.kit.tables import read_data
from tests.kit.tiny_models import (
    WAVEFORM_SIZES,
    model_over,
    save_ast,
    save_gpt2,
    save_modernbert,
    save_qwen3,
    save_whisper,
)
from train.config.model import HeadKind
from train.data.tokenizer import TextTokenizer
from train.model.clap import ModelLibrary, build_model, text_tower
from train.model.loading import model_rate, transformers_model
from train.model.network import Clap
from train.model.towers.base import TextTower

IDS = torch.tensor([[0, 4, 5, 6, 2, 1], [0, 7, 2, 1, 1, 1]])
MASK = IDS != 1
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}


def tower(folder: Path, head: HeadKind = HeadKind.TRANSFORMER) -> TextTower:
    config = model_over(None, folder, head, dim=16)
    return text_tower(config, 0, ModelLibrary()).eval()


def roberta(folder: Path) -> Any:
    model = RobertaModel(RobertaConfig(vocab_size=20, max_position_embeddings=40, **SIZES))
    model.save_pretrained(folder)
    return model.eval()


def t5(folder: Path) -> Any:
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 2}
    model = T5Model(T5Config(vocab_size=20, **sizes))
    model.save_pretrained(folder)
    return model.eval().encoder  # which alone is a tower


def t5_encoder(folder: Path) -> Any:
    """Saved without the decoder, though its configuration has one."""
    encoder = T5EncoderModel(t5(folder).config)
    encoder.save_pretrained(folder)
    return encoder.eval()


def clip(folder: Path) -> Any:
    text = CLIPTextConfig(vocab_size=20, max_position_embeddings=30, eos_token_id=2, **SIZES)
    vision = {"image_size": 8, "patch_size": 4, **SIZES}
    model = CLIPModel(
        CLIPConfig(text_config=text.to_dict(), vision_config=vision, projection_dim=8)
    )
    model.save_pretrained(folder)
    return model.eval().text_model


def modernbert(folder: Path) -> Any:
    return ModernBertModel.from_pretrained(save_modernbert(folder)).eval()


@pytest.mark.parametrize("make", [roberta, t5, t5_encoder, clip, modernbert])
@torch.no_grad()
def test_tokens_are_the_last_hidden_states(make: Any, tmp_path: Path) -> None:
    theirs = make(tmp_path)
    found = tower(tmp_path)(IDS, MASK)
    assert torch.equal(found.mask, MASK)
    expected = theirs(input_ids=IDS, attention_mask=MASK.long()).last_hidden_state
    assert torch.allclose(found.values[MASK], expected[MASK], atol=1e-5)
    alone = tower(tmp_path)(IDS[1:, :3], MASK[1:, :3])
    assert torch.allclose(found.values[1:, :3], alone.values, atol=1e-5)


@pytest.mark.parametrize("make", [roberta, clip])
@torch.no_grad()
def test_the_summary_is_the_one_token_under_a_projection(make: Any, tmp_path: Path) -> None:
    theirs = make(tmp_path)
    found = tower(tmp_path, HeadKind.PROJECTION)(IDS, MASK)
    assert found.mask.tolist() == [[True], [True]]
    expected = theirs(input_ids=IDS, attention_mask=MASK.long()).pooler_output
    assert torch.allclose(found.values[:, 0], expected, atol=1e-5)


def test_t5_has_no_summary_and_audio_models_no_text(tmp_path: Path, hubert_folder: Path) -> None:
    for make, kind in ((t5, "t5"), (modernbert, "modernbert")):
        make(tmp_path / kind)
        with pytest.raises(SpecError, match=rf"\({kind}\) has no summary.*`mlp` or `transformer`"):
            tower(tmp_path / kind, HeadKind.PROJECTION)
    for folder in (hubert_folder, save_whisper(tmp_path / "whisper"), save_ast(tmp_path / "ast")):
        with pytest.raises(SpecError, match="does not take text"):
            tower(folder)


def test_every_parameter_that_is_not_idle_gets_a_gradient(tmp_path: Path) -> None:
    for make, kind in ((roberta, HeadKind.MLP), (roberta, HeadKind.PROJECTION), (t5, HeadKind.MLP)):
        folder = tmp_path / f"{make.__name__}-{kind}"
        make(folder)
        found = tower(folder, kind)
        tokens = found(IDS, MASK)
        tokens.values[tokens.mask].square().sum().backward()
        idle = {id(one) for one in found.unused_parameters()}
        without = [name for name, one in found.named_parameters() if one.grad is None]
        assert len(without) == len(idle), without


def gpt2(folder: Path) -> Any:
    return GPT2Model.from_pretrained(save_gpt2(folder)).eval()


def qwen3(folder: Path) -> Any:
    return Qwen3Model.from_pretrained(save_qwen3(folder)).eval()


@pytest.mark.parametrize("make", [gpt2, qwen3])
@pytest.mark.parametrize("head", list(HeadKind))
@torch.no_grad()
def test_the_last_word_is_the_one_token(make: Any, head: HeadKind, tmp_path: Path) -> None:
    theirs = make(tmp_path)
    found = tower(tmp_path, head)(IDS, MASK)
    assert found.mask.tolist() == [[True], [True]]
    for row, ids, mask in zip(found.values, IDS, MASK, strict=True):
        alone = theirs(input_ids=ids[mask][None]).last_hidden_state[:, -1]
        assert torch.allclose(row, alone, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "last"),
    [
        (save_gpt2, ("h.1.", "ln_f.")),
        (save_qwen3, ("layers.1.", "norm.")),
        (save_modernbert, ("layers.1.", "final_norm.")),
    ],
)
def test_the_last_layer_is_trained_alone(make: Any, last: tuple[str, ...], tmp_path: Path) -> None:
    found = tower(make(tmp_path))
    parts = {id(one) for part in found.last_modules() for one in part.parameters()}
    names = {name for name, one in found.named_parameters() if id(one) in parts}
    prefixes = tuple(f"model.{part}" for part in last)
    assert names == {name for name, _ in found.named_parameters() if name.startswith(prefixes)}
    assert all(any(name.startswith(prefix) for name in names) for prefix in prefixes)


# Towers from transformers, random weights from a folder with a config, nothing downloaded.


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


def test_only_safetensors_are_opened(folders: tuple[Path, Path]) -> None:
    audio, text = folders
    whole = transformers_model(str(text))
    torch.save(whole.state_dict(), text / "pytorch_model.bin")
    with pytest.raises(SpecError, match=r"cannot be loaded.*\(give a folder.*safetensors"):
        clap(audio, text)
    (text / "pytorch_model.bin").unlink()
    whole.save_pretrained(text)
    again = transformers_model(str(text)).state_dict()
    assert all(torch.equal(again[name], value) for name, value in whole.state_dict().items())


def test_a_rate_or_model_that_is_wrong_is_told(folders: tuple[Path, Path], tmp_path: Path) -> None:
    assert model_rate(str(folders[0])) == 16_000
    Wav2Vec2FeatureExtractor(sampling_rate=24_000).save_pretrained(folders[0])
    with pytest.raises(SpecError, match="24000 Hz, but the corpus is at 16000 Hz") as error:
        clap(*folders)
    assert "sample_rate: 24000" in error.value.fix
    with pytest.raises(SpecError, match="cannot be loaded"):
        clap(tmp_path, folders[1])
    with pytest.raises(SpecError, match="is no audio tower"):
        clap(folders[1], folders[1])


EVIL = """\
import pathlib
pathlib.Path(__file__).with_name("ran").touch()
"""


@pytest.mark.parametrize(("name", "facts", "refused"), read_data("models/strange_files.yaml"))
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
