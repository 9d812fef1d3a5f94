"""A plain ClapModel folder, opened as it is, and with towers of its own halves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, ClapAudioModel, ClapFeatureExtractor, ClapModel

from synth.base.errors import SpecError
from tests.kit.tiny_models import (
    CLAP_DIM,
    CLAP_RATE,
    CLAP_SECONDS,
    extract_features,
    model_over,
    noise,
    save_clap,
)
from train.config.model import (
    AudioConfig,
    Group,
    HeadKind,
    LayerMix,
    ModelConfig,
    TextConfig,
    TokenKind,
    TowerKind,
)
from train.data.tokenizer import TextTokenizer
from train.model.clap import build_model, clap_config
from train.model.loading import transformers_model
from train.model.network import Clap

FULL = CLAP_SECONDS * CLAP_RATE
SECOND = CLAP_RATE
TEXTS = ["a dog barks", "rain falls before a dog barks then siren"]


def build(config: ModelConfig, rate: int = CLAP_RATE) -> Clap:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build_model(config, rate, vocabulary=0).eval()


def settings(folder: Path, tokens: TokenKind, **audio: Any) -> ModelConfig:
    return model_over(folder, folder, tokens=tokens, **audio)


@pytest.mark.parametrize("name", ["clap_folder", "fused_folder"])
@torch.no_grad()
def test_a_folder_gives_clap_models_vectors(name: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(name)
    theirs = ClapModel.from_pretrained(folder).eval()
    ours = build(clap_config(str(folder)))
    for samples in (FULL, SECOND // 2 + 77, 500):
        waveform = noise(samples, 3, samples)
        expected = theirs.get_audio_features(**extract_features(folder, waveform)).pooler_output
        found = ours.encode_audio(waveform)
        assert found.shape == (3, CLAP_DIM)
        assert (found - expected).abs().max() < 1e-5
    spread = ours.encode_audio(noise(0, 2, FULL) * torch.tensor([[1.0], [0.01]]))
    assert (spread[0] - spread[1]).norm() > 0.05

    ids = TextTokenizer.of_model(str(folder))(TEXTS)
    words = AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, return_tensors="pt")
    expected = theirs.get_text_features(**words).pooler_output
    found = ours.encode_text(ids.ids, ids.mask)
    assert (found - expected).abs().max() < 1e-5
    assert (found[0] - found[1]).norm() > 0.01
    assert ours.scale().item() == pytest.approx(math.exp(3.0))


def test_a_shorter_sound_is_the_same_however_it_is_padded(clap_folder: Path) -> None:
    waveform = noise(1, 1, SECOND)
    padded = torch.cat([waveform, torch.zeros(1, SECOND)], dim=1)
    for tokens in TokenKind:
        tower = build(settings(clap_folder, tokens)).audio_tower
        short, long = tower.features(waveform), tower.features(padded)
        assert short.values.shape[2:] == long.values.shape[2:]
        # A cache leaves zeros behind the sound.
        kept = torch.zeros_like(long.values)
        kept[:, : short.values.shape[1]] = short.values
        first = tower(short)
        count = first.mask.sum()
        for chunks in (long, type(long)(kept, long.mask)):
            again = tower(chunks)
            assert again.mask.sum() == count
            assert torch.allclose(again.values[again.mask], first.values[first.mask], atol=1e-5)


@torch.no_grad()
def test_chunks_are_heard_alone_each_in_an_input_of_its_own(clap_folder: Path) -> None:
    tower = build(settings(clap_folder, TokenKind.CHUNKS, chunk_s=0.5)).audio_tower
    waveform = noise(2, 1, 3 * SECOND)
    waveform[:, SECOND:] *= 0.01
    found = tower(tower.features(waveform))
    assert found.mask.tolist() == [[True] * 6]
    theirs = ClapModel.from_pretrained(clap_folder).eval().audio_model
    alone = extract_features(clap_folder, waveform.reshape(6, SECOND // 2))
    assert torch.allclose(found.values[0], theirs(**alone).pooler_output, atol=1e-5)


@torch.no_grad()
def test_a_map_has_a_token_for_every_chunk_of_the_sound(clap_folder: Path) -> None:
    tower = build(settings(clap_folder, TokenKind.MAP, chunk_s=0.3)).audio_tower
    theirs = ClapModel.from_pretrained(clap_folder).eval().audio_model
    waveform = noise(3, 2, FULL)
    waveform[1, SECOND:] = 0
    found = tower(tower.features(waveform))
    assert found.mask.sum(dim=1).tolist() == [7, 4]
    across = theirs(**extract_features(clap_folder, waveform)).last_hidden_state.mean(dim=2)
    assert across.shape == (2, 16, 32)
    # 32 positions in 2 s are 16 a second: a token of 0.3 s has 4.8 of them.
    first = (across[..., :4].sum(dim=2) + 0.8 * across[..., 4]) / 4.8
    last = (0.2 * across[..., 28] + across[..., 29:].sum(dim=2)) / 3.2
    assert torch.allclose(found.values[:, 0], first, atol=1e-4)
    assert torch.allclose(found.values[0, 6], last[0], atol=1e-4)


def test_the_first_of_the_map_hears_the_first_of_the_sound(clap_folder: Path) -> None:
    tower = build(settings(clap_folder, TokenKind.MAP, chunk_s=0.5)).audio_tower
    waveform = noise(4, 1, FULL)
    louder = waveform.clone()
    louder[:, : SECOND // 2] *= 10
    change = (tower(tower.features(louder)).values - tower(tower.features(waveform)).values).norm(
        dim=2
    )[0]
    assert change.argmax() == 0


def test_longer_audio_is_told_but_in_chunks(clap_folder: Path) -> None:
    waveform = noise(5, 1, 3 * SECOND)
    for tokens in (TokenKind.MAP, TokenKind.POOLED):
        tower = build(settings(clap_folder, tokens)).audio_tower
        with pytest.raises(SpecError, match="longer than the 2 s"):
            tower.features(waveform)
        silence = torch.zeros(1, 3 * SECOND)
        assert tower.features(silence).mask.shape == (1, 4)


def test_halves_saved_alone_are_opened(clap_folder: Path, tmp_path: Path) -> None:
    whole = transformers_model(str(clap_folder))
    for half in ("audio", "text"):
        getattr(whole, f"{half}_model").save_pretrained(tmp_path / half)
    ClapFeatureExtractor.from_pretrained(clap_folder).save_pretrained(tmp_path / "audio")
    assert isinstance(transformers_model(str(tmp_path / "audio")), ClapAudioModel)
    halves = tmp_path / "audio", tmp_path / "text"
    config = model_over(*halves, HeadKind.PROJECTION, TokenKind.POOLED)
    model = build(config)
    together = build(clap_config(str(clap_folder)))
    waveform = noise(6, 1, SECOND)
    ids = torch.tensor([[0, 4, 5, 2]])
    for mine, other in (
        (model.audio_tower(model.audio_tower.features(waveform)),) * 2,
        (
            model.text_tower(ids, ids >= 0),
            together.text_tower(ids, ids >= 0),
        ),
    ):
        assert torch.allclose(mine.values, other.values, atol=1e-6)
    assert model.encode_audio(waveform).shape == (1, 8)
    assert model.scale().item() == pytest.approx(1 / 0.07)


def test_a_folder_without_weights_gives_random_ones(clap_folder: Path, tmp_path: Path) -> None:
    for path in clap_folder.iterdir():
        if path.name != "model.safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    model = build(clap_config(str(tmp_path)))
    assert torch.isfinite(model.encode_audio(noise(7, 1, SECOND))).all()


def test_what_does_not_fit_is_told(clap_folder: Path, hubert_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="48000 Hz, but the corpus is at 16000 Hz"):
        build(clap_config(str(clap_folder)), rate=16_000)
    with pytest.raises(SpecError, match="for models that take waveform"):
        build(settings(clap_folder, TokenKind.MAP, layers=LayerMix.CONV))
    with pytest.raises(SpecError, match="chunks of 3 s") as error:
        build(settings(clap_folder, TokenKind.CHUNKS, chunk_s=3.0))
    assert error.value.fix == "choose a chunk_s of at most 2"
    with pytest.raises(SpecError, match="`dim` is 16") as error:
        build(clap_config(str(clap_folder)).model_copy(update={"dim": 16}))
    assert f"dim: {CLAP_DIM}" in error.value.fix
    with pytest.raises(SpecError, match="is not a CLAP"):
        clap_config(str(hubert_folder))
    with pytest.raises(SpecError, match="cannot be loaded"):
        clap_config(str(tmp_path / "absent"))
    bare = save_clap(tmp_path / "bare")
    (bare / "preprocessor_config.json").unlink()
    with pytest.raises(
        SpecError, match=r"feature extractor.*\(put the model's preprocessor_config\.json"
    ):
        build(clap_config(str(bare)))
    ClapFeatureExtractor().save_pretrained(bare)
    with pytest.raises(SpecError, match="1001 frames of 64 mel bands"):
        build(clap_config(str(bare)))


def test_a_projection_needs_summaries(clap_folder: Path, hubert_folder: Path) -> None:
    whole = clap_config(str(clap_folder))
    for audio, told in (
        (AudioConfig(), "small audio tower"),
        (whole.audio.model_copy(update={"tokens": TokenKind.MAP}), "`tokens: map` gives many"),
        (AudioConfig(kind=TowerKind.TRANSFORMERS, name=str(hubert_folder)), "has no summary"),
    ):
        with pytest.raises(SpecError, match=told) as error:
            build(whole.model_copy(update={"audio": audio}))
        assert "pooled" in error.value.fix
    with pytest.raises(SpecError, match="small text tower"):
        build(whole.model_copy(update={"text": TextConfig()}))


def test_a_bias_is_learned_where_it_does_not_start_at_zero(clap_folder: Path) -> None:
    for bias in (0.0, -10.0):
        model = build(clap_config(str(clap_folder)).model_copy(update={"bias": bias}))
        assert model.bias.item() == bias
        assert "bias" in model.state_dict()
        assert isinstance(model.bias, torch.nn.Parameter) == bool(bias)
        assert ("bias" in dict(model.named_parameters())) == bool(bias)
    frozen = model.bias.requires_grad
    assert frozen
    config = clap_config(str(clap_folder)).model_copy(
        update={"bias": -10.0, "trainable": (Group.AUDIO_HEAD,)}
    )
    assert not build(config).bias.requires_grad
