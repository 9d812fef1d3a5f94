"""What the commands show on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from synth.base.errors import SpecError, first_line
from train.export.files import is_hub_name

_HUB_TIMEOUT_S: Final = 10

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
        table.add_column(title.replace(" a", "\na"), justify="right")  # text alone, trivial audio
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
    require_hub(model)


def require_hub(model: str) -> None:
    """Check that huggingface.co can be reached where a model is there alone, in seconds."""
    if not is_hub_name(Path(model)):
        return
    from huggingface_hub import constants, get_session, try_to_load_from_cache

    if constants.HF_HUB_OFFLINE or isinstance(try_to_load_from_cache(model, "config.json"), str):
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=_HUB_TIMEOUT_S)
    except Exception as error:  # of whichever library it asks through
        host = constants.ENDPOINT.removeprefix("https://")
        raise SpecError(
            f"{model}: {host} cannot be reached: {first_line(error)}",
            fix="give a folder that holds the model, or look at the network",
        ) from error


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
