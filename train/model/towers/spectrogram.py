"""The audio half of a CLAP (HTSAT) as a tower."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from synth.base.errors import SpecError
from train.config.model import AudioConfig, TokenKind
from train.model.features import FLOOR_DB, ClapInput, ClapLogMel, fusion_views, split_chunks
from train.model.heads import Tokens
from train.model.loading import check_audio
from train.model.towers.base import AudioTower, Chunks, averaging_weights

# A fused CLAP takes the whole and three crops; all are the same where the audio is short.
_FUSED_CHANNELS: Final = 4


class SpectrogramTower(AudioTower):
    """The audio half of a CLAP.

    Features are log-mel frames in dB, cut into as many rows as there are chunks; the silence that
    fills up the model's input is added when they are encoded, so that it need not be kept.

    Args:
        tokens: `chunks`: the summary of each chunk, heard alone at the start of an input of its
            own. `map`: the last feature map of the whole, averaged over frequency and over
            stretches of one chunk. `pooled`: the summary of the whole.
        chunk: Length of a chunk in samples, not longer than the input.
    """

    def __init__(
        self, model: nn.Module, settings: ClapInput, tokens: TokenKind, chunk: int
    ) -> None:
        encoder: Any = model.audio_encoder
        super().__init__(int(encoder.num_features))
        self.model = model
        self.log_mel = ClapLogMel(settings)
        self.tokens = tokens
        self.pooled = tokens is TokenKind.POOLED
        self.chunk = chunk
        self.fused = bool(encoder.enable_fusion)

    @property
    def longest(self) -> int | None:
        """The length of the model's input; any where it hears chunk by chunk."""
        return None if self.tokens is TokenKind.CHUNKS else self.log_mel.settings.samples

    @torch.no_grad()
    def features(self, waveform: Float[Tensor, "batch samples"]) -> Chunks:
        """Log-mel: with `chunks` that of each chunk, else that of the whole in equal parts."""
        if self.tokens is TokenKind.CHUNKS:
            chunks, mask = split_chunks(waveform, self.chunk)
            flat = self.log_mel.compute(chunks.flatten(0, 1))
            return Chunks(flat.reshape(*mask.shape, *flat.shape[1:]), mask)
        waveform = self.log_mel.cut(waveform)
        mask = split_chunks(waveform, self.chunk)[1]
        frames = self.log_mel.compute(waveform)
        # So many rows that those of the chunks up to any point hold all frames that hear it.
        rows = self.log_mel.settings.rows(self.chunk)
        behind = mask.shape[1] * rows - frames.shape[1]
        frames = nn.functional.pad(frames, (0, 0, 0, behind), value=FLOOR_DB)
        return Chunks(frames.reshape(*mask.shape, rows, -1), mask)

    def forward(self, chunks: Chunks) -> Tokens:
        """One token a chunk, or one in all."""
        if self.tokens is TokenKind.CHUNKS:
            return chunks.encode(lambda frames: self._hear(frames).pooler_output, self.dim)
        # What lies behind a sound may be anything, such as the zeros of a cache.
        quiet = ~chunks.mask[:, :, None, None]
        output = self._hear(chunks.values.masked_fill(quiet, FLOOR_DB).flatten(1, 2))
        if self.tokens is TokenKind.POOLED:
            return Tokens(output.pooler_output[:, None], chunks.mask[:, :1])
        across = output.last_hidden_state.mean(dim=2).mT
        count, span = chunks.mask.shape[1], self.log_mel.settings.samples
        weights = averaging_weights(across.shape[1], span, self.chunk, count, across)
        return Tokens(weights @ across, chunks.mask)

    def _hear(self, frames: Float[Tensor, "sounds rows mels"]) -> Any:
        whole = self.log_mel.pad(frames)[:, None]
        if self.fused:
            whole = whole.expand(-1, _FUSED_CHANNELS, -1, -1)
        longer = torch.zeros(whole.shape[0], 1, dtype=torch.bool, device=whole.device)
        return self.model(input_features=whole, is_longer=longer)

    def fuse(self, waveforms: Sequence[Float[Tensor, " _"]]) -> Tokens:
        """The summaries of sounds that are longer than the input, of a fused CLAP.

        Args:
            waveforms: Samples in -1 to 1, each as many as the input takes or more; at least one.
        """
        count = self.log_mel.settings.frames
        frames = [self.log_mel.compute(waveform[None])[0] for waveform in waveforms]
        views = torch.stack([fusion_views(mels, count) for mels in frames])
        # As transformers has it: what is not a frame longer is taken for no longer.
        longer = torch.tensor([[len(mels) > count] for mels in frames], device=views.device)
        output = self.model(input_features=views, is_longer=longer)
        return Tokens(output.pooler_output[:, None], torch.ones_like(longer))

    def unused_parameters(self) -> list[nn.Parameter]:
        """What a fused CLAP has for longer audio."""
        if not self.fused:
            return []
        patches: Any = self.model.audio_encoder.patch_embed  # type: ignore[union-attr]
        return [*patches.fusion_model.parameters(), *patches.mel_conv2d.parameters()]


def spectrogram_tower(
    model: Any, config: AudioConfig, sample_rate: int, settings: ClapInput
) -> SpectrogramTower:
    """A tower around the loaded audio half of a CLAP."""
    check_audio(config, settings.sample_rate, sample_rate, longest=settings.samples)
    encoder = model.audio_encoder
    if (
        settings.mels != model.config.num_mel_bins
        or settings.frames > encoder.spec_size * encoder.freq_ratio
    ):
        raise SpecError(
            f"model {config.name!r}: its preprocessor_config.json gives {settings.frames} frames "
            f"of {settings.mels} mel bands, more or other than its config.json takes",
            fix="put this model's own preprocessor_config.json there",
        )
    return SpectrogramTower(model, settings, config.tokens, round(config.chunk_s * sample_rate))
