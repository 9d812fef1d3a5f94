"""The model side of the bench: what turns sounds and texts into embeddings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from synth.audio.dsp import Audio
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import UNOBSERVED, Observer, track
from synth.base.units import Frames
from train.bench.settings import Padding
from train.bench.sounds import SoundItem
from train.config.model import TokenKind
from train.data.tokenizer import CutTexts, TextTokenizer
from train.export.read import Exported
from train.model.towers.spectrogram import SpectrogramTower
from train.model.weights import weights_digest

TOGETHER: Final = 64

Embeddings: TypeAlias = Float[np.ndarray, "items dim"]
Embedding: TypeAlias = Float[np.ndarray, " dim"]
TextEmbeddings: TypeAlias = Mapping[str, Embedding]
"""The embedding of every text."""


@runtime_checkable
class Embedder(Protocol):
    """A joint audio-text model."""

    @property
    def sample_rate(self) -> int:
        """In Hz, of the audio it takes."""

    @property
    def longest(self) -> int | None:
        """Most samples that it takes; None where it takes any number."""

    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """Unit-length embeddings of sounds, in order, float64.

        Args:
            waveforms: Samples in -1 to 1 at the model's rate, each of its own length, at least one.
        """

    def texts(self, texts: Sequence[str]) -> Embeddings:
        """Unit-length embeddings of texts, in order, float64."""


@runtime_checkable
class FrameEmbedder(Embedder, Protocol):
    """A model that may embed short stretches of a sound, each where it is in the whole."""

    @property
    def frame(self) -> int | None:
        """Length of a stretch in samples; None where the model was not trained to embed them."""

    def frames(self, waveforms: Sequence[Audio]) -> list[Embeddings]:
        """Unit-length embeddings of the stretches of each sound, in order of time, float64.

        Those of the silence at the end of a sound may be zero. The last may be cut short.
        """


@dataclass(frozen=True)
class Evaluator(Exported):
    """A trained model of ours as an `Embedder`, on the device to compute on.

    Args:
        fusion: Whether a fused CLAP hears longer sounds as it was trained to.
    """

    fusion: bool = False

    @property
    def longest(self) -> int | None:
        """Most samples that the audio tower takes; None where it takes any number."""
        return None if self.fusion else self.model.audio_tower.longest

    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        """Sounds padded with silence to the longest; the towers do not hear the padding."""
        limit = self.model.audio_tower.longest or 0
        longer = {at for at, sound in enumerate(waveforms) if self.fusion and len(sound) > limit}
        shorter = [at for at in range(len(waveforms)) if at not in longer]
        embedded: dict[int, Embedding] = {}
        for places, hear in ((shorter, self._hear), (sorted(longer), self._fuse)):
            if places:
                embedded.update(zip(places, hear([waveforms[at] for at in places]), strict=True))
        return np.stack([embedded[at] for at in range(len(waveforms))])

    def _hear(self, waveforms: Sequence[Audio]) -> Embeddings:
        return _to_numpy(self.encode_audio(self._pad(waveforms)))

    @torch.no_grad()
    def _fuse(self, waveforms: Sequence[Audio]) -> Embeddings:
        device, tower = self.model.scale.log.device, self.model.audio_tower
        assert isinstance(tower, SpectrogramTower)
        sounds = [torch.from_numpy(waveform).to(device) for waveform in waveforms]
        return _to_numpy(self.model.audio_head(tower.fuse(sounds)))

    @property
    def frame(self) -> int | None:
        """Length of a token of audio in samples, None where tokens were not trained."""
        return self.model.audio_tower.chunk if self.model.frames else None

    @torch.no_grad()
    def frames(self, waveforms: Sequence[Audio]) -> list[Embeddings]:
        """The tokens of each sound."""
        chunks = self.model.audio_tower.features(self._pad(waveforms))
        embedded = map(_to_numpy, self.model.encode_frames(chunks)[1])
        counts = (-(-len(waveform) // self.model.audio_tower.chunk) for waveform in waveforms)
        return [tokens[:count] for tokens, count in zip(embedded, counts, strict=True)]

    def _pad(self, waveforms: Sequence[Audio]) -> Float[Tensor, "batch samples"]:
        batch = np.zeros((len(waveforms), max(map(len, waveforms))), dtype=np.float32)
        for line, waveform in zip(batch, waveforms, strict=True):
            line[: len(waveform)] = waveform
        return torch.from_numpy(batch).to(self.model.scale.log.device)

    def texts(self, texts: Sequence[str]) -> Embeddings:
        """Texts in one batch."""
        return _to_numpy(self.encode_text(list(texts)))

    @property
    def digest(self) -> str:
        """Of the model's weights, as `weights_digest` tells it."""
        return weights_digest(self.model.state_dict())


def embed_texts(
    embedder: Embedder, texts: Sequence[str], observer: Observer = UNOBSERVED
) -> TextEmbeddings:
    """The embedding of every different text, each embedded once."""
    # Texts of one length stand together, so that little is spent on padding.
    unique = sorted(set(texts), key=lambda text: (len(text.split()), text))
    vectors: dict[str, Embedding] = {}
    unread = track(unique, observer, "read", "texts")
    while part := list(islice(unread, TOGETHER)):
        embedded = embedder.texts(part)
        check_finite(embedded, part)
        vectors.update(zip(part, embedded, strict=True))
    return vectors


def count_cut(embedder: Embedder, texts: Collection[str]) -> CutTexts:
    """How many texts are longer than a model reads; none where it does not tell."""
    tokenizer = getattr(embedder, "tokenizer", None)
    if not isinstance(tokenizer, TextTokenizer) or not texts:
        return CutTexts()
    unique = list(dict.fromkeys(texts))
    return CutTexts(sum(tokenizer.cuts(unique)), len(unique), tokenizer.most_tokens)


def embed_sounds(
    embedder: Embedder,
    sounds: Sequence[SoundItem],
    cut: bool = False,
    observer: Observer = UNOBSERVED,
) -> tuple[Embeddings, int]:
    """The embedding of every sound, and how many were cut.

    Sounds of similar length stand together, and only one batch is in memory.

    Args:
        cut: Hear the first part of sounds that are too long for the model.
    """
    order = sorted(range(len(sounds)), key=lambda number: (sounds[number].size, number))
    unheard = track([sounds[n] for n in order], observer, "listen", "sounds")
    parts, was_cut = [], 0
    while batch := list(islice(unheard, TOGETHER)):
        whole = [sound.load(embedder.sample_rate) for sound in batch]
        fitted = [
            cut_to_longest(waveform, sound.name, embedder, cut)
            for waveform, sound in zip(whole, batch, strict=True)
        ]
        was_cut += sum(len(part) < len(full) for part, full in zip(fitted, whole, strict=True))
        parts.append(embedder.audio(fitted))
        check_finite(parts[-1], [sound.name for sound in batch])
    embedded = np.concatenate(parts)
    back = np.empty_like(embedded)
    back[order] = embedded
    return back, was_cut


def check_finite(embedded: Embeddings, names: Sequence[str]) -> None:
    """Refuse embeddings that are no numbers."""
    finite = np.isfinite(embedded).all(axis=1)
    if not finite.all():
        raise CorpusError(
            f"the model's embedding of {names[int(finite.argmin())]!r} holds NaN or infinity",
            fix="its training diverged: train again with a lower learning rate",
        )


def cut_to_longest(waveform: Audio, name: str, embedder: Embedder, cut: bool) -> Audio:
    """What a model takes of a sound."""
    longest = embedder.longest
    if longest is None or len(waveform) <= longest:
        return waveform
    if cut:
        return waveform[:longest]
    rate = embedder.sample_rate
    raise SpecError(
        f"{name}: lasts {len(waveform) / rate:.2f} s, the model takes {longest / rate:g} s",
        fix="shorten it, use its first part with --cut, or all of it with --fusion (fused CLAPs)",
    )


def unit_length(embedded: Float[Tensor, "items dim"]) -> Embeddings:
    """Vectors brought to unit length, in float64."""
    return _to_numpy(normalize(embedded.double(), dim=-1))


def _to_numpy(embedded: Tensor) -> Embeddings:
    return np.asarray(embedded.cpu().double().numpy())


def repeat_sound(waveform: Audio, longest: Frames, whole: bool) -> Audio:
    """A sound that is shorter than a model's input, repeated.

    Args:
        longest: Length of the input.
        whole: Repeat as often as the whole sound fits; else up to the end.
    """
    if len(waveform) >= longest:
        return waveform
    if whole:
        return np.tile(waveform, longest // len(waveform))
    return np.resize(waveform, longest)


def fill_up(
    sounds: Sequence[SoundItem], padding: Padding, longest: Frames | None
) -> Sequence[SoundItem]:
    """The sounds, repeated where that is how a model's input is filled up.

    Unasked, shorter sounds are followed by silence and longer ones are refused or cut. transformers
    and LAION repeat shorter ones, and with a fused CLAP hear longer ones whole; so do published
    figures.

    Args:
        longest: Length of the input in samples; None where the model takes any.
    """
    if padding is Padding.PAD:
        return sounds
    if longest is None:
        raise SpecError(
            "the model takes sounds of any length, so there is nothing to pad",
            fix=f"leave out --pad {padding}",
        )

    def load(sound: SoundItem, rate: int) -> Audio:
        return repeat_sound(sound.load(rate), longest, whole=padding is Padding.REPEATPAD)

    return [replace(sound, load=partial(load, sound)) for sound in sounds]


def fuse(embedder: Embedder) -> Evaluator:
    """A model that hears longer sounds by fusion."""
    tower = embedder.model.audio_tower if isinstance(embedder, Evaluator) else None
    if (
        not isinstance(embedder, Evaluator)
        or not isinstance(tower, SpectrogramTower)
        or not tower.fused
        or tower.tokens is not TokenKind.POOLED
    ):
        raise SpecError(
            "--fusion needs a fused CLAP, and this model is not one",
            fix="leave out --fusion, or give one such as laion/clap-htsat-fused",
        )
    return replace(embedder, fusion=True)
