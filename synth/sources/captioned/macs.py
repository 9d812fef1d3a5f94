"""MACS: urban soundscapes of 10 s, each described by several annotators (Martín-Morató, 2021).

As published (Zenodo 5114771): `MACS.yaml`, a mapping `files:` to a list of `filename` and
`annotations`, each with `annotator_id`, `sentence` and `tags`. The audio is part of another
download, TAU Urban Acoustic Scenes 2019, development set, which unpacks to
`TAU-urban-acoustic-scenes-2019-development/audio/`. A file is called
`SCENE-CITY-PLACE-SEGMENT-DEVICE.wav`; all segments of one place are one recording.

The tags are of a closed list of ten sounds. A clip's labels are those that any of its annotators
chose, the most agreed upon first: a sound that one of them heard is there to be heard.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

import yaml
from pydantic import BaseModel, ValidationError

from synth.base.errors import SourceError
from synth.base.units import Seconds
from synth.corpus.licence import parse_licence
from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import Collected
from synth.sources.reading.files import (
    FIX_FILE,
    read_text,
    require_file,
    require_folder,
    wrong_value_error,
)

FILE: Final = "MACS.yaml"
CLIP_S: Final[Seconds] = 10.0
MOST_NESTED: Final = 16
LICENCE: Final = "Tampere University licence, non-commercial"
_MEND: Final = "give the folder of MACS.yaml (Zenodo 5114771)"
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NAME: Final = re.compile(r"[^-]+-(?P<city>[^-]+)-(?P<place>\d+)-\d+-[^-]+")


class _Annotation(BaseModel):
    sentence: str
    tags: tuple[str, ...] = ()


class _File(BaseModel):
    filename: str
    annotations: tuple[_Annotation, ...]


class _Files(BaseModel):
    files: tuple[_File, ...]


class Macs(Collected):
    """`MACS.yaml` of `root`, and the audio of TAU Urban Acoustic Scenes 2019.

    Args:
        root: Holds `MACS.yaml`.
        audio: Folder of the audio files, or the unpacked development set that holds `audio`. By
            default `TAU-urban-acoustic-scenes-2019-development`, if it exists.
    """

    name: ClassVar[str] = "macs"
    usual_audio: ClassVar[tuple[str, ...]] = ("TAU-urban-acoustic-scenes-2019-development",)

    def refs(self) -> Iterator[ClipRef]:
        """One clip a file, with every annotator's sentence."""
        require_folder(self.root, "the folder of MACS", _MEND)
        annotations: dict[str, list[_Annotation]] = {}
        for file in _read(self.root / FILE):
            annotations.setdefault(file.filename, []).extend(file.annotations)
        if not annotations:
            raise SourceError(f"{self.root / FILE}: lists no files", fix=_MEND)
        files = self.files()
        for name, annotated in annotations.items():
            stem = name.removesuffix(".wav")
            parts = _NAME.fullmatch(stem)
            tags = Counter(
                tag
                for annotation in annotated
                for tag in dict.fromkeys(map(str.strip, annotation.tags))
                if tag
            )
            sentences = (annotation.sentence.strip() for annotation in annotated)
            yield ClipRef(
                id=f"macs/{stem}",
                location=files.find_path(f"audio/{name}", name) if files else name,
                labels=tuple(tag for tag, _ in tags.most_common()),
                captions=tuple(sentence for sentence in sentences if sentence),
                recording=f"macs/{parts['city']}-{parts['place']}" if parts else f"macs/{stem}",
                licence=parse_licence(LICENCE).id,
                attribution=f"MACS; TAU Urban Acoustic Scenes 2019 (Tampere University), {name}",
                duration_s=CLIP_S,
            )


def _read(path: Path) -> tuple[_File, ...]:
    require_file(path, "the annotations", _MEND)
    try:
        text = read_text(path)
        _refuse_deep(text, path)
        return _Files.model_validate(yaml.load(text, Loader=_LOADER)).files
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, ValidationError):
            raise wrong_value_error(path, error) from error
        raise SourceError(f"{path}: {' '.join(str(error).split())}", fix=FIX_FILE) from error


def _refuse_deep(text: str, path: Path) -> None:
    """The C loader's stack is not Python's: nesting that is too deep would end the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MOST_NESTED:
            raise SourceError(f"{path}: is nested too deep", fix=FIX_FILE)
