"""What all contenders share: the corpus, the ClapModel they begin with, batches and steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import tokenizers
import torch
from tokenizers import pre_tokenizers, processors
from torch import nn
from transformers import (
    ClapConfig,
    ClapFeatureExtractor,
    ClapModel,
    PreTrainedTokenizerFast,
)

from pipelines.builder.build import build
from pipelines.config.spec import Spec
from synth.corpus.corpus import Corpus
from synth.sources.procedural.foley import CLASSES
from train.config.run import AudioMode, Precision
from train.data.split import TRAIN, SplitData

RATE: Final = 48_000
SECONDS: Final = 10
SEED: Final = 1
LEARNING_RATE: Final = 1e-4
WEIGHT_DECAY: Final = 0.01
GRAD_CLIP: Final = 1.0
MEMBERS: Final = 3  # of a minimal-pair group of `triplets`
WARM_STEPS: Final = 2


class Shapes(StrEnum):
    """Of the towers; what they hear is the same, 10 s at 48 kHz in 64 mel bands."""

    TINY = "tiny"
    HTSAT_TINY = "htsat-tiny"


@dataclass(frozen=True, slots=True)
class Setup:
    """What all turns share; a corpus and a CLAP are given by their folders."""

    corpus: str
    clap: str
    device: str
    reduced: bool
    batch: int
    steps: int
    workers: int

    @property
    def precision(self) -> Precision:
        return Precision.BFLOAT16 if self.reduced else Precision.FLOAT32

    @property
    def prefetch(self) -> int:
        """Batches made ahead: two a worker, as DataLoader has it."""
        return 2 * self.workers

    @property
    def fed(self) -> int:
        """Batches in all: beyond the last one measured, workers go on as in a longer run."""
        return self.warm + self.steps + self.prefetch

    @property
    def warm(self) -> int:
        """Steps before the clock starts, so that batches made while nobody learnt do not count."""
        return max(self.prefetch, WARM_STEPS)


def make_corpus(folder: Path, batch: int) -> Path:
    """At least two batches of 10 s samples with captions that all differ."""
    groups = math.ceil(2 * batch / MEMBERS)
    classes = next((n for n in range(3, len(CLASSES)) if n * (n - 1) >= groups), len(CLASSES))
    repeats = math.ceil(groups / (classes * (classes - 1)))
    spec = {
        "corpus": "benchmark",
        "seed": SEED,
        "source": {"foley": {"classes": list(CLASSES[:classes]), "takes": 5}},
        "recipe": {"triplets": {"repeats": repeats}},
        "audio": {"sample_rate": RATE, "length": f"exact {SECONDS} s"},
        "splits": {"train": 1.0},
    }
    build(Spec.model_validate(spec), folder, worker_count=0)
    return folder / "data_manifests" / "benchmark"


def count_parameters(model: nn.Module) -> int:
    """Those that learn."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def clap_shapes(shapes: Shapes, words: int) -> ClapConfig:
    """HTSAT-tiny and RoBERTa-base as published, or a few narrow layers of each.

    The narrow ones drop nothing, so that equal weights give contenders equal embeddings.
    """
    if shapes is Shapes.HTSAT_TINY:
        return ClapConfig()
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    audio = none | {
        "patch_embeds_hidden_size": 8,
        "hidden_size": 64,
        "depths": [1, 1, 1, 1],
        "num_attention_heads": [1, 2, 2, 2],
    }
    text = none | {
        "vocab_size": words,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    return ClapConfig(audio_config=audio, text_config=text, projection_dim=32)


def make_clap(folder: Path, shapes: Shapes, corpus: Path) -> Path:
    """A CLAP with random weights, the input of laion/clap-htsat-unfused, and the corpus's words."""
    texts = SplitData(Corpus.open(corpus), TRAIN, AudioMode.SHARDS).vocabulary()
    split = pre_tokenizers.Whitespace()
    words = sorted({word for text in texts for word, _ in split.pre_tokenize_str(text)})
    names = ["<s>", "<pad>", "</s>", "<unk>", *words]
    backend = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({name: k for k, name in enumerate(names)}, "<unk>")
    )
    backend.pre_tokenizer = split
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    marks = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=512, **marks)
    fast.save_pretrained(folder)
    extractor = ClapFeatureExtractor(
        frequency_min=50, max_length_s=SECONDS, truncation="rand_trunc", padding="repeatpad"
    )
    extractor.save_pretrained(folder)
    torch.manual_seed(SEED)
    ClapModel(clap_shapes(shapes, len(names))).save_pretrained(folder)
    return folder
