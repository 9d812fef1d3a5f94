"""AST, Whisper's encoder and wav2vec2-BERT: towers over frames of their feature extractors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn, where

from synth.audio.dsp import Audio
from synth.base.errors import SpecError
from train.config.model import AudioConfig, TokenKind
from train.model.features import split_chunks
from train.model.heads import Tokens
from train.model.loading import check_audio, feature_extractor
from train.model.towers.base import AudioTower, Chunks, averaging_weights


@dataclass(frozen=True, slots=True)
class EncodedSounds:
    """What a model makes of sounds.

    Args:
        states: Its last hidden states, evenly spaced in time.
        real: Which of them belong to the sound, or to the silence that the model always hears.
        span: Time that the states cover, in samples.
    """

    states: Float[Tensor, "sounds positions dim"]
    real: Bool[Tensor, "sounds positions"]
    span: float
    summary: Float[Tensor, "sounds dim"] | None = None


class FrameModel(nn.Module, ABC):
    """A transformers model that hears frames, and its feature extractor.

    Args:
        width: Numbers in a frame.
        hop: Step between frames, in samples.
        shortest: Fewest samples that it takes.
        longest: Most samples that it takes; None for any number.
        frames: Frames of its input; None for any number.
    """

    def __init__(
        self,
        model: Any,
        extractor: Any,
        *,
        dim: int,
        width: int,
        hop: int,
        shortest: int = 1,
        longest: int | None = None,
        frames: int | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.extractor = extractor
        self.dim, self.width, self.hop = dim, width, hop
        self.shortest, self.longest, self.frames = shortest, longest, frames

    @abstractmethod
    def count_frames(self, samples: Int[Tensor, " sounds"]) -> Int[Tensor, " sounds"]:
        """How many frames hear something of sounds of these lengths."""

    @abstractmethod
    def extract(self, sounds: Sequence[Audio]) -> Sequence[Float[np.ndarray, "frames width"]]:
        """The frames of sounds; those that `count_frames` does not count may follow."""

    @abstractmethod
    def hear(
        self, frames: Float[Tensor, "sounds frames width"], real: Bool[Tensor, "sounds frames"]
    ) -> EncodedSounds:
        """What the model makes of the frames that are real; the others may hold anything."""

    def fit(
        self, frames: Shaped[Tensor, "sounds some width"], value: float = 0
    ) -> Shaped[Tensor, "sounds frames width"]:
        """As many frames as the model takes, the sound's own and more of one value."""
        missing = 0 if self.frames is None else self.frames - frames.shape[1]
        return nn.functional.pad(frames, (0, 0, 0, missing), value=value)

    def rows(self, chunk: int) -> int:
        """Frames for each chunk, so that those of all chunks hold all frames of a sound."""
        first = int(self.count_frames(torch.tensor([chunk])))
        return max(first, -(-chunk // self.hop))

    def fixed_parameters(self) -> list[nn.Parameter]:
        """Parameters of the model that never learn."""
        return []


class FrameTower(AudioTower):
    """Sounds as frames; tokens are stretches of the model's hidden states, or its summary.

    Args:
        tokens: `chunks`: each chunk is heard alone. `map`: the states of the whole, averaged over
            stretches of one chunk. `pooled`: the model's summary of the whole.
        chunk: Length of a chunk in samples.
    """

    hears_on_cpu = True

    def __init__(self, model: FrameModel, tokens: TokenKind, chunk: int) -> None:
        super().__init__(model.dim)
        self.model = model
        self.tokens = tokens
        self.chunk = chunk
        self.pooled = tokens is TokenKind.POOLED

    @property
    def longest(self) -> int | None:
        """The length of the model's input; any where it hears chunk by chunk."""
        return None if self.tokens is TokenKind.CHUNKS else self.model.longest

    @torch.no_grad()
    def features(self, waveform: Float[Tensor, "batch samples"]) -> Chunks:
        """The frames of each chunk, or those of the whole in equal parts."""
        chunks, mask = split_chunks(waveform, self.chunk)
        if self.tokens is TokenKind.CHUNKS:
            values = waveform.new_zeros(*mask.shape, self._rows, self.model.width)
            values[mask] = self._extract(list(chunks[mask]), self._rows)
            return Chunks(values, mask)
        counts = mask.sum(dim=1)
        self._check_length(counts)
        sounds = [
            row[: int(count)].flatten()[: self.longest]
            for row, count in zip(chunks, counts, strict=True)
        ]
        frames = self._extract(sounds, mask.shape[1] * self._rows)
        return Chunks(frames.reshape(*mask.shape, self._rows, -1), mask)

    @property
    def _rows(self) -> int:
        return self.model.rows(self.chunk)

    def _check_length(self, counts: Int[Tensor, " batch"]) -> None:
        longest, count = self.longest, int(counts.max())
        if longest is not None and (count - 1) * self.chunk >= longest:
            rate = self.model.extractor.sampling_rate
            raise SpecError(
                f"audio of {count * self.chunk / rate:g} s is longer than the "
                f"{longest / rate:g} s that this model takes",
                fix="build the corpus with shorter samples, crop with "
                f"`crop_s: {longest / rate:g}`, or choose `tokens: chunks`",
            )

    def _extract(self, sounds: Sequence[Tensor], rows: int) -> Float[Tensor, "sounds rows width"]:
        device = sounds[0].device
        values = torch.zeros(len(sounds), rows, self.model.width)
        arrays = self.model.extract([sound.cpu().numpy() for sound in sounds])
        for row, frames in zip(values, arrays, strict=True):
            row[: len(frames)] = torch.from_numpy(np.asarray(frames[:rows]))
        return values.to(device)

    def forward(self, chunks: Chunks) -> Tokens:
        """One token a chunk, or one in all."""
        if self.tokens is TokenKind.CHUNKS:
            return chunks.encode(self._hear_chunks, self.dim)
        counts = chunks.mask.sum(dim=1)
        encoded = self._hear(chunks.values.flatten(1, 2), counts)
        if encoded.summary is not None and self.pooled:
            return Tokens(encoded.summary[:, None], chunks.mask[:, :1])
        return Tokens(self._average(encoded, chunks.mask.shape[1]), chunks.mask)

    def _hear(
        self, frames: Float[Tensor, "sounds rows width"], counts: Int[Tensor, " sounds"]
    ) -> EncodedSounds:
        samples = (counts * self.chunk).clamp_max(self.longest or torch.iinfo(torch.long).max)
        rows = torch.arange(frames.shape[1], device=frames.device)
        return self.model.hear(frames, rows < self.model.count_frames(samples)[:, None])

    def _hear_chunks(
        self, frames: Float[Tensor, "chunks rows width"]
    ) -> Float[Tensor, "chunks dim"]:
        ones = torch.ones(len(frames), dtype=torch.long, device=frames.device)
        return self._average(self._hear(frames, ones), 1)[:, 0]

    def _average(self, encoded: EncodedSounds, tokens: int) -> Float[Tensor, "sounds tokens dim"]:
        states = encoded.states
        weights = averaging_weights(states.shape[1], encoded.span, self.chunk, tokens, states)
        real = weights * encoded.real[:, None]
        total = real.sum(dim=2, keepdim=True)
        # Tokens behind a sound have no states, and no meaning.
        return (real / total.masked_fill(total == 0, 1)) @ states

    def unused_parameters(self) -> list[nn.Parameter]:
        """Those of the model that never learn."""
        return self.model.fixed_parameters()


_HOP: Final = 160
# Kaldi's frames lie wholly within the sound; those of Whisper are centred, and hear beyond its end.
_KALDI_WINDOW: Final = 400
# Whisper's levels are log10 of power, no more than 8 below the loudest, moved and scaled.
_WHISPER_RANGE: Final = 2.0
_WHISPER_SILENCE: Final = -1.5


def _count_kaldi_frames(samples: Int[Tensor, " sounds"]) -> Int[Tensor, " sounds"]:
    return ((samples - _KALDI_WINDOW) // _HOP + 1).clamp_min(0)


class AudioSpectrogramTransformer(FrameModel):
    """AST (Gong et al. 2021): patches of a Kaldi spectrogram of fixed length."""

    def __init__(self, model: Any, extractor: Any) -> None:
        config = model.config
        super().__init__(
            model,
            extractor,
            dim=int(config.hidden_size),
            width=int(config.num_mel_bins),
            hop=_HOP,
            shortest=_KALDI_WINDOW,
            longest=_HOP * int(extractor.max_length),
            frames=int(config.max_length),
        )
        self.bands = int(model.embeddings.get_shape(config)[0])
        normalised = bool(extractor.do_normalize)
        self.padding = -extractor.mean / (2 * extractor.std) if normalised else 0.0

    def count_frames(self, samples: Int[Tensor, " sounds"]) -> Int[Tensor, " sounds"]:
        """Those that lie within the sound."""
        return _count_kaldi_frames(samples)

    def extract(self, sounds: Sequence[Audio]) -> Sequence[Float[np.ndarray, "frames width"]]:
        """Normalised log-mel."""
        features = self.extractor(list(sounds), sampling_rate=self.extractor.sampling_rate)
        return features["input_values"]  # type: ignore[no-any-return]

    def hear(
        self, frames: Float[Tensor, "sounds frames width"], real: Bool[Tensor, "sounds frames"]
    ) -> EncodedSounds:
        """The patches of each moment averaged over frequency, and the mean of its two marks."""
        fitted = self.fit(frames.masked_fill(~real[..., None], self.padding), self.padding)
        output = self.model(input_values=fitted)
        patches = output.last_hidden_state[:, 2:].unflatten(1, (self.bands, -1)).mean(dim=1)
        everywhere = real.new_ones(patches.shape[:2])
        return EncodedSounds(patches, everywhere, self.hop * fitted.shape[1], output.pooler_output)


class WhisperEncoder(FrameModel):
    """The encoder of Whisper (Radford et al. 2022): log-mel of a fixed length of sound."""

    def __init__(self, model: Any, extractor: Any) -> None:
        encoder = model.get_encoder()
        encoder.layerdrop = 0.0  # a layer left out gets no gradient, which DDP does not stand
        super().__init__(
            encoder,
            extractor,
            dim=int(model.config.d_model),
            width=int(model.config.num_mel_bins),
            hop=int(extractor.hop_length),
            longest=int(extractor.n_samples),
            frames=2 * int(model.config.max_source_positions),
        )

    def count_frames(self, samples: Int[Tensor, " sounds"]) -> Int[Tensor, " sounds"]:
        """Those that hear something of the sound, also behind its end."""
        reach = samples + self.extractor.n_fft // 2
        frames: Tensor = -(-reach // self.hop)
        return frames.clamp_max(self.extractor.nb_max_frames)

    def extract(self, sounds: Sequence[Audio]) -> Sequence[Float[np.ndarray, "frames width"]]:
        """Scaled log-mel."""
        features = self.extractor(list(sounds), sampling_rate=self.extractor.sampling_rate)
        return [frames.T for frames in features["input_features"]]

    def hear(
        self, frames: Float[Tensor, "sounds frames width"], real: Bool[Tensor, "sounds frames"]
    ) -> EncodedSounds:
        """Two frames a state; the sound is followed by silence."""
        fitted, sounding = self.fit(frames), self.fit(real[..., None])
        loudest = fitted.masked_fill(~sounding, _WHISPER_SILENCE).amax(dim=(1, 2), keepdim=True)
        silence = (loudest - _WHISPER_RANGE).clamp_min(_WHISPER_SILENCE)
        states = self.model(where(sounding, fitted, silence).mT).last_hidden_state
        return EncodedSounds(states, real.new_ones(states.shape[:2]), self.hop * fitted.shape[1])

    def fixed_parameters(self) -> list[nn.Parameter]:
        """The positions, which are sinusoids."""
        return list(self.model.embed_positions.parameters())


class Wav2Vec2Bert(FrameModel):
    """wav2vec2-BERT (Barrault et al. 2023): pairs of Kaldi frames of sounds of any length."""

    def __init__(self, model: Any, extractor: Any) -> None:
        # Its masking draws from NumPy's generator, which a resumed run does not restore.
        model.config.apply_spec_augment = False
        model.config.layerdrop = 0.0
        stride = int(extractor.stride)
        super().__init__(
            model,
            extractor,
            dim=int(model.config.hidden_size),
            width=int(model.config.feature_projection_input_dim),
            hop=_HOP * stride,
            shortest=_KALDI_WINDOW + _HOP * (stride - 1) + 1,
        )
        self.stride = stride

    def count_frames(self, samples: Int[Tensor, " sounds"]) -> Int[Tensor, " sounds"]:
        """Whole pairs."""
        return _count_kaldi_frames(samples) // self.stride

    def extract(self, sounds: Sequence[Audio]) -> Sequence[Float[np.ndarray, "frames width"]]:
        """Log-mel of zero mean and unit variance in each band of a sound."""
        features = self.extractor(list(sounds), sampling_rate=self.extractor.sampling_rate)
        counts = features["attention_mask"].sum(axis=1)
        pairs = zip(features["input_features"], counts, strict=True)
        return [frames[:count] for frames, count in pairs]

    def hear(
        self, frames: Float[Tensor, "sounds frames width"], real: Bool[Tensor, "sounds frames"]
    ) -> EncodedSounds:
        """One state a pair."""
        output = self.model(input_features=frames, attention_mask=real.long())
        return EncodedSounds(output.last_hidden_state, real, self.hop * frames.shape[1])

    def fixed_parameters(self) -> list[nn.Parameter]:
        """What stands in for masked frames, of which there are none."""
        masked = getattr(self.model, "masked_spec_embed", None)
        return [] if masked is None else [masked]


_KINDS: Final[dict[str, tuple[Callable[[Any, Any], FrameModel], str]]] = {
    "audio-spectrogram-transformer": (AudioSpectrogramTransformer, "ASTFeatureExtractor"),
    "whisper": (WhisperEncoder, "WhisperFeatureExtractor"),
    "wav2vec2-bert": (Wav2Vec2Bert, "SeamlessM4TFeatureExtractor"),
}
FRAME_KINDS: Final = frozenset(_KINDS)
"""Types of transformers models that `frame_tower` takes."""


def frame_tower(model: Any, config: AudioConfig, sample_rate: int) -> FrameTower:
    """A tower around a loaded model."""
    kind, extractor_class = _KINDS[model.config.model_type]
    extractor = feature_extractor(config.name, extractor_class)
    if getattr(model.config, "add_adapter", False):
        raise SpecError(
            f"model {config.name!r} has an adapter, which changes its step in time",
            fix="choose a wav2vec2-BERT with `add_adapter: false`",
        )
    encoder = kind(model, extractor)
    check_audio(
        config,
        int(extractor.sampling_rate),
        sample_rate,
        shortest=encoder.shortest,
        longest=encoder.longest,
        summary=isinstance(encoder, AudioSpectrogramTransformer),
    )
    width = int(encoder.extract([np.zeros(encoder.shortest, np.float32)])[0].shape[1])
    frames = None if encoder.longest is None else encoder.longest // encoder.hop
    if (width, frames) != (encoder.width, encoder.frames):
        raise SpecError(
            f"model {config.name!r}: its preprocessor_config.json gives {frames} frames of {width} "
            f"numbers, its config.json takes {encoder.frames} of {encoder.width}",
            fix="put this model's own preprocessor_config.json there",
        )
    return FrameTower(encoder, config.tokens, round(config.chunk_s * sample_rate))
