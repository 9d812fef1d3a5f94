"""Towers that take waveform, and AST, Whisper's encoder and wav2vec2-BERT, against transformers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AutoFeatureExtractor, AutoModel, HubertModel, Wav2Vec2FeatureExtractor

from synth.base.errors import SpecError
from tests.kit.tiny_models import INPUT_SECONDS, noise, save_ast, save_wav2vec2_bert, save_whisper
from train.config.model import AudioConfig, LayerMix, TokenKind, TowerKind
from train.data.audio import FeatureCache
from train.model.loading import transformers_model
from train.model.towers.base import AudioTower, Chunks, averaging_weights
from train.model.towers.frames import FrameTower, frame_tower
from train.model.towers.waveform import waveform_tower

RATE = 16_000
CHUNK = 8_000


def waveform_model(folder: Path, tokens: TokenKind, layers: LayerMix = LayerMix.LAST) -> AudioTower:
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
    whole = waveform_model(hubert_folder, TokenKind.CHUNKS)
    found = whole(whole.features(waveform)).values[0]
    expected = hidden(hubert_folder, waveform.reshape(3, CHUNK))[-1].mean(dim=1)
    assert torch.allclose(found, expected, atol=1e-5)


@torch.no_grad()
def test_a_map_is_the_whole_heard_once(hubert_folder: Path) -> None:
    waveform = noise(1, 2, 3 * CHUNK)
    waveform[1, CHUNK + 100 :] = 0
    found = (heard := waveform_model(hubert_folder, TokenKind.MAP))(heard.features(waveform))
    assert found.mask.tolist() == [[True] * 3, [True, True, False]]
    states = hidden(hubert_folder, waveform[:1])[-1]
    weights = averaging_weights(states.shape[1], 3 * CHUNK, CHUNK, 3, states)
    assert torch.allclose(found.values[0], (weights @ states)[0], atol=1e-5)
    alone = heard(heard.features(waveform[1:, : 2 * CHUNK]))
    assert torch.allclose(found.values[1:, :2], alone.values, atol=1e-5)


@pytest.mark.parametrize("tokens", [TokenKind.CHUNKS, TokenKind.MAP])
@torch.no_grad()
def test_a_mix_of_layers_starts_as_mean(hubert_folder: Path, tokens: TokenKind) -> None:
    mixing = waveform_model(hubert_folder, tokens, LayerMix.CONV)
    waveform = noise(2, 1, CHUNK)
    states = torch.stack(hidden(hubert_folder, waveform))
    assert len(states) == 3
    found = mixing(mixing.features(waveform)).values[0, 0]
    assert torch.allclose(found, states.mean(dim=(0, 2))[0], atol=1e-5)
    (mixer,) = mixing.added_modules()
    mixer.weight.copy_(torch.tensor([0.0, 2.0, 0.0])[None, :, None])
    found = mixing(mixing.features(waveform)).values[0, 0]
    assert torch.allclose(found, 2 * states[1].mean(dim=1)[0], atol=1e-5)


def test_training_draws_what_a_resumed_run_draws_again(hubert_folder: Path) -> None:
    training = waveform_model(hubert_folder, TokenKind.CHUNKS).train()
    chunks = training.features(noise(3, 1, CHUNK))
    found = []
    for _ in range(2):
        torch.manual_seed(0)
        found.append(training(chunks).values)
    assert torch.equal(*found)


def test_it_may_hear_waveform_as_it_is(hubert_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no summary of the whole"):
        waveform_model(hubert_folder, TokenKind.POOLED)
    transformers_model(str(hubert_folder)).save_pretrained(tmp_path)
    Wav2Vec2FeatureExtractor(do_normalize=False).save_pretrained(tmp_path)
    plain = waveform_model(tmp_path, TokenKind.CHUNKS)
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
        with pytest.raises(SpecError, match=r"do not fit.*at least 0\.005"):
            waveform_tower(model, config, RATE)


def test_shares_average_what_lies_in_a_chunk() -> None:
    found = averaging_weights(4, 8.0, 3, 3, torch.zeros(1))
    expected = torch.tensor([[2, 1, 0, 0], [0, 1, 2, 0], [0, 0, 0, 2.0]])
    assert torch.allclose(found, expected / expected.sum(dim=1, keepdim=True))
    assert torch.allclose(
        averaging_weights(2, 8.0, 1, 8, torch.zeros(1)).argmax(dim=1),
        torch.tensor([0] * 4 + [1] * 4),
    )


# AST, Whisper's encoder and wav2vec2-BERT as towers, against transformers' own classes.


SAVED: dict[str, Callable[[Path], Path]] = {
    "ast": save_ast,
    "whisper": save_whisper,
    "wav2vec2-bert": save_wav2vec2_bert,
}


@pytest.fixture(scope="module", params=list(SAVED))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return SAVED[request.param](tmp_path_factory.mktemp("models") / request.param)


def tower(folder: Path, tokens: TokenKind, rate: int = RATE, **changes: Any) -> FrameTower:
    config = AudioConfig(kind=TowerKind.TRANSFORMERS, name=str(folder), tokens=tokens, **changes)
    return frame_tower(transformers_model(str(folder)), config, rate).eval()


def theirs(folder: Path, sound: Tensor) -> Any:
    """What transformers makes of one sound, alone."""
    extractor = AutoFeatureExtractor.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()
    inputs = extractor([sound.numpy()], sampling_rate=RATE, return_tensors="pt")
    return (model.encoder if folder.name == "whisper" else model)(**inputs)


def states(folder: Path, sound: Tensor) -> tuple[Tensor, int]:
    """Their states of one sound, one a moment, and the time that these cover, in samples."""
    found = theirs(folder, sound).last_hidden_state[0]
    if folder.name == "ast":  # two marks, then four bands of patches, each over all of time
        return found[2:].reshape(4, -1, found.shape[1]).mean(dim=0), INPUT_SECONDS * RATE
    return found, INPUT_SECONDS * RATE if folder.name == "whisper" else 320 * len(found)


@torch.no_grad()
def test_a_map_is_what_transformers_makes_of_the_whole(folder: Path) -> None:
    waveform = noise(0, 2, 3 * CHUNK)
    waveform[1, 2 * CHUNK :] = 0
    ours = tower(folder, TokenKind.MAP)
    found = ours(ours.features(waveform))
    assert found.mask.tolist() == [[True] * 3, [True, True, False]]
    for row, count in ((0, 3), (1, 2)):
        expected, span = states(folder, waveform[row, : count * CHUNK])
        weights = averaging_weights(len(expected), span, CHUNK, count, expected)
        assert torch.allclose(found.values[row, :count], weights @ expected, atol=1e-4)


@torch.no_grad()
def test_chunks_are_heard_alone(folder: Path) -> None:
    ours = tower(folder, TokenKind.CHUNKS)
    assert ours.longest is None
    waveform = noise(1, 1, 3 * CHUNK)
    found = ours(ours.features(waveform)).values[0]
    alone = [ours(ours.features(chunk[None])).values[0] for chunk in waveform[0].split(CHUNK)]
    assert torch.allclose(found, torch.cat(alone), atol=1e-5)
    expected, span = states(folder, waveform[0, :CHUNK])
    weights = averaging_weights(len(expected), span, CHUNK, 1, expected)
    assert torch.allclose(found[:1], weights @ expected, atol=1e-4)
    assert not torch.allclose(found[0], found[1], atol=1e-4)


@torch.no_grad()
def test_a_summary_is_the_model_s_own(folder: Path) -> None:
    if folder.name != "ast":
        with pytest.raises(SpecError, match="no summary of the whole"):
            tower(folder, TokenKind.POOLED)
        return
    waveform = noise(2, 1, 2 * CHUNK)
    ours = tower(folder, TokenKind.POOLED)
    found = ours(ours.features(waveform))
    assert found.mask.tolist() == [[True]]
    assert torch.allclose(found.values[0], theirs(folder, waveform[0]).pooler_output, atol=1e-4)


@pytest.mark.parametrize("tokens", [TokenKind.CHUNKS, TokenKind.MAP])
@torch.no_grad()
def test_features_that_were_kept_say_the_same(folder: Path, tokens: TokenKind) -> None:
    ours = tower(folder, tokens)
    waveform = noise(3, 2, 4 * CHUNK)
    waveform[1, CHUNK:] = 0
    whole = ours.features(waveform)
    # A cache holds nothing behind a sound.
    kept = whole.values * whole.mask[:, :, None, None]
    cached = FeatureCache.of(Chunks(kept, whole.mask)).at([1, 0])
    found, again = ours(whole), ours(cached)
    assert torch.allclose(found.values[found.mask], again.values.flip(0)[found.mask], atol=1e-5)


def test_all_that_learns_gets_a_gradient_and_nothing_is_drawn(folder: Path) -> None:
    ours = tower(folder, TokenKind.MAP).train()
    assert ours.last_modules()
    found = [ours(ours.features(noise(4, 2, CHUNK))).values for _ in range(2)]
    if folder.name != "wav2vec2-bert":  # it has dropout, which torch's generator draws
        assert torch.equal(*found)
    found[0].square().sum().backward()
    fixed = {id(one) for one in ours.unused_parameters()}
    learning = {name: one for name, one in ours.named_parameters() if id(one) not in fixed}
    assert all(one.grad is not None for one in learning.values()), learning


@torch.no_grad()
def test_a_sound_may_fill_the_input_and_not_be_longer(folder: Path) -> None:
    ours = tower(folder, TokenKind.MAP)
    whole = noise(5, 1, INPUT_SECONDS * RATE)
    found = ours(ours.features(whole)).values[0]
    expected, span = states(folder, whole[0])
    weights = averaging_weights(len(expected), span, CHUNK, len(found), expected)
    assert torch.allclose(found, weights @ expected, atol=1e-4)
    longer = noise(6, 1, INPUT_SECONDS * RATE + CHUNK)
    if folder.name == "wav2vec2-bert":
        assert ours(ours.features(longer)).mask.shape == (1, 2 * INPUT_SECONDS + 1)
        return
    with pytest.raises(SpecError, match=r"4\.5 s is longer than the 4 s.*crop_s: 4"):
        ours.features(longer)


def test_what_does_not_fit_is_refused(folder: Path) -> None:
    with pytest.raises(SpecError, match="16000 Hz, but the corpus is at 48000 Hz"):
        tower(folder, TokenKind.MAP, rate=48_000)
    with pytest.raises(SpecError, match="for models that take waveform"):
        tower(folder, TokenKind.MAP, layers=LayerMix.CONV)
    for chunk_s in (1e-5, 0.01)[: 1 if folder.name == "whisper" else 2]:
        with pytest.raises(SpecError, match=f"chunks of {chunk_s:g} s") as error:
            tower(folder, TokenKind.MAP, chunk_s=chunk_s)
        assert "at least" in error.value.fix


def test_a_preprocessor_of_no_or_another_name_will_do(folder: Path, tmp_path: Path) -> None:
    """The model tells its kind: a wav2vec2-BERT without a name was taken for a wav2vec 2.0."""
    copy = tmp_path / folder.name
    shutil.copytree(folder, copy)
    file = copy / "preprocessor_config.json"
    facts = json.loads(file.read_text())
    sound = noise(9, 1, RATE)
    wanted = tower(folder, TokenKind.MAP)
    for name in ({}, {"feature_extractor_type": "ClapFeatureExtractor"}):
        facts.pop("feature_extractor_type", None)
        file.write_text(json.dumps(facts | name))
        found = tower(copy, TokenKind.MAP)
        assert torch.equal(
            found(found.features(sound)).values, wanted(wanted.features(sound)).values
        )


def test_a_foreign_feature_extractor_is_refused(folder: Path, tmp_path: Path) -> None:
    model = transformers_model(str(folder))
    model.save_pretrained(tmp_path)
    config = AudioConfig(kind=TowerKind.TRANSFORMERS, name=str(tmp_path), tokens=TokenKind.MAP)
    with pytest.raises(SpecError, match="feature extractor"):
        frame_tower(model, config, RATE)
    file = folder / "preprocessor_config.json"
    facts = json.loads(file.read_text())
    facts |= {"num_mel_bins": 8} if "num_mel_bins" in facts else {"feature_size": 8}
    (tmp_path / file.name).write_text(json.dumps(facts))
    with pytest.raises(SpecError, match=r"its config\.json takes"):
        frame_tower(model, config, RATE)


def test_an_adapter_is_refused(tmp_path: Path) -> None:
    folder = save_wav2vec2_bert(tmp_path)
    model = transformers_model(str(folder))
    model.config.add_adapter = True
    config = AudioConfig(kind=TowerKind.TRANSFORMERS, name=str(folder), tokens=TokenKind.MAP)
    with pytest.raises(SpecError, match="has an adapter"):
        frame_tower(model, config, RATE)
