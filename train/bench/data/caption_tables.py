"""Captioned audio and questions: as AudioCaps, Clotho, AudioTime, CompA and TREA publish them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from synth.base.errors import CorpusError, SourceError, SpecError
from synth.labels.lexicon import Phrase
from synth.sources.reading.files import read_json, wrong_value_error
from train.bench.plan import Benchmark, DataKind
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import Files
from train.bench.tables import header, rows
from train.bench.tasks import recall
from train.bench.tasks.choosing import Instance, SoundQuestion, plan_compa, plan_questions

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


COMPA_COLUMNS: Final = (
    "pair_caption",
    "reversed_pair_caption",
    "pair_file",
    "reversed_pair_file",
)
TRIPLET_COLUMNS: Final = ("triplet_caption", "triplet_file")
ABSENT: Final = "-"


def compa_benchmark(table: Path, audio: Path, settings: BenchSettings | None = None) -> Benchmark:
    """CompA-order or CompA-attribute.

    Args:
        table: CSV with the columns pair_caption, reversed_pair_caption, pair_file and
            reversed_pair_file; and for instances of three also triplet_caption and triplet_file,
            "-" where an instance has none.
    """
    fix = f"give CompA's CSV, with the columns {', '.join(COMPA_COLUMNS)}"
    files, instances = Files(audio, table), []
    columns = header(table)
    threefold = [name for name in TRIPLET_COLUMNS if name in columns]
    if len(threefold) == 1:
        raise CorpusError(
            f"{table}: has only the column {threefold[0]!r}",
            fix=f"give both {' and '.join(TRIPLET_COLUMNS)}, or neither",
        )
    for number, row in rows(table, COMPA_COLUMNS, fix, TRIPLET_COLUMNS):
        captions = [row["pair_caption"], row["reversed_pair_caption"]]
        names = [row["pair_file"], row["reversed_pair_file"]]
        third = [row[name].strip() for name in threefold]
        if third and (third[0] == ABSENT) != (third[1] == ABSENT):
            raise CorpusError(
                f"{table}: row {number}: one of {' and '.join(TRIPLET_COLUMNS)} is {ABSENT!r}",
                fix="fill both in, or put - in both",
            )
        if third and third[0] != ABSENT:
            captions.append(third[0])
            names.append(third[1])
        heard = tuple(files.number(name.strip(), number) for name in names)
        instances.append(Instance(heard, tuple(caption.strip() for caption in captions)))
    chosen, sounds = settings or BenchSettings(), files.sounds()
    return Benchmark(
        DataKind.COMPA,
        str(table),
        {"table": str(table), "instances": str(len(instances))},
        sounds,
        chosen,
        {Task.COMPA: plan_compa(instances, chosen)},
    )


OPTIONS: Final = {letter: f"option{letter}" for letter in "ABCD"}
QUESTION_COLUMNS: Final = ("question", "audio_path", *OPTIONS.values(), "correct")


def questions_benchmark(
    table: Path, audio: Path | None = None, settings: BenchSettings | None = None
) -> Benchmark:
    """A table of questions, each with four answers.

    Answers are written alike, "keyboard typing" for "Keyboard typing" and "keyboard_typing": in
    TREA's tables the spelling gives many right ones away. All that read like the right one are
    right.

    Args:
        table: CSV with question, audio_path, optionA to optionD, and the letter in correct.
        audio: Folder that audio_path starts from; by default that of the table.
    """
    files, questions = Files(audio or table.parent, table), []
    fix = f"give TREA's CSV, with the columns {', '.join(QUESTION_COLUMNS)}"
    for number, row in rows(table, QUESTION_COLUMNS, fix):
        letter = row["correct"].strip()
        if letter not in OPTIONS:
            raise CorpusError(
                f"{table}: row {number}: 'correct' is {letter!r}", fix="write A, B, C or D"
            )
        asked = row["question"].strip().replace("_", " ")
        answers = {key: _plain(row[column]) for key, column in OPTIONS.items()}
        questions.append(
            SoundQuestion(
                files.number(row["audio_path"].strip(), number),
                tuple(f"{asked} {answer}" for answer in answers.values()),
                tuple(answer == answers[letter] for answer in answers.values()),
            )
        )
    sounds, chosen = files.sounds(), settings or BenchSettings()
    return Benchmark(
        DataKind.QUESTIONS,
        str(table),
        {"table": str(table), "questions": str(len(questions))},
        sounds,
        chosen,
        {Task.QUESTIONS: plan_questions(questions, chosen)},
    )


def _plain(answer: str) -> str:
    return Phrase.of_label(answer.strip()).plain.casefold().replace(",", "")
