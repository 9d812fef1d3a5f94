"""An embedder by what was given: a run, a model of others, or a Python object."""

from __future__ import annotations

from pathlib import Path

from synth.base.errors import SpecError
from train.bench.embedder import Evaluator
from train.bench.foreign import Foreign, open_foreign
from train.bench.open_clip import OpenClip, load_open_clip
from train.bench.pe_audio import PeAudio, open_pe_audio
from train.export.kinds import ModelKind, model_kind, transformers_kind
from train.export.opening import open_model
from train.model.device import torch_device
from train.model.loading import hub_config


def open_embedder(
    model: Path, device: str = "cpu", tokenizer: str | None = None
) -> Evaluator | Foreign | OpenClip | PeAudio:
    """A trained model on a device.

    Args:
        model: The folder of a run or of an export, a ClapModel or PeAudioModel by its folder or
            its name on huggingface.co, a model of open_clip by its folder, `hf-hub:OWNER/NAME` or
            `open_clip:MODEL:CHECKPOINT`, a LAION-CLAP checkpoint, `module:factory`, or the name of
            an entry point of `segue.embedders`.
        tokenizer: Of a LAION-CLAP checkpoint, by folder or name; by default RoBERTa's.
    """
    place = torch_device(device)
    kind = model_kind(model)
    if kind is ModelKind.HUB:
        kind = transformers_kind(model, hub_config(model.as_posix()))
    if tokenizer is not None and kind is not ModelKind.CHECKPOINT:
        raise SpecError(
            f"{model}: a {kind} has a tokenizer of its own", fix="leave out the tokenizer"
        )
    if kind is ModelKind.PE_AUDIO:
        return open_pe_audio(model.as_posix(), place)
    if kind is ModelKind.OPEN_CLIP:
        return load_open_clip(model, place)
    if kind is ModelKind.CODE:
        if place.type != "cpu":
            raise SpecError(
                f"{model}: a Python object computes where it likes, not on {device}",
                fix="leave out the device, and let the factory choose one",
            )
        return open_foreign(model.as_posix())
    opened = open_model(model, tokenizer)
    return Evaluator(opened.model.to(place), opened.tokenizer, opened.sample_rate)
