"""Towers that take waveform: chunks, whole sounds, and a mix of layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import HubertModel, Wav2Vec2FeatureExtractor

from synth.base.errors import SpecError
from tests.kit.tiny_models import noise
from train.config.model import AudioConfig, LayerMix, TokenKind, TowerKind
from train.model.loading import transformers_model
from train.model.towers.base import AudioTower, averaging_weights
from train.model.towers.waveform import waveform_tower

RATE = 16_000
CHUNK = 8_000


def tower(folder: Path, tokens: TokenKind, layers: LayerMix = LayerMix.LAST) -> AudioTower:
    config = AudioConfig(
        kind=TowerKind.TRANSFORMERS, name=str(folder), tokens=tokens, layers=layers
    )
    return waveform_tower(transformers_model(str(folder)), config, RATE).eval()


def hidden(folder: Path, waveform: torch.Tensor) -> Any:
    heard = Wav2Vec2FeatureExtractor(do_normalize=True)(
        [row.numpy() for row in waveform], sampling_rate=RATE, return_tensors="pt"
    )
    model = HubertModel.from_pretrained(folder).eval()
    return model(heard["input_values"], output_hidden_states=True).hidden_states


@torch.no_grad()
def test_chunks_are_means_of_the_last_hidden_states(hubert_folder: Path) -> None:
    waveform = noise(0, 1, 3 * CHUNK)
    whole = tower(hubert_folder, TokenKind.CHUNKS)
    found = whole(whole.features(waveform)).values[0]
    expected = hidden(hubert_folder, waveform.reshape(3, CHUNK))[-1].mean(dim=1)
    assert torch.allclose(found, expected, atol=1e-5)


@torch.no_grad()
def test_a_map_is_the_whole_heard_once(hubert_folder: Path) -> None:
    waveform = noise(1, 2, 3 * CHUNK)
    waveform[1, CHUNK + 100 :] = 0
    found = (heard := tower(hubert_folder, TokenKind.MAP))(heard.features(waveform))
    assert found.mask.tolist() == [[True] * 3, [True, True, False]]
    states = hidden(hubert_folder, waveform[:1])[-1]
    weights = averaging_weights(states.shape[1], 3 * CHUNK, CHUNK, 3, states)
    assert torch.allclose(found.values[0], (weights @ states)[0], atol=1e-5)
    alone = heard(heard.features(waveform[1:, : 2 * CHUNK]))
    assert torch.allclose(found.values[1:, :2], alone.values, atol=1e-5)


@pytest.mark.parametrize("tokens", [TokenKind.CHUNKS, TokenKind.MAP])
@torch.no_grad()
def test_layers_are_mixed_by_a_convolution_that_starts_as_their_mean(
    hubert_folder: Path, tokens: TokenKind
) -> None:
    mixing = tower(hubert_folder, tokens, LayerMix.CONV)
    waveform = noise(2, 1, CHUNK)
    states = torch.stack(hidden(hubert_folder, waveform))
    assert len(states) == 3
    found = mixing(mixing.features(waveform)).values[0, 0]
    assert torch.allclose(found, states.mean(dim=(0, 2))[0], atol=1e-5)
    (mixer,) = mixing.added_modules()
    mixer.weight.copy_(torch.tensor([0.0, 2.0, 0.0])[None, :, None])
    found = mixing(mixing.features(waveform)).values[0, 0]
    assert torch.allclose(found, 2 * states[1].mean(dim=1)[0], atol=1e-5)


def test_training_draws_nothing_that_a_resumed_run_would_not_draw_again(
    hubert_folder: Path,
) -> None:
    training = tower(hubert_folder, TokenKind.CHUNKS).train()
    chunks = training.features(noise(3, 1, CHUNK))
    found = []
    for _ in range(2):
        torch.manual_seed(0)
        found.append(training(chunks).values)
    assert torch.equal(*found)


def test_it_has_no_summary_and_may_hear_waveform_as_it_is(
    hubert_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(SpecError, match="no summary of the whole"):
        tower(hubert_folder, TokenKind.POOLED)
    transformers_model(str(hubert_folder)).save_pretrained(tmp_path)
    Wav2Vec2FeatureExtractor(do_normalize=False).save_pretrained(tmp_path)
    plain = tower(tmp_path, TokenKind.CHUNKS)
    waveform = noise(4, 1, CHUNK)
    expected = HubertModel.from_pretrained(tmp_path).eval()(waveform).last_hidden_state.mean(dim=1)
    assert torch.allclose(plain(plain.features(waveform)).values[0], expected, atol=1e-5)


def test_a_chunk_in_which_nothing_is_heard_is_told(hubert_folder: Path) -> None:
    # Kernels of 10 and 8 with strides of 10 and 8 hear 80 samples.
    model = transformers_model(str(hubert_folder))
    for samples, fits in ((79, False), (80, True)):
        config = AudioConfig(
            kind=TowerKind.TRANSFORMERS, name=str(hubert_folder), chunk_s=samples / RATE
        )
        if fits:
            found = waveform_tower(model, config, RATE)
            assert found(found.features(noise(5, 1, 200))).mask.shape == (1, 3)
            continue
        with pytest.raises(SpecError, match="do not fit") as error:
            waveform_tower(model, config, RATE)
        assert "at least 0.005" in error.value.fix


def test_shares_average_what_lies_in_a_chunk() -> None:
    found = averaging_weights(4, 8.0, 3, 3, torch.zeros(1))
    expected = torch.tensor([[2, 1, 0, 0], [0, 1, 2, 0], [0, 0, 0, 2.0]])
    assert torch.allclose(found, expected / expected.sum(dim=1, keepdim=True))
    assert torch.allclose(
        averaging_weights(2, 8.0, 1, 8, torch.zeros(1)).argmax(dim=1),
        torch.tensor([0] * 4 + [1] * 4),
    )
