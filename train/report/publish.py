"""From a finished run to a folder for others, with a model card."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synth.base.errors import SpecError
from synth.base.progress import Observer, Silent
from train.data.recordings import RECORDINGS_FILE
from train.engine.run_folder import load_run
from train.export.clap_model import write_clap
from train.export.files import ModelFormat
from train.export.folder import Written, new_folder
from train.export.kinds import ModelKind, model_kind
from train.export.onnx_model import write_onnx
from train.export.opening import convert_laion
from train.export.safetensors_model import write_safetensors
from train.model.weights import WeightsReceipt, write_receipts
from train.report.card import model_card

CARD_FILE: Final = "README.md"


@dataclass(frozen=True, slots=True)
class PublishedFolder:
    """An exported folder.

    Args:
        files: Sizes of its files in bytes, by name.
        opener: A command or an expression that opens it.
        largest_difference: From torch's embeddings, for what does not compute with torch.
    """

    folder: Path
    files: dict[str, int]
    opener: str
    largest_difference: float | None


def publish(
    run_folder: Path, out: Path, to: ModelFormat, observer: Observer | None = None
) -> PublishedFolder:
    """Export a finished run, or a LAION-CLAP checkpoint as a ClapModel.

    Args:
        run_folder: Of the run, or the file of the checkpoint.
        out: New or empty folder; appears whole or not at all.
    """
    observer = observer or Silent()
    checkpoint = run_folder.is_file() and model_kind(run_folder) is ModelKind.CHECKPOINT
    if checkpoint and to is not ModelFormat.TRANSFORMERS:
        raise SpecError(
            f"{run_folder}: a {ModelKind.CHECKPOINT} is exported to transformers only",
            fix=f"use --to {ModelFormat.TRANSFORMERS}",
        )
    with new_folder(out) as folder:
        if checkpoint:
            observer.start("open", 1, "models")
            card, written = convert_laion(run_folder, folder)
            observer.finish("open")
        else:
            card, written = _export_run(run_folder, folder, to, observer)
        (folder / CARD_FILE).write_text(card.replace("FOLDER/", "").replace("FOLDER", "."), "utf-8")
        weights = sorted(folder.glob("*.safetensors"))
        if weights:
            write_receipts(folder, {path.name: [WeightsReceipt.of(path)] for path in weights})
        files = {
            path.relative_to(folder).as_posix(): path.stat().st_size
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
    opener = written.opener.replace("FOLDER", str(out))
    return PublishedFolder(out, files, opener, written.largest_difference)


def _export_run(
    run_folder: Path, folder: Path, to: ModelFormat, observer: Observer
) -> tuple[str, Written]:
    """The model card of a run, and what was written."""
    observer.start("open", 1, "models")
    run = load_run(run_folder)
    observer.finish("open")
    written: Written
    match to:
        case ModelFormat.TRANSFORMERS:
            written = write_clap(run, folder)
        case ModelFormat.SAFETENSORS:
            written = write_safetensors(run, folder)
        case ModelFormat.ONNX:
            written = write_onnx(run, folder, observer)
    heard = run_folder / RECORDINGS_FILE
    if to is not ModelFormat.ONNX and heard.is_file():  # `segue eval` looks for them
        shutil.copyfile(heard, folder / RECORDINGS_FILE)
    return model_card(run_folder, run, written), written
