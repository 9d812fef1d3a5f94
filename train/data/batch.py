"""All that one step learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Int8
from torch import Tensor

from train.data.audio import AudioBatch
from train.data.tokenizer import TokenIds
from train.losses.batch import Ragged


@dataclass(frozen=True, slots=True)
class SoundFrames:
    """When the sounds of a batch are heard.

    Args:
        texts: Number in `Batch.texts` of each sound's text. They are the sounds of the whole batch,
            in the same order on every process.
        states: How each row of this process hears each sound in each token of audio, as values of
            `synth.truth.frames.Audibility`.
    """

    texts: Int[Tensor, " sounds"]
    states: Int8[Tensor, "batch sounds tokens"]

    def map(self, change: Callable[[Tensor], Tensor]) -> SoundFrames:
        """The same, both of its tensors changed."""
        return SoundFrames(change(self.texts), change(self.states))


@dataclass(frozen=True, slots=True)
class Batch:
    """All that one step learns from, on one process.

    `views`, `groups`, `classes` and `unrefuted` are as `losses.batch.Embedded` has them.

    Args:
        texts: Ids of every different text, encoded once each: the members of a minimal-pair group
            share most of their sentences.
        captions: Number in `texts` of each row's caption.
        positives: Numbers in `texts` of further true captions.
        negatives: Likewise of false captions.
        denied: Likewise of fully negated captions, at most one a row.
        keys: Numbers of each caption's text and of what it claims, equal where those are equal.
        whole: Rows that are heard whole although they are longer than `crop_s`.
        counts: How many rows each process has, in order of rank.
        uniform: Numbers in [0, 1) that a loss draws by, None for one that draws nothing.
        sounds: When sounds are heard, None without the frame-wise loss.
    """

    step: int
    audio: AudioBatch
    texts: TokenIds
    captions: Int[Tensor, " batch"]
    positives: Ragged
    negatives: Ragged
    denied: Ragged
    keys: Int[Tensor, "2 batch"]
    views: Int[Tensor, " batch"]
    groups: Int[Tensor, " batch"]
    classes: Int[Tensor, "batch 2"]
    unrefuted: Bool[Tensor, "batch batch"]
    whole: int
    counts: tuple[int, ...]
    uniform: Float[Tensor, "batch candidates"] | None = None
    sounds: SoundFrames | None = None

    def to(self, device: torch.device) -> Batch:
        """The same on another device, but for the audio, which goes there part by part."""
        return self._map(lambda part: part.to(device, non_blocking=True))

    def pinned(self) -> Batch:
        """The same in memory from which a GPU takes it by itself, while the program goes on."""
        return replace(self._map(Tensor.pin_memory), audio=self.audio.pinned())

    def _map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        def apply(value: Any) -> Any:
            if isinstance(value, Tensor):
                return change(value)
            return value.map(change) if hasattr(value, "map") else value

        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(
            self, **{name: apply(value) for name, value in values.items() if name != "audio"}
        )
