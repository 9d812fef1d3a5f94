"""CompA's files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from synth.base.errors import CorpusError
from train.bench.plan import Benchmark, DataKind
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import Files
from train.bench.tables import header, rows
from train.bench.tasks.compa import Instance, plan_compa

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
