"""How sounds fit a CLAP's input of fixed length, where they are to fit as transformers has it.

Unasked, shorter sounds are followed by silence and longer ones are refused or cut. transformers and
LAION repeat shorter ones, and with a fused CLAP hear longer ones whole; so do published figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from synth.audio.dsp import Audio
from synth.base.errors import SpecError
from train.bench.embedder import Embedder, Embedding, Embeddings, Evaluator
from train.bench.settings import Padding
from train.bench.sounds import OtherSounds, Sounds
from train.config.model import TokenKind
from train.model.towers.spectrogram import SpectrogramTower


@dataclass(frozen=True)
class Repeated(OtherSounds):
    """Sounds that are repeated where they are shorter than a model's input.

    Args:
        longest: Length of the input, in samples.
        whole: Repeat as often as the whole sound fits; else up to the end.
    """

    longest: int
    whole: bool

    def load(self, number: int, rate: int) -> Audio:
        """The sound, repeated."""
        waveform = self.sounds.load(number, rate)
        if len(waveform) >= self.longest:
            return waveform
        if self.whole:
            return np.tile(waveform, self.longest // len(waveform))
        return np.resize(waveform, self.longest)


def fill_up(sounds: Sounds, padding: Padding, longest: int | None) -> Sounds:
    """The sounds, repeated where that is how a model's input is filled up.

    Args:
        padding: What fills it up.
        longest: Length of the input in samples; None where the model takes any.
    """
    if padding is Padding.PAD:
        return sounds
    if longest is None:
        raise SpecError(
            "the model takes sounds of any length, there is nothing to fill up",
            fix=f"leave out --pad {padding}",
        )
    return Repeated(sounds, longest, whole=padding is Padding.REPEATPAD)


@dataclass(frozen=True)
class Fused:
    """A fused CLAP that hears longer sounds as it was trained to, as an `Embedder`.

    Args:
        plain: The model; it takes sounds that are not longer.
    """

    plain: Evaluator
    tower: SpectrogramTower

    @property
    def sample_rate(self) -> int:
        """In Hz."""
        return self.plain.sample_rate

    @property
    def longest(self) -> None:
        """It takes any number of samples."""
        return None

    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """Shorter sounds as ever, longer ones by fusion."""
        limit = self.tower.log_mel.settings.samples
        longer = np.array([len(each) > limit for each in waveforms])
        found: dict[int, Embedding] = {}
        for kind, hear in ((False, self.plain.audio), (True, self._fuse)):
            numbers = np.flatnonzero(longer == kind).tolist()
            if numbers:
                found.update(zip(numbers, hear([waveforms[n] for n in numbers]), strict=True))
        return np.stack([found[number] for number in range(len(waveforms))])

    def texts(self, texts: Sequence[str]) -> Embeddings:
        """As ever."""
        return self.plain.texts(texts)

    @torch.no_grad()
    def _fuse(self, waveforms: Sequence[Audio]) -> Embeddings:
        model = self.plain.model
        sounds = [torch.from_numpy(each).to(model.scale.log.device) for each in waveforms]
        found: Embeddings = model.audio_head(self.tower.fuse(sounds)).cpu().double().numpy()
        return found


def fuse(embedder: Embedder) -> Fused:
    """A model that hears longer sounds by fusion."""
    tower = embedder.model.audio_tower if isinstance(embedder, Evaluator) else None
    if (
        not isinstance(embedder, Evaluator)
        or not isinstance(tower, SpectrogramTower)
        or not tower.fused
        or tower.tokens is not TokenKind.POOLED
    ):
        raise SpecError(
            "the model is no fused CLAP, it cannot hear longer sounds by fusion",
            fix="leave out --fusion, or give one such as laion/clap-htsat-fused",
        )
    return Fused(embedder, tower)
