"""Published benchmarks: captions, CompA, questions, classes and probes, from their tables."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from synth.base.errors import CorpusError, SourceError, SpecError
from synth.base.shipped import read_shipped_rows
from synth.labels.lexicon import Phrase
from synth.sources.reading.files import read_json, wrong_value_error
from synth.sources.reading.tables import Columns, read_cells, read_rows
from synth.text.order.clause_swap import Probe
from train.bench.metrics.measure import number_keys
from train.bench.plan import Benchmark, DataKind, TaskPlan, TaskRefusal
from train.bench.settings import DEFAULTS, BenchSettings, Task
from train.bench.sounds import Files
from train.bench.tasks import recall, zste
from train.bench.tasks.choosing import Instance, SoundQuestion, plan_compa, plan_questions
from train.bench.tasks.recall import ProbedSentence


def header(path: Path) -> tuple[str, ...]:
    """The columns of a CSV file."""
    with _refuse_as_corpus():
        rows = read_cells(path, "give the benchmark's CSV file")
        return tuple(next((cells for _, cells in rows), ()))


def rows(
    path: Path, required: Sequence[str], fix: str, optional: Sequence[str] = ()
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows of a CSV file and their numbers, that of the header being 1.

    Args:
        required: Columns that must be there and hold something in every row.
        optional: Columns that may be there, and then hold something in every row.
    """
    columns = Columns(tuple(required), fix, tuple(optional))
    with _refuse_as_corpus():
        for number, row in enumerate(read_rows(path, columns), start=2):
            filled = (*required, *(name for name in optional if name in row))
            _refuse_empty(path, number, row, filled)
            yield number, row


def _refuse_empty(
    path: Path,
    number: int,
    row: Mapping[str, str],
    columns: Iterable[str],
    fix: str = "fill it in, or remove the row",
) -> None:
    for column in columns:
        if not row[column].strip():
            raise CorpusError(f"{path}: row {number}: {column!r} is empty", fix=fix)


@contextmanager
def _refuse_as_corpus() -> Iterator[None]:
    """Within it, what is wrong with a source is wrong with a corpus."""
    try:
        yield
    except SourceError as error:
        raise CorpusError(error.message, fix=error.fix) from error


def unnamed_rows(
    path: Path, columns: Sequence[str], fix: str
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows of a CSV file that has no header, and their numbers."""
    with _refuse_as_corpus():
        for number, cells in read_cells(path, fix):
            if len(cells) != len(columns) or not all(cell.strip() for cell in cells):
                raise CorpusError(
                    f"{path}: line {number}: is not of {', '.join(columns)}, each filled in",
                    fix=fix,
                )
            yield number, dict(zip(columns, cells, strict=True))


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
    settings: BenchSettings = DEFAULTS,
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
            raise SpecError(f"{table}: JSON has no columns", fix="leave out the column options")
        entries = _read_audiotime(table)
        folder = folder / "audio" if (folder / "audio").is_dir() else folder
    else:
        entries = _read_table(table, file_column, caption_columns)
    files = Files(audio or folder, table)
    captions = [(files.number(name, number), caption) for number, name, caption in entries]
    sounds = files.sounds()
    return Benchmark(
        DataKind.CAPTIONS,
        str(table),
        {
            "table": str(table),
            "captions": str(len(captions)),
            "queries": "every caption" if settings.every_caption else "every different caption",
        },
        sounds,
        settings,
        {Task.RETRIEVAL: recall.plan_captions(captions, len(sounds), settings)},
    )


def _read_table(
    table: Path, file_column: str | None, caption_columns: Sequence[str]
) -> Iterator[Captioned]:
    columns = header(table)
    file_column = file_column or next((name for name in FILE_COLUMNS if name in columns), None)
    headings = caption_columns or [name for name in columns if _CAPTION.fullmatch(name)]
    shown = ", ".join(columns)
    if file_column is None or file_column not in columns:
        raise SpecError(
            f"{table}: no column of files, as {file_column or ', '.join(FILE_COLUMNS)}",
            fix=f"name one of its columns: {shown}",
        )
    if not headings or any(name not in columns for name in headings):
        raise SpecError(
            f"{table}: no column of captions, as {', '.join(headings) or 'caption or caption_1'}",
            fix=f"name one or several of its columns: {shown}",
        )
    for number, row in rows(table, (file_column, *headings), f"its columns are {shown}"):
        for name in headings:
            yield number, row[file_column].strip(), row[name].strip()


class _Entry(BaseModel):
    """Of AudioTime: a caption, in some of its files followed by a remark in a list."""

    caption: str | list[str] = Field(min_length=1)


_ENTRIES: Final = TypeAdapter(dict[str, _Entry])


def _read_audiotime(table: Path) -> Iterator[Captioned]:
    with _refuse_as_corpus():
        values = read_json(table)
    try:
        entries = _ENTRIES.validate_python(values)
    except ValidationError as error:
        raise CorpusError(
            wrong_value_error(table, error).message,
            fix="give AudioTime's JSON, or a CSV file of captions",
        ) from error
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


def compa_benchmark(table: Path, audio: Path, settings: BenchSettings = DEFAULTS) -> Benchmark:
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
        sounds = tuple(files.number(name.strip(), number) for name in names)
        instances.append(Instance(sounds, tuple(caption.strip() for caption in captions)))
    return Benchmark(
        DataKind.COMPA,
        str(table),
        {"table": str(table), "instances": str(len(instances))},
        files.sounds(),
        settings,
        {Task.COMPA: plan_compa(instances, settings)},
    )


OPTIONS: Final = {letter: f"option{letter}" for letter in "ABCD"}
QUESTION_COLUMNS: Final = ("question", "audio_path", *OPTIONS.values(), "correct")


def questions_benchmark(
    table: Path, audio: Path | None = None, settings: BenchSettings = DEFAULTS
) -> Benchmark:
    """A table of questions, each with four answers.

    Answers are written alike, "keyboard typing" for "Keyboard typing" and "keyboard_typing": in
    TREA's tables the spelling gives many right ones away. All that read like the right one are
    right.

    Args:
        table: CSV with question, audio_path, optionA to optionD, and the letter in correct.
    """
    files, questions = Files(audio or table.parent, table), []
    fix = f"give TREA's CSV, with the columns {', '.join(QUESTION_COLUMNS)}"
    for number, row in rows(table, QUESTION_COLUMNS, fix):
        letter = row["correct"].strip()
        if letter not in OPTIONS:
            raise CorpusError(
                f"{table}: row {number}: 'correct' is {letter!r}", fix="write A, B, C or D"
            )
        question = row["question"].strip().replace("_", " ")
        answers = {key: _plain(row[column]) for key, column in OPTIONS.items()}
        questions.append(
            SoundQuestion(
                files.number(row["audio_path"].strip(), number),
                tuple(f"{question} {answer}" for answer in answers.values()),
                tuple(answer == answers[letter] for answer in answers.values()),
            )
        )
    return Benchmark(
        DataKind.QUESTIONS,
        str(table),
        {"table": str(table), "questions": str(len(questions))},
        files.sounds(),
        settings,
        {Task.QUESTIONS: plan_questions(questions, settings)},
    )


def _plain(answer: str) -> str:
    return Phrase.of_label(answer.strip()).plain.casefold().replace(",", "")


_VIDEO: Final = ".mp4"


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How a table of labelled audio is laid out.

    Args:
        file: Path of a file below the folder of audio, by columns in braces.
        columns: Those that tell the layout, and must be filled in.
        fold: Column of folds or splits; "" for none.
        recording: Column of what clips are cut from; of a table without it each clip stands alone.
        several: Whether a cell holds several labels, parted by commas.
        audio: The published folder of audio from that of the table, with the table's name in {}.
        unnamed: What the first line looks like, where the table has no header.
        tested: The fold that published figures are of; "" for all.
    """

    name: str
    file: str
    label: str
    columns: tuple[str, ...]
    fold: str
    recording: str
    several: bool
    audio: str
    unnamed: re.Pattern[str] | None
    tested: str

    def fits(self, first: Sequence[str]) -> bool:
        """Whether a table that begins with these cells is laid out so."""
        if self.unnamed is not None:
            return self.unnamed.fullmatch(",".join(first)) is not None
        return set(self.columns) <= set(first)

    def folder(self, table: Path) -> Path:
        """Where the audio of a table is: where it is published, else beside the table."""
        published = Path(os.path.normpath(table.parent / self.audio.format(table.stem)))
        return published if published.is_dir() else table.parent

    def rows(self, table: Path, by_fold: bool) -> Iterator[tuple[int, Mapping[str, str]]]:
        """The rows of a table and their numbers."""
        if self.unnamed is not None:
            return unnamed_rows(table, self.columns, f"give {self.name}'s own table")
        needed = {*self.columns, self.fold} if by_fold else self.columns
        return rows(table, tuple(needed), f"give a table as {self.name} has it")

    def labels(self, row: Mapping[str, str]) -> list[str]:
        """The labels of a row."""
        cell = row[self.label]
        parts = cell.split(",") if self.several else [cell]
        return [part.strip() for part in parts if part.strip()]


@cache
def list_layouts() -> tuple[TableLayout, ...]:
    """All that are known; the last, ESC-50's, is also the one for tables of one's own."""
    listed: Iterable[Mapping[str, Any]] = read_shipped_rows("lexicons/tables/class_layouts.csv")
    layouts = []
    for row in listed:
        layout = dict(row)
        layout["columns"] = tuple(row["columns"].split())
        layout["several"] = bool(row["several"])
        layout["unnamed"] = re.compile(row["unnamed"]) if row["unnamed"] else None
        layouts.append(TableLayout(**layout))
    return tuple(layouts)


def find_layout(table: Path) -> TableLayout | None:
    """The layout of a table of labelled audio; None where it is no such table."""
    first = header(table)
    return next((layout for layout in list_layouts() if layout.fits(first)), None)


def classes_benchmark(
    table: Path,
    audio: Path | None = None,
    settings: BenchSettings = DEFAULTS,
    fold: str | None = None,
) -> Benchmark:
    """Labelled audio in a layout of `list_layouts`.

    Clips of one recording are drawn together in the bootstrap.

    Args:
        audio: Folder that the files are in; by default the layout's own, or the table's.
        fold: Test on this fold or split alone; by default on what published figures are of. The
            classes are those of the whole table.
    """
    layout = find_layout(table) or list_layouts()[-1]
    tested = fold or layout.tested
    if tested and not layout.fold:
        raise SpecError(f"{table}: {layout.name} has no folds", fix="leave out the fold")
    files = Files(audio or layout.folder(table), table)
    classes: set[str] = set()
    folds: set[str] = set()
    borne: list[list[str]] = []
    recordings: list[str] = []
    other = 0
    for number, row in layout.rows(table, by_fold=bool(tested)):
        labels = layout.labels(row)
        classes.update(labels)
        if tested:
            folds.add(row[layout.fold])
            if row[layout.fold] != tested:
                other += 1
                continue
        name = layout.file.format_map({column: cell.strip() for column, cell in row.items()})
        name = name.removesuffix(_VIDEO)
        sound = files.number(name, number)
        if 0 <= sound < len(borne):
            raise CorpusError(
                f"{table}: row {number}: {name!r} already has a row", fix="keep one of them"
            )
        if sound >= 0:
            borne.append(labels)
            recordings.append(row.get(layout.recording) or name)
    if folds and tested not in folds:
        shown = ", ".join(sorted(folds))
        raise SpecError(f"{table}: no fold {tested}", fix=f"its folds are {shown}")
    sounds = files.sounds()
    every = sorted(classes)
    groups = number_keys(recordings)
    t1: TaskPlan | TaskRefusal = TaskRefusal("a sound bears several labels")
    if not layout.several:
        single = [(sound, label) for sound, (label,) in enumerate(borne)]
        t1 = zste.plan_singles(single, every, groups, settings)
    return Benchmark(
        DataKind.CLASSES,
        str(table),
        {
            "table": str(table),
            "layout": layout.name,
            "classes": str(len(every)),
            "fold": tested or "all",
        },
        sounds,
        settings,
        {
            Task.ZERO_SHOT: zste.plan_labels(borne, every, groups, settings, layout.several),
            Task.ZSTE: t1,
        },
        {"files of other folds": other},
    )


PROBE_TEXTS: Final = ("id", "caption", "text", "connective")
PROBE_COLUMNS: Final = (*PROBE_TEXTS, "outcome", "reason")
TOOL: Final = b"tool"
MADE: Final = "made"
_CUT_AGAIN: Final = "cut the set again; `--id-column` names the column of audio files"
_MEND: Final = "give the Parquet file that `segue text probe pte|bat|as-then-set` wrote"

Planner = Callable[[list[ProbedSentence], BenchSettings], TaskPlan | TaskRefusal]
_TASKS: Final[Mapping[Task, tuple[frozenset[str], Planner]]] = {
    Task.PTE: (frozenset({Probe.PTE, Probe.CLAUSE_SWAP}), recall.plan_pte),
    Task.BAT: (frozenset({Probe.BAT, Probe.BEFORE_AFTER}), recall.plan_bat),
    Task.AS_THEN: (frozenset({Probe.AS_THEN_SET, Probe.AS_THEN}), recall.plan_as_then),
}


def probes_benchmark(table: Path, audio: Path, settings: BenchSettings = DEFAULTS) -> Benchmark:
    """A set that `segue text probe` cut: PTe, BAT or as/then, as the file itself says.

    Captions that were left out of the set are counted, by the reason that the file gives.

    Args:
        audio: Folder of the audio files, named as the set's `id` column says, with or without
            ending; cut the set with `--id-column` naming the column of files.
    """
    files = Files(audio, table)
    tool = _read_tool(table)
    sentences: list[ProbedSentence] = []
    left_out: Counter[str] = Counter()
    with _refuse_as_corpus():
        for number, row in enumerate(read_rows(table, Columns(PROBE_COLUMNS, _MEND)), start=1):
            if row["outcome"] != MADE:
                left_out[f"captions left out: {row['reason']}"] += 1
                continue
            _refuse_empty(table, number, row, PROBE_TEXTS, _CUT_AGAIN)
            sound = files.number(row["id"], number)
            sentences.append(ProbedSentence(sound, *(row[name] for name in PROBE_TEXTS[1:])))
    if not sentences:
        raise CorpusError(f"{table}: no sentence was made", fix="cut the set from other captions")
    return Benchmark(
        DataKind.PROBES,
        str(table),
        {"set": str(table), "probe": tool, "sentences": str(len(sentences))},
        files.sounds(),
        settings,
        {
            task: planner(sentences, settings)
            if tool in tools
            else TaskRefusal(f"the set was made by `segue text probe {tool}`")
            for task, (tools, planner) in _TASKS.items()
        },
        dict(sorted(left_out.items())),
    )


def _read_tool(table: Path) -> str:
    """The probe that a set was cut by."""
    if not table.is_file():
        raise CorpusError(f"{table}: no such file", fix=_MEND)
    try:
        schema = pq.read_schema(table)
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None):  # of the system, not about the file
            raise
        raise CorpusError(f"{table}: is not a Parquet file", fix=_MEND) from error
    metadata: Mapping[bytes, bytes] = schema.metadata or {}
    if TOOL not in metadata:
        raise CorpusError(f"{table}: does not say which probe made it", fix=_MEND)
    if others := [
        column.name
        for column in schema
        if column.name in PROBE_COLUMNS and not pa.types.is_string(column.type)
    ]:
        raise CorpusError(f"{table}: no texts in column {', '.join(others)}", fix=_MEND)
    return metadata[TOOL].decode()
