"""The frame-wise loss: which sound is heard in which token of audio (FLAM, arXiv 2505.05335)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int8
from torch import Tensor
from torch.nn.functional import softplus

from synth.truth.frames import Audibility
from train.losses.batch import World
from train.losses.contrastive import exact_type


@dataclass(frozen=True, slots=True)
class Localised:
    """The tokens of this process's rows, and the sounds of the whole batch.

    Args:
        frames: Unit-length embeddings of tokens; zero behind the end of a row's sound, where
            nothing is judged. There may be more tokens than states, or fewer.
        sounds: Unit-length embeddings of what the sounds are called, the same on every process.
        states: How each sound is heard in each token, as values of `Audibility`.
        scale: Factor from cosine to logit.
    """

    frames: Float[Tensor, "batch tokens dim"]
    sounds: Float[Tensor, "sounds dim"]
    states: Int8[Tensor, "batch sounds states"]
    scale: Float[Tensor, ""]


def frame_loss(batch: Localised, world: World) -> Float[Tensor, ""]:
    """Mean over tokens and sounds of -log sigmoid(z * (scale * cosine + bias)), in nats.

    z is 1 where a sound is clear and -1 where it is absent (FLAM, eq. 4); where it is faint nothing
    is judged. The bias of a sound is the log odds of hearing it in a token of the batch. FLAM
    learns to tell them from the text (eq. 10); here they are counted, so that the model needs no
    weights for them. They are added in training alone: cosines then rank tokens as if every sound
    were as frequent as the others (eq. 9).

    Returns:
        This process's part, as `world.mean` makes it of rows.
    """
    width = min(batch.frames.shape[1], batch.states.shape[2])
    frames, states = batch.frames[:, :width], batch.states[:, :, :width]
    dtype = exact_type(frames)
    clear = states == Audibility.CLEAR
    judged = (states != Audibility.FAINT) & frames.any(dim=2)[:, None]
    counts = torch.stack([(clear & judged).sum(dim=2), judged.sum(dim=2)], dim=2)
    everywhere = world.gather(counts)
    sounding, tokens = everywhere.sum(dim=0).to(dtype).unbind(dim=1)
    bias = ((sounding + 1) / (tokens - sounding + 1)).log()
    cosines = torch.einsum("btd,sd->bst", frames, batch.sounds)
    logits = (batch.scale * cosines).to(dtype) + bias[:, None]
    # -log sigmoid(x) is softplus(-x).
    wrong = softplus(torch.where(clear, -logits, logits)) * judged
    mean_of_rows = world.mean(wrong.sum(dim=(1, 2)))
    return mean_of_rows * (len(everywhere) / tokens.sum().clamp(min=1))
