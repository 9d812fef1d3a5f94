"""Any trained model: its kind, by its files or its name alone, and how a CLAP is opened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final

import torch

from synth.base.doors import read_json, require_regular
from synth.base.entry_points import find_entry_points
from synth.base.errors import CorpusError, SpecError, nearest
from train.data.tokenizer import TextTokenizer
from train.engine.run_folder import CHECKPOINT_FILE, CONFIG_FILE, MODEL_FILE, load_run
from train.export.files import (
    ACCEPTED,
    HEADS_FILE,
    SETTINGS_FILE,
    checkpoint_tokenizer,
    is_checkpoint,
    is_hub_name,
)
from train.export.folder import Written
from train.export.laion_checkpoint import LONGEST_TEXT, read_laion
from train.export.read import Exported, load_exported
from train.export.writing import USAGE
from train.model.clap import ModelLibrary, build_model, clap_config, clap_settings
from train.model.features import ClapInput
from train.model.loading import feature_extractor, load_tokenizer

EMBEDDERS: Final = "segue.embedders"
"""The group of entry points whose names are models."""
_SHIPPED: Final = {
    "random": "train.bench.opening:RandomModel",
    "bag-of-words": "train.bench.opening:open_bag_of_words",
}
_FACTORY: Final = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
_PE_AUDIO: Final = frozenset({"pe_audio", "pe_audio_video"})
_OPEN_CLIP: Final = "open_clip_config.json"
_OPEN_CLIP_NAME: Final = re.compile(r"(hf-hub|local-dir|open_clip):.+")
_OF_A_RUN: Final = frozenset({".pt", ".json", ".jsonl"})


class ModelKind(StrEnum):
    """Kinds of models that can be opened."""

    RUN = "run"
    EXPORT = "export"
    CLAP = "ClapModel"
    PE_AUDIO = "PeAudioModel"
    OPEN_CLIP = "model of open_clip"
    CHECKPOINT = "LAION-CLAP checkpoint"
    CODE = "Python object"
    HUB = "name on huggingface.co"


def list_embedders() -> dict[str, EntryPoint]:
    """The models that go by a name: ours, and those of other packages."""
    shipped = {name: EntryPoint(name, value, EMBEDDERS) for name, value in _SHIPPED.items()}
    return shipped | find_entry_points(EMBEDDERS, shipped)


def model_kind(model: Path) -> ModelKind:
    """The kind of a model, by its files or its name alone."""
    if model.is_dir():
        return _folder_kind(model)
    if model.is_file():
        return _file_kind(model)
    name = model.as_posix()
    if _OPEN_CLIP_NAME.fullmatch(name):
        return ModelKind.OPEN_CLIP
    if _FACTORY.fullmatch(name) or name.partition(":")[0] in list_embedders():
        return ModelKind.CODE
    if is_hub_name(model):
        return ModelKind.HUB
    raise _no_such_run(model)


def _folder_kind(folder: Path) -> ModelKind:
    if any((folder / name).is_file() for name in (MODEL_FILE, CHECKPOINT_FILE)):
        return ModelKind.RUN
    # Heads without settings are no plain ClapModel: opening them says what is missing.
    if any((folder / name).is_file() for name in (SETTINGS_FILE, HEADS_FILE)):
        return ModelKind.EXPORT
    # First, as config.json may be that of its text half alone.
    if "audio_cfg" in (_facts(folder / _OPEN_CLIP).get("model_cfg") or ()):
        return ModelKind.OPEN_CLIP
    facts = _facts(folder / CONFIG_FILE)
    if "model_type" in facts:
        return transformers_kind(folder, facts)
    if "train" in facts:
        reason = "a run that has not yet written a checkpoint"
    elif (folder / _OPEN_CLIP).is_file():
        reason = "a model of open_clip without an audio half"
    elif (folder / CONFIG_FILE).is_file():
        reason = f"its {CONFIG_FILE} names no model_type"
    else:
        reason = "no trained model here; `segue train` makes one"
    raise _no_model(folder, reason)


def transformers_kind(model: Path, facts: Mapping[str, Any]) -> ModelKind:
    """The kind of a transformers model."""
    kind = facts.get("model_type")
    if kind == "clap":
        return ModelKind.CLAP
    if kind not in _PE_AUDIO:
        raise _no_model(model, f"a transformers model of type {kind}, which is no CLAP")
    if "PeAudioFrameLevelModel" in (facts.get("architectures") or ()):
        raise _no_model(model, "a PeAudioFrameLevelModel, which has no embedding of a whole sound")
    return ModelKind.PE_AUDIO


def _facts(file: Path) -> dict[str, Any]:
    """What a file of settings says; nothing where there is none, or it is no JSON object."""
    require_regular(file)
    try:
        facts = read_json(file)
    except (FileNotFoundError, NotADirectoryError, CorpusError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _file_kind(file: Path) -> ModelKind:
    suffix = file.suffix.lower()
    if suffix in _OF_A_RUN and "train" in _facts(file.parent / CONFIG_FILE):
        raise _no_model(file, f"a file of the run {file.parent}, which is given by its folder")
    if is_checkpoint(file):
        return ModelKind.CHECKPOINT
    if suffix == ".safetensors":
        raise _no_model(file, "weights without the settings of their model")
    raise _no_model(file, f"a file ({suffix})" if suffix else "a file")


def _no_model(model: Path, reason: str) -> CorpusError:
    return CorpusError(f"{model}: {reason}", fix=ACCEPTED)


def _no_such_run(model: Path) -> CorpusError:
    above = model.parent
    if not above.is_dir():
        return _no_model(model, f"no such run, and no folder {above}")
    runs = sorted(path.parent.name for path in above.glob(f"*/{MODEL_FILE}"))
    note = f"found in {above}: {', '.join(runs)}" if runs else f"{above} has no runs"
    near = nearest(model.name, runs)
    fix = f"did you mean {above / near}?" if near else ACCEPTED
    return CorpusError(f"{model}: no such run; {note}", fix=fix)


_TOKENIZER: Final = (
    "put RoBERTa's tokenizer.json and tokenizer_config.json beside the checkpoint, or give "
    "--tokenizer their folder"
)


def open_model(model: Path, tokenizer: str | None = None) -> Exported:
    """The model that a folder or a file holds, or a name on huggingface.co, for the CPU."""
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
    rate = int(feature_extractor(name).sampling_rate)
    tokenizer = TextTokenizer.of_model(name)
    with torch.random.fork_rng(devices=[]):
        model = build_model(clap_config(name), rate, len(tokenizer))
    return Exported(model.eval(), tokenizer, rate)


def open_laion(file: Path, tokenizer: str) -> Exported:
    """A LAION-CLAP checkpoint."""
    name = str(file)
    with torch.random.fork_rng(devices=[]):
        clap, clap_input, words = read_laion_with_words(file, tokenizer)
        library = ModelLibrary({name: clap}, {name: clap_input})
        settings = clap_settings(clap.config, name)
        model = build_model(settings, clap_input.sample_rate, len(words), library)
    return Exported(model.eval(), words, clap_input.sample_rate)


def read_laion_with_words(file: Path, tokenizer: str) -> tuple[Any, ClapInput, TextTokenizer]:
    """The ClapModel that a LAION-CLAP checkpoint is, what it takes, and its tokenizer."""
    clap, clap_input = read_laion(file)
    try:
        words = TextTokenizer.of_model(tokenizer, LONGEST_TEXT)
    except SpecError as error:
        raise SpecError(error.message, fix=_TOKENIZER) from error
    vocabulary = int(clap.config.text_config.vocab_size)
    if len(words) != vocabulary:
        raise SpecError(
            f"the tokenizer of {tokenizer!r} has {len(words):,} words, {file} knows {vocabulary:,}",
            fix=_TOKENIZER,
        )
    return clap, clap_input, words


def convert_laion(checkpoint: Path, folder: Path) -> tuple[str, Written]:
    """Write a checkpoint into a folder for transformers, with its own embeddings.

    Its processor repeats short sounds, as LAION has it.

    Args:
        checkpoint: The file. RoBERTa's tokenizer lies beside it, or is had from huggingface.co.

    Returns:
        The model card, and what was written.
    """
    from transformers import ClapFeatureExtractor

    name = checkpoint_tokenizer(checkpoint, None)
    with torch.random.fork_rng(devices=[]):
        clap, clap_input, _ = read_laion_with_words(checkpoint, name)
    tokenizer = load_tokenizer(name)
    tokenizer.model_max_length = min(tokenizer.model_max_length, LONGEST_TEXT)
    extractor = ClapFeatureExtractor(
        feature_size=clap_input.mels,
        sampling_rate=clap_input.sample_rate,
        hop_length=clap_input.hop,
        max_length_s=clap_input.samples // clap_input.sample_rate,
        fft_window_size=clap_input.n_fft,
        frequency_min=clap_input.lowest,
        frequency_max=clap_input.highest,
        truncation="rand_trunc" if clap_input.slaney else "fusion",
        padding="repeatpad",
    )
    for part in (clap, extractor, tokenizer):
        part.save_pretrained(folder)
    usage = USAGE.replace("RATE", str(clap_input.sample_rate)).strip("\n")
    card = (
        "---\nlibrary_name: transformers\npipeline_tag: zero-shot-audio-classification\n---\n"
        f"# {checkpoint.stem}\n\nThe LAION-CLAP checkpoint `{checkpoint.name}` as a ClapModel: "
        f"the same weights under other names.\n\n## How to use it\n\n{usage}\n"
    )
    return card, Written("transformers", USAGE, "segue train CORPUS --clap FOLDER")
