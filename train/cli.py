"""`segue train` and `segue eval`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from synth.corpus import Corpus
from train.config import HeadKind, Mode, TrainConfig, parse_config, read_settings
from train.data import VAL
from train.engine import TrainResult, train
from train.evaluate import evaluate
from train.metrics import Metric
from train.presets import default
from train.progress import Progress, Silent

_INTERRUPTED = 130

CorpusArgument = Annotated[
    Path,
    typer.Argument(
        help="Manifest folder: data_manifests/CORPUS (the latest build) or a version below it.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="End with one line of JSON, and print nothing else.")
]
VirtualOption = Annotated[
    bool, typer.Option("--virtual", help="Render from plan and bank instead of reading shards.")
]


def train_command(
    corpus: CorpusArgument,
    config: Annotated[
        Path | None, typer.Option(help="Settings, a YAML file; without it, the demo's, fitted.")
    ] = None,
    head: Annotated[HeadKind | None, typer.Option(help="How tokens become an embedding.")] = None,
    virtual: VirtualOption = False,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Shorten or lengthen all stages to this many steps.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the run.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; by default runs/CORPUS-HEAD.", file_okay=False)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the run's last checkpoint.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin anew where the folder holds a run.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Train a CLAP model on a corpus.

    Example: `segue train data_manifests/foley --head transformer --out runs/foley`
    """
    settings = make_config(corpus, config, head, virtual, steps, seed, out)
    with progress_bars(quiet=as_json) as progress:
        result = train(settings, progress, resume=resume, overwrite=overwrite)
    if as_json:
        print(json.dumps(result_json(result, settings)))
    else:
        _print_result(result, corpus)
    if not result.finished:
        raise typer.Exit(_INTERRUPTED)


def eval_command(
    run: Annotated[Path, typer.Argument(help="Run folder of a trained model.", show_default=False)],
    corpus: CorpusArgument,
    split: Annotated[str, typer.Option(help="The split to test on.")] = "test",
    virtual: VirtualOption = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    as_json: JsonOption = False,
) -> None:
    """Test a trained model: before/after test, triplets, retrieval, each with its chance level.

    Example: `segue eval runs/foley data_manifests/foley --split test`
    """
    mode = Mode.VIRTUAL if virtual else Mode.SHARDS
    metrics = evaluate(run, corpus, split, mode=mode, device=device)
    if as_json:
        print(json.dumps({name: metric.to_json() for name, metric in metrics.items()}))
    else:
        Console(highlight=False).print(metric_table(f"{run} on {split}", metrics))


def make_config(
    corpus: Path,
    file: Path | None,
    head: HeadKind | None,
    virtual: bool,
    steps: int | None,
    seed: int | None,
    out: Path | None,
) -> TrainConfig:
    """The settings of a run: those of the file, or of the demo, and the options over them.

    Raises:
        SpecError: If they are wrong.
        CorpusError: If there is no file and no corpus to choose them by.
    """
    chosen = (head or HeadKind.TRANSFORMER).value
    folder = out or Path("runs") / f"{corpus.resolve().name}-{chosen}"
    values: dict[str, Any]
    if file is None:
        values = default(corpus, folder).model_dump(mode="json")
    else:
        values = {"out": str(folder)} | read_settings(file)
    values["corpus"] = str(corpus)
    if out is not None:
        values["out"] = str(out)
    if virtual:
        values["mode"] = Mode.VIRTUAL.value
    if seed is not None:
        values["seed"] = seed
    config = parse_config(values, str(file) if file else "options")
    if head is not None:
        heads = config.model.head.model_copy(update={"kind": head})
        model = config.model.model_copy(update={"head": heads})
        config = config.model_copy(update={"model": model})
    return config.with_steps(steps) if steps is not None else config


def result_json(result: TrainResult, config: TrainConfig) -> dict[str, dict[str, Any]]:
    """How a run ended, in the JSON shape of metrics, null where a field has no meaning.

    `loss` is that of the last step in nats, `n` its largest batch and chance ln(batch): what equal
    similarities give among the captions of a full batch alone (hard negatives add to it). A
    finished run on a corpus with a split `val` adds what `evaluate` finds there, as `val_*`.
    """
    found = {
        "loss": _fact(result.loss, math.log(config.batch), config.batch),
        "samples_per_s": _fact(round(result.samples_per_s, 1)),
        "data_wait": _fact(round(result.data_wait, 4)),
        "step": _fact(result.step),
        "best_step": _fact(result.best_step),
    }
    if result.finished and VAL in Corpus.open(config.corpus).splits:
        metrics = evaluate(
            result.folder, config.corpus, VAL, mode=config.mode, device=config.device
        )
        found |= {f"{VAL}_{name}": metric.to_json() for name, metric in metrics.items()}
    return found


def _fact(value: float, chance: float | None = None, n: int | None = None) -> dict[str, Any]:
    """A plain number in the shape of a metric."""
    shown = None if math.isnan(value) else value
    return {"value": shown, "low": None, "high": None, "chance": chance, "n": n}


def metric_table(title: str, metrics: Mapping[str, Metric]) -> Table:
    """Metrics as a table for the terminal; shares in percent."""
    table = Table(title=title)
    table.add_column("metric")
    for name in ("value", "95 % interval", "chance", "n"):
        table.add_column(name, justify="right")
    for name, metric in metrics.items():
        say = _rank if name.endswith("median_rank") else _percent
        interval = f"{say(metric.low)} to {say(metric.high)}"
        table.add_row(name, say(metric.value), interval, say(metric.chance), f"{metric.n:,}")
    return table


@contextmanager
def progress_bars(quiet: bool = False) -> Iterator[Progress]:
    """Progress bars on the terminal; nothing where there is none."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield Silent()
        return
    columns = (
        TextColumn("{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Bars(*columns, console=console) as bars:
        yield _BarProgress(bars)


class _BarProgress:
    """One bar a phase."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=None, visible=False, note="")

    def phase(self, name: str, total: int, done: int = 0) -> None:
        self._task = self._bars.add_task(name, total=total, completed=done, note="")

    def advance(self, done: int, note: str = "") -> None:
        self._bars.update(self._task, completed=done, note=note)


def _print_result(result: TrainResult, corpus: Path) -> None:
    console = Console(soft_wrap=True, highlight=False)
    if not result.finished:
        console.print(f"stopped after step {result.step:,}, checkpoint written")
        console.print(f"to go on: {_again()}")
        return
    console.print(
        f"{result.step:,} steps, {result.samples_per_s:.0f} samples/s, "
        f"data wait {result.data_wait:.0%}; weights of step {result.best_step:,} kept"
    )
    console.print(f"model  {result.folder}")
    console.print(f"next: segue eval {result.folder} {corpus}")


def _again() -> str:
    """The command that was given, with --resume."""
    given = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
    return " ".join(["segue", *given, "--resume"])


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _rank(value: float) -> str:
    return f"{value:.1f}"
