"""ClapLogMel against the real ClapFeatureExtractor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import ClapFeatureExtractor

from synth.base.errors import SpecError
from tests.kit.tiny_models import clap_extractor, noise
from train.model.features import FLOOR_DB, ClapInput, ClapLogMel

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
    with pytest.raises(SpecError, match="3 s is longer than the 2 s") as error:
        log_mel(waveform)
    assert "crop_s: 2" in error.value.fix
    waveform[:, 2 * RATE :] = 0
    assert torch.equal(log_mel(waveform), log_mel(waveform[:, : 2 * RATE]))
