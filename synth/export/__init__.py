"""Corpora in the layouts that others read, each a small file behind the protocol `ExportFormat`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from synth.base.errors import SpecError
from synth.base.names import suggestion
from synth.export.base import ExportFormat

FORMATS: Final[Mapping[str, tuple[str, str]]] = {
    "hf": ("synth.export.hf:HuggingFace", "Parquet with embedded audio, for Hugging Face datasets"),
    "laion": ("synth.export.laion:Laion", "48 kHz shards for LAION-CLAP's and open_clip's loaders"),
    "lhotse": ("synth.export.lhotse:Lhotse", "recordings, supervisions and cuts of lhotse"),
    "jams": ("synth.export.jams:Jams", "one JAMS file a sample"),
    "dcase": ("synth.export.dcase:Dcase", "strong labels as TSV and captions as CSV, as in DCASE"),
    "nemo": ("synth.export.nemo:Nemo", "JSON-lines manifests of NeMo"),
    "questions": ("synth.export.questions:Questions", "questions and answers as JSON lines"),
    "differences": (
        "synth.export.differences:Differences",
        "pairs of samples and what tells them apart, as JSON lines",
    ),
    "esc": ("synth.export.esc:Esc", "a folder like ESC-50, one class a composition"),
}
"""Where each format is, and what it is in a few words."""

__all__ = ["FORMATS", "ExportFormat", "find_format"]


def find_format(name: str) -> ExportFormat:
    """The format of a name.

    Raises:
        SpecError: If there is no such format.
    """
    if name not in FORMATS:
        raise SpecError(f"no export format {name!r}", fix=suggestion(name, FORMATS))
    module, attribute = FORMATS[name][0].split(":")
    found: Any = getattr(import_module(module), attribute)
    return found()  # type: ignore[no-any-return]
