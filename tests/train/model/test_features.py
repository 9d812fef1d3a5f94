"""The log-mel in blocks of frames, and what SpecAugment may change of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import ClapFeatureExtractor

from synth.base.errors import SpecError
from tests.kit.tiny_models import clap_extractor, noise
from train.model.features import FLOOR_DB, ClapInput, ClapLogMel, SpecAugment, heard_bins, mel_power


def plainly(waveform: Tensor, window: Tensor, hop: int, bank: Tensor) -> Tensor:
    """The same by the definition of the transform, bin by bin in float64."""
    size = len(window)
    time, bins = torch.arange(size).double(), torch.arange(size // 2 + 1).double()
    angle = 2 * torch.pi * bins[:, None] * time / size
    rows = []
    for row in waveform.double():
        frames = [row[at : at + size] * window for at in range(0, len(row) - size + 1, hop)]
        power = [(angle.cos() @ one).square() + (angle.sin() @ one).square() for one in frames]
        rows.append(torch.stack(power) @ bank.double())
    return torch.stack(rows)


@pytest.mark.parametrize(
    ("rows", "samples"),
    [(1, 16), (2, 100), (3, 4 * 128 + 12), (2, 4 * 300), (300, 40)],
    ids=["one frame", "few frames", "a whole block", "several blocks", "many short rows"],
)
def test_blocks_of_frames_give_what_single_frames_give(rows: int, samples: int) -> None:
    window = torch.hann_window(16, dtype=torch.float64)
    bank = torch.zeros(9, 3)
    bank[2:7] = torch.rand(5, 3, generator=torch.Generator().manual_seed(1))
    bins = heard_bins(bank)
    assert (bins.start, bins.stop) == (2, 7)
    waveform = noise(rows, rows, samples)
    found = mel_power(waveform, window, 4, bins, bank[bins])
    assert found.shape == (rows, (samples - 16) // 4 + 1, 3)
    expected = plainly(waveform, window, 4, bank)
    torch.testing.assert_close(found, expected.float(), rtol=1e-5, atol=1e-7)


MELS = 12


def chunks(count: int = 200) -> Tensor:
    """In every frame, a band's value is its number from 1."""
    bands = torch.arange(1.0, MELS + 1)
    return bands[None, :, None].expand(count, MELS, 5).clone()


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_training_alone_changes_chunks_each_in_its_own_way() -> None:
    found = SpecAugment(4, 2).train()(chunks())
    assert found.shape == chunks().shape
    assert len({tuple(chunk[:, 0].tolist()) for chunk in found}) > 20
    torch.manual_seed(0)
    assert torch.equal(found, SpecAugment(4, 2).train()(chunks()))
    assert torch.equal(SpecAugment(4, 2, frames=3).eval()(chunks()), chunks())
    assert torch.equal(SpecAugment(0, 0).train()(chunks()), chunks())


def test_a_shift_moves_all_bands_alike_and_not_far() -> None:
    found = SpecAugment(0, 2).train()(chunks())
    moved = set()
    for chunk in found:
        by = int(chunk[5, 0]) - 6
        moved.add(by)
        expected = (torch.arange(1.0, MELS + 1) + by).clamp(1, MELS)
        assert torch.equal(chunk, expected[:, None].expand(MELS, 5))
    assert moved == {-2, -1, 0, 1, 2}


@pytest.mark.parametrize(
    ("augment", "axis", "most"),
    [(SpecAugment(4, 0), 1, 4), (SpecAugment(0, 0, frames=3), 2, 3)],
    ids=["bands", "frames"],
)
def test_a_mask_hides_few_neighbours_all_along(augment: SpecAugment, axis: int, most: int) -> None:
    found = augment.train()(chunks())
    hidden = (found == 0).all(dim=3 - axis, keepdim=True)
    assert torch.equal(found, chunks().masked_fill(hidden, 0.0))
    hidden = hidden.flatten(start_dim=1)
    assert set(hidden.sum(dim=1).tolist()) == set(range(most + 1))
    edges = (hidden[:, 1:] != hidden[:, :-1]).sum(dim=1) + hidden[:, 0] + hidden[:, -1]
    assert edges.max() <= 2
    assert hidden.any(dim=0).all()
    whole = SpecAugment(0, 0, frames=50).train()(chunks())  # of 5 frames
    assert set((whole[:, 0] == 0).sum(dim=1).tolist()) == set(range(6))


# ClapLogMel against the real ClapFeatureExtractor.


RATE = 48_000
FULL = 10 * RATE


def tones(samples: int) -> Tensor:
    time = torch.arange(samples, dtype=torch.float64) / RATE
    hertz = (110.0, 997.0, 6_000.0)
    return torch.stack([0.9 * torch.sin(2 * torch.pi * one * time) for one in hertz]).float()


def theirs(extractor: Any, waveform: Tensor) -> Tensor:
    found = extractor(
        [row.numpy() for row in waveform],
        sampling_rate=extractor.sampling_rate,
        padding="pad",
        return_tensors="np",
    )
    return torch.from_numpy(np.asarray(found["input_features"])[:, 0])


@pytest.mark.parametrize("truncation", ["rand_trunc", "fusion"])
@pytest.mark.parametrize(
    "waveform",
    [
        noise(0, 2, FULL),
        noise(1, 1, RATE),
        tones(FULL),
        tones(RATE // 3),
        noise(2, 1, FULL - 300),
        noise(3, 1, 100),
        torch.zeros(1, RATE),
    ],
    ids=["noise", "short noise", "tones", "short tones", "nearly full", "tiny", "silence"],
)
def test_log_mel_is_that_of_the_feature_extractor(truncation: str, waveform: Tensor) -> None:
    extractor = ClapFeatureExtractor(frequency_min=50, truncation=truncation)
    found = ClapLogMel(ClapInput.of_extractor(extractor))(waveform)
    expected = theirs(extractor, waveform)
    assert found.shape == expected.shape == (len(waveform), 1001, 64)
    assert (found - expected).abs().max() < 1e-3


def test_other_settings_are_read_from_the_extractor() -> None:
    extractor = clap_extractor(
        sampling_rate=16_000, hop_length=200, fft_window_size=512, frequency_max=7_000
    )
    waveform = noise(4, 2, 21_000)
    found = ClapLogMel(ClapInput.of_extractor(extractor))(waveform)
    assert (found - theirs(extractor, waveform)).abs().max() < 1e-3


def test_only_frames_that_hear_the_sound_are_kept_and_the_rest_is_silence() -> None:
    log_mel = ClapLogMel(ClapInput.of_extractor(clap_extractor()))
    waveform = noise(5, 1, 20_000)
    kept = log_mel.compute(waveform)
    whole = log_mel(waveform)
    assert kept.shape[1] == log_mel.settings.rows(20_000) == 43
    assert torch.equal(whole[:, :43], kept)
    assert (whole[:, 43:] == FLOOR_DB).all()
    padded = torch.cat([waveform, torch.zeros(1, 70_000)], dim=1)
    assert torch.allclose(log_mel(padded), whole, atol=1e-4)


def test_audio_longer_than_the_input_is_told_unless_it_is_silence() -> None:
    log_mel = ClapLogMel(ClapInput.of_extractor(clap_extractor()))
    waveform = noise(6, 1, 3 * RATE)
    with pytest.raises(SpecError, match=r"3 s is longer than the 2 s.*crop_s: 2"):
        log_mel(waveform)
    waveform[:, 2 * RATE :] = 0
    assert torch.equal(log_mel(waveform), log_mel(waveform[:, : 2 * RATE]))
