"""A run as a folder of weights: one that ClapModel opens, or safetensors with all that it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import torch
from torch import nn

from synth.base.errors import SpecError
from train.config.model import HeadKind, ModelConfig, TowerConfig, TowerKind
from train.data.tokenizer import TextTokenizer
from train.engine.run_folder import TOKENIZER_FILE, LoadedRun
from train.export.files import HEAD_PREFIXES, HEADS_FILE, WEIGHTS_FILE
from train.export.folder import LOADING, ExportSettings, Written
from train.model.clap import Clap
from train.model.heads import ProjectionHead
from train.model.loading import feature_extractor, load_config, load_tokenizer, preprocessor_facts
from train.model.towers.spectrogram import SpectrogramTower
from train.model.towers.text import TextModel

USAGE: Final = """\
    from transformers import ClapModel, ClapProcessor

    model, processor = (each.from_pretrained("FOLDER") for each in (ClapModel, ClapProcessor))
    sounds = processor(audio=[waveform], sampling_rate=RATE, return_tensors="pt")
    embedding = model.get_audio_features(**sounds).pooler_output

Give a fused CLAP `is_longer` of zeros: its processor marks one sound of every batch as longer than
it is. `train.export.read.load_exported("FOLDER")` of segue-audio opens the folder too.
"""
"""How a folder with a whole ClapModel is opened, for its card."""
_TOWERS: Final = f"""\
{LOADING}
The towers are those of the ClapModel here. Its heads lie in `segue_heads.safetensors`, since a
ClapModel has no place for them: the projections of the ClapModel are not trained.
"""


def write_clap(run: LoadedRun, folder: Path) -> Written:
    """Write a run into a folder for transformers.

    `ClapModel.from_pretrained` and `ClapProcessor.from_pretrained` then give the run's embeddings
    where its heads are CLAP's own (`projection`). Other heads are written beside the towers, and
    `train.export.read.load_exported` gives the run's embeddings in any case. Audio is padded with
    silence, never looped, as the run heard it.

    ClapFeatureExtractor marks one clip of every batch as longer than it is where a CLAP is a fused
    one; to hear it as the run did, give the ClapModel `is_longer` of zeros.
    """
    model = _clap_model(run)
    tokenizer = _tokenizer(run)
    extractor = feature_extractor(run.config.model.audio.name)
    extractor.padding = "pad"
    for part in (model, extractor, tokenizer):
        part.save_pretrained(folder)
    whole = run.config.model.head.kind is HeadKind.PROJECTION
    if not whole:
        save_weights(run.model, folder / HEADS_FILE, HEAD_PREFIXES)
    ExportSettings.of_run(run, "" if whole else HEADS_FILE, ".", ".").save(folder)
    if whole:
        return Written("transformers", USAGE, "ClapModel.from_pretrained('FOLDER')")
    return Written("segue-audio", _TOWERS, "train.export.read.load_exported('FOLDER')")


def _clap_model(run: LoadedRun) -> Any:
    """A ClapModel with the towers of a run, and with its heads where they fit."""
    from transformers import ClapConfig, ClapModel, ClapTextModel

    config, clap = run.config.model, run.model
    audio, text = clap.audio_tower, clap.text_tower
    if not isinstance(audio, SpectrogramTower):
        raise _no_clap("audio", config.audio.kind, config.audio.name)
    if not isinstance(text, TextModel) or not isinstance(text.model, ClapTextModel):
        raise _no_clap("text", config.text.kind, config.text.name)
    facts: dict[str, Any] = {"projection_dim": config.dim} | _activation(config, clap)
    scale = clap.scale().item()
    model = ClapModel(
        ClapConfig(
            audio_config=_settings(audio.model),
            text_config=_settings(text.model),
            logit_scale_init_value=scale,
            **facts,
        )
    )
    model.audio_model.load_state_dict(audio.model.state_dict())
    model.text_model.load_state_dict(text.model.state_dict())
    if config.head.kind is HeadKind.PROJECTION:
        model.audio_projection.load_state_dict(clap.audio_head.state_dict())
        model.text_projection.load_state_dict(clap.text_head.state_dict())
    with torch.no_grad():
        model.logit_scale_a.fill_(scale).log_()
        model.logit_scale_t.fill_(scale).log_()
    return model.eval()


def _settings(half: Any) -> dict[str, Any]:
    return dict(half.config.to_dict())


def _activation(config: ModelConfig, clap: Clap) -> dict[str, Any]:
    """The one activation that a ClapConfig has room for."""
    names = {
        head.activation_name
        for head in (clap.audio_head, clap.text_head)
        if isinstance(head, ProjectionHead)
    }
    if len(names) > 1:
        raise SpecError(
            f"the projections of {config.audio.name!r} and {config.text.name!r} have different "
            f"activations: {', '.join(sorted(names))}; a ClapModel has one for both",
            fix="train with both towers of one CLAP",
        )
    return {"projection_hidden_act": names.pop()} if names else {}


def _tokenizer(run: LoadedRun) -> Any:
    """The tokenizer of the text tower, cutting texts where the run cut them."""
    name = run.config.model.text.name
    if TextTokenizer.of_model(name).to_json() != run.tokenizer.to_json():
        raise SpecError(
            f"the tokenizer of {name!r} is not the one that the run was trained with",
            fix="restore the tokenizer files of that run",
        )
    tokenizer = load_tokenizer(name)
    tokenizer.model_max_length = json.loads(run.tokenizer.to_json())["truncation"]["max_length"]
    return tokenizer


def _no_clap(side: str, kind: str, name: str) -> SpecError:
    what = repr(name) if kind == TowerKind.TRANSFORMERS else f"of kind {kind}"
    return SpecError(
        f"the {side} tower of this run is {what}, which is not half of a CLAP, so a "
        "ClapModel cannot hold it",
        fix="export it with `--to safetensors`, or train with "
        f"`model: {{{side}: {{kind: transformers, name: FOLDER_OF_A_CLAP}}}}`",
    )


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
