"""Any trained model: a run of ours, an export of it, or a CLAP of transformers or of LAION."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import torch

from synth.base.errors import CorpusError, SpecError
from train.data.tokenizer import TextTokenizer
from train.engine.run_folder import load_run
from train.export.clap_model import USAGE
from train.export.files import checkpoint_tokenizer
from train.export.folder import Written
from train.export.kinds import ACCEPTED, ModelKind, model_kind
from train.export.laion_checkpoint import LONGEST_TEXT, read_laion
from train.export.read import Exported, load_exported
from train.model.assembly import ModelLibrary
from train.model.clap import build_model, clap_config, clap_settings
from train.model.clap_features import ClapInput
from train.model.loading import clap_extractor, load_tokenizer

_TOKENIZER: Final = (
    "put RoBERTa's tokenizer.json and tokenizer_config.json beside the checkpoint, or give "
    "--tokenizer their folder"
)


def open_model(model: Path, tokenizer: str | None = None) -> Exported:
    """The model that a folder or a file holds, or a name on huggingface.co, for the CPU.

    Args:
        model: A folder, a file or a name.
        tokenizer: Of a LAION-CLAP checkpoint, by folder or name; by default RoBERTa's.
    """
    match kind := model_kind(model):
        case ModelKind.RUN:
            run = load_run(model)
            return Exported(run.model, run.tokenizer, run.sample_rate)
        case ModelKind.EXPORT:
            return load_exported(model)
        case ModelKind.CLAP | ModelKind.HUB:
            return open_clap(model.as_posix())
        case ModelKind.CHECKPOINT:
            return open_laion(model, checkpoint_tokenizer(model, tokenizer))
        case ModelKind.CODE | ModelKind.OPEN_CLIP | ModelKind.PE_AUDIO:
            raise CorpusError(f"{model}: a {kind}, which is not opened as a CLAP", fix=ACCEPTED)


def open_clap(name: str) -> Exported:
    """A plain ClapModel, by its folder or its name on huggingface.co."""
    rate = int(clap_extractor(name).sampling_rate)
    tokenizer = TextTokenizer.of_model(name)
    with torch.random.fork_rng(devices=[]):
        model = build_model(clap_config(name), rate, len(tokenizer))
    return Exported(model.eval(), tokenizer, rate)


def open_laion(file: Path, tokenizer: str) -> Exported:
    """A LAION-CLAP checkpoint."""
    name = str(file)
    with torch.random.fork_rng(devices=[]):
        clap, heard, words = read_laion_with_words(file, tokenizer)
        library = ModelLibrary({name: clap}, {name: heard})
        settings = clap_settings(clap.config, name)
        model = build_model(settings, heard.sample_rate, len(words), library)
    return Exported(model.eval(), words, heard.sample_rate)


def read_laion_with_words(file: Path, tokenizer: str) -> tuple[Any, ClapInput, TextTokenizer]:
    """The ClapModel that a LAION-CLAP checkpoint is, what it takes, and its tokenizer."""
    clap, heard = read_laion(file)
    try:
        words = TextTokenizer.of_model(tokenizer, LONGEST_TEXT)
    except SpecError as error:
        raise SpecError(error.message, fix=_TOKENIZER) from error
    known = int(clap.config.text_config.vocab_size)
    if len(words) != known:
        raise SpecError(
            f"the tokenizer of {tokenizer!r} has {len(words):,} words, {file} knows {known:,}",
            fix=_TOKENIZER,
        )
    return clap, heard, words


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
