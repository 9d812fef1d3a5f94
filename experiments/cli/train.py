"""`segue train`, also on a table of sounds and captions, whose corpus is built first."""

from __future__ import annotations

import csv
import os
import sys
from functools import wraps
from pathlib import Path
from typing import Any, Final

from synth.base.atomic import replacing
from synth.base.choice import check_values
from synth.base.command import CommandResult
from synth.base.errors import SourceError, SpecError
from synth.base.progress import Observer
from train.cli.show import require_hub
from train.cli.train import check_clap
from train.cli.train import train_command as train_on_corpus

SOUNDS: Final = ("path", "file_name", "filename", "file", "audio", "filepath", "file_path")
TEXTS: Final = ("captions", "text", "sentence", "description")
KEPT: Final = ("split", "recording", "licence", "attribution")
LEAST_SHARED: Final = 50
"""Of fewer recordings a tenth may be none."""
_FIX: Final = "name the sounds' column path or file_name, the captions' caption or text"


@wraps(train_on_corpus)
def train_command(
    corpus: Path,
    *,
    clap: str | None = None,
    config: Path | None = None,
    out: Path | None = None,
    observer: Observer,
    **options: Any,
) -> CommandResult | None:
    """Train a CLAP model on a corpus, or fine-tune one on a CSV of sounds and captions."""
    if corpus.suffix in (".csv", ".tsv"):
        corpus = build_pairs(corpus, clap, config, out, observer)
    return train_on_corpus(corpus, clap=clap, config=config, out=out, observer=observer, **options)


def build_pairs(
    table: Path, clap: str | None, config: Path | None, out: Path | None, observer: Observer
) -> Path:
    """The corpus of a table as a CLAP takes it, beside the run; what is there is kept."""
    if clap is None or os.environ.get("WORLD_SIZE", "1") != "1":
        raise SpecError(
            f"{table}: a table is for one process that fine-tunes a CLAP",
            fix="give --clap MODEL; for torchrun, give the corpus that this builds",
        )
    check_clap(clap, config)
    from pipelines.cli.make.build import choose_worker_count, run_build
    from pipelines.config.spec import Spec, make_corpus_name

    name = make_corpus_name(table.stem)
    folder = Path(f"{out or Path('runs') / name}-pairs")
    root, splits = write_index(table, folder / "index.csv")
    require_hub(clap)
    from train.model.clap import ModelLibrary

    clap_input = ModelLibrary().clap_input(clap)
    values = {
        "corpus": name,
        "source": {"folder": {"root": str(root), "index": str((folder / "index.csv").resolve())}},
        "recipe": "clips",
        "audio": {
            "sample_rate": clap_input.sample_rate,
            "length": f"exact {clap_input.samples / clap_input.sample_rate:g} s",
        },
        "splits": splits,
    }
    spec = check_values(Spec, values, fix="build a corpus of recipe clips, and train on that")
    summary = run_build(spec, folder, choose_worker_count(None), None, observer)
    corpus = Path(summary.paths["manifests"]).parent
    print(
        f"{table}: {summary.samples:,} sounds, {summary.quarantined:,} left out, "
        f"{summary.excerpts_of_captioned_clips:,} cut to {spec.audio.length.removeprefix('exact ')}"
        f"; corpus {corpus}",
        file=sys.stderr,
    )
    return corpus


def write_index(table: Path, index: Path) -> tuple[Path, dict[str, Any]]:
    """Write a table as the source `folder` reads it; the sounds' folder, and the splits."""
    from pipelines.config.spec import SPLITS
    from synth.sources.own.split_names import split_kind
    from synth.sources.reading.tables import Columns, list_numbered, read_rows

    delimiter = "\t" if table.suffix == ".tsv" else ","
    rows = list(read_rows(table, Columns((), _FIX), delimiter=delimiter))
    header = list(rows[0])
    sound = next((column for column in SOUNDS if column in header), None)
    texts = list_numbered("caption", header) or [column for column in TEXTS if column in header][:1]
    if sound is None or not texts:
        missing = "captions" if sound else "sounds"
        raise SourceError(f"{table}: no column of {missing} among {', '.join(header)}", fix=_FIX)
    splits = [split_kind(row.get("split", "")) for row in rows]
    has_splits = any(row.get("split", "").strip() for row in rows)
    for row, split in zip(rows, splits, strict=True) if has_splits else ():
        if split not in SPLITS:
            raise SourceError(
                f"{table}: the split of {row[sound]} is {row['split']!r}",
                fix=f"write {', '.join(SPLITS)} into every row, or leave the column out",
            )
    places = [Path(os.path.normpath(Path.cwd() / table.parent / row[sound])) for row in rows]
    root = Path(os.path.commonpath([place.parent for place in places]))
    names = {column: column for column in (*texts, *KEPT) if column in header}
    if len(texts) == 1:
        names[texts[0]] = "caption"
    index.parent.mkdir(parents=True, exist_ok=True)
    with replacing(index) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["path", *names.values()])
        for place, row, split in zip(places, rows, splits, strict=True):
            cells = row | {"split": split}
            lines.writerow([place.relative_to(root), *(cells[column] for column in names)])
    if has_splits:
        return root, {split: [split] for split in SPLITS if split in splits}
    recordings = {row.get("recording") or place for place, row in zip(places, rows, strict=True)}
    return root, {"train": 0.9, "val": 0.1} if len(recordings) >= LEAST_SHARED else {"train": 1.0}
