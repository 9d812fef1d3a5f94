"""Audio towers around transformers models that take waveform."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from train.config.model import AudioConfig, LayerMix, TokenKind
from train.model.features import split_chunks
from train.model.heads import Tokens
from train.model.loading import check_audio, model_rate, preprocessor_facts
from train.model.towers.base import AudioTower, Chunks, ChunkTower, averaging_weights


class WaveformModel(nn.Module):
    """A transformers model that takes waveform (wav2vec 2.0, HuBERT, WavLM, MERT, ...).

    Args:
        mix: Its last hidden states, or all of them through a learned convolution of kernel 1 over
            the layers (Manco et al. 2024, "Augment, Drop & Swap", for MERT), at first their mean.
        normalise: Whether it hears waveform of zero mean and unit variance.
    """

    def __init__(self, model: nn.Module, mix: LayerMix, normalise: bool) -> None:
        super().__init__()
        config: Any = model.config
        # Its own masking draws from NumPy's generator, which a resumed run does not restore, and
        # fails on short chunks; layers left out get no gradient, which DDP does not stand.
        config.apply_spec_augment = False
        config.layerdrop = 0.0
        self.model = model
        self.normalise = normalise
        self.mixer: nn.Conv1d | None = None
        if mix is LayerMix.CONV:
            layers = int(config.num_hidden_layers) + 1
            self.mixer = nn.Conv1d(layers, 1, kernel_size=1)
            nn.init.constant_(self.mixer.weight, 1 / layers)
            nn.init.zeros_(self.mixer.bias)  # type: ignore[arg-type]

    def hidden_states(
        self, waveform: Float[Tensor, "sounds samples"]
    ) -> Float[Tensor, "sounds layers frames dim"]:
        """Hidden states: of all layers where they are mixed, else of the last."""
        if self.normalise:
            centred = waveform - waveform.mean(dim=1, keepdim=True)
            # As Wav2Vec2FeatureExtractor has it.
            waveform = centred / (waveform.var(dim=1, keepdim=True, correction=0) + 1e-7).sqrt()
        if self.mixer is None:
            return self.model(waveform).last_hidden_state[:, None]  # type: ignore[no-any-return]
        return torch.stack(self.model(waveform, output_hidden_states=True).hidden_states, dim=1)

    def mix_layers(
        self, states: Float[Tensor, "sounds layers tokens dim"]
    ) -> Float[Tensor, "sounds tokens dim"]:
        """The layers as one."""
        if self.mixer is None:
            return states[:, 0]
        return self.mixer(states.flatten(2))[:, 0].unflatten(1, states.shape[2:])  # type: ignore[no-any-return]

    def forward(self, chunks: Float[Tensor, "chunks samples"]) -> Float[Tensor, "chunks dim"]:
        """One vector a chunk, the mean over its frames."""
        return self.mix_layers(self.hidden_states(chunks).mean(dim=2, keepdim=True))[:, 0]


class WaveformTower(ChunkTower):
    """Chunks of waveform, each heard alone."""

    encoder: WaveformModel

    def __init__(self, encoder: WaveformModel, chunk: int, dim: int) -> None:
        super().__init__(nn.Identity(), encoder, chunk, dim)

    def unused_parameters(self) -> list[nn.Parameter]:
        """What stands in for masked frames, of which there are none."""
        masked = getattr(self.encoder.model, "masked_spec_embed", None)
        return [] if masked is None else [masked]

    def added_modules(self) -> list[nn.Module]:
        """The convolution over the layers."""
        return [] if self.encoder.mixer is None else [self.encoder.mixer]


class WaveformMapTower(WaveformTower):
    """Sounds heard as a whole, their hidden states averaged over stretches of one chunk.

    Each sound is heard at its own length in chunks: models of this family hear the padding of a
    batch, mask or no mask, where they normalise over time.
    """

    @torch.no_grad()
    def features(self, waveform: Float[Tensor, "batch samples"]) -> Chunks:
        """The waveform, in chunks."""
        return Chunks(*split_chunks(waveform, self.chunk))

    def forward(self, chunks: Chunks) -> Tokens:
        """One token a chunk."""
        counts = chunks.mask.sum(dim=1)
        values = chunks.values.new_zeros(*chunks.mask.shape, self.dim)
        for count in sorted(set(counts.tolist())):
            chosen = counts == count
            states = self.encoder.hidden_states(chunks.values[chosen, :count].flatten(1))
            weights = averaging_weights(
                states.shape[2], count * self.chunk, self.chunk, count, states
            )
            mixed = self.encoder.mix_layers(weights @ states)
            values = values.to(mixed.dtype)
            values[chosen, :count] = mixed
        return Tokens(values, chunks.mask)


def waveform_tower(model: Any, config: AudioConfig, sample_rate: int) -> AudioTower:
    """An audio tower around a loaded model."""
    check_audio(
        config,
        model_rate(config.name),
        sample_rate,
        shortest=_receptive_field(model.config),
        mixes=True,
        summary=False,
    )
    chunk, dim = round(config.chunk_s * sample_rate), int(model.config.hidden_size)
    normalise = bool(preprocessor_facts(config.name).get("do_normalize", True))
    encoder = WaveformModel(model, config.layers, normalise)
    kind = WaveformMapTower if config.tokens is TokenKind.MAP else WaveformTower
    return kind(encoder, chunk, dim)


def _receptive_field(config: Any) -> int:
    """Samples that one frame of the convolutions hears, the least they take."""
    field, step = 1, 1
    for kernel, stride in zip(config.conv_kernel, config.conv_stride, strict=True):
        field += (kernel - 1) * step
        step *= stride
    return field
