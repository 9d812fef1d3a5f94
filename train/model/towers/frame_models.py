"""AST, Whisper's encoder and wav2vec2-BERT: what each hears, and what it makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn, where

from synth.audio.dsp import Audio
from synth.base.errors import SpecError
from train.config.model import AudioConfig, LayerMix, TokenKind
from train.model.loading import check_rate, feature_extractor
from train.model.towers.frames import EncodedSounds, FrameModel, FrameTower

_HOP: Final = 160
# Kaldi's frames lie wholly within the sound; those of Whisper are centred, and hear beyond its end.
_KALDI_WINDOW: Final = 400
# Whisper's levels are log10 of power, no more than 8 below the loudest, moved and scaled.
_WHISPER_RANGE: Final = 2.0
_WHISPER_SILENCE: Final = -1.5


def _count_kaldi_frames(samples: Int[Tensor, " sounds"]) -> Int[Tensor, " sounds"]:
    return ((samples - _KALDI_WINDOW) // _HOP + 1).clamp_min(0)


class AudioSpectrogramTransformer(FrameModel):
    """AST (Gong et al. 2021): patches of a Kaldi spectrogram of fixed length.

    Args:
        model: An ASTModel.
        extractor: Its ASTFeatureExtractor.
    """

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
        found = self.extractor(list(sounds), sampling_rate=self.extractor.sampling_rate)
        return found["input_values"]  # type: ignore[no-any-return]

    def hear(
        self, frames: Float[Tensor, "sounds frames width"], real: Bool[Tensor, "sounds frames"]
    ) -> EncodedSounds:
        """The patches of each moment averaged over frequency, and the mean of its two marks."""
        kept = self.fit(frames.masked_fill(~real[..., None], self.padding), self.padding)
        found = self.model(input_values=kept)
        patches = found.last_hidden_state[:, 2:].unflatten(1, (self.bands, -1)).mean(dim=1)
        everywhere = real.new_ones(patches.shape[:2])
        return EncodedSounds(patches, everywhere, self.hop * kept.shape[1], found.pooler_output)


class WhisperEncoder(FrameModel):
    """The encoder of Whisper (Radford et al. 2022): log-mel of a fixed length of sound.

    Args:
        model: A WhisperModel, of which the decoder is left out.
        extractor: Its WhisperFeatureExtractor.
    """

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
        heard = samples + self.extractor.n_fft // 2
        frames: Tensor = -(-heard // self.hop)
        return frames.clamp_max(self.extractor.nb_max_frames)

    def extract(self, sounds: Sequence[Audio]) -> Sequence[Float[np.ndarray, "frames width"]]:
        """Scaled log-mel."""
        found = self.extractor(list(sounds), sampling_rate=self.extractor.sampling_rate)
        return [each.T for each in found["input_features"]]

    def hear(
        self, frames: Float[Tensor, "sounds frames width"], real: Bool[Tensor, "sounds frames"]
    ) -> EncodedSounds:
        """Two frames a state; the sound is followed by silence."""
        kept, there = self.fit(frames), self.fit(real[..., None])
        loudest = kept.masked_fill(~there, _WHISPER_SILENCE).amax(dim=(1, 2), keepdim=True)
        silence = (loudest - _WHISPER_RANGE).clamp_min(_WHISPER_SILENCE)
        states = self.model(where(there, kept, silence).mT).last_hidden_state
        return EncodedSounds(states, real.new_ones(states.shape[:2]), self.hop * kept.shape[1])

    def fixed_parameters(self) -> list[nn.Parameter]:
        """The positions, which are sinusoids."""
        return list(self.model.embed_positions.parameters())


class Wav2Vec2Bert(FrameModel):
    """wav2vec2-BERT (Barrault et al. 2023): pairs of Kaldi frames of sounds of any length.

    Args:
        model: A Wav2Vec2BertModel without adapter.
        extractor: Its SeamlessM4TFeatureExtractor.
    """

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
        found = self.extractor(list(sounds), sampling_rate=self.extractor.sampling_rate)
        counts = found["attention_mask"].sum(axis=1)
        pairs = zip(found["input_features"], counts, strict=True)
        return [frames[:count] for frames, count in pairs]

    def hear(
        self, frames: Float[Tensor, "sounds frames width"], real: Bool[Tensor, "sounds frames"]
    ) -> EncodedSounds:
        """One state a pair."""
        found = self.model(input_features=frames, attention_mask=real.long())
        return EncodedSounds(found.last_hidden_state, real, self.hop * frames.shape[1])

    def fixed_parameters(self) -> list[nn.Parameter]:
        """What stands in for masked frames, of which there are none."""
        masked = getattr(self.model, "masked_spec_embed", None)
        return [] if masked is None else [masked]


_KINDS: Final = {
    "audio-spectrogram-transformer": (AudioSpectrogramTransformer, "ASTFeatureExtractor"),
    "whisper": (WhisperEncoder, "WhisperFeatureExtractor"),
    "wav2vec2-bert": (Wav2Vec2Bert, "SeamlessM4TFeatureExtractor"),
}
FRAME_KINDS: Final = frozenset(_KINDS)
"""Types of transformers models that `frame_tower` takes."""


def frame_tower(model: Any, config: AudioConfig, sample_rate: int) -> FrameTower:
    """A tower around a loaded model.

    Args:
        model: Of one of `FRAME_KINDS`.
        config: Its name, and what a token is.
    """
    made, extractor_class = _KINDS[model.config.model_type]
    extractor = feature_extractor(config.name, extractor_class)
    check_rate(config.name, int(extractor.sampling_rate), sample_rate)
    if getattr(model.config, "add_adapter", False):
        raise SpecError(
            f"model {config.name!r} has an adapter, which changes its step in time",
            fix="choose a wav2vec2-BERT with `add_adapter: false`",
        )
    found = made(model, extractor)
    _check_settings(found, config, sample_rate)
    return FrameTower(found, config.tokens, round(config.chunk_s * sample_rate))


def _check_settings(model: FrameModel, config: AudioConfig, sample_rate: int) -> None:
    name, chunk = config.name, round(config.chunk_s * sample_rate)
    width = int(model.extract([np.zeros(model.shortest, np.float32)])[0].shape[1])
    frames = None if model.longest is None else model.longest // model.hop
    if (width, frames) != (model.width, model.frames):
        raise SpecError(
            f"model {name!r}: its preprocessor_config.json gives {frames} frames of {width} "
            f"numbers, its config.json takes {model.frames} of {model.width}",
            fix="put this model's own preprocessor_config.json there",
        )
    if config.layers is not LayerMix.LAST:
        raise SpecError(
            f"model {name!r}: `layers: {config.layers}` is for models that take waveform",
            fix="choose `layers: last` for audio",
        )
    if config.tokens is TokenKind.POOLED and not isinstance(model, AudioSpectrogramTransformer):
        raise SpecError(
            f"model {name!r} has no summary of the whole",
            fix="choose `tokens: chunks` or `tokens: map` for audio, or a CLAP or an AST",
        )
    longest = model.longest
    if chunk < model.shortest or (longest is not None and chunk > longest):
        least = f"at least {model.shortest / sample_rate:g}"
        most = "" if longest is None else f" and at most {longest / sample_rate:g}"
        raise SpecError(
            f"chunks of {config.chunk_s:g} s do not fit model {name!r}",
            fix=f"choose a chunk_s of {least}{most}",
        )
