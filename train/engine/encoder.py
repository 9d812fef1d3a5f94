"""Both sides of a model in one call, and the parts of a batch that it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from train.config.run import Precision, TrainConfig
from train.data.audio import AudioBatch, FeatureCache
from train.data.batch import Batch
from train.engine.ranks import RankProcess
from train.model.clap import Clap
from train.model.towers.base import Chunks

Inputs: TypeAlias = tuple[Tensor | None, ...]
"""The arguments of `Encoder.forward`: features, which are heard, token ids, which are real."""
Parts: TypeAlias = Sequence[Callable[[], Inputs]]
"""The parts of a batch, each computed when it is asked for: all at once need not be in memory."""


class Outputs(NamedTuple):
    """What `Encoder.forward` returns, as a tuple, in which DDP finds the tensors.

    Args:
        audio: Unit-length embeddings.
        texts: Likewise.
        frames: The tokens of the sounds, of which there is none without `model.frames`.
    """

    audio: Float[Tensor, "batch dim"]
    texts: Float[Tensor, "texts dim"]
    scale: Float[Tensor, ""]
    bias: Float[Tensor, ""]
    frames: Float[Tensor, "batch tokens dim"]


class Encoder(nn.Module):
    """Both sides of a model in one call, since DDP synchronises gradients once a forward pass.

    Args:
        precision: Of towers and heads; embeddings are float32.
    """

    def __init__(self, model: Clap, precision: Precision) -> None:
        super().__init__()
        self.model = model
        self._autocast = precision is Precision.BFLOAT16

    def forward(
        self,
        values: Float[Tensor, "batch chunks ..."],
        chunk_mask: Bool[Tensor, "batch chunks"],
        places: Int[Tensor, " heard"] | None,
        ids: Int[Tensor, "texts words"],
        mask: Bool[Tensor, "texts words"],
    ) -> Outputs:
        """Encode the sounds and the texts."""
        reduced = torch.autocast(ids.device.type, dtype=torch.bfloat16) if self._autocast else None
        with reduced or nullcontext():
            audio, frames = self.model.encode_frames(Chunks(values, chunk_mask, places))
            texts = self.model.encode_text(ids, mask)
        scale, bias = self.model.scale(), self.model.bias
        return Outputs(audio.float(), texts.float(), scale, bias, frames.float())


def build_encoder(model: Clap, config: TrainConfig, process: RankProcess) -> nn.Module:
    """The encoder for `train_step`: compiled and data-parallel where the run asks for it."""
    encoder = Encoder(model, config.precision)
    if config.compile:
        encoder.compile(backend=config.compile)
    return process.wrap(encoder)


def load_parts(batch: Batch, model: Clap, cache: FeatureCache | None, count: int = 1) -> Parts:
    """A batch on the model's device in parts, features from the cache or computed as it needs them.

    Args:
        batch: On that device, but for its audio; with at least one sample and one text a part, or
            there are fewer parts.
        model: Gives features of audio.
        cache: Those of the split, where they are kept.
        count: How many parts.
    """
    device, texts = model.scale.log.device, batch.texts
    count = min(count, len(batch.audio.positions), len(texts.ids))

    def load(audio: AudioBatch, ids: Tensor, mask: Tensor) -> Inputs:
        chunks = audio.chunks(cache, model.audio_tower, device)
        return chunks.values, chunks.mask, chunks.places, ids, mask

    parts = zip(
        batch.audio.split(count),
        texts.ids.tensor_split(count),
        texts.mask.tensor_split(count),
        strict=True,
    )
    return [partial(load, *part) for part in parts]


@contextmanager
def pause_batch_norm_statistics(module: nn.Module) -> Iterator[None]:
    """Within it, batch norms use a batch's statistics and do not add them to their own."""
    norms = [one for one in module.modules() if isinstance(one, nn.modules.batchnorm._BatchNorm)]
    before = [norm.track_running_stats for norm in norms]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm, tracked in zip(norms, before, strict=True):
            norm.track_running_stats = tracked


def skip_gradient_sync(encoder: nn.Module) -> AbstractContextManager[None]:
    """Within it, gradients stay with this process until a later backward pass."""
    if isinstance(encoder, DistributedDataParallel):
        return encoder.no_sync()
    return nullcontext()
