"""An exported folder: it appears whole or not at all, with its settings and what its card says."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from pydantic import ValidationError

from synth.base.atomic import translate_disk_errors
from synth.base.doors import read_json
from synth.base.errors import SpecError
from synth.base.yaml_file import YamlFile, explain_errors
from train.config.model import ModelConfig, TowerKind
from train.config.text import Section
from train.engine.run_folder import LoadedRun
from train.export.files import AUDIO_GRAPH, FORMAT, SETTINGS_FILE

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
        files: Sizes in bytes, by name; known when the folder is whole.
    """

    library: str
    usage: str
    opener: str
    largest_difference: float | None = None
    files: Mapping[str, int] = field(default_factory=dict)


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
    """A folder to fill, which becomes `out` when the block ends well; else nothing is left."""
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


EXPORT_AGAIN: Final = "export the run again to an empty folder"
_SAME_PACKAGES: Final = f"install the packages that it was exported with, or {EXPORT_AGAIN}"


class ExportSettings(Section):
    """What is needed, beside the weights, to build an exported model again.

    Args:
        sample_rate: In Hz, of the audio that the model takes.
        weights: The file of the weights that the towers' folders do not hold; "" for none.
        model: The model, its bias as it was learnt. Towers of transformers are named by their
            folders in this one.
    """

    format: Literal[2] = FORMAT
    sample_rate: int
    weights: str = ""
    model: ModelConfig

    @classmethod
    def of_run(cls, run: LoadedRun, weights: str, audio: str, text: str) -> ExportSettings:
        """Those of a run."""
        model = run.config.model.without_adapters()
        config = model.model_copy(update={"bias": run.model.bias.item()})
        model = _rename_towers(config, audio, text)
        return cls(sample_rate=run.sample_rate, weights=weights, model=model)

    def in_folder(self, folder: Path) -> ModelConfig:
        """The model, its towers where they lie."""
        audio, text = self.model.audio.name, self.model.text.name
        return _rename_towers(self.model, str(folder / audio), str(folder / text))

    def save(self, folder: Path) -> None:
        """Write the file."""
        (folder / SETTINGS_FILE).write_text(self.model_dump_json(indent=2) + "\n", "utf-8")


def read_export_settings(folder: Path) -> ExportSettings:
    """The settings of an exported folder."""
    file = folder / SETTINGS_FILE
    if (folder / AUDIO_GRAPH).is_file():
        raise SpecError(
            f"{folder}: an ONNX export, which onnxruntime opens",
            fix="give the run, or export it with `--to safetensors`",
        )
    if not file.is_file():
        raise SpecError(f"{folder}: no exported model here (no {SETTINGS_FILE})", fix=EXPORT_AGAIN)
    values = read_json(file, refuse=SpecError, fix=EXPORT_AGAIN)
    try:
        settings = ExportSettings.model_validate(values)
    except ValidationError as error:
        place = YamlFile(str(file), values)
        raise explain_errors(error, place, ExportSettings, _SAME_PACKAGES) from error
    towers = settings.model.audio, settings.model.text
    names = [tower.name for tower in towers if tower.kind == TowerKind.TRANSFORMERS]
    for name in (*names, settings.weights):
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise SpecError(f"{file}: {name!r} lies outside of its folder", fix=EXPORT_AGAIN)
    return settings


def _rename_towers(config: ModelConfig, audio: str, text: str) -> ModelConfig:
    """The settings with other names of the towers that are of transformers."""
    names = {"audio": audio, "text": text}
    towers = {side: getattr(config, side) for side in names}
    return config.model_copy(
        update={
            side: tower.model_copy(update={"name": names[side]})
            for side, tower in towers.items()
            if tower.kind == TowerKind.TRANSFORMERS
        }
    )
