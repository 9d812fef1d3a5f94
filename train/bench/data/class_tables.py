"""Labelled audio as its publishers lay it out: zero-shot classification, and ZSTE T1."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synth.base.errors import CorpusError, SpecError
from train.bench.plan import Benchmark, DataKind, TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import Files
from train.bench.tables import header, rows, unnamed_rows
from train.bench.tasks import zero_shot, zste
from train.data.split import number_keys

_VIDEO: Final = ".mp4"


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How a table of labelled audio is laid out.

    Args:
        name: Of the data set that is published so.
        file: Path of a file below the folder of audio, by columns in braces.
        label: Column of the label.
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
    fold: str = "fold"
    recording: str = ""
    several: bool = False
    audio: str = "../audio"
    unnamed: re.Pattern[str] | None = None
    tested: str = ""

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
        """The rows of a table and their numbers.

        Args:
            by_fold: Whether folds are needed.
        """
        if self.unnamed is not None:
            return unnamed_rows(table, self.columns, f"give {self.name}'s own table")
        needed = {*self.columns, self.fold} if by_fold else self.columns
        return rows(table, tuple(needed), f"give a table as {self.name} has it")

    def labels(self, row: Mapping[str, str]) -> list[str]:
        """The labels of a row."""
        cell = row[self.label]
        parts = cell.split(",") if self.several else [cell]
        return [part.strip() for part in parts if part.strip()]


LAYOUTS: Final = (
    TableLayout(
        name="UrbanSound8K",
        file="fold{fold}/{slice_file_name}",
        label="class",
        columns=("slice_file_name", "fold", "class"),
        recording="fsID",
    ),
    TableLayout(
        name="FSD50K",
        file="{fname}",
        label="labels",
        columns=("fname", "labels"),
        fold="split",
        several=True,
        audio="../FSD50K.{}_audio",
    ),
    TableLayout(
        name="VGGSound",
        file="{id}_{start:0>6}",
        label="label",
        columns=("id", "start", "label", "split"),
        fold="split",
        recording="id",
        unnamed=re.compile(r"[\w-]+,\d+,.+,(train|test)"),
        tested="test",
    ),
    TableLayout(
        name="VGGSound's test.csv",
        file="{video}",
        label="label",
        columns=("video", "label"),
        fold="",
        unnamed=re.compile(r"[\w-]+_\d{6}\.mp4,.+"),
    ),
    TableLayout(
        name="ESC-50",
        file="{filename}",
        label="category",
        columns=("filename", "category"),
        recording="src_file",
    ),
)
"""ESC-50's is also the one for tables of one's own."""


def find_layout(table: Path) -> TableLayout | None:
    """The layout of a table of labelled audio; None where it is no such table."""
    first = header(table)
    return next((layout for layout in LAYOUTS if layout.fits(first)), None)


def classes_benchmark(
    table: Path,
    audio: Path | None = None,
    settings: BenchSettings | None = None,
    fold: str | None = None,
) -> Benchmark:
    """Labelled audio in one of the `LAYOUTS`.

    Clips of one recording are drawn together in the bootstrap.

    Args:
        audio: Folder that the files are in; by default the layout's own, or the table's.
        fold: Test on this fold or split alone; by default on what published figures are of. The
            classes are those of the whole table.
    """
    layout = find_layout(table) or LAYOUTS[-1]
    chosen, tested = settings or BenchSettings(), fold or layout.tested
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
    groups = number_keys(recordings).numpy()
    t1: TaskPlan | TaskRefusal = TaskRefusal("a sound bears several labels")
    if not layout.several:
        single = [(sound, label) for sound, (label,) in enumerate(borne)]
        t1 = zste.plan_singles(single, every, groups, chosen)
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
        chosen,
        {
            Task.ZERO_SHOT: zero_shot.plan_labels(borne, every, groups, chosen, layout.several),
            Task.ZSTE: t1,
        },
        {"files of other folds": other} if other else {},
    )
