"""One training step, top to bottom: forward, loss, backward, clipping, optimizer, average.

`train_step` is the whole of it; what stands below are its parts, in the order in which it uses
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from train.config.run import Precision, TrainConfig, place
from train.data.audio import AudioBatch, FeatureCache
from train.data.batch import Batch
from train.engine.checkpoint import RandomState, State, settle
from train.engine.log import Facts
from train.engine.optimizer import is_fused, rate_at, set_rates
from train.engine.ranks import RankProcess
from train.losses.batch import Embedded, World
from train.losses.captions import apply_loss, dissimilarity
from train.losses.frames import Localised, frame_loss
from train.model.clap import Clap
from train.model.device import matmul_precision
from train.model.towers.base import Chunks


@dataclass(frozen=True, slots=True)
class StepFigures:
    """What the log says of a step; the device is waited for when it is read.

    Args:
        rates: Learning rate, and those of the groups that have their own.
        latest: Mean loss in nats and norm of the gradient before clipping.
        scale: Factor from cosine to logit.
        uncropped: Where samples are cropped, the number of those that were not.
    """

    step: int
    rates: Facts
    latest: Float[Tensor, 2]
    scale: Float[Tensor, ""]
    uncropped: int | None

    def read(self) -> Facts:
        """As numbers."""
        loss, grad_norm = self.latest.tolist()
        facts: Facts = {
            "step": self.step,
            "loss": loss,
            **self.rates,
            "grad_norm": grad_norm,
            "scale": self.scale.item(),
        }
        return facts if self.uncropped is None else facts | {"uncropped": self.uncropped}


def train_step(
    batch: Batch,
    config: TrainConfig,
    state: State,
    encoder: nn.Module,
    process: RankProcess,
    cache: FeatureCache | None,
) -> StepFigures:
    """Learn from one batch, without waiting for the device.

    A step whose loss or gradient is not finite on any process is not applied, nor is any after it:
    neither weights nor optimizer are changed. `settle` tells.
    """
    set_rates(state.optimizer, config, batch.step)
    state.model.train()
    state.optimizer.zero_grad()
    batch = batch.to(state.device)
    parts = load_parts(batch, state.model, cache, config.accumulate)
    loss = backward(encoder, parts, batch, config, World(batch.counts, process.rank))
    # DDP has averaged the gradients over the processes, so the norm is that of the whole batch.
    norm = torch.nn.utils.clip_grad_norm_(state.model.parameters(), config.grad_clip)

    # Of means all processes know the same: all of them go on, or none.
    state.latest = process.mean(torch.stack([loss, norm]))
    state.fault = find_fault(state.latest, batch.step, state.fault)
    if is_fused(state.device):
        # What torch's own GradScaler sets: a fused optimizer leaves out a step where it is 1.
        state.optimizer.found_inf = (state.fault[0] >= 0).float()  # type: ignore[attr-defined]
    else:
        settle(state, config)
    state.optimizer.step()
    state.model.scale.limit()
    if state.average is not None:
        state.average.update_parameters(state.model)
    state.step = batch.step + 1
    uncropped = batch.whole if config.crop_s is not None else None
    rates = {"lr": rate_at(config.lr, config, batch.step)} | {
        f"lr/{group}": rate_at(peak, config, batch.step) for group, peak in config.lr_of.items()
    }
    return StepFigures(state.step, rates, state.latest, state.model.scale().detach(), uncropped)


def find_fault(
    latest: Float[Tensor, 2], step: int, before: Float[Tensor, 2] | None
) -> Float[Tensor, 2]:
    """The first step that was not finite and its loss, step -1 for none."""
    if before is None:
        before = torch.full_like(latest, -1)
    now = torch.stack([torch.full_like(latest[0], step), latest[0]])
    return torch.where((before[0] < 0) & ~latest.isfinite().all(), now, before)


def backward(
    encoder: nn.Module, parts: Parts, batch: Batch, config: TrainConfig, world: World
) -> Float[Tensor, ""]:
    """Compute the loss of a batch and add its gradients to those of the parameters.

    In parts, as `accumulate` asks, the batch is encoded twice: first without gradients, for the
    loss of the whole and its gradient with respect to every embedding; then part by part again, to
    carry those on to the weights (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size
    under Memory Limited Setup").

    Returns:
        The loss in nats: this process's part.
    """
    if len(parts) == 1:
        loss = compute_loss(encoder(*parts[0]()), batch, config, world)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    device = next(encoder.parameters()).device

    # First pass: every embedding, without gradients.
    random_states: list[RandomState] = []
    encoded: list[Outputs] = []
    with torch.no_grad(), pause_batch_norm_statistics(encoder):
        for part in parts:
            random_states.append(RandomState.of(device))
            encoded.append(encoder(*part()))
    audio, texts, scales, biases, frames = zip(*encoded, strict=True)

    # The loss of the whole batch, and its gradient with respect to what the encoder returned.
    joined = torch.cat(audio), torch.cat(texts), scales[0], biases[0], torch.cat(frames)
    # Copies, at which autograd stops.
    whole = Outputs(*(value.detach().clone().requires_grad_() for value in joined))
    loss = compute_loss(whole, batch, config, world)
    of_whole = torch.autograd.grad(loss, whole, materialize_grads=True)
    of_audio, of_texts, of_scale, of_bias, of_frames = of_whole
    of_parts = [
        gradient.split([len(part) for part in column])  # type: ignore[no-untyped-call]
        for gradient, column in ((of_audio, audio), (of_texts, texts), (of_frames, frames))
    ]

    # Second pass: the same random numbers give the same embeddings, now with gradients. All parts
    # share scale and bias, whose gradients go with the last part, as does DDP's synchronisation.
    for number, (part, random_state) in enumerate(zip(parts, random_states, strict=True)):
        last = number == len(parts) - 1
        random_state.restore(device)
        alone = not last and isinstance(encoder, DistributedDataParallel)
        with encoder.no_sync() if alone else nullcontext():  # type: ignore[operator]
            outputs = encoder(*part())
            for_audio, for_texts, for_frames = (gradients[number] for gradients in of_parts)
            gradients = (for_audio, for_texts, of_scale * last, of_bias * last, for_frames)
            # Frozen parts of the model have no gradients.
            pairs = zip(outputs, gradients, strict=True)
            learning = [pair for pair in pairs if pair[0].requires_grad]
            torch.autograd.backward(
                [tensor for tensor, _ in learning], [grad for _, grad in learning]
            )
    return loss.detach()


@matmul_precision("highest")
def compute_loss(
    outputs: Outputs, batch: Batch, config: TrainConfig, world: World
) -> Float[Tensor, ""]:
    """The loss of a batch in nats, as the stage of its step asks for it: this process's part.

    Its matrices are multiplied in full float32, whatever is allowed for the towers.
    """
    where = place(batch.step, config.stages)
    stage = config.stages[where.stage]
    rows = gather_rows(outputs, batch, where.step)
    loss = apply_loss(stage.loss, rows, world)
    if stage.dissimilarity:
        loss = loss + stage.dissimilarity * dissimilarity(rows, world)
    if batch.sounds is not None:
        sounds = outputs.texts[batch.sounds.texts]
        localised = Localised(outputs.frames, sounds, batch.sounds.states, rows.scale)
        loss = loss + stage.frames * frame_loss(localised, world)
    # Not every loss uses scale and bias, and DDP waits for the gradient of whatever can learn.
    return loss + 0 * (rows.scale + rows.bias)


def gather_rows(outputs: Outputs, batch: Batch, step: int) -> Embedded:
    """The batch as losses see it: embeddings of the rows, from those of the different texts.

    Args:
        step: Of the stage.
    """
    texts = outputs.texts
    # Looked up in this order, before the captions: autograd sums the gradients of a text in the
    # reverse of it, and another order would give other last bits.
    extras = (batch.positives, batch.negatives, batch.denied)
    positives, negatives, denied = (extra.embed(texts) for extra in extras)
    text_numbers, meanings = batch.keys
    return Embedded(
        audio=outputs.audio,
        captions=texts[batch.captions],
        positives=positives,
        negatives=negatives,
        denied=denied,
        texts=text_numbers,
        meanings=meanings,
        views=batch.views,
        groups=batch.groups,
        classes=batch.classes,
        unrefuted=batch.unrefuted,
        scale=outputs.scale,
        bias=outputs.bias,
        step=step,
        uniform=None if batch.uniform is None else batch.uniform.to(outputs.audio),
    )


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
    norms = [norm for norm in module.modules() if isinstance(norm, nn.modules.batchnorm._BatchNorm)]
    before = [norm.track_running_stats for norm in norms]
    for norm in norms:
        norm.track_running_stats = False
    try:
        yield
    finally:
        for norm, tracked in zip(norms, before, strict=True):
            norm.track_running_stats = tracked
