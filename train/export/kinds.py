"""The kind of a model, decided by its files or its name before anything is opened."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Final

from synth.base.doors import read_json, require_regular
from synth.base.entry_points import find_entry_points
from synth.base.errors import CorpusError
from train.engine.run_folder import CHECKPOINT_FILE, CONFIG_FILE, MODEL_FILE
from train.export.files import OLD_SETTINGS_FILE, SETTINGS_FILE, is_checkpoint, is_hub_name

ACCEPTED: Final = (
    "give the folder of a run or of an export, a ClapModel or PeAudioModel by its folder or as "
    "OWNER/NAME on huggingface.co, a CLAP of open_clip by its folder, as hf-hub:OWNER/NAME or as "
    "open_clip:MODEL:CHECKPOINT, a LAION-CLAP checkpoint (.pt), or module:factory of an embedder"
)
EMBEDDERS: Final = "segue.embedders"
"""The group of entry points whose names are models."""
_OURS: Final = {
    "random": "train.bench.baselines:open_random",
    "bag-of-words": "train.bench.baselines:open_bag_of_words",
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
    ours = {name: EntryPoint(name, value, EMBEDDERS) for name, value in _OURS.items()}
    return ours | find_entry_points(EMBEDDERS, ours)


def model_kind(model: Path) -> ModelKind:
    """The kind of a model, by its files or its name alone.

    Args:
        model: A folder, a file or a name.
    """
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
    if any((folder / name).is_file() for name in (SETTINGS_FILE, OLD_SETTINGS_FILE)):
        return ModelKind.EXPORT
    # First, as config.json may be that of its text half alone.
    if "audio_cfg" in (_facts(folder / _OPEN_CLIP).get("model_cfg") or ()):
        return ModelKind.OPEN_CLIP
    facts = _facts(folder / CONFIG_FILE)
    if "model_type" in facts:
        return transformers_kind(folder, facts)
    if "train" in facts:
        what = "a run that has not yet written a checkpoint"
    elif (folder / _OPEN_CLIP).is_file():
        what = "a model of open_clip without an audio half"
    elif (folder / CONFIG_FILE).is_file():
        what = f"its {CONFIG_FILE} names no model_type"
    else:
        what = "no trained model here; `segue train` makes one"
    raise _no_model(folder, what)


def transformers_kind(model: Path, facts: Mapping[str, Any]) -> ModelKind:
    """The kind of a transformers model.

    Args:
        model: Its folder, or its name.
        facts: What its config.json says.
    """
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


def _no_model(model: Path, what: str) -> CorpusError:
    return CorpusError(f"{model}: {what}", fix=ACCEPTED)


def _no_such_run(model: Path) -> CorpusError:
    above = model.parent
    if not above.is_dir():
        return _no_model(model, f"no such run, and no folder {above}")
    runs = sorted(path.parent.name for path in above.glob(f"*/{MODEL_FILE}"))
    there = f"found in {above}: {', '.join(runs)}" if runs else f"{above} has no runs"
    return _no_model(model, f"no such run; {there}")
