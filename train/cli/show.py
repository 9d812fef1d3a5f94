"""What the commands show on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from train.export.files import is_hub_name

if TYPE_CHECKING:
    from train.bench.metrics import Metric


def metric_table(title: str, metrics: Mapping[str, Metric]) -> Table:
    """Metrics as a table for the terminal, 80 columns wide; shares in percent."""
    from train.bench.verdicts import format_cells, format_whole, list_columns

    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", overflow="fold")
    columns = list_columns(metrics.values()) | {"value": "value (95 % interval)"}
    del columns["interval"]
    for title in columns.values():
        table.add_column(title.replace(" a", "\na"), justify="right")
    for name, metric in metrics.items():
        cells = format_cells(name, metric) | {"value": format_whole(name, metric)}
        table.add_row(name, *(cells[key] for key in columns))
    return table


def tell_of_hub(model: str) -> None:
    """Say that a model is asked for at huggingface.co, before it is."""
    if is_hub_name(Path(model)):
        print(
            f"{model}: no such folder here, so it is looked up on huggingface.co "
            "(HF_HUB_OFFLINE=1 uses downloaded models only)",
            file=sys.stderr,
        )


def quieten_transformers() -> None:
    """Leave the terminal to us: no bars of transformers over loading and saving.

    It is not imported for that, which takes half a second: few models are of it.
    """
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"  # read when it is imported
    if "huggingface_hub" in sys.modules:
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()


CorpusArgument = Annotated[
    Path,
    typer.Argument(
        help="Manifest folder or its URL: data_manifests/CORPUS (the latest build) or one "
        "of its versions.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print progress as JSON lines; the last is the summary.")
]
VirtualOption = Annotated[
    bool,
    typer.Option("--virtual", help="Render audio from plan and bank instead of reading shards."),
]
