"""The network: an audio tower and a text tower, each with a head, into one space."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from synth.base.errors import SpecError
from train.model.heads import WithFrames
from train.model.towers.base import AudioTower, Chunks, TextTower

_MAX_SCALE = 100.0


class LogitScale(nn.Module):
    """The learned factor from cosine to logit: one over the temperature, at most 100."""

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.log = nn.Parameter(torch.tensor(-math.log(temperature)))

    def forward(self) -> Float[Tensor, ""]:
        """The factor, in float32."""
        return self.log.float().exp()

    @torch.no_grad()
    def limit(self) -> None:
        """Bring the factor back to 100 after a step that led beyond.

        Limited in the computation itself, it would get no gradient there and never come back.
        """
        self.log.clamp_(max=math.log(_MAX_SCALE))


class Clap(nn.Module):
    """Contrastive language-audio model.

    Attributes:
        bias: What the sigmoid loss adds to logits: learned where it does not start at 0, else a
            buffer, so that a checkpoint has it in any case and DDP waits for no gradient of it.
        resting: Modules that stay as in evaluation when the model is told to train.
        frames: Whether tokens of audio have embeddings of their own, which were trained.

    Args:
        bias: Of the sigmoid loss, at the start; 0 for none.
        frames: Whether tokens of audio are embedded, too; then the audio head is one of many
            tokens.
    """

    bias: Tensor

    def __init__(
        self,
        audio_tower: AudioTower,
        text_tower: TextTower,
        audio_head: nn.Module,
        text_head: nn.Module,
        temperature: float,
        bias: float = 0.0,
        frames: bool = False,
    ) -> None:
        super().__init__()
        self.audio_tower = audio_tower
        self.text_tower = text_tower
        self.audio_head = audio_head
        self.text_head = text_head
        self.frames = frames
        self.scale = LogitScale(temperature)
        if bias:
            self.bias = nn.Parameter(torch.tensor(float(bias)))
        else:
            self.register_buffer("bias", torch.tensor(0.0))
        self.resting: tuple[nn.Module, ...] = ()

    def train(self, mode: bool = True) -> Clap:
        """Train, or evaluate; parts that are frozen evaluate always."""
        super().train(mode)
        for module in self.resting:
            module.training = False
        return self

    def encode_frames(self, chunks: Chunks) -> WithFrames:
        """Unit-length embeddings of audio whose features are at hand, and those of its tokens.

        Those are zero behind a sound's end, and last `audio_tower.chunk` samples each. Without
        `frames` there are none.
        """
        tokens = self.audio_tower(chunks)
        if self.frames:
            return self.audio_head.with_frames(tokens)  # type: ignore[operator, no-any-return]
        whole = self.audio_head(tokens)
        return whole, whole.new_zeros(len(whole), 0, whole.shape[1])

    def encode_audio(self, waveform: Float[Tensor, "batch samples"]) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings of audio at the model's rate, samples in -1 to 1."""
        return self.audio_head(self.audio_tower(self.audio_tower.features(waveform)))  # type: ignore[no-any-return]

    def encode_text(
        self, ids: Int[Tensor, "batch words"], mask: Bool[Tensor, "batch words"]
    ) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings of texts."""
        return self.text_head(self.text_tower(ids, mask))  # type: ignore[no-any-return]


def checkpoint_activations(model: Clap) -> None:
    """Let the layers of the towers keep their inputs alone for the backward pass.

    Loss and gradients stay the same, dropout included. It does not rest on what transformers has
    for this, which its CLAP does not support and which leaves out layers in evaluation, as those
    under adapters may be.

    Args:
        model: Is changed. A copy that is made of it later keeps all values.
    """
    towers = (model.audio_tower, model.text_tower)
    layers = [layer for tower in towers for layer in tower.layers()]
    if not layers:
        raise SpecError(
            "checkpoint_activations: no tower has layers at a known place",
            fix="leave out `checkpoint_activations`",
        )
    for tower in towers:
        config: Any = getattr(tower.pretrained, "config", None)
        if getattr(config, "use_cache", False):
            config.use_cache = False  # it would be filled a second time
    for layer in layers:
        # The stages of an HTSAT are few and large.
        for part in getattr(layer, "blocks", [layer]):
            part.forward = partial(checkpoint, part.forward, use_reentrant=False)
