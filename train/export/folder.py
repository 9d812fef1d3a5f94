"""A new folder that appears whole or not at all, and what the card of an export says of it."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synth.base.atomic import translate_disk_errors
from synth.base.errors import SpecError

LOADING: Final = """\
    from train.export.read import load_exported        # pip install segue-audio

    model = load_exported("FOLDER")
    similarity = model.encode_audio(waveform) @ model.encode_text(["a dog barks"]).T
"""
"""How a folder is opened with Segue, for its card."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written into a folder.

    Args:
        library: What opens it, by its name on huggingface.co.
        usage: Markdown that says what lies where, and how it is opened; RATE stands for the rate.
        opener: A command or an expression that opens it, `FOLDER` standing for the folder.
        largest_difference: From torch's embeddings, for what does not compute with torch.
    """

    library: str
    usage: str
    opener: str
    largest_difference: float | None = None


@contextmanager
def _explain_rust(path: Path) -> Iterator[None]:
    """What libraries in Rust, such as safetensors, pass on of what the system says."""
    try:
        yield
    except Exception as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None or isinstance(error, OSError):
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from error


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A folder to fill, which becomes `out` when the block ends well; else nothing is left.

    Args:
        out: New or empty folder.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SpecError(f"{out}: exists and is not empty", fix="choose another folder, or empty it")
    with translate_disk_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".partial", dir=out.parent))
        try:
            with _explain_rust(out):
                yield partial
            # Some of what writes here writes for its owner alone.
            for path in (partial, *partial.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
            if out.is_dir():
                out.rmdir()
            partial.rename(out)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
