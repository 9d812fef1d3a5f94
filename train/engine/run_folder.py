"""What a run leaves on disk: settings, tokenizer, log, checkpoints and the learned weights."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import torch

from synth.base.atomic import replacing, write_text
from synth.base.errors import CorpusError, SpecError
from synth.base.rng import digest
from synth.corpus.corpus import Corpus
from synth.storage import is_url
from train.config.files import parse_config
from train.config.run import TrainConfig
from train.data.tokenizer import TextTokenizer
from train.model.clap import Clap, build_model
from train.model.lora import merge_adapters

CONFIG_FILE: Final = "config.json"
TOKENIZER_FILE: Final = "tokenizer.json"
MODEL_FILE: Final = "model.pt"
BEST_FILE: Final = "best.pt"
CHECKPOINT_FILE: Final = "checkpoint.pt"
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Origin:
    """What a run learns from, wherever it lies; a resumed run needs the same.

    Args:
        corpus: Digest of the corpus, and of those mixed in.
        tokenizer: Digest of the tokenizer.
    """

    corpus: str
    tokenizer: str

    @classmethod
    def of(cls, corpora: Sequence[Corpus], tokenizer: TextTokenizer) -> Origin:
        """That of a run on the first of some corpora, into which the others are mixed."""
        digests = " ".join(str(corpus.facts["digest"]) for corpus in corpora)
        return cls(digests, digest(tokenizer.to_json()))


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A finished run, ready to encode.

    Args:
        config: Its settings.
        sample_rate: In Hz, of the audio it takes.
        tokenizer: From text to ids.
        model: On the CPU, in evaluation mode, adapters merged into its weights.
    """

    config: TrainConfig
    sample_rate: int
    tokenizer: TextTokenizer
    model: Clap


def save_settings(
    folder: Path, config: TrainConfig, sample_rate: int, tokenizer: TextTokenizer
) -> None:
    """Write what is needed, beside the weights, to build the model again."""
    facts = {
        "format": _FORMAT,
        "sample_rate": sample_rate,
        "train": config.model_dump(mode="json"),
    }
    write_text(folder / CONFIG_FILE, json.dumps(facts, indent=2) + "\n")
    write_text(folder / TOKENIZER_FILE, tokenizer.to_json())


def load_run(folder: Path) -> LoadedRun:
    """Open a finished run.

    Raises:
        CorpusError: If there is none, a file of it is damaged, or its weights are of another model.
    """
    if not (folder / MODEL_FILE).is_file():
        fix = "run `segue train` first"
        if (folder / CHECKPOINT_FILE).is_file():
            fix = "its training has not ended: resume it with `segue train ... --resume`"
        raise CorpusError(f"{folder}: no trained model here", fix=fix)
    try:
        facts = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        config = parse_config(facts["train"], str(folder / CONFIG_FILE))
        tokenizer = TextTokenizer.from_file(folder / TOKENIZER_FILE)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"{folder}: {CONFIG_FILE} or {TOKENIZER_FILE} is damaged", fix="train it again"
        ) from error
    with torch.random.fork_rng(devices=[]):
        model = build_model(config.model, facts["sample_rate"], len(tokenizer))
    path = folder / MODEL_FILE
    load_weights(model, load_tensors(path, torch.device("cpu")), path)
    merge_adapters(model)
    return LoadedRun(config, int(facts["sample_rate"]), tokenizer, model.eval())


def save_tensors(path: Path, value: dict[str, Any]) -> None:
    """Write tensors and plain values atomically; `load_tensors` reads them."""
    with replacing(path) as partial:
        torch.save(value, partial)


def load_tensors(path: Path, device: torch.device) -> dict[str, Any]:
    """Read what `save_tensors` wrote; no code in the file is ever run.

    Raises:
        CorpusError: If the file is damaged.
    """
    try:
        return torch.load(path, map_location=device, weights_only=True)  # type: ignore[no-any-return]
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise CorpusError(f"{path}: damaged", fix="delete it and train again") from error


def load_weights(model: Clap, saved: dict[str, Any], path: Path) -> None:
    """Put saved weights into a model.

    Raises:
        CorpusError: If they are of another model, as older code may have built it.
    """
    try:
        model.load_state_dict(saved["model"])
    except (RuntimeError, KeyError) as error:
        raise CorpusError(
            f"{path}: its weights do not fit the model that its settings now give",
            fix="train it again, with --overwrite",
        ) from error


def refuse_occupied(config: TrainConfig, resume: bool, overwrite: bool) -> None:
    """Check that a run's folder holds nothing that the run would destroy.

    Raises:
        SpecError: If it holds a run that is neither to be resumed nor overwritten, or something
            else, such as the model that is to be trained.
    """
    out = config.out
    if is_url(out):
        raise SpecError(f"{out}: runs are written to folders", fix="give --out a folder")
    if resume and overwrite:
        raise SpecError("--resume and --overwrite exclude each other", fix="give one of them")
    begun = (out / CHECKPOINT_FILE).is_file()
    if not (overwrite or (resume and begun)) and any(
        (out / name).is_file() for name in (CHECKPOINT_FILE, BEST_FILE, MODEL_FILE)
    ):
        raise SpecError(
            f"{out}: holds a run" + ("" if begun else ", whose checkpoint is gone"),
            fix="continue with --resume, start anew with --overwrite, or choose another --out"
            if begun
            else "start anew with --overwrite, or choose another --out",
        )
    if (out / CONFIG_FILE).is_file() and not _is_ours(out / CONFIG_FILE):
        raise SpecError(f"{out}: holds another model", fix="choose another --out")


def _is_ours(path: Path) -> bool:
    try:
        return "train" in json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, TypeError):
        return False


def check_same_run(saved: dict[str, Any], config: TrainConfig, origin: Origin, path: Path) -> None:
    """Check that a checkpoint belongs to these settings and this corpus.

    Places and intervals may differ.

    Raises:
        SpecError: Naming what differs.
    """
    given = _drop_free(config.model_dump(mode="json"))
    # What an older run did not know has its default.
    then = parse_config(json.loads(saved["config"]), str(path))
    before = _drop_free(then.model_dump(mode="json"))
    differing = sorted(key for key in given if given[key] != before[key])
    if differing:
        raise SpecError(
            f"{path}: was trained with other settings: {', '.join(differing)}",
            fix="resume with the settings of the run, or choose another --out",
        )
    learnt = saved.get("origin", {})
    changed = [name for name, value in asdict(origin).items() if learnt.get(name) != value]
    if changed:
        raise SpecError(
            f"{path}: was trained on another {' and '.join(changed)}",
            fix="resume on the corpus of the run, choose another --out, or start anew with "
            "--overwrite",
        )


def _drop_free(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings without those that a resumed run is free to change."""
    free = {
        "corpus",
        "out",
        "mode",
        "device",
        "checkpoint_activations",
        "workers",
        "prefetch",
        "cache_mb",
        "tensorboard",
        "wandb",
        "log_every",
        "checkpoint_every",
    }
    kept = {key: value for key, value in settings.items() if key not in free}
    return kept | {"mix": [each["weight"] for each in settings.get("mix", ())]}
