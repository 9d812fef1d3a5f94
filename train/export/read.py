"""An exported model, ready to encode, whatever its towers and heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from synth.base.doors import read_text, require_regular
from synth.base.errors import SpecError
from train.data.tokenizer import TextTokenizer
from train.engine.run_folder import TOKENIZER_FILE
from train.export.files import HEAD_PREFIXES, WEIGHTS_FILE
from train.export.folder import EXPORT_AGAIN, ExportSettings, read_export_settings
from train.model.clap import Clap, build_model
from train.model.weights import require_whole


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported model.

    Args:
        model: In evaluation mode; may be moved to another device.
        sample_rate: In Hz, of the audio it takes.
    """

    model: Clap
    tokenizer: TextTokenizer
    sample_rate: int

    @torch.no_grad()
    def encode_audio(self, waveform: Float[Tensor, "batch samples"]) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings of audio at `sample_rate`, samples in -1 to 1."""
        return self.model.encode_audio(waveform.to(self.model.scale.log.device))

    @torch.no_grad()
    def encode_text(self, texts: Sequence[str]) -> Float[Tensor, "batch dim"]:
        """Unit-length embeddings of texts."""
        tokens = self.tokenizer(texts).to(self.model.scale.log.device)
        return self.model.encode_text(tokens.ids, tokens.mask)


def load_exported(folder: str | Path) -> Exported:
    """Open an export to safetensors or transformers; the run and its base models are not needed."""
    folder = Path(folder)
    settings = read_export_settings(folder)
    tokenizer = _read_tokenizer(folder, settings)
    with torch.random.fork_rng(devices=[]):
        model = build_model(settings.in_folder(folder), settings.sample_rate, len(tokenizer))
    if settings.weights:
        _load_weights(model, folder / settings.weights)
    return Exported(model.eval(), tokenizer, settings.sample_rate)


def _read_tokenizer(folder: Path, settings: ExportSettings) -> TextTokenizer:
    """The tokenizer of a run; beside a ClapModel it is as transformers writes it.

    A tokenizer.json that cuts texts would make its ClapProcessor cut sounds.
    """
    if settings.weights != WEIGHTS_FILE:
        return TextTokenizer.of_model(str(folder))
    try:
        return TextTokenizer.from_json(read_text(folder / TOKENIZER_FILE))
    except (OSError, ValueError) as error:
        raise SpecError(
            f"{folder / TOKENIZER_FILE}: missing or damaged", fix=EXPORT_AGAIN
        ) from error


def _load_weights(model: Clap, file: Path) -> None:
    """Load all weights of a model, or those of its heads beside towers that have theirs."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    require_regular(file, refuse=SpecError)
    if file.is_file():
        require_whole(file, EXPORT_AGAIN)
    try:
        mismatch = model.load_state_dict(load_file(file), strict=False)
    except (FileNotFoundError, RuntimeError, SafetensorError) as error:
        raise SpecError(f"{file}: missing or damaged", fix=EXPORT_AGAIN) from error
    needed = "" if file.name == WEIGHTS_FILE else HEAD_PREFIXES
    if mismatch.unexpected_keys or any(name.startswith(needed) for name in mismatch.missing_keys):
        raise SpecError(f"{file}: belongs to another model", fix=EXPORT_AGAIN)
