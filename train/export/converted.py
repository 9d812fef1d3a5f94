"""A LAION-CLAP checkpoint as a folder that ClapModel and ClapProcessor open."""

from __future__ import annotations

from pathlib import Path

import torch

from train.export.clap_model import USAGE
from train.export.files import checkpoint_tokenizer
from train.export.folder import Written
from train.export.laion_checkpoint import LONGEST_TEXT
from train.export.opening import read_laion_with_words
from train.model.loading import load_tokenizer


def convert_laion(checkpoint: Path, folder: Path) -> tuple[str, Written]:
    """Write a checkpoint into a folder for transformers, with its own embeddings.

    Its processor repeats short sounds, as LAION has it.

    Args:
        checkpoint: The file. RoBERTa's tokenizer lies beside it, or is had from huggingface.co.
        folder: Is filled.

    Returns:
        The model card, and what was written.
    """
    from transformers import ClapFeatureExtractor

    name = checkpoint_tokenizer(checkpoint, None)
    with torch.random.fork_rng(devices=[]):
        clap, heard, _ = read_laion_with_words(checkpoint, name)
    tokenizer = load_tokenizer(name)
    tokenizer.model_max_length = min(tokenizer.model_max_length, LONGEST_TEXT)
    extractor = ClapFeatureExtractor(
        feature_size=heard.mels,
        sampling_rate=heard.sample_rate,
        hop_length=heard.hop,
        max_length_s=heard.samples // heard.sample_rate,
        fft_window_size=heard.n_fft,
        frequency_min=heard.lowest,
        frequency_max=heard.highest,
        truncation="rand_trunc" if heard.slaney else "fusion",
        padding="repeatpad",
    )
    for part in (clap, extractor, tokenizer):
        part.save_pretrained(folder)
    usage = USAGE.replace("RATE", str(heard.sample_rate)).strip("\n")
    card = (
        "---\nlibrary_name: transformers\npipeline_tag: zero-shot-audio-classification\n---\n"
        f"# {checkpoint.stem}\n\nThe LAION-CLAP checkpoint `{checkpoint.name}` as a ClapModel: "
        f"the same weights under other names.\n\n## How to use it\n\n{usage}\n"
    )
    return card, Written("transformers", USAGE, "segue train CORPUS --clap FOLDER")
