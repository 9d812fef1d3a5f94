"""Log-mel spectra, ours and CLAP's, computed on the device that holds the waveform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from synth.base.errors import SpecError

# Frames that are transformed at once. On a CPU they stay in its cache: fresh memory costs more than
# the transform. A GPU is kept busy by 256 MiB of them.
_FRAMES_ON_CPU: Final = 128
_FRAMES_ON_GPU: Final = 1 << 14
# Level in dB that becomes 0, and the dB that become 1: full scale to silence spans about -1 to 1.
_CENTRE_DB = -50.0
_SPAN_DB = 40.0
_FLOOR = 1e-9


def heard_bins(bank: Float[Tensor, "all_bins mels"]) -> slice:
    """The bins of a Fourier transform from the first to the last that any mel band hears."""
    bins = bank.any(dim=1).nonzero().flatten().tolist()
    return slice(bins[0], bins[-1] + 1)


def mel_power(
    waveform: Float[Tensor, "batch samples"],
    window: Float[Tensor, " n_fft"],
    hop: int,
    bins: slice,
    bank: Float[Tensor, "bins mels"],
) -> Float[Tensor, "batch frames mels"]:
    """Power in mel bands of every frame that fits into the waveform, in blocks of frames.

    Args:
        waveform: Samples, padded as the first and the last frame need it.
        window: Of the Fourier transform, in the precision of the transform.
        hop: Step between frames, in samples.
        bins: Those of the transform that the bank is for.
        bank: Weights of the bands, in the precision of the result.
    """
    if torch.compiler.is_exporting():
        return _mel_power_by_matrix(waveform, window, hop, bins, bank)
    frames = waveform.unfold(1, len(window), hop)
    batch, count, _ = frames.shape
    most = _FRAMES_ON_CPU if waveform.device.type == "cpu" else _FRAMES_ON_GPU
    rows = max(most // max(count, 1), 1)
    mels = bank.new_empty(batch, count, bank.shape[1])
    for row in range(0, batch, rows):
        for frame in range(0, count, most):
            place = slice(row, row + rows), slice(frame, frame + most)
            spectrum = torch.fft.rfft(frames[place] * window)[..., bins]
            power = spectrum.real.square() + spectrum.imag.square()
            mels[place] = power.to(bank.dtype) @ bank
    return mels


def _mel_power_by_matrix(
    waveform: Float[Tensor, "batch samples"],
    window: Float[Tensor, " n_fft"],
    hop: int,
    bins: slice,
    bank: Float[Tensor, "bins mels"],
) -> Float[Tensor, "batch frames mels"]:
    """The same in operations that every runtime knows: one product with cosines and sines.

    A sum of this many products needs float64 to be as exact as a transform in float32.
    """
    size = len(window)
    turns = np.outer(np.arange(size), np.arange(bins.start, bins.stop)) % size
    angle = turns * (2 * math.pi / size)
    waves = torch.from_numpy(np.concatenate([np.cos(angle), np.sin(angle)], axis=1))
    starts = np.arange(0, waveform.shape[1] - size + 1, hop)
    places = torch.from_numpy(starts[:, None] + np.arange(size))
    spectrum = (waveform[:, places] * window).double() @ waves
    real, imaginary = spectrum.chunk(2, dim=-1)
    return (real.square() + imaginary.square()).to(bank.dtype) @ bank


class LogMel(nn.Module):
    """Log-mel spectrum of stretches of audio, each on its own.

    Nothing is learned and nothing looks past the ends of a stretch.

    Args:
        mels: Number of mel bands (Slaney scale, area-normalised, from librosa).
        window_s: Window of the Fourier transform in seconds, rounded up to a power of two samples.
    """

    bank: Tensor
    window: Tensor

    def __init__(self, sample_rate: int, mels: int, window_s: float, hop_s: float) -> None:
        # It takes a second to import, and only who makes a model needs it.
        from librosa.filters import mel as mel_filters

        super().__init__()
        self.n_fft = 1 << (max(round(window_s * sample_rate), 2) - 1).bit_length()
        self.hop = max(round(hop_s * sample_rate), 1)
        bank = torch.from_numpy(
            mel_filters(sr=sample_rate, n_fft=self.n_fft, n_mels=mels, fmin=20.0)
        )
        self.bins = heard_bins(bank.T)
        weights = bank.T[self.bins].contiguous()
        self.register_buffer("bank", weights, persistent=False)
        self.register_buffer("window", torch.hann_window(self.n_fft), persistent=False)

    @torch.no_grad()
    def forward(
        self, waveform: Float[Tensor, "batch samples"]
    ) -> Float[Tensor, "batch mels frames"]:
        """Log-mel in units of 40 dB around -50 dB; digital silence gives a finite floor."""
        half = self.n_fft // 2
        padded = nn.functional.pad(waveform.float(), (half, half))
        power = mel_power(padded, self.window, self.hop, self.bins, self.bank)
        level = 10 * (power.mT.contiguous() / self.n_fft).clamp_min(_FLOOR).log10()
        return (level - _CENTRE_DB) / _SPAN_DB


def split_chunks(
    waveform: Float[Tensor, "batch samples"], size: int
) -> tuple[Float[Tensor, "batch chunks size"], Bool[Tensor, "batch chunks"]]:
    """Cut audio into chunks of `size` samples, the last one filled up with silence.

    Returns:
        The chunks, and which of them are part of the sound: those up to the last sample that is
        not digital silence, and in any case the first.
    """
    batch, samples = waveform.shape
    # Rounded up without negative numbers, whose division other runtimes round towards zero.
    count = max((samples + size - 1) // size, 1)
    padded = nn.functional.pad(waveform, (0, count * size - samples))
    chunks = padded.reshape(batch, count, size)
    sounding = (chunks != 0).any(dim=2)
    # A silent chunk between sounds is part of the sound: it tells a gap.
    mask = sounding.flip(1).cumsum(dim=1).flip(1) > 0
    mask[:, 0] = True
    return chunks, mask


class SpecAugment(nn.Module):
    """Frequency and time masking (Park et al. 2019, section 2) and small shifts in pitch.

    Each chunk gets a shift and masks of its own, from torch's generator. In evaluation chunks pass
    unchanged.

    Args:
        mask: Most mel bands that are masked; 0 masks none.
        shift: Most mel bands that a chunk is moved up or down; 0 moves none.
        frames: Most frames that are masked; 0 masks none and draws nothing.
    """

    def __init__(self, mask: int, shift: int, frames: int = 0) -> None:
        super().__init__()
        self.mask = mask
        self.shift = shift
        self.frames = frames

    def forward(
        self, chunks: Float[Tensor, "chunks mels frames"]
    ) -> Float[Tensor, "chunks mels frames"]:
        """The chunks, changed in training."""
        if not self.training:
            return chunks
        masked = self._mask(self._shift_mels(chunks), self.mask, axis=1)
        # Without time masking the draws are those of runs from before there was any.
        most = min(self.frames, chunks.shape[2])
        return self._mask(masked, most, axis=2) if most else masked

    def _shift_mels(
        self, chunks: Float[Tensor, "chunks mels frames"]
    ) -> Float[Tensor, "chunks mels frames"]:
        count, mels, frames = chunks.shape
        bands = torch.arange(mels, device=chunks.device)
        by = torch.randint(-self.shift, self.shift + 1, (count, 1), device=chunks.device)
        source = (bands + by).clamp(0, mels - 1)
        return chunks.gather(1, source[:, :, None].expand(count, mels, frames))

    def _mask(
        self, chunks: Float[Tensor, "chunks mels frames"], most: int, axis: int
    ) -> Float[Tensor, "chunks mels frames"]:
        """The chunks with up to `most` places of an axis (1 or 2) silent, one after the other."""
        count, size = len(chunks), chunks.shape[axis]
        places = torch.arange(size, device=chunks.device)
        width = torch.randint(0, most + 1, (count, 1), device=chunks.device)
        start = (torch.rand(count, 1, device=chunks.device) * (size - width + 1)).long()
        hidden = (places >= start) & (places < start + width)
        return chunks.masked_fill(hidden.unsqueeze(3 - axis), 0.0)


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

        weights: np.ndarray = mel_filter_bank(
            num_frequency_bins=self.n_fft // 2 + 1,
            num_mel_filters=self.mels,
            min_frequency=self.lowest,
            max_frequency=self.highest,
            sampling_rate=self.sample_rate,
            norm="slaney" if self.slaney else None,
            mel_scale="slaney" if self.slaney else "htk",
        )
        return weights

    @property
    def frames(self) -> int:
        """Number of frames of a whole input."""
        return 1 + self.samples // self.hop

    def rows(self, samples: int) -> int:
        """Number of frames, from the start, that hear something of a sound."""
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
        bank = weights[self.bins].contiguous()
        self.register_buffer("bank", bank, persistent=False)

    @torch.no_grad()
    def forward(
        self, waveform: Float[Tensor, "batch samples"]
    ) -> Float[Tensor, "batch frames mels"]:
        """Log-mel in dB of whole inputs."""
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
