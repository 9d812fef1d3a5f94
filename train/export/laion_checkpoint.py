"""LAION-CLAP checkpoints (HTSAT with RoBERTa, fused or not) as a ClapModel of transformers."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from torch import Tensor

from synth.base.errors import CorpusError
from train.export.files import ACCEPTED
from train.model.features import ClapInput

LONGEST_TEXT: Final = 77
"""Word pieces of a text that LAION-CLAP reads."""

Weights: TypeAlias = Mapping[str, Tensor]

_HEAD_WIDTH: Final = 64  # of RoBERTa, whatever its size
_HOP: Final = 480
_CLIP: Final = 480_000
_SAMPLE_RATE: Final = 48_000
_LOWEST, _HIGHEST = 50.0, 14_000.0
_SHOWN: Final = 3

# From names of transformers to those of LAION, in this order.
_AUDIO: Final = (
    ("audio_model.audio_encoder.", "audio_branch."),
    (".batch_norm.", ".bn0."),
    (".layernorm_before.", ".norm1."),
    (".layernorm_after.", ".norm2."),
    (".attention.output.dense.", ".attn.proj."),
    (".attention.self.", ".attn."),
    (".intermediate.dense.", ".mlp.fc1."),
    (".output.dense.", ".mlp.fc2."),
)
_OTHER: Final = (
    ("text_model.", "text_branch."),
    ("_projection.linear1.", "_projection.0."),
    ("_projection.linear2.", "_projection.2."),
)
_QKV: Final = re.compile(r"\.attn\.(query|key|value)\.")
_THIRDS: Final = ("query", "key", "value")
# Follow from the sizes, or count training steps.
_DERIVED: Final = re.compile(
    r"\.(relative_position_index|position_ids|token_type_ids|num_batches_tracked|attn_mask)$"
)
# Heard by no embedding: classes, second heads of the training, and the mel bands, which are ours.
_UNHEARD: Final = re.compile(
    r"audio_branch\.(tscam_conv|head|spectrogram_extractor|logmel_extractor)\."
    r"|(audio|text)_transform\.sequential\."
)


class _Forgotten:
    """Stands for a number of numpy, as optimizers' states hold them: it need not be made."""

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, _: Any) -> None:
        pass


def read_laion(file: Path) -> tuple[Any, ClapInput]:
    """The ClapModel that a checkpoint is, in evaluation mode, and what it takes.

    Sizes are read from the shapes. Every weight is used, or is known to be heard by no embedding.
    """
    from transformers import ClapModel

    weights = _read(file)
    try:
        config, clap_input = _config(weights), _input(weights)
    except KeyError as error:
        raise _refusal(file, f"it lacks {error.args[0]}") from error
    if config.text_config.type_vocab_size != 1:
        raise _refusal(file, "its text branch is BERT")
    if not _has_our_bands(weights, clap_input):
        raise _refusal(file, "its mel bands are others")
    model = ClapModel(config)
    sources = {name: _source(name) for name in model.state_dict() if not _DERIVED.search(name)}
    missing = sorted({*sources.values()} - weights.keys())
    unknown = sorted(
        name
        for name in weights.keys() - {*sources.values()}
        if not (_DERIVED.search(name) or _UNHEARD.match(name))
    )
    if missing or unknown:
        faults = [("lacks", missing), ("has the unknown", unknown)]
        raise _refusal(file, "it " + ", ".join(f"{do} {_list(of)}" for do, of in faults if of))
    try:
        model.load_state_dict(
            {name: _cut(weights[source], name) for name, source in sources.items()}, strict=False
        )
    except RuntimeError as error:
        reason = str(error).strip().rpartition("\n")[2].strip() or type(error).__name__
        raise _refusal(file, f"its sizes differ: {reason}") from error
    return model.eval(), clap_input


def _read(file: Path) -> Weights:
    """The weights by name, without the prefix of a model that several GPUs trained."""
    try:
        with torch.serialization.safe_globals(_stand_ins()):
            content = torch.load(file, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, ValueError, KeyError, pickle.UnpicklingError) as error:
        raise _refusal(file, "it is damaged, or holds code, which is never run") from error
    weights = content.get("state_dict", content) if isinstance(content, dict) else content
    if not isinstance(weights, dict) or not weights:
        raise _refusal(file, f"it holds a {type(weights).__name__}, no weights by name")
    weights = {str(name).removeprefix("module."): value for name, value in weights.items()}
    return {name: value for name, value in weights.items() if isinstance(value, Tensor)}


def _stand_ins() -> list[Any]:
    """Classes that go by the names of numpy's own, of its older versions too."""
    names = (("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"))
    return [
        type(name, (_Forgotten,), {"__module__": module})
        for module, name in (*names, ("numpy", "dtype"))
    ]


def _config(weights: Weights) -> Any:
    """The ClapConfig of weights, by their shapes."""
    from transformers import ClapConfig

    patches = weights["audio_branch.patch_embed.proj.weight"].shape
    layers = _count(weights, "audio_branch.layers.")
    tables = [
        weights[f"audio_branch.layers.{layer}.blocks.0.attn.relative_position_bias_table"].shape
        for layer in range(layers)
    ]
    window = (math.isqrt(tables[0][0]) + 1) // 2
    # One mask a window of the shifted block: they tell how many stand side by side.
    across = math.isqrt(len(weights["audio_branch.layers.0.blocks.1.attn_mask"]))
    audio: dict[str, Any] = {
        "spec_size": across * window * patches[-1],
        "num_mel_bins": len(weights["audio_branch.bn0.weight"]),
        "patch_size": patches[-1],
        "patch_stride": [patches[-1], patches[-1]],
        "patch_embeds_hidden_size": patches[0],
        "hidden_size": len(weights["audio_branch.norm.weight"]),
        "depths": [
            _count(weights, f"audio_branch.layers.{layer}.blocks.") for layer in range(layers)
        ],
        "num_attention_heads": [table[1] for table in tables],
        "window_size": window,
        "mlp_ratio": len(weights["audio_branch.layers.0.blocks.0.mlp.fc1.weight"]) / patches[0],
    }
    if _is_fused(weights):
        fusion = weights["audio_branch.patch_embed.fusion_model.local_att.0.weight"].shape
        audio |= {
            "enable_fusion": True,
            "fusion_type": "aff_2d",
            "aff_block_r": fusion[1] // fusion[0],
        }
    words = "text_branch.embeddings"
    vocabulary, width = weights[f"{words}.word_embeddings.weight"].shape
    text = {
        "vocab_size": vocabulary,
        "hidden_size": width,
        "num_hidden_layers": _count(weights, "text_branch.encoder.layer."),
        "num_attention_heads": width // _HEAD_WIDTH,
        "intermediate_size": len(weights["text_branch.encoder.layer.0.intermediate.dense.weight"]),
        "max_position_embeddings": len(weights[f"{words}.position_embeddings.weight"]),
        "type_vocab_size": len(weights[f"{words}.token_type_embeddings.weight"]),
        "layer_norm_eps": 1e-5,  # RoBERTa's; ClapTextConfig has another default
    }
    return ClapConfig(
        audio_config=audio,
        text_config=text,
        projection_dim=len(weights["audio_projection.0.weight"]),
        projection_hidden_act="relu",
    )


def _input(weights: Weights) -> ClapInput:
    """What the model takes: LAION's settings, which are the same for all sizes."""
    window = weights["audio_branch.spectrogram_extractor.stft.conv_real.weight"].shape[-1]
    return ClapInput(
        sample_rate=_SAMPLE_RATE,
        n_fft=window,
        hop=_HOP,
        mels=len(weights["audio_branch.bn0.weight"]),
        lowest=_LOWEST,
        highest=_HIGHEST,
        samples=_CLIP,
        slaney=not _is_fused(weights),
    )


def _has_our_bands(weights: Weights, clap_input: ClapInput) -> bool:
    """Whether the file's mel bands are those we compute; a fused model does not use its own."""
    bands = weights.get("audio_branch.logmel_extractor.melW")
    if bands is None or not clap_input.slaney:
        return True
    bank = clap_input.bank()
    return bands.shape == bank.shape and np.allclose(bands.numpy(), bank, atol=1e-6)


def _is_fused(weights: Weights) -> bool:
    return "audio_branch.patch_embed.mel_conv2d.weight" in weights


def _count(weights: Weights, prefix: str) -> int:
    """How many modules of a list there are."""
    numbers = {
        name.removeprefix(prefix).partition(".")[0] for name in weights if name.startswith(prefix)
    }
    return len(numbers)


def _source(name: str) -> str:
    """LAION's name of a weight of a ClapModel; query, key and value are thirds of one weight."""
    for part, source in _AUDIO if name.startswith("audio_model.") else _OTHER:
        name = name.replace(part, source, 1)
    return _QKV.sub(".attn.qkv.", name) if name.startswith("audio_branch.") else name


def _cut(weight: Tensor, name: str) -> Tensor:
    """The part of LAION's weight that is a ClapModel's."""
    part = re.fullmatch(r"audio_model\..*\.attention\.self\.(query|key|value)\.\w+", name)
    return weight.float() if part is None else weight.float().chunk(3)[_THIRDS.index(part[1])]


def _list(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _refusal(file: Path, why: str) -> CorpusError:
    return CorpusError(f"{file}: no LAION-CLAP of HTSAT and RoBERTa: {why}", fix=ACCEPTED)
