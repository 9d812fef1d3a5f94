"""Text towers from transformers."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from synth.base.errors import SpecError
from train.model.heads import Tokens
from train.model.towers.base import TextTower


class TextModel(TextTower):
    """A transformers text model: BERT, ModernBERT, T5, the text half of CLIP or CLAP, GPT-2, Qwen3.

    Of a causal model the one token is the state of the last word: no other has heard the whole.

    Args:
        model: The model; of an encoder and a decoder, only the encoder is kept.
        pooled: Whether its own summary is the one token, or its last hidden states are the tokens.
    """

    def __init__(self, model: nn.Module, pooled: bool = False) -> None:
        config: Any = model.config
        super().__init__(int(config.hidden_size))
        # Also where a T5 was saved as an encoder, and is opened with a decoder of random weights.
        if config.is_encoder_decoder or hasattr(model, "decoder"):
            model = model.get_encoder()  # type: ignore[operator]
        self.model = model
        self.causal = is_causal(config)
        self.pooled = pooled or self.causal

    def forward(self, ids: Int[Tensor, "batch words"], mask: Bool[Tensor, "batch words"]) -> Tokens:
        """One token a word piece, or one in all; padding follows a text."""
        if self.causal:
            states = self.model(input_ids=ids, attention_mask=mask, use_cache=False)
            last = mask.sum(dim=1) - 1
            rows = torch.arange(ids.shape[0], device=ids.device)
            return Tokens(states.last_hidden_state[rows, last][:, None], mask[:, :1])
        output = self.model(input_ids=ids, attention_mask=mask)
        if self.pooled:
            return Tokens(output.pooler_output[:, None], torch.ones_like(mask[:, :1]))
        return Tokens(output.last_hidden_state, mask)

    def unused_parameters(self) -> list[nn.Parameter]:
        """A pooler that is not heard."""
        pooler = getattr(self.model, "pooler", None)
        return [] if self.pooled or pooler is None else list(pooler.parameters())


def is_causal(config: Any) -> bool:
    """Whether a model is a decoder alone, each of whose words hears only those before it."""
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, MODEL_FOR_MASKED_LM_MAPPING

    kind = type(config)
    return kind in MODEL_FOR_CAUSAL_LM_MAPPING and kind not in MODEL_FOR_MASKED_LM_MAPPING


def text_model(model: Any, name: str, pooled: bool) -> TextModel:
    """A text tower around a loaded model."""
    kind = model.config.model_type
    if model.main_input_name != "input_ids" or not hasattr(model.config, "vocab_size"):
        raise SpecError(
            f"model {name!r} ({kind}) does not take text",
            fix="use BERT, RoBERTa, ModernBERT, T5, GPT-2, Qwen3 or another text model, "
            "or a folder of CLIP or CLAP",
        )
    summary = getattr(model, "pooler", None) is not None or kind == "clip_text_model"
    if pooled and not summary and not is_causal(model.config):
        raise SpecError(
            f"text model {name!r} ({kind}) has no summary of the whole for a `projection` head",
            fix="choose a head of kind `mlp` or `transformer`, or a text model with a pooler: "
            "that of a CLAP, CLIP, BERT or RoBERTa, or a causal one",
        )
    return TextModel(model, pooled)
