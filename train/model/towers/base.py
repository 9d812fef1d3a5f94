"""What every tower is, the tower whose chunks of audio never see each other, and the small ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from train.config.model import AudioConfig, TextConfig
from train.model.features import LogMel, SpecAugment, split_chunks
from train.model.heads import Tokens


@dataclass(frozen=True, slots=True)
class Chunks:
    """The features of audio, ready to be encoded.

    Args:
        values: One array a chunk: log-mel, or samples.
        mask: Which chunks are part of the sound: the first ones of a row.
        places: Where those are among all chunks, row by row; None where nobody has counted them,
            and a GPU that holds the mask would have to be waited for.
    """

    values: Float[Tensor, "batch chunks ..."]
    mask: Bool[Tensor, "batch chunks"]
    places: Int[Tensor, " heard"] | None = None

    def map(self, change: Callable[[Tensor], Tensor]) -> Chunks:
        """The same, each of its tensors changed."""
        places = None if self.places is None else change(self.places)
        return Chunks(change(self.values), change(self.mask), places)

    def encode(self, encoder: Callable[[Tensor], Tensor], dim: int) -> Tokens:
        """One token a chunk; only chunks that are part of the sound are encoded."""
        places = self.places
        if places is None:
            places = self.mask.flatten().nonzero()[:, 0]
        real = encoder(self.values.flatten(0, 1)[places])
        values = real.new_zeros(self.mask.numel(), dim).index_put((places,), real)
        return Tokens(values.reshape(*self.mask.shape, dim), self.mask)


class Tower(nn.Module):
    """A network that makes tokens."""

    pooled: bool = False
    """Whether it gives one token, its own summary: a `projection` head takes no more."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    @property
    def pretrained(self) -> nn.Module | None:
        """The transformers model inside; None in a small tower."""
        models = (module for module in self.modules() if hasattr(module, "get_input_embeddings"))
        return next(models, None)

    def layers(self) -> list[nn.Module]:
        """The layers of the transformers model; empty where there are none at a known place."""
        return [] if self.pretrained is None else layers_of(self.pretrained)

    def last_modules(self, count: int = 1) -> list[nn.Module]:
        """The last `count` layers and what follows them; empty where there are no layers."""
        return [] if self.pretrained is None else last_parts(self.pretrained, count)

    def unused_parameters(self) -> list[nn.Parameter]:
        """Parameters that never learn, such as those that the tokens do not depend on."""
        return []

    def added_modules(self) -> list[nn.Module]:
        """Parts that are no part of the pretrained network, so they learn with the head."""
        return []


class AudioTower(Tower):
    """Gets features without weights from waveform, and encodes them to tokens."""

    chunk: int
    """Length of a chunk in samples."""
    hears_on_cpu: bool = False
    """Whether its features are computed on the CPU, wherever the model is."""

    @classmethod
    def build(cls, config: AudioConfig, sample_rate: int) -> AudioTower:
        """The tower that settings describe; what an entry point of `segue.towers` offers."""
        raise NotImplementedError

    @property
    def longest(self) -> int | None:
        """Most samples that it takes; None where it takes any number."""
        return None

    def features(self, waveform: Float[Tensor, "batch samples"]) -> Chunks:
        """What is worth keeping between epochs: features that no training step changes.

        A chunk's features have the same shape whatever the length of the waveform.

        Args:
            waveform: Samples in -1 to 1, padded at the end with digital silence.
        """
        raise NotImplementedError

    def forward(self, chunks: Chunks) -> Tokens:
        """The tokens of a batch."""
        raise NotImplementedError


class TextTower(Tower):
    """Encodes token ids to tokens."""

    @classmethod
    def build(cls, config: TextConfig, vocabulary: int) -> TextTower:
        """The tower that settings describe; what an entry point of `segue.towers` offers.

        Args:
            config: Its settings. Ids are those of the tokenizer of the model `name`, or numbers of
                the corpus's own words where no name is given.
        """
        raise NotImplementedError

    def forward(self, ids: Int[Tensor, "batch words"], mask: Bool[Tensor, "batch words"]) -> Tokens:
        """The tokens of a batch."""
        raise NotImplementedError


class ChunkTower(AudioTower):
    """Cuts audio into chunks, gets features without weights, and encodes each chunk on its own.

    A network over the whole waveform tells order by what it does at the two ends, so that even a
    mean over its tokens hears it. Independent chunks leave order to the head.

    Args:
        frontend: From chunks of samples to features; holds no learned weights.
    """

    def __init__(self, frontend: nn.Module, encoder: nn.Module, chunk: int, dim: int) -> None:
        super().__init__(dim)
        self.frontend = frontend
        self.encoder = encoder
        self.chunk = chunk

    @torch.no_grad()
    def features(self, waveform: Float[Tensor, "batch samples"]) -> Chunks:
        """One array of features a chunk."""
        chunks, mask = split_chunks(waveform, self.chunk)
        flat = self.frontend(chunks.flatten(0, 1))
        return Chunks(flat.unflatten(0, mask.shape), mask)

    def forward(self, chunks: Chunks) -> Tokens:
        """One token a chunk."""
        return chunks.encode(self.encoder, self.dim)


class ChunkCnn(nn.Module):
    """A small convolutional network over time with mel bands as channels, averaged over time."""

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


class EmbeddingTower(TextTower):
    """One learned vector a word, of unit variance at the start."""

    def __init__(self, vocabulary: int, dim: int) -> None:
        super().__init__(dim)
        self.embedding = nn.Embedding(vocabulary, dim)

    def forward(self, ids: Int[Tensor, "batch words"], mask: Bool[Tensor, "batch words"]) -> Tokens:
        """One token a word."""
        return Tokens(self.embedding(ids), mask)


def cnn_tower(config: AudioConfig, sample_rate: int, dim: int) -> ChunkTower:
    """The small audio tower: log-mel chunks, augmented in training, and `ChunkCnn`."""
    frontend = LogMel(sample_rate, config.mels, config.window_s, config.hop_s)
    augment = SpecAugment(config.mask_mels, config.shift_mels, config.mask_frames)
    encoder = nn.Sequential(augment, ChunkCnn(config.mels, config.width, dim))
    return ChunkTower(frontend, encoder, round(config.chunk_s * sample_rate), dim)


def averaging_weights(
    positions: int, span: float, chunk: int, tokens: int, like: Tensor
) -> Float[Tensor, "tokens positions"]:
    """Weights that average evenly spaced positions over chunks of time; rows sum to one.

    Args:
        span: Time that they cover, in samples.
        tokens: Number of tokens; all begin within the span.
    """
    start = torch.arange(positions, device=like.device, dtype=torch.float64) * (span / positions)
    begin = torch.arange(tokens, device=like.device, dtype=torch.float64)[:, None] * chunk
    end = (begin + chunk).clamp_max(span)
    overlap = torch.minimum(start + span / positions, end) - torch.maximum(start, begin)
    overlap = overlap.clamp_min(0)
    return (overlap / overlap.sum(dim=1, keepdim=True)).to(like.dtype)


_LAYERS: Final = (
    "encoder.layer",  # BERT, RoBERTa, the text half of CLAP
    "encoder.layers",  # wav2vec 2.0 and its kin, the text half of CLIP
    "text_model.encoder.layers",  # the same in older transformers
    "transformer.layer",  # DistilBERT
    "block",  # T5
    "audio_encoder.layers",  # HTSAT
    "layers",  # AST, Whisper's encoder, ModernBERT, Qwen3
    "h",  # GPT-2
)
_AFTER: Final = (
    "pooler",
    "final_layer_norm",
    "text_model.final_layer_norm",
    "audio_encoder.norm",
    "layernorm",  # AST
    "layer_norm",  # Whisper's encoder
    "final_norm",  # ModernBERT
    "norm",  # Qwen3
    "ln_f",  # GPT-2
)


def _modules_by_path(model: nn.Module) -> dict[str, nn.Module]:
    return dict(model.named_modules(remove_duplicate=False))


def layers_of(model: nn.Module) -> list[nn.Module]:
    """The layers or stages of an encoder, first to last; empty where they are at no known place."""
    modules = _modules_by_path(model)
    return next((list(modules[path].children()) for path in _LAYERS if path in modules), [])


def last_parts(model: nn.Module, count: int = 1) -> list[nn.Module]:
    """The last layers or stages of an encoder, at least one, and the norm and pooler behind them.

    Empty where the model has no layers at a known place.
    """
    layers, modules = layers_of(model), _modules_by_path(model)
    if not layers:
        return []
    after = [modules[path] for path in _AFTER if path in modules]
    config: Any = model.config
    # Other models of that family normalise before the first layer, under the same name.
    if getattr(config, "do_stable_layer_norm", False) and "encoder.layer_norm" in modules:
        after.append(modules["encoder.layer_norm"])
    return [*layers[-count:], *after]
