"""Any run as weights in safetensors, and all that is needed to build its model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import torch
from torch import nn

from train.config.model import TowerConfig, TowerKind
from train.engine.run_folder import TOKENIZER_FILE, LoadedRun
from train.export.files import WEIGHTS_FILE
from train.export.folder import LOADING, Written
from train.export.settings import ExportSettings
from train.model.loading import load_config, preprocessor_facts

_AUDIO, _TEXT = "audio", "text"
_USAGE: Final = f"""\
{LOADING}
`waveform` is a tensor (sounds, samples). `model.safetensors` holds all weights and `segue.json` the
settings. `tokenizer.json` cuts and pads texts. `audio/` and `text/` hold the settings of towers of
transformers, and no base model is needed. `segue eval FOLDER CORPUS` tests the model; by
`recordings.json` it tells whether it was trained on recordings of the test.
"""


def write_safetensors(run: LoadedRun, folder: Path) -> Written:
    """Write a run into a folder, for `train.export.read.load_exported`.

    Towers of transformers leave their settings there; their weights are those of the run.
    """
    towers: tuple[tuple[str, TowerConfig], ...] = (
        (_AUDIO, run.config.model.audio),
        (_TEXT, run.config.model.text),
    )
    for side, tower in towers:
        if tower.kind != TowerKind.TRANSFORMERS:
            continue
        place = folder / side
        load_config(tower.name).save_pretrained(place)
        facts = preprocessor_facts(tower.name) if side == _AUDIO else {}
        if facts:
            text = json.dumps(facts, indent=2) + "\n"
            (place / "preprocessor_config.json").write_text(text, "utf-8")
    save_weights(run.model, folder / WEIGHTS_FILE)
    ExportSettings.of_run(run, WEIGHTS_FILE, _AUDIO, _TEXT).save(folder)
    (folder / TOKENIZER_FILE).write_text(run.tokenizer.to_json(), "utf-8")
    return Written("segue-audio", _USAGE, "segue eval FOLDER CORPUS --split test")


def save_weights(model: nn.Module, file: Path, prefixes: tuple[str, ...] = ("",)) -> None:
    """Write the weights of a model whose names begin with one of the prefixes."""
    from safetensors.torch import save_file

    # Copies, since safetensors refuses weights that share memory.
    weights = {
        name: value.clone(memory_format=torch.contiguous_format)
        for name, value in model.state_dict().items()
        if name.startswith(prefixes)
    }
    save_file(weights, file, metadata={"format": "pt"})
