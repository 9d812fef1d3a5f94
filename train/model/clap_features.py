"""Log-mel spectra as CLAP was trained on, computed on the device that holds the waveform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from synth.base.errors import SpecError
from train.model.features import heard_bins, mel_power

# 10 log10 of the least power that transformers' `spectrogram` lets through.
FLOOR_DB: Final = -100.0
_FLOOR_POWER: Final = 1e-10


@dataclass(frozen=True, slots=True)
class ClapInput:
    """What a CLAP takes.

    Args:
        n_fft: Window of the Fourier transform, in samples.
        hop: Step between frames, in samples.
        lowest: Lower edge of the lowest band, in Hz.
        highest: Upper edge of the highest band, in Hz.
        samples: Length of the input; shorter audio is filled up with silence.
        slaney: Mel scale and area norm of librosa; else the HTK scale, not normalised.
    """

    sample_rate: int
    n_fft: int
    hop: int
    mels: int
    lowest: float
    highest: float
    samples: int
    slaney: bool

    @classmethod
    def of_extractor(cls, extractor: Any) -> ClapInput:
        """The settings of a ClapFeatureExtractor, which hears HTK bands for `fusion` alone."""
        return cls(
            sample_rate=int(extractor.sampling_rate),
            n_fft=int(extractor.fft_window_size),
            hop=int(extractor.hop_length),
            mels=int(extractor.feature_size),
            lowest=float(extractor.frequency_min),
            highest=float(extractor.frequency_max),
            samples=int(extractor.nb_max_samples),
            slaney=extractor.truncation != "fusion",
        )

    def bank(self) -> Float[np.ndarray, "bins mels"]:
        """Weights of the bins of the Fourier transform in each mel band."""
        from transformers.audio_utils import mel_filter_bank

        found: np.ndarray = mel_filter_bank(
            num_frequency_bins=self.n_fft // 2 + 1,
            num_mel_filters=self.mels,
            min_frequency=self.lowest,
            max_frequency=self.highest,
            sampling_rate=self.sample_rate,
            norm="slaney" if self.slaney else None,
            mel_scale="slaney" if self.slaney else "htk",
        )
        return found

    @property
    def frames(self) -> int:
        """Number of frames of a whole input."""
        return 1 + self.samples // self.hop

    def rows(self, samples: int) -> int:
        """Number of frames, from the start, that hear something of a sound.

        Args:
            samples: Length of the sound.
        """
        # A sound that ends within the last half window is also heard in its mirror image behind
        # the end of the input, where frames are padded by reflection.
        reach = max(self.n_fft // 2, self.hop)
        return -(-(samples + reach) // self.hop)


class ClapLogMel(nn.Module):
    """The log-mel of transformers' ClapFeatureExtractor with `padding="pad"`, on any device.

    Shorter audio is followed by silence and never looped, since a loop makes captions that tell
    order false.
    """

    bank: Tensor

    def __init__(self, settings: ClapInput) -> None:
        super().__init__()
        self.settings = settings
        weights = torch.from_numpy(settings.bank()).float()
        self.bins = heard_bins(weights)
        heard = weights[self.bins].contiguous()
        self.register_buffer("bank", heard, persistent=False)

    @torch.no_grad()
    def forward(
        self, waveform: Float[Tensor, "batch samples"]
    ) -> Float[Tensor, "batch frames mels"]:
        """Log-mel in dB of whole inputs.

        Args:
            waveform: Samples in -1 to 1.
        """
        return self.pad(self.compute(self.cut(waveform)))

    def cut(self, waveform: Float[Tensor, "batch samples"]) -> Float[Tensor, "batch fewer"]:
        """The waveform without digital silence behind the end of the input."""
        most, rate = self.settings.samples, self.settings.sample_rate
        if waveform.shape[1] > most and bool((waveform[:, most:] != 0).any()):
            raise SpecError(
                f"audio of {waveform.shape[1] / rate:g} s is longer than the {most / rate:g} s "
                "that this CLAP takes",
                fix=f"build the corpus with shorter samples, crop with `crop_s: {most / rate:g}`, "
                "or choose `tokens: chunks`",
            )
        return waveform[:, :most]

    @torch.no_grad()
    def compute(
        self, waveform: Float[Tensor, "batch samples"]
    ) -> Float[Tensor, "batch frames mels"]:
        """Log-mel in dB of the frames that hear something; those behind them are at the floor.

        Args:
            waveform: Samples in -1 to 1; all frames of what is longer than the input.
        """
        most, half = self.settings.samples, self.settings.n_fft // 2
        samples = waveform.shape[1]
        # In float32 the rounding of a loud tone would be heard in bands at the floor. Its power and
        # the bands hold only sums of what is positive, so float32 is enough for them.
        precision = torch.float32 if waveform.device.type == "mps" else torch.float64
        window = torch.hann_window(self.settings.n_fft, dtype=precision, device=waveform.device)
        whole = functional.pad(waveform.float(), (0, max(min(2 * half, most - samples), 0)))
        padded = functional.pad(whole, (half, half), mode="reflect")
        # The frames behind them hear nothing but silence.
        hop, rows = self.settings.hop, self.settings.rows(samples)
        padded = padded[:, : (rows - 1) * hop + self.settings.n_fft]
        power = mel_power(padded, window, hop, self.bins, self.bank)
        return power.clamp_min_(_FLOOR_POWER).log10_().mul_(10)

    def pad(self, frames: Float[Tensor, "batch some mels"]) -> Float[Tensor, "batch frames mels"]:
        """Frames followed by silence up to the length of the input; or cut to it."""
        behind = self.settings.frames - frames.shape[1]
        return functional.pad(frames, (0, 0, 0, behind), value=FLOOR_DB)


def fusion_views(
    frames: Float[Tensor, "all mels"], count: int
) -> Float[Tensor, "views frames mels"]:
    """What a fused CLAP takes of longer audio: the whole, shrunk, and a stretch of each third.

    transformers and LAION draw each stretch at random. Here it is the middle one of those that
    they draw from, so that a sound has one embedding.

    Args:
        count: Number of frames of the input, at most as many.
    """
    size = (count, frames.shape[1])
    shrunk = functional.interpolate(frames[None, None], size, mode="bilinear")[0, 0]
    thirds = torch.arange(len(frames) - count + 1).tensor_split(3)
    starts = [int(third[len(third) // 2]) if len(third) else 0 for third in thirds]
    return torch.stack([shrunk, *(frames[start : start + count] for start in starts)])
