"""`corpus.json` and `latest` of a corpus from anywhere: read, and checked before they are used."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from synth.base.doors import read_json, read_regular, require_regular
from synth.base.errors import CorpusError, list_known, nearest, shorten
from synth.corpus.schema import FORMAT_VERSION
from synth.scene.timeline import Fade
from synth.storage import display_path
from synth.storage.url import VERSION_NAME, parse_pointer

GET_AGAIN: Final = "download or build the corpus again"
SPLIT_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
CORPUS_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
MAX_RATE: Final = 768_000
"""In Hz: the highest at which converters work."""

_LEAST_PEAK_DB: Final = -200
_MOST_PATH_BYTES: Final = 2000
_MOST_PART_BYTES: Final = 255
_MOST_POINTER_BYTES: Final = 1000


def _check_path(path: str) -> str:
    if not 0 < len(path.encode()) <= _MOST_PATH_BYTES or "\0" in path:
        raise ValueError
    if any(len(part.encode()) > _MOST_PART_BYTES for part in path.split("/")):
        raise ValueError
    return path


_Count: TypeAlias = Annotated[int, Field(ge=0, lt=1 << 63)]
_Path: TypeAlias = Annotated[str, AfterValidator(_check_path), Field(description="a path")]
_Text: TypeAlias = Annotated[str, Field(description="text")]
_Whole: TypeAlias = Annotated[_Count, Field(description="a whole number, 0 or more")]
_Counts: TypeAlias = Annotated[
    dict[str, _Count], Field(description="an object with a whole number for each name")
]


class _Split(BaseModel, strict=True):
    samples: _Count
    shards: _Count


class Facts(BaseModel, strict=True):
    """The keys of `corpus.json`; their descriptions are what errors say was expected."""

    corpus: str = Field(
        pattern=f"^{CORPUS_NAME.pattern}$", description="a name of letters, digits, - and _"
    )
    version: str = Field(
        pattern=f"^{VERSION_NAME.pattern}$", description="a name of letters, digits, - _ and ."
    )
    digest: _Text
    recipe: _Text
    source: _Text
    sample_rate: int = Field(
        gt=0, le=MAX_RATE, description=f"a whole number of Hz, 1 to {MAX_RATE}"
    )
    splits: dict[Annotated[str, Field(pattern=f"^{SPLIT_NAME.pattern}$")], _Split] = Field(
        description="an object with samples and shards of each split, "
        "a name of letters, digits, - and _"
    )
    shards: _Path
    bank: _Path
    fade: Fade = Field(strict=False, description=f"one of {', '.join(Fade)}")
    peak_db: float = Field(ge=_LEAST_PEAK_DB, le=0, description=f"a number, {_LEAST_PEAK_DB} to 0")
    algorithms: dict[str, _Count | str] = Field(
        {}, description="an object with a version for each name"
    )
    audio_format: _Text = ""
    citation: _Text = ""
    excerpts: _Whole = 0
    excerpts_of_captioned_clips: _Whole = 0
    format_version: int = Field(
        1, ge=1, le=FORMAT_VERSION, description=f"1 to {FORMAT_VERSION}, which this Segue reads"
    )
    generators: _Counts = {}
    hours: float = Field(0, ge=0, lt=1 << 53, description="a number, 0 or more")
    libraries: list[dict[str, str]] = Field(
        [], description="a list of objects with text for each name"
    )
    stems: bool = Field(False, description="true or false")
    licence: _Text = ""
    licence_reason: _Text = ""
    licences: _Counts = {}


def read_facts(path: Path) -> dict[str, Any]:
    """What `corpus.json` says, once it is known to be of the corpus format."""
    where = display_path(path)
    try:
        facts = read_json(path, where=where, fix=GET_AGAIN)
        if not isinstance(facts, dict):
            raise CorpusError(f"{where}: expected an object, found {shorten(facts)}", fix=GET_AGAIN)
        Facts.model_validate(facts)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CorpusError(f"{where}: cannot be read: {reason}", fix=GET_AGAIN) from error
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        expected = f"expected {Facts.model_fields[key].description}"
        if key not in facts:
            raise CorpusError(f"{where}: lacks {key!r}: {expected}", fix=GET_AGAIN) from error
        fix = "update Segue" if key == "format_version" else GET_AGAIN
        message = f"{where}: {key} is {shorten(facts[key])}: {expected}"
        raise CorpusError(message, fix=fix) from error
    return facts


def follow_latest(pointer: Path) -> Path:
    """The folder that `latest` names, which lies beside it; its own folder where it is missing."""
    if not require_regular(pointer).exists():
        return pointer.parent
    data = read_regular(pointer, limit=_MOST_POINTER_BYTES)
    name = parse_pointer(data)
    if name is None:
        text = shorten(data.decode("utf-8", "replace"))
        raise CorpusError(
            f"{display_path(pointer)}: expected the name of a version, got {text}",
            fix="write the name of a folder next to it into it, or give that folder",
        )
    return pointer.parent / name


def memory_error(path: Path) -> CorpusError:
    """What is to be told where a file needs more memory than there is."""
    return CorpusError(
        f"{display_path(path)}: needs more memory than this machine has",
        fix="close other programs, or open it on a machine with more memory",
    )


# A corpus that is not where it is said to be: what to give in its place.


MANIFESTS: Final = "data_manifests"
SHOWN: Final = 10
"""Corpora that are named."""
_MARKS: Final = ("corpus.json", "plan.parquet")


def suggest_corpus(path: Path, fix: str) -> str:
    """The fix for a folder that holds no corpus: the nearest name, or the corpora that are near."""
    # Given the shards of a corpus, its manifests lie beside them.
    beside = path.parent.parent / MANIFESTS
    for folder in (path / MANIFESTS, path, beside, path.parent, Path(MANIFESTS)):
        places = {file.parents[1] for mark in _MARKS for file in folder.glob(f"*/*/{mark}")}
        if names := sorted(place.name for place in places):
            near = nearest(path.name, names)
            if folder is beside and near != path.name:
                continue
            if near is not None:
                return f"did you mean {folder / near}?"
            return list_known([str(folder / name) for name in names[:SHOWN]])
    return fix


# What the front matter of a dataset card says on the Hugging Face Hub.


LANGUAGE: Final = ["en"]
"""Captions are English sentences, whatever language a library's labels are in."""

_STEPS: Final = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B")


def size_category(samples: int) -> str:
    """How many samples there are, in one of the Hub's steps."""
    step = min(len(str(samples)) - 3, 7)
    return f"{_STEPS[step - 1]}<n<{_STEPS[step]}" if step > 0 else "n<1K"
