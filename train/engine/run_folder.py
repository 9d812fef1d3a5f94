"""What a run leaves on disk: settings, tokenizer, log, checkpoints and the learned weights."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import torch

from synth.base.atomic import replacing, write_text
from synth.base.doors import parse_json, read_json, read_text, require_regular
from synth.base.errors import CorpusError, SegueError, SpecError
from synth.base.locks import LOCK_FILE, hold_lock
from synth.base.rng import digest
from synth.corpus.corpus import Corpus
from synth.storage import refuse_url
from train.config.run import TrainConfig, parse_config
from train.data.recordings import RECORDINGS_FILE
from train.data.tokenizer import TextTokenizer
from train.engine.log import LOG_FILE, name_file
from train.model.clap import Clap, build_model
from train.model.freezing import merge_adapters
from train.model.weights import RECEIPTS_FILE, WeightsReceipt, add_receipt, require_whole

CONFIG_FILE: Final = "config.json"
TOKENIZER_FILE: Final = "tokenizer.json"
MODEL_FILE: Final = "model.pt"
BEST_FILE: Final = "best.pt"
CHECKPOINT_FILE: Final = "checkpoint.pt"
EARLIER_FILE: Final = "checkpoint-earlier.pt"
"""The checkpoint before that one."""
_FILES: Final = (
    CONFIG_FILE,
    TOKENIZER_FILE,
    MODEL_FILE,
    BEST_FILE,
    CHECKPOINT_FILE,
    EARLIER_FILE,
    RECEIPTS_FILE,
    RECORDINGS_FILE,
    LOG_FILE,
)
_FORMAT: Final = 1
_MOST_HZ: Final = 1_000_000
_AGAIN: Final = "train it again"
_REMOVE: Final = "remove it and resume the run with --resume, or train it again"


@dataclass(frozen=True, slots=True)
class RunData:
    """What a run learns from, wherever it lies; a resumed run needs the same.

    Args:
        corpus: Digest of the corpus, and of those mixed in.
    """

    corpus: str
    tokenizer: str

    @classmethod
    def of(cls, corpora: Sequence[Corpus], tokenizer: TextTokenizer) -> RunData:
        """That of a run on the first of some corpora, into which the others are mixed."""
        digests = " ".join(str(corpus.facts["digest"]) for corpus in corpora)
        return cls(digests, digest(tokenizer.to_json()))


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A finished run, ready to encode.

    Args:
        sample_rate: In Hz, of the audio it takes.
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
    add_receipt(folder / TOKENIZER_FILE, WeightsReceipt.of(folder / TOKENIZER_FILE))


def load_run(folder: Path) -> LoadedRun:
    """Open a finished run."""
    require_regular_files(folder)
    if not (folder / MODEL_FILE).is_file():
        fix = "run `segue train` first"
        if (folder / CHECKPOINT_FILE).is_file():
            fix = "its training has not ended: resume it with `segue train ... --resume`"
        raise CorpusError(f"{folder}: no trained model here", fix=fix)
    config, sample_rate = read_run_settings(folder)
    try:
        require_whole(folder / TOKENIZER_FILE, _AGAIN)
        tokenizer = TextTokenizer.from_json(read_text(folder / TOKENIZER_FILE))
    except (FileNotFoundError, ValueError) as error:
        raise CorpusError(f"{folder / TOKENIZER_FILE}: is damaged", fix=_AGAIN) from error
    with torch.random.fork_rng(devices=[]):
        model = build_model(config.model, sample_rate, len(tokenizer))
    path = folder / MODEL_FILE
    load_weights(model, load_tensors(path, torch.device("cpu")), path)
    if not all(bool(weight.isfinite().all()) for weight in model.parameters()):
        raise CorpusError(f"{path}: its weights are not finite", fix="train it again")
    merge_adapters(model)
    return LoadedRun(config, sample_rate, tokenizer, model.eval())


def read_run_settings(folder: Path) -> tuple[TrainConfig, int]:
    """A run's settings and the sample rate, in Hz, that its model takes."""
    path = folder / CONFIG_FILE
    facts = read_json(path, fix=_AGAIN)
    try:
        values, sample_rate = facts["train"], facts["sample_rate"]
    except (KeyError, TypeError) as error:
        raise CorpusError(f"{path}: is damaged", fix=_AGAIN) from error
    if type(sample_rate) is not int or not 0 < sample_rate <= _MOST_HZ:
        raise CorpusError(f"{path}: sample_rate: {sample_rate!r:.60}", fix=_AGAIN)
    return parse_config(values, str(path)), sample_rate


def require_regular_files(folder: Path) -> None:
    """Refuse a run with a pipe or a device among its files, before one of them is opened."""
    for name in _FILES:
        require_regular(folder / name)


@dataclass(slots=True)
class _Digested:
    """A file that torch writes to; torch would hide what the system says about it."""

    file: BinaryIO
    digest: Any
    fault: OSError | None = None

    def write(self, data: bytes) -> int:
        """Write, or keep the fault for when torch is done."""
        self.digest.update(data)
        try:
            if self.fault is None:
                self.file.write(data)
        except OSError as error:
            self.fault = error
        return len(data)

    def flush(self) -> None:
        """Closing it does that."""


def save_tensors(path: Path, value: dict[str, Any], earlier: Path | None = None) -> None:
    """Write tensors and plain values atomically; `load_tensors` reads them.

    The receipt is written before the file gets its name, beside that of the file which is there:
    so a process that is killed at any moment leaves a file with a receipt.

    Args:
        earlier: What the file that is there is then called; None to drop it.
    """
    if earlier is not None:
        earlier.unlink(missing_ok=True)  # room for the new one
    with name_file(path), replacing(path) as partial:
        with partial.open("wb") as file:
            written = _Digested(file, hashlib.sha256())
            torch.save(value, written)  # type: ignore[arg-type]
            if written.fault is not None:
                raise written.fault
            size = file.tell()
        add_receipt(path, WeightsReceipt(bytes=size, sha256=written.digest.hexdigest()))
        if earlier is not None and path.is_file():
            try:
                os.link(path, earlier)
            except OSError:  # not every file system has links
                path.replace(earlier)


def load_tensors(path: Path, device: torch.device) -> dict[str, Any]:
    """Read what `save_tensors` wrote; no code in the file is ever run."""
    require_whole(path, _REMOVE)
    return read_tensors(path, device)


def read_tensors(path: Path, device: torch.device) -> dict[str, Any]:
    """The same of a file that is known to be whole."""
    require_regular(path)
    try:
        saved = torch.load(path, map_location=device, weights_only=True)
        if not isinstance(saved, dict):
            raise ValueError("no dictionary")
    except (OSError, MemoryError):
        raise
    except Exception as error:  # bytes of chance can make it raise anything
        raise CorpusError(f"{path}: damaged", fix=_REMOVE) from error
    return saved


def load_weights(model: Clap, saved: dict[str, Any], path: Path) -> None:
    """Put saved weights into a model; older code may have built another one."""
    try:
        model.load_state_dict(saved["model"])
    except (RuntimeError, KeyError, TypeError, AttributeError) as error:
        raise CorpusError(
            f"{path}: its weights do not fit the model that its settings now give",
            fix="train it again, with --overwrite",
        ) from error


def refuse_occupied(config: TrainConfig, resume: bool, overwrite: bool) -> None:
    """Check that a run's folder holds nothing that the run would destroy, nor a pipe or device."""
    out = config.out
    refuse_url(out, "runs are written to folders", fix="give --out a folder")
    if resume and overwrite:
        raise SpecError("got both --resume and --overwrite: expected one", fix="give one of them")
    require_regular_files(out)
    begun = has_checkpoint(out)
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


def sole_trainer(folder: Path) -> AbstractContextManager[None]:
    """Hold a run's folder, which is made if it is not there, for writing on this machine."""
    refusal = SpecError(
        f"{folder}: another process is training this run",
        fix="wait for it, stop it, or choose another --out",
    )
    return hold_lock(folder / LOCK_FILE, refusal)


def _is_ours(path: Path) -> bool:
    try:
        return "train" in read_json(path)
    except (SegueError, TypeError):
        return False


def has_checkpoint(folder: Path) -> bool:
    """Whether a run can be resumed."""
    return any((folder / name).is_file() for name in (CHECKPOINT_FILE, EARLIER_FILE))


def check_same_run(saved: dict[str, Any], config: TrainConfig, origin: RunData, path: Path) -> None:
    """Check that a checkpoint belongs to these settings and this corpus.

    Places and intervals may differ.
    """
    settings = _drop_free(config.model_dump(mode="json"))
    # What an older run did not know has its default.
    then = parse_config(parse_json(saved["config"], str(path)), str(path))
    before = _drop_free(then.model_dump(mode="json"))
    differing = sorted(key for key in settings if settings[key] != before[key])
    if differing:
        raise SpecError(
            f"{path}: was trained with other settings: {', '.join(differing)}",
            fix="resume with the settings of the run, or choose another --out",
        )
    data = saved.get("origin", {})
    changed = [name for name, value in asdict(origin).items() if data.get(name) != value]
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
    return kept | {"mix": [mix["weight"] for mix in settings.get("mix", ())]}
