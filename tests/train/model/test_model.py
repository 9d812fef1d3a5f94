"""Features, towers and heads: what hears order, and what must not."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

from tests.kit.tiny_models import noise
from train.config.model import AudioConfig, HeadConfig, HeadKind, ModelConfig
from train.model.clap import build_model
from train.model.device import describe_devices, matmul_precision
from train.model.features import LogMel, split_chunks
from train.model.heads import MeanPoolHead, Tokens, TransformerHead, sinusoids
from train.model.network import Clap, LogitScale

RATE = 16_000
OURS = (HeadKind.MLP, HeadKind.TRANSFORMER)
CHUNK = 8_000


def model(head: HeadKind = HeadKind.TRANSFORMER) -> Clap:
    config = ModelConfig(dim=32, head=HeadConfig(kind=head), audio=AudioConfig(width=16))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build_model(config, RATE, vocabulary=20).eval()


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 48_000])
def test_log_mel_is_finite_at_any_rate_and_for_silence(rate: int) -> None:
    features = LogMel(rate, mels=40, window_s=0.064, hop_s=0.032)
    samples = rate // 2
    for waveform in (torch.zeros(2, samples), noise(0, 2, samples)):
        found = features(waveform)
        assert found.shape == (2, 40, 1 + samples // features.hop)
        assert torch.isfinite(found).all()
    assert features(noise(0, 1, samples)).mean() > features(torch.zeros(1, samples)).mean()


def test_log_mel_puts_a_tone_where_it_belongs() -> None:
    features = LogMel(RATE, mels=40, window_s=0.064, hop_s=0.032)
    time = torch.arange(RATE) / RATE
    loudest = [
        int(features(torch.sin(2 * torch.pi * hertz * time)[None])[0].mean(dim=1).argmax())
        for hertz in (200, 800, 3000)
    ]
    assert loudest == sorted(set(loudest))
    louder = features(0.5 * torch.sin(2 * torch.pi * 800 * time)[None])
    softer = features(0.05 * torch.sin(2 * torch.pi * 800 * time)[None])
    gap = (louder - softer)[0, loudest[1], 10]
    assert gap.item() == pytest.approx(20 / 40, abs=1e-3)


def test_chunks_behind_the_sound_are_masked_and_gaps_within_it_are_not() -> None:
    waveform = torch.zeros(3, 4 * CHUNK + 5)
    waveform[0, 10] = 0.1
    waveform[0, 2 * CHUNK + 10] = 0.1
    waveform[1, -1] = 0.1
    chunks, mask = split_chunks(waveform, CHUNK)
    assert chunks.shape == (3, 5, CHUNK)
    assert mask.tolist() == [[True] * 3 + [False] * 2, [True] * 5, [True] + [False] * 4]


def test_a_chunk_changes_its_own_token_and_padding_none() -> None:
    tower = model().audio_tower
    waveform = noise(1, 1, 6 * CHUNK)
    before = tower(tower.features(waveform)).values
    waveform[0, 3 * CHUNK : 4 * CHUNK] = noise(2, CHUNK)
    after = tower(tower.features(waveform)).values
    changed = (before != after).any(dim=2)[0]
    assert changed.tolist() == [False, False, False, True, False, False]
    for head in OURS:
        clap = model(head)
        waveform = noise(3, 1, 5 * CHUNK)
        padded = torch.cat([waveform, torch.zeros(1, 3 * CHUNK)], dim=1)
        close = torch.allclose(clap.encode_audio(waveform), clap.encode_audio(padded), atol=1e-5)
        assert close


def test_mean_pooling_is_deaf_to_order_and_the_transformer_is_not() -> None:
    waveform = noise(4, 1, 6 * CHUNK) * torch.linspace(0.1, 1, 6 * CHUNK)
    turned = waveform.reshape(6, CHUNK).flip(0).reshape(1, -1)
    deaf, hears = model(HeadKind.MLP), model(HeadKind.TRANSFORMER)
    assert torch.allclose(deaf.encode_audio(waveform), deaf.encode_audio(turned), atol=1e-6)
    assert (hears.encode_audio(waveform) - hears.encode_audio(turned)).norm() > 1e-3


@pytest.mark.parametrize("kind", OURS)
def test_heads_ignore_what_is_masked_and_give_unit_length(kind: HeadKind) -> None:
    head: nn.Module = (
        MeanPoolHead(8, 16, 0.0) if kind is HeadKind.MLP else TransformerHead(8, 16, 2, 2, 0.0)
    )
    head.eval()
    values, mask = noise(5, 2, 5, 8), torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    first = head(Tokens(values, mask))
    values[0, 3:] = 100.0
    assert torch.allclose(first, head(Tokens(values, mask)), atol=1e-6)
    assert torch.allclose(first.norm(dim=1), torch.ones(2))


def test_positions_have_unit_amplitude() -> None:
    found = sinusoids(50, 16, torch.zeros(1))
    pairs = found.reshape(50, 8, 2)
    assert torch.allclose(pairs.square().sum(dim=2), torch.ones(50, 8))
    assert torch.allclose(found[0, ::2], torch.zeros(8))


def test_temperature_starts_where_told_and_is_limited_but_never_stuck() -> None:
    scale = LogitScale(0.05)
    assert scale().item() == pytest.approx(20)
    with torch.no_grad():
        scale.log.fill_(50.0)
    scale.limit()
    assert scale().item() == pytest.approx(100)
    scale().backward()
    assert scale.log.grad.item() > 0


DIM = 8


def tokens() -> Tokens:
    values = torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(0))
    mask = torch.arange(5) < torch.tensor([[5], [2], [4]])
    return Tokens(values, mask)


@pytest.mark.parametrize(
    "head",
    [MeanPoolHead(6, DIM, 0.0), TransformerHead(6, DIM, 2, 2, 0.0)],
    ids=["mlp", "transformer"],
)
def test_tokens_are_embedded_beside_the_whole(head: MeanPoolHead | TransformerHead) -> None:
    given = tokens()
    _, each = head.with_frames(given)
    assert each.shape == (3, 5, DIM)
    lengths = each.norm(dim=2)
    torch.testing.assert_close(lengths[given.mask], torch.ones(int(given.mask.sum())))
    assert not each[~given.mask].any()


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_last_layer_that_makes_one_token_gives_what_one_that_makes_all_gives(layers: int) -> None:
    head, given = TransformerHead(6, DIM, layers, 2, 0.0), tokens()
    alone, whole = head(given), head.with_frames(given)[0]
    torch.testing.assert_close(alone, whole)
    weights = torch.randn(whole.shape, generator=torch.Generator().manual_seed(1))
    parameters = list(head.parameters())
    found, expected = (
        torch.autograd.grad((weights * one).sum(), parameters) for one in (alone, whole)
    )
    torch.testing.assert_close(found, expected)


def test_a_mean_pool_head_embeds_a_token_as_if_it_were_all() -> None:
    head, given = MeanPoolHead(6, DIM, 0.0), tokens()
    whole, each = head.with_frames(given)
    assert torch.equal(whole, head(given))
    alone = head(Tokens(given.values[:, 1:2], given.mask[:, 1:2]))
    torch.testing.assert_close(each[:, 1], alone)


# What torch finds on a machine, as `segue check` asks for it.


def test_a_machine_without_gpu_has_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    found = json.loads(json.dumps(describe_devices()))
    assert found["devices"] == []
    assert found["torch"] == torch.__version__


def test_each_gpu_is_told_with_its_memory_and_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    class Properties:
        total_memory = 80_000_000_000

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"GPU {index}")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Properties)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: (7 + 2 * index, 0))
    devices = describe_devices()["devices"][:2]
    assert [(each["device"], each["bf16"]) for each in devices] == [
        ("cuda:0", False),
        ("cuda:1", True),
    ]
    assert devices[0]["memory"] == Properties.total_memory


def test_products_are_as_precise_as_before_once_a_run_is_over() -> None:
    def dies() -> None:
        with matmul_precision("high"):
            assert torch.get_float32_matmul_precision() == "high"
            with matmul_precision("highest"):
                assert torch.get_float32_matmul_precision() == "highest"
            assert torch.get_float32_matmul_precision() == "high"
            raise RuntimeError("killed")

    before = torch.get_float32_matmul_precision()
    with pytest.raises(RuntimeError, match="killed"):
        dies()
    assert torch.get_float32_matmul_precision() == before
