"""From a batch to its loss and the gradients of it, in one part or in several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from train.config.run import Precision
from train.data.audio import FeatureCache
from train.data.loader import Batch
from train.losses.batch import Embedded
from train.model.clap import Clap
from train.model.towers.base import Chunks


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the model sees of a batch, on its device."""

    chunks: Chunks
    ids: Int[Tensor, "texts words"]
    mask: Bool[Tensor, "texts words"]

    @classmethod
    def of(cls, batch: Batch, model: Clap, cache: FeatureCache | None) -> Inputs:
        """The inputs of a batch, features computed on the device or taken from the cache."""
        device = model.scale.log.device
        texts = batch.texts.to(device)
        return cls(batch.audio.chunks(cache, model.audio_tower, device), texts.ids, texts.mask)

    def parts(self, count: int) -> Iterator[Inputs]:
        """At most `count` parts that hold its sounds and its texts in order."""
        count = min(count, len(self.chunks.mask), len(self.ids))
        sounds = torch.arange(len(self.chunks.mask)).tensor_split(count)
        texts = torch.arange(len(self.ids)).tensor_split(count)
        for sound, text in zip(sounds, texts, strict=True):
            a, t = (slice(int(one[0]), int(one[-1]) + 1) for one in (sound, text))
            chunks = Chunks(self.chunks.values[a], self.chunks.mask[a])
            yield Inputs(chunks, self.ids[t], self.mask[t])


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the model makes of them."""

    audio: Float[Tensor, "batch dim"]
    texts: Float[Tensor, "texts dim"]
    scale: Float[Tensor, ""]
    bias: Float[Tensor, ""]


class Encoder(nn.Module):
    """Both sides of a model in one call, as data-parallel training needs it.

    Args:
        model: The model.
        precision: Of towers and heads; embeddings are float32.
    """

    def __init__(self, model: Clap, precision: Precision) -> None:
        super().__init__()
        self.model = model
        self._reduced = precision is Precision.BFLOAT16

    def forward(
        self,
        values: Float[Tensor, "batch chunks ..."],
        heard: Bool[Tensor, "batch chunks"],
        ids: Int[Tensor, "texts words"],
        mask: Bool[Tensor, "texts words"],
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Embeddings of sounds and texts, scale and bias."""
        with torch.autocast(ids.device.type, dtype=torch.bfloat16, enabled=self._reduced):
            audio = self.model.encode_chunks(Chunks(values, heard))
            texts = self.model.encode_text(ids, mask)
        return audio.float(), texts.float(), self.model.scale(), self.model.bias


def encode(encoder: nn.Module, inputs: Inputs) -> Outputs:
    """Run the encoder, wrapped for several processes or not."""
    return Outputs(*encoder(inputs.chunks.values, inputs.chunks.mask, inputs.ids, inputs.mask))


def embedded(outputs: Outputs, batch: Batch) -> Embedded:
    """The batch as losses see it."""
    device = outputs.texts.device
    # Looked up in this order: autograd sums the gradients of the texts in the reverse of it, and
    # another order would give other last bits.
    extras = (batch.positives, batch.negatives, batch.denied)
    positives, negatives, denied = (each.embed(outputs.texts) for each in extras)
    texts, meanings = batch.keys.to(device)
    return Embedded(
        audio=outputs.audio,
        captions=outputs.texts[batch.captions.to(device)],
        positives=positives,
        negatives=negatives,
        denied=denied,
        texts=texts,
        meanings=meanings,
        views=batch.views.to(device),
        groups=batch.groups.to(device),
        classes=batch.classes.to(device),
        scale=outputs.scale,
        bias=outputs.bias,
    )


@contextmanager
def without_statistics(module: nn.Module) -> Iterator[None]:
    """Batch normalisation uses a batch's statistics and does not remember them."""
    norms = [one for one in module.modules() if isinstance(one, nn.modules.batchnorm._BatchNorm)]
    kept = [norm.track_running_stats for norm in norms]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm, before in zip(norms, kept, strict=True):
            norm.track_running_stats = before


def unsynchronised(encoder: nn.Module) -> AbstractContextManager[None]:
    """Gradients stay with this process until a later backward pass."""
    if isinstance(encoder, DistributedDataParallel):
        return encoder.no_sync()
    return nullcontext()
