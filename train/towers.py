"""Towers: from waveform, or from token ids, to tokens. Chunks of audio never see each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from synth.errors import SpecError
from train.augment import SpecAugment
from train.features import LogMel, split_chunks
from train.heads import Tokens

_WEIGHTS: Final = (".safetensors", ".bin", ".index.json", ".h5", ".msgpack", ".pt", ".pth", ".ckpt")
_WAV2VEC2_RATE: Final = 16_000


@dataclass(frozen=True, slots=True)
class Chunks:
    """Independent chunks of audio, ready to be encoded.

    Args:
        values: One array a chunk: log-mel, or samples.
        mask: Which chunks are part of the sound.
    """

    values: Float[Tensor, "batch chunks ..."]
    mask: Bool[Tensor, "batch chunks"]


class AudioTower(nn.Module):
    """Cuts audio into chunks, gets features without weights, and encodes each chunk on its own.

    A network over the whole waveform tells order by what it does at the two ends, so that even a
    mean over its tokens hears it. Independent chunks leave order to the head.

    Args:
        frontend: From chunks of samples to features; holds no learned weights.
        encoder: From features of single chunks to one vector each.
        chunk: Length of a chunk in samples.
        dim: Width of the vectors.
    """

    def __init__(self, frontend: nn.Module, encoder: nn.Module, chunk: int, dim: int) -> None:
        super().__init__()
        self.frontend = frontend
        self.encoder = encoder
        self.chunk = chunk
        self.dim = dim

    @torch.no_grad()
    def features(self, waveform: Float[Tensor, "batch samples"]) -> Chunks:
        """What is worth keeping between epochs: features that no training step changes.

        Args:
            waveform: Samples in -1 to 1, padded at the end with digital silence.
        """
        chunks, mask = split_chunks(waveform, self.chunk)
        flat = self.frontend(chunks.flatten(0, 1))
        return Chunks(flat.unflatten(0, mask.shape), mask)

    def forward(self, chunks: Chunks) -> Tokens:
        """One token a chunk; only chunks that are part of the sound are encoded."""
        real = self.encoder(chunks.values[chunks.mask])
        values = real.new_zeros(*chunks.mask.shape, self.dim)
        values[chunks.mask] = real
        return Tokens(values, chunks.mask)


class ChunkCnn(nn.Module):
    """A small convolutional network over time with mel bands as channels, averaged over time.

    Args:
        mels: Number of mel bands.
        width: Number of channels.
        dim: Width of the token.
    """

    def __init__(self, mels: int, width: int, dim: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(mels, width, kernel_size=3, padding=1),
            nn.BatchNorm1d(width),
            nn.GELU(),
            nn.Conv1d(width, width, kernel_size=3, padding=1, stride=2),
            nn.BatchNorm1d(width),
            nn.GELU(),
        )
        self.out = nn.Linear(2 * width, dim)

    def forward(self, chunks: Float[Tensor, "chunks mels frames"]) -> Float[Tensor, "chunks dim"]:
        """One vector a chunk, from the mean and the maximum over its frames."""
        hidden = self.layers(chunks)
        return self.out(torch.cat([hidden.mean(dim=2), hidden.amax(dim=2)], dim=1))  # type: ignore[no-any-return]


class WaveformModel(nn.Module):
    """A transformers model that takes waveform (wav2vec 2.0, HuBERT, WavLM, MERT, ...).

    Args:
        model: The model; its last hidden states are averaged over a chunk.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, chunks: Float[Tensor, "chunks samples"]) -> Float[Tensor, "chunks dim"]:
        """One vector a chunk."""
        scale = chunks.std(dim=1, keepdim=True).clamp_min(1e-5)
        normal = (chunks - chunks.mean(dim=1, keepdim=True)) / scale
        return self.model(normal).last_hidden_state.mean(dim=1)  # type: ignore[no-any-return]


class EmbeddingTower(nn.Module):
    """One learned vector a word, of unit variance at the start.

    Args:
        vocabulary: Number of words.
        dim: Width of the tokens.
    """

    def __init__(self, vocabulary: int, dim: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.dim = dim

    def forward(self, ids: Int[Tensor, "batch words"], mask: Bool[Tensor, "batch words"]) -> Tokens:
        """One token a word."""
        return Tokens(self.embedding(ids), mask)


class TextModel(nn.Module):
    """A transformers text encoder (BERT, RoBERTa, T5, ...).

    Args:
        model: The model, of which a decoder is left out; its last hidden states are the tokens.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        config: Any = model.config
        if config.is_encoder_decoder:
            model = model.get_encoder()  # type: ignore[operator]
        self.model = model
        self.dim = int(config.hidden_size)

    def forward(self, ids: Int[Tensor, "batch words"], mask: Bool[Tensor, "batch words"]) -> Tokens:
        """One token a word piece."""
        return Tokens(self.model(input_ids=ids, attention_mask=mask).last_hidden_state, mask)


def transformers_model(name: str) -> Any:
    """A transformers model by name or folder; a folder without weights gives random ones.

    Raises:
        SpecError: If there is no such model, it cannot be had offline, or its weights are not
            safetensors; a pickle is never opened.
    """
    from transformers import AutoConfig, AutoModel

    folder = Path(name)
    try:
        if folder.is_dir() and not any(path.name.endswith(_WEIGHTS) for path in folder.iterdir()):
            return AutoModel.from_config(AutoConfig.from_pretrained(folder))
        return AutoModel.from_pretrained(name, use_safetensors=True)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().splitlines()[0]
        raise SpecError(
            f"model {name!r} cannot be loaded: {reason}",
            mend="give a folder with config.json and weights in model.safetensors (without any "
            "weights they are random), or a name on huggingface.co that can be reached from here",
        ) from error


def model_rate(name: str) -> int:
    """The rate in Hz that a waveform model was trained at.

    Where its preprocessor_config.json does not tell, 16 kHz, that of the wav2vec 2.0 family.
    """
    from transformers import SequenceFeatureExtractor

    try:
        facts, _ = SequenceFeatureExtractor.get_feature_extractor_dict(name)
    except (OSError, ValueError):
        facts = {}
    return int(facts.get("sampling_rate", _WAV2VEC2_RATE))


def cnn_tower(
    sample_rate: int,
    chunk_s: float,
    mels: int,
    window_s: float,
    hop_s: float,
    width: int,
    augment: SpecAugment,
    dim: int,
) -> AudioTower:
    """The small audio tower: log-mel chunks, augmented in training, and `ChunkCnn`."""
    frontend = LogMel(sample_rate, mels, window_s, hop_s)
    encoder = nn.Sequential(augment, ChunkCnn(mels, width, dim))
    return AudioTower(frontend, encoder, round(chunk_s * sample_rate), dim)


def waveform_tower(name: str, sample_rate: int, chunk_s: float) -> AudioTower:
    """An audio tower around a transformers model that takes waveform.

    Raises:
        SpecError: If the model cannot be loaded, or takes something other than waveform at
            this rate.
    """
    model = transformers_model(name)
    if not hasattr(model.config, "conv_kernel"):
        raise SpecError(
            f"model {name!r} ({model.config.model_type}) does not take waveform",
            mend="use wav2vec2, hubert, wavlm, mert or a model of that family, "
            "or the tower of kind `small`",
        )
    rate = model_rate(name)
    if rate != sample_rate:
        raise SpecError(
            f"model {name!r} takes audio at {rate} Hz, the corpus is at {sample_rate} Hz",
            mend=f"build the corpus with sample_rate: {rate}",
        )
    encoder = WaveformModel(model)
    chunk = round(chunk_s * sample_rate)
    return AudioTower(nn.Identity(), encoder, chunk, int(model.config.hidden_size))
