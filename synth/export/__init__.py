"""Corpora in the layouts that others read, each a small file behind the protocol `ExportFormat`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from synth.base.errors import SpecError, suggestion

if TYPE_CHECKING:
    from synth.export.base import ExportFormat

FORMATS: Final[Mapping[str, tuple[str, str]]] = {
    "hf": ("synth.export.hf:HuggingFace", "Parquet with embedded audio, for Hugging Face datasets"),
    "laion": ("synth.export.laion:Laion", "48 kHz shards for LAION-CLAP's and open_clip's loaders"),
    "lance": ("synth.export.lance:Lance", "a Lance dataset per split, with the audio in it"),
    "lhotse": ("synth.export.lhotse:Lhotse", "lhotse recordings, supervisions and cuts"),
    "shar": ("synth.export.lhotse:Shar", "lhotse Shar: cuts and tar files to read in sequence"),
    "jams": ("synth.export.strong_labels:Jams", "one JAMS file per sample"),
    "dcase": (
        "synth.export.strong_labels:Dcase",
        "strong labels as TSV, captions as CSV, as in DCASE",
    ),
    "compa": ("synth.export.compa:Compa", "CSV and audio of CompA-order and CompA-attribute"),
    "nemo": ("synth.export.lhotse:Nemo", "NeMo JSON-lines manifests"),
    "audiocraft": (
        "synth.export.audiocraft:Audiocraft",
        "a manifest and a description per sample, for AudioGen and MusicGen",
    ),
    "questions": ("synth.export.questions:Questions", "questions and answers as JSON lines"),
    "differences": (
        "synth.export.questions:DifferencesFormat",
        "pairs of samples and their differences as JSON lines",
    ),
    "moments": (
        "synth.export.moments:MomentsFormat",
        "queries and the windows in which they are heard, for Lighthouse",
    ),
    "edits": ("synth.export.edits:EditsFormat", "pairs before and after an edit, with stems"),
    "edits-webdataset": ("synth.export.edits:EditsWebDataset", "the same as WebDataset shards"),
    "edits-hf": (
        "synth.export.edits:EditsHuggingFace",
        "the same as Parquet, for Hugging Face datasets",
    ),
    "chat": (
        "synth.export.conversations:Chat",
        "proven conversations for ms-swift, LLaMA-Factory and TRL",
    ),
    "preference": (
        "synth.export.conversations:Preference",
        "proven against refuted answers for ms-swift, LLaMA-Factory and TRL",
    ),
    "grpo": (
        "synth.export.conversations:Grpo",
        "prompts with a reward that scores answers, for ms-swift and TRL",
    ),
    "esc": ("synth.export.compa:Esc", "a folder like ESC-50, one class per composition"),
}
"""Where each format is, and what it is in a few words."""


def find_format(name: str, allow_long: bool = False, root: str = "") -> ExportFormat:
    """The format of a name.

    Args:
        allow_long: Let `laion` write samples that its readers crop.
        root: The folder with which the paths of `audiocraft` begin, "" for none.
    """
    if name not in FORMATS:
        raise SpecError(f"no export format {name!r}", fix=suggestion(name, FORMATS))
    module, attribute = FORMATS[name][0].split(":")
    kind: Any = getattr(import_module(module), attribute)
    options = {}
    for key, value, flag, own in (
        ("allow_long", allow_long, "--allow-long", "laion"),
        ("root", root, "--absolute", "audiocraft"),
    ):
        if value and name != own:
            raise SpecError(f"{flag} is for --to {own}, not for {name}", fix="leave it out")
        if value:
            options[key] = value
    return kind(**options)  # type: ignore[no-any-return]
