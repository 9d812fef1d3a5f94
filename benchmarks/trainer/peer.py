"""The training step of open_clip and LAION-CLAP as a contender."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from transformers import AutoTokenizer, ClapFeatureExtractor, ClapModel
from transformers.audio_utils import mel_filter_bank

from benchmarks.trainer.setting import (
    GRAD_CLIP,
    LEARNING_RATE,
    RATE,
    SEED,
    WEIGHT_DECAY,
    Setup,
    count_parameters,
)
from synth.corpus.corpus import Corpus
from train.config.run import AudioMode
from train.data.order import BatchOrder
from train.data.split import TRAIN, SplitData

FULL_SCALE: Final = 32768.0


@dataclass(frozen=True, slots=True)
class PeerSamples(Dataset[tuple[Tensor, str]]):
    """Samples as peers load them, one by one from the shards; an extractor computes the log-mel."""

    corpus: Corpus
    rows: Sequence[Mapping[str, Any]]
    extractor: ClapFeatureExtractor | None

    def __getitem__(self, index: int) -> tuple[Tensor, str]:
        row = self.rows[index]
        pcm = self.corpus.stored_pcm(TRAIN, row["shard"], row["offset"], row["size"])
        waveform = pcm.astype(np.float32) / np.float32(FULL_SCALE)
        if self.extractor is None:
            return torch.from_numpy(waveform), row["caption"]
        features = self.extractor(waveform, sampling_rate=RATE, return_tensors="pt")
        return features["input_features"][0], row["caption"]


@dataclass(frozen=True, slots=True)
class Collate:
    """Samples as one batch, texts padded to the longest as ours are (LAION-CLAP pads to 77)."""

    tokenizer: Any

    def __call__(self, samples: Sequence[tuple[Tensor, str]]) -> tuple[Tensor, Tensor, Tensor]:
        sounds = torch.stack([sound for sound, _ in samples])
        texts = self.tokenizer([text for _, text in samples], padding=True, return_tensors="pt")
        return sounds, texts["input_ids"], texts["attention_mask"]


class PeerLogMel(nn.Module):
    """The extractor's log-mel in float32, as LAION-CLAP computes it on the GPU."""

    bank: Tensor
    window: Tensor

    def __init__(self, extractor: ClapFeatureExtractor) -> None:
        super().__init__()
        self.n_fft, self.hop = extractor.fft_window_size, extractor.hop_length
        bank = mel_filter_bank(
            num_frequency_bins=self.n_fft // 2 + 1,
            num_mel_filters=extractor.feature_size,
            min_frequency=extractor.frequency_min,
            max_frequency=extractor.frequency_max,
            sampling_rate=extractor.sampling_rate,
            norm="slaney",
            mel_scale="slaney",
        )
        self.register_buffer("bank", torch.from_numpy(bank).float())
        self.register_buffer("window", torch.hann_window(self.n_fft))

    @torch.no_grad()
    def forward(self, waveform: Tensor) -> Tensor:
        spectrum = torch.stft(
            waveform, self.n_fft, self.hop, window=self.window, return_complex=True
        )
        power = spectrum.real.square() + spectrum.imag.square()
        return 10 * (power.transpose(1, 2) @ self.bank).clamp_min(1e-10).log10()[:, None]


class Peer:
    """The step of open_clip_train.train.train_one_epoch, which is LAION-CLAP's too.

    Args:
        setup: Of the run.
        on_device: Whether the log-mel is computed on the device, as LAION-CLAP does for HTSAT
            without fusion, or by ClapFeatureExtractor in the DataLoader.
    """

    def __init__(self, setup: Setup, on_device: bool) -> None:
        self._setup = setup
        self._device = torch.device(setup.device)
        extractor = ClapFeatureExtractor.from_pretrained(setup.clap)
        self._model = ClapModel.from_pretrained(setup.clap).float().to(self._device).train()
        self._log_mel = PeerLogMel(extractor).to(self._device) if on_device else nn.Identity()
        self._loss = open_clip_losses().ClipLoss(cache_labels=True)
        self._optimizer = optimizer(self._model)
        data = SplitData(Corpus.open(Path(setup.corpus)), TRAIN, AudioMode.SHARDS)
        self._samples = PeerSamples(
            data.corpus, data.rows(range(len(data))), None if on_device else extractor
        )
        order = BatchOrder.of(
            np.arange(len(data)), data.groups, setup.batch, False, SEED, "stage-0"
        )
        self._batches = [order.batch(step).tolist() for step in range(setup.fed)]
        self._collate = Collate(AutoTokenizer.from_pretrained(setup.clap))
        self.parameters = count_parameters(self._model)
        self.texts = 0

    def feed(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        return iter(
            DataLoader(
                self._samples,
                batch_sampler=self._batches,
                collate_fn=self._collate,
                num_workers=self._setup.workers,
                pin_memory=self._device.type == "cuda",
            )
        )

    def learn(self, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        sounds, ids, mask = (tensor.to(self._device, non_blocking=True) for tensor in batch)
        return self._step(self._log_mel(sounds), ids, mask)

    def held(self) -> Callable[[], Tensor]:
        samples = [self._samples[index] for index in self._batches[0]]
        sounds, ids, mask = (tensor.to(self._device) for tensor in self._collate(samples))
        features = self._log_mel(sounds)
        return lambda: self._step(features, ids, mask)

    def _step(self, features: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
        self.texts = len(ids)
        self._optimizer.zero_grad()
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._setup.reduced):
            outputs = self._model(input_ids=ids, attention_mask=mask, input_features=features)
            scale = self._model.logit_scale_a
            loss: Tensor = self._loss(outputs.audio_embeds, outputs.text_embeds, scale.exp())
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._model.parameters(), GRAD_CLIP)
        self._optimizer.step()
        with torch.no_grad():
            scale.clamp_(0, math.log(100))
        # Not as a number: that would wait for the device, and open_clip does not.
        return loss.detach()


def open_clip_losses() -> ModuleType:
    """open_clip's losses alone: the package at large needs torchvision, they need torch."""
    package = importlib.util.find_spec("open_clip")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("open_clip is not installed: pip install --no-deps open_clip_torch==3.3.0")
    file = Path(package.submodule_search_locations[0]) / "loss.py"
    spec = importlib.util.spec_from_file_location("open_clip_losses", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def optimizer(model: nn.Module) -> torch.optim.Optimizer:
    """AdamW as open_clip sets it up: gains, biases and temperatures do not decay."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=LEARNING_RATE, betas=(0.9, 0.98), eps=1e-6)
