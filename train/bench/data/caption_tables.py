"""Captioned audio: tables as AudioCaps and Clotho have them, and AudioTime's JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from synth.base.errors import CorpusError, SourceError, SpecError
from synth.sources.reading.files import read_json, wrong_value_error
from train.bench.plan import Benchmark, DataKind
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import Files
from train.bench.tables import header, rows
from train.bench.tasks import recall

FILE_COLUMNS: Final = (
    "file_name",
    "filename",
    "file",
    "path",
    "youtube_id",
    "audiocap_id",
    "audio_id",
)
AUDIOTIME: Final = ".json"
_CAPTION: Final = re.compile(r"caption(?:_?\d+)?")

Captioned: TypeAlias = tuple[int, str, str]
"""Number of the row, name of the file, and a caption of it."""


def captions_benchmark(
    table: Path,
    audio: Path | None = None,
    settings: BenchSettings | None = None,
    file_column: str | None = None,
    caption_columns: Sequence[str] = (),
) -> Benchmark:
    """Captioned audio: a row a caption (AudioCaps), five a row (Clotho), or an entry (AudioTime).

    Args:
        table: CSV with a column of files and one or several of captions, where rows about one file
            are put together; or AudioTime's JSON, by the file's name: {"caption": ...}.
        audio: Folder that the files are in; endings such as .wav may be left out of the table. By
            default the table's own, or with AudioTime the folder `audio` in it.
        file_column: By default the first of `FILE_COLUMNS` that is there.
        caption_columns: By default all called caption, or caption_1, caption_2, ...
    """
    folder = table.parent
    if table.suffix == AUDIOTIME:
        if file_column or caption_columns:
            raise SpecError(f"{table}: JSON has no columns", fix="leave out columns")
        said = _read_audiotime(table)
        folder = folder / "audio" if (folder / "audio").is_dir() else folder
    else:
        said = _read_table(table, file_column, caption_columns)
    chosen = settings or BenchSettings()
    files = Files(audio or folder, table)
    captions = [(files.number(name, number), caption) for number, name, caption in said]
    sounds = files.sounds()
    return Benchmark(
        DataKind.CAPTIONS,
        str(table),
        {
            "table": str(table),
            "captions": str(len(captions)),
            "queries": "every caption" if chosen.every_caption else "every different caption",
        },
        sounds,
        chosen,
        {Task.RETRIEVAL: recall.plan_captions(captions, len(sounds), chosen)},
    )


def _read_table(
    table: Path, file_column: str | None, caption_columns: Sequence[str]
) -> Iterator[Captioned]:
    columns = header(table)
    file_column = file_column or next((name for name in FILE_COLUMNS if name in columns), None)
    wanted = caption_columns or [name for name in columns if _CAPTION.fullmatch(name)]
    shown = ", ".join(columns)
    if file_column is None or file_column not in columns:
        raise SpecError(
            f"{table}: no column of files, as {file_column or ', '.join(FILE_COLUMNS)}",
            fix=f"name one of its columns: {shown}",
        )
    if not wanted or any(name not in columns for name in wanted):
        raise SpecError(
            f"{table}: no column of captions, as {', '.join(wanted) or 'caption or caption_1'}",
            fix=f"name one or several of its columns: {shown}",
        )
    for number, row in rows(table, (file_column, *wanted), f"its columns are {shown}"):
        for name in wanted:
            yield number, row[file_column].strip(), row[name].strip()


class _Entry(BaseModel):
    """Of AudioTime: a caption, in some of its files followed by a remark in a list."""

    caption: str | list[str] = Field(min_length=1)


_ENTRIES: Final = TypeAdapter(dict[str, _Entry])


def _read_audiotime(table: Path) -> Iterator[Captioned]:
    try:
        entries = _ENTRIES.validate_python(read_json(table))
    except ValidationError as error:
        raise CorpusError(
            wrong_value_error(table, error).message,
            fix="give AudioTime's JSON, or a CSV file of captions",
        ) from error
    except SourceError as error:
        raise CorpusError(error.message, fix=error.fix) from error
    for number, (name, entry) in enumerate(entries.items(), start=1):
        caption = entry.caption if isinstance(entry.caption, str) else entry.caption[0]
        yield number, name, caption.strip()
