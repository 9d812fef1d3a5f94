"""Heads: from the tokens of a tower to one unit-length embedding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

# Wavelengths up to that many times 2 pi tokens. Vaswani's 10,000 is for far longer sequences: over
# some ten chunks or words most of its dimensions hardly move.
_BASE = 100.0
_GAIN = 2.0


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a tower says of a batch.

    Args:
        values: Token vectors; those outside the mask have no meaning.
        mask: Which tokens are real; at least one in every row.
    """

    values: Float[Tensor, "batch tokens dim"]
    mask: Bool[Tensor, "batch tokens"]


WithFrames: TypeAlias = tuple[Tensor, Tensor]
"""Unit-length embeddings of sounds, "batch dim", and of their tokens, "batch tokens dim".

Those of tokens that are not real are zero.
"""


class MeanPoolHead(nn.Module):
    """Mean over the real tokens, then a two-layer perceptron: blind to the order of tokens."""

    def __init__(self, inputs: int, dim: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(inputs)
        self.perceptron = nn.Sequential(
            nn.Linear(inputs, dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(dim, dim)
        )

    def forward(self, tokens: Tokens) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings."""
        mask = tokens.mask[..., None]
        total = self.norm(tokens.values).masked_fill(~mask, 0).sum(dim=1)
        return functional.normalize(self.perceptron(total / mask.sum(dim=1)), dim=-1)

    def with_frames(self, tokens: Tokens) -> WithFrames:
        """The embedding of the whole, and that of each token, which sees no other token."""
        vectors = functional.normalize(self.perceptron(self.norm(tokens.values)), dim=-1)
        return self(tokens), vectors.masked_fill(~tokens.mask[..., None], 0)


class TransformerHead(nn.Module):
    """A Transformer over the tokens behind a [CLS] token, whose output is the embedding.

    Positions are fixed sinusoids of unit amplitude on tokens of unit variance (Vaswani et al.
    2017, section 3.5): learned or small positions left order unheard in trials.

    Args:
        dim: Width of the Transformer and of the embedding; divisible by `heads`, and even.
    """

    def __init__(self, inputs: int, dim: int, layers: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.project = nn.Linear(inputs, dim)
        self.norm = nn.LayerNorm(dim)
        self.cls = nn.Parameter(torch.randn(dim))
        layer = nn.TransformerEncoderLayer(
            dim,
            heads,
            dim_feedforward=2 * dim,
            dropout=dropout,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(
            layer, layers, norm=nn.LayerNorm(dim), enable_nested_tensor=False
        )
        # The clones of one layer start equal, so each gets a start of its own; a bold one, since
        # attention that starts out nearly uniform takes long to bind a sound to its place.
        for module in self.encoder.layers:
            for parameter in module.parameters():
                if parameter.dim() > 1:
                    nn.init.xavier_uniform_(parameter, gain=_GAIN)
        self.out = nn.Linear(dim, dim)

    def forward(self, tokens: Tokens) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings; the last layer computes the [CLS] token alone."""
        values, padding = self._begin(tokens)
        *below, last = self.encoder.layers
        for layer in below:
            values = layer(values, src_key_padding_mask=padding)
        return self._finish(self.encoder.norm(_compute_first(last, values, padding)))  # type: ignore[misc]

    def with_frames(self, tokens: Tokens) -> WithFrames:
        """The embedding of the whole, and that of each token, which sees all others."""
        values, padding = self._begin(tokens)
        encoded = self.encoder(values, src_key_padding_mask=padding)
        vectors = self._finish(encoded[:, 1:])
        return self._finish(encoded[:, 0]), vectors.masked_fill(~tokens.mask[..., None], 0)

    def _finish(self, encoded: Float[Tensor, "*tokens dim"]) -> Float[Tensor, "*tokens dim"]:
        return functional.normalize(self.out(encoded), dim=-1)

    def _begin(
        self, tokens: Tokens
    ) -> tuple[Float[Tensor, "batch behind_cls dim"], Bool[Tensor, "batch behind_cls"]]:
        """What the first layer takes, and which of it is padding."""
        values = self.norm(self.project(tokens.values))
        values = values + sinusoids(values.shape[1], values.shape[2], values)
        cls = self.cls.to(values.dtype).expand(values.shape[0], 1, -1)
        real = functional.pad(tokens.mask, (1, 0), value=True)
        return torch.cat([cls, values], dim=1), ~real


def _compute_first(
    layer: nn.TransformerEncoderLayer,
    values: Float[Tensor, "batch tokens dim"],
    padding: Bool[Tensor, "batch tokens"],
) -> Float[Tensor, "batch dim"]:
    """The first token of the output of a layer with `norm_first`; the others are not computed."""
    normed = layer.norm1(values)
    attended, _ = layer.self_attn(
        normed[:, :1], normed, normed, key_padding_mask=padding, need_weights=False
    )
    first = values[:, 0] + layer.dropout1(attended[:, 0])
    hidden = layer.dropout(layer.activation(layer.linear1(layer.norm2(first))))
    return first + layer.dropout2(layer.linear2(hidden))  # type: ignore[no-any-return]


class ProjectionHead(nn.Module):
    """CLAP's own head over a tower's summary: two linear layers (ClapProjectionLayer).

    Names of the weights are those of transformers, so that they can be taken over as they are.
    """

    def __init__(self, inputs: int, dim: int, activation: str) -> None:
        super().__init__()
        from transformers.activations import ACT2FN

        self.activation_name = activation
        self.linear1 = nn.Linear(inputs, dim)
        self.activation = ACT2FN[activation]
        self.linear2 = nn.Linear(dim, dim)

    def forward(self, tokens: Tokens) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings of the single token of each row."""
        hidden = self.activation(self.linear1(tokens.values[:, 0]))
        return functional.normalize(self.linear2(hidden), dim=-1)


def sinusoids(count: int, dim: int, like: Tensor) -> Float[Tensor, "count dim"]:
    """Fixed position vectors of unit amplitude; wavelengths from 2 pi to 200 pi tokens.

    Args:
        dim: Width, even.
    """
    position = torch.arange(count, device=like.device, dtype=torch.float32)[:, None]
    exponent = torch.arange(0, dim, 2, device=like.device, dtype=torch.float32) / dim
    angle = position * torch.exp(-math.log(_BASE) * exponent)
    return torch.stack([angle.sin(), angle.cos()], dim=2).reshape(count, dim).to(like.dtype)
