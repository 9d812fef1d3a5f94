"""From a finished run to a folder that ClapModel and ClapProcessor open."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch

from synth.base.errors import SpecError
from train.config.model import HeadKind, ModelConfig, TowerKind
from train.data.tokenizer import TextTokenizer
from train.engine.run_folder import LoadedRun, load_run
from train.export.files import FORMAT, HEAD_PREFIXES, HEADS_FILE, SETTINGS_FILE
from train.model.clap import Clap
from train.model.heads import ProjectionHead
from train.model.loading import clap_extractor
from train.model.towers.spectrogram import SpectrogramTower
from train.model.towers.text import TextModel


def export(run_folder: Path, out: Path) -> bool:
    """Write the model of a finished run for transformers.

    `ClapModel.from_pretrained(out)` and `ClapProcessor.from_pretrained(out)` then give the run's
    embeddings where its heads are CLAP's own (`projection`). Other heads are written beside the
    towers, and `train.export.read.load_exported` gives the run's embeddings in any case. Audio is
    padded with silence, never looped, as the run heard it.

    ClapFeatureExtractor marks one clip of every batch as longer than it is where a CLAP is a fused
    one; to hear it as the run did, give the ClapModel `is_longer` of zeros.

    Args:
        run_folder: Of the run.
        out: New or empty folder; appears whole or not at all.

    Returns:
        Whether a ClapModel holds all of it: false where heads were written beside it.

    Raises:
        SpecError: If `out` holds something, or a tower of the run is not that of a CLAP.
        CorpusError: If there is no finished run.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SpecError(f"{out}: exists and is not empty", fix="choose another folder, or empty it")
    run = load_run(run_folder)
    model = _clap_model(run)
    tokenizer = _tokenizer(run)
    extractor = clap_extractor(run.config.model.audio.name)
    extractor.padding = "pad"

    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".partial", dir=out.parent))
    try:
        for part in (model, extractor, tokenizer):
            part.save_pretrained(partial)
        _save_heads(run, partial)
        partial.chmod(0o755)
        if out.is_dir():
            out.rmdir()
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return run.config.model.head.kind is HeadKind.PROJECTION


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
    made = ClapModel(
        ClapConfig(
            audio_config=_settings(audio.model),
            text_config=_settings(text.model),
            logit_scale_init_value=scale,
            **facts,
        )
    )
    made.audio_model.load_state_dict(audio.model.state_dict())
    made.text_model.load_state_dict(text.model.state_dict())
    if config.head.kind is HeadKind.PROJECTION:
        made.audio_projection.load_state_dict(clap.audio_head.state_dict())
        made.text_projection.load_state_dict(clap.text_head.state_dict())
    with torch.no_grad():
        made.logit_scale_a.fill_(scale).log_()
        made.logit_scale_t.fill_(scale).log_()
    return made.eval()


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
    from transformers import AutoTokenizer

    name = run.config.model.text.name
    if TextTokenizer.of_model(name).to_json() != run.tokenizer.to_json():
        raise SpecError(
            f"the tokenizer of {name!r} is not the one that the run was trained with",
            fix="restore the tokenizer files of that run",
        )
    tokenizer = AutoTokenizer.from_pretrained(name)
    tokenizer.model_max_length = json.loads(run.tokenizer.to_json())["truncation"]["max_length"]
    return tokenizer


def _save_heads(run: LoadedRun, folder: Path) -> None:
    from safetensors.torch import save_file

    # What a ClapModel has no room for, as it was learnt.
    model = run.config.model.without_adapters().model_copy(update={"bias": run.model.bias.item()})
    facts = {
        "format": FORMAT,
        "sample_rate": run.sample_rate,
        "model": model.model_dump(mode="json"),
    }
    (folder / SETTINGS_FILE).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    if run.config.model.head.kind is not HeadKind.PROJECTION:
        weights = {
            name: value.contiguous()
            for name, value in run.model.state_dict().items()
            if name.startswith(HEAD_PREFIXES)
        }
        save_file(weights, folder / HEADS_FILE)


def _no_clap(side: str, kind: TowerKind, name: str) -> SpecError:
    what = "the small one" if kind is TowerKind.SMALL else repr(name)
    return SpecError(
        f"the {side} tower of this run is {what}, which is not half of a CLAP, so a "
        "ClapModel cannot hold it",
        fix=f"train with `model: {{{side}: {{kind: transformers, name: FOLDER_OF_A_CLAP}}}}`",
    )
