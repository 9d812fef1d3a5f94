"""All that one step learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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

    Args:
        texts: Ids of every different text, encoded once each: the members of a minimal-pair group
            share most of their sentences.
        captions: Number in `texts` of each row's caption.
        positives: Numbers in `texts` of further true captions.
        negatives: Likewise of false captions.
        denied: Likewise of fully negated captions, at most one a row.
        keys: Numbers of each caption's text and of what it claims, equal where those are equal.
        views: Composition of each row (`losses.batch.Embedded`), -1 where it is no triplet.
        groups: Number of each row's group.
        classes: Numbers of the first and the last label of each row.
        unrefuted: Which caption (column) may be true of which other sound (row) of its group, too.
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
        return replace(
            self,
            texts=self.texts.map(change),
            captions=change(self.captions),
            positives=self.positives.map(change),
            negatives=self.negatives.map(change),
            denied=self.denied.map(change),
            keys=change(self.keys),
            views=change(self.views),
            groups=change(self.groups),
            classes=change(self.classes),
            unrefuted=change(self.unrefuted),
            uniform=None if self.uniform is None else change(self.uniform),
            sounds=None if self.sounds is None else self.sounds.map(change),
        )
