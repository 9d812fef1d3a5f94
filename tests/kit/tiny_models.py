"""Tiny transformers models with random weights, saved as the published ones are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from transformers import (
    ASTConfig,
    ASTFeatureExtractor,
    ASTModel,
    ClapConfig,
    ClapFeatureExtractor,
    ClapModel,
    GPT2Config,
    GPT2Model,
    HubertConfig,
    HubertModel,
    ModernBertConfig,
    ModernBertModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3Model,
    SeamlessM4TFeatureExtractor,
    Wav2Vec2BertConfig,
    Wav2Vec2BertModel,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperModel,
)

from train.config.model import (
    AudioConfig,
    HeadConfig,
    HeadKind,
    ModelConfig,
    TextConfig,
    TokenKind,
    TowerKind,
)

CLAP_RATE = 48_000
CLAP_SECONDS = 2
CLAP_DIM = 12
INPUT_SECONDS = 4
"""Of an AST and a Whisper."""
_SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
WORDS = ["a", "dog", "barks", "before", "rain", "falls", "then", "siren"]


def noise(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * 0.1


def model_over(
    audio: Path | None,
    text: Path | None,
    head: HeadKind = HeadKind.TRANSFORMER,
    tokens: TokenKind = TokenKind.CHUNKS,
    dim: int = 8,
    **of_audio: Any,
) -> ModelConfig:
    """A model whose towers are the transformers models of folders, or small where there is none."""
    config = ModelConfig(dim=dim, head=HeadConfig(kind=head))
    if audio is not None:
        sounds = AudioConfig(
            kind=TowerKind.TRANSFORMERS, name=str(audio), tokens=tokens, **of_audio
        )
        config = config.model_copy(update={"audio": sounds})
    if text is not None:
        words = TextConfig(kind=TowerKind.TRANSFORMERS, name=str(text))
        config = config.model_copy(update={"text": words})
    return config


def save_tokenizer(folder: Path) -> None:
    """A word-level tokenizer with RoBERTa's marks and ids for them."""
    names = ["<s>", "<pad>", "</s>", "<unk>", *WORDS]
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(names)}, "<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        model_max_length=64,
    ).save_pretrained(folder)


def clap_extractor(**changes: Any) -> ClapFeatureExtractor:
    settings: dict[str, Any] = {
        "feature_size": 16,
        "max_length_s": CLAP_SECONDS,
        "frequency_min": 50,
        "truncation": "rand_trunc",
        "padding": "repeatpad",
    }
    return ClapFeatureExtractor(**settings | changes)


def extract_features(folder: Path, waveforms: Sequence[Any], padding: str = "pad") -> Any:
    """What a CLAP's own extractor makes of sounds that fit; it calls a short one longer by lot."""
    extractor = ClapFeatureExtractor.from_pretrained(folder)
    sounds = [np.asarray(waveform) for waveform in waveforms]
    found = extractor(sounds, sampling_rate=CLAP_RATE, padding=padding, return_tensors="pt")
    longest = extractor.nb_max_samples + extractor.hop_length
    longer = torch.tensor([[len(sound) >= longest] for sound in sounds])
    return {"input_features": found["input_features"].float(), "is_longer": longer}


def save_clap(
    folder: Path,
    seed: int = 0,
    fused: bool = False,
    mels: int = 16,
    *,
    audio_changes: Mapping[str, Any] | None = None,
    text_changes: Mapping[str, Any] | None = None,
    seconds: int = CLAP_SECONDS,
    activation: str = "gelu",
) -> Path:
    """A whole CLAP folder; its batch norms, biases and temperature are no neutral ones.

    transformers' own fusion knows no number of `mels` but 64.
    """
    audio: dict[str, Any] = {
        "spec_size": 4 * mels,
        "num_mel_bins": mels,
        "patch_embeds_hidden_size": 8,
        "hidden_size": 16,
        "depths": [2, 1],
        "num_attention_heads": [2, 2],
        "window_size": 4,
        "enable_fusion": fused,
        "fusion_type": "aff_2d" if fused else None,
    } | dict(audio_changes or {})
    text: dict[str, Any] = {
        "vocab_size": 4 + len(WORDS),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 80,
        "initializer_factor": 5.0,
    } | dict(text_changes or {})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = ClapModel(
            ClapConfig(
                audio_config=audio,
                text_config=text,
                projection_dim=CLAP_DIM,
                projection_hidden_act=activation,
            )
        )
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim():
                    parameter.add_(0.2 * torch.randn_like(parameter))
            norm = model.audio_model.audio_encoder.batch_norm
            norm.running_mean.uniform_(-60, -40)
            norm.running_var.uniform_(200, 400)
            model.logit_scale_a.fill_(3.0)
    model.save_pretrained(folder)
    truncation = "fusion" if fused else "rand_trunc"
    clap_extractor(truncation=truncation, feature_size=mels, max_length_s=seconds).save_pretrained(
        folder
    )
    save_tokenizer(folder)
    return folder


WAVEFORM_SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "conv_dim": (8, 8),
    "conv_stride": (10, 8),
    "conv_kernel": (10, 8),
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    "num_feat_extract_layers": 2,
}
"""Of models of the wav2vec 2.0 family."""


def save_hubert(folder: Path) -> Path:
    config = HubertConfig(**WAVEFORM_SIZES)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        HubertModel(config).save_pretrained(folder)
    return folder


def _save(model: Callable[[], Any], folder: Path) -> Path:
    with torch.random.fork_rng():
        torch.manual_seed(2)
        made = model()
        with torch.no_grad():
            for parameter in made.parameters():
                if parameter.requires_grad:
                    parameter.add_(0.1 * torch.randn_like(parameter))
        made.save_pretrained(folder)
    return folder


def save_ast(folder: Path) -> Path:
    frames = 100 * INPUT_SECONDS
    patches = {"patch_size": 8, "frequency_stride": 8, "time_stride": 5}
    config = ASTConfig(max_length=frames, num_mel_bins=32, **patches, **_SIZES)
    ASTFeatureExtractor(num_mel_bins=32, max_length=frames).save_pretrained(folder)
    return _save(lambda: ASTModel(config), folder)


def save_whisper(folder: Path) -> Path:
    each = {"layers": 2, "attention_heads": 2, "ffn_dim": 24}
    halves = {f"{half}_{key}": n for half in ("encoder", "decoder") for key, n in each.items()}
    marks = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    config = WhisperConfig(
        vocab_size=30,
        num_mel_bins=16,
        d_model=16,
        max_source_positions=50 * INPUT_SECONDS,
        max_target_positions=10,
        encoder_layerdrop=0.5,
        **halves,
        **marks,
    )
    WhisperFeatureExtractor(feature_size=16, chunk_length=INPUT_SECONDS).save_pretrained(folder)
    return _save(lambda: WhisperModel(config), folder)


def save_wav2vec2_bert(folder: Path) -> Path:
    config = Wav2Vec2BertConfig(
        feature_projection_input_dim=32, conv_depthwise_kernel_size=5, **_SIZES
    )
    SeamlessM4TFeatureExtractor(num_mel_bins=16, feature_size=16).save_pretrained(folder)
    return _save(lambda: Wav2Vec2BertModel(config), folder)


_TEXT: dict[str, Any] = {
    "vocab_size": 4 + len(WORDS),
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
}


def save_modernbert(folder: Path) -> Path:
    marks = {"cls_token_id": 0, "sep_token_id": 2}
    config = ModernBertConfig(max_position_embeddings=80, **marks, **_TEXT, **_SIZES)
    save_tokenizer(folder)
    return _save(lambda: ModernBertModel(config), folder)


def save_gpt2(folder: Path) -> Path:
    config = GPT2Config(n_positions=80, n_embd=16, n_layer=2, n_head=2, **_TEXT)
    save_tokenizer(folder)
    return _save(lambda: GPT2Model(config), folder)


def save_qwen3(folder: Path) -> Path:
    config = Qwen3Config(
        max_position_embeddings=80, num_key_value_heads=1, head_dim=8, **_TEXT, **_SIZES
    )
    save_tokenizer(folder)
    return _save(lambda: Qwen3Model(config), folder)
