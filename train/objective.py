"""The loss of a batch: from sounds and texts through the model."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from train.audio import FeatureCache
from train.config import Precision
from train.loader import Batch
from train.loss import hard_negative_loss
from train.model import Clap


def batch_loss(
    model: Clap, batch: Batch, cache: FeatureCache | None, precision: Precision
) -> Float[Tensor, ""]:
    """The contrastive loss of a batch with its hard negatives, in nats.

    Args:
        model: On any device.
        batch: On the CPU.
        cache: Features of the split, where they are kept.
        precision: Of the towers and heads.
    """
    device = model.scale.log.device
    chunks = batch.audio.chunks(cache, model.audio_tower, device)
    texts = batch.texts.to(device)
    reduced = precision is Precision.BFLOAT16
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=reduced):
        audio = model.encode_chunks(chunks).float()
        text = model.encode_text(texts.ids, texts.mask).float()[batch.said.to(device)]
    return hard_negative_loss(
        audio,
        text[: len(audio)],
        text[len(audio) :],
        batch.owner.to(device),
        model.scale(),
        batch.same.to(device),
    )
