"""Any trained model: a run of ours, an export of it, or a plain CLAP of transformers."""

from __future__ import annotations

from pathlib import Path

import torch

from synth.errors import CorpusError
from train.data.tokenizer import TextTokenizer
from train.export.files import SETTINGS_FILE
from train.export.read import Exported, load_exported
from train.model.clap import build_model, clap_config
from train.model.loading import clap_extractor
from train.run_folder import CHECKPOINT_FILE, MODEL_FILE, load_run

_PRETRAINED = "config.json"
_NAME_PARTS = 2  # "laion/clap-htsat-unfused"


def open_model(folder: Path) -> Exported:
    """The model that a folder holds, or a name on huggingface.co, on the CPU for evaluation.

    Raises:
        CorpusError: If there is none, or a file of a run is damaged.
        SpecError: If a file of another model is missing or damaged, or it is no CLAP.
    """
    if any((folder / name).is_file() for name in (MODEL_FILE, CHECKPOINT_FILE)):
        run = load_run(folder)
        return Exported(run.model, run.tokenizer, run.sample_rate)
    if (folder / SETTINGS_FILE).is_file():
        return load_exported(folder)
    if not (folder / _PRETRAINED).is_file():
        if not folder.exists() and len(folder.parts) == _NAME_PARTS:
            return open_clap(folder.as_posix())
        raise CorpusError(
            f"{folder}: no trained model here",
            mend="run `segue train` first, or give the folder of a ClapModel",
        )
    return open_clap(str(folder))


def open_clap(name: str) -> Exported:
    """A plain ClapModel, by its folder or its name on huggingface.co.

    Raises:
        SpecError: If it cannot be loaded.
    """
    rate = int(clap_extractor(name).sampling_rate)
    tokenizer = TextTokenizer.of_model(name)
    with torch.random.fork_rng(devices=[]):
        model = build_model(clap_config(name), rate, len(tokenizer))
    return Exported(model.eval(), tokenizer, rate)
