"""`segue train`."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.errors import SpecError
from synth.base.progress import Observer, show_waiting
from synth.corpus.kinds import PathKind, expect
from synth.storage import format_place
from train.cli.show import (
    CorpusArgument,
    JsonOption,
    VirtualOption,
    quieten_transformers,
    tell_of_hub,
)
from train.config.model import HeadKind
from train.export.files import is_checkpoint, is_hub_name

if TYPE_CHECKING:
    from synth.base.yaml_file import YamlFile
    from train.config.run import TrainConfig
    from train.engine.loop import TrainResult

_INTERRUPTED = 130
_TEST: Final = "test"


def train_command(
    corpus: CorpusArgument,
    config: Annotated[
        Path | None,
        typer.Option(help="YAML file of settings; by default the demo's, fitted to the corpus."),
    ] = None,
    clap: Annotated[
        str | None,
        typer.Option(
            help="Fine-tune this CLAP: a folder, or a name on huggingface.co. Then the corpus may "
            "be a CSV of sounds and captions."
        ),
    ] = None,
    head: Annotated[
        HeadKind | None, typer.Option(help="Head that turns tokens into an embedding.")
    ] = None,
    virtual: VirtualOption = False,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Scale the stages to this many steps in total, at least one per stage (the "
            "demo's settings have 2).",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the run.")] = None,
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, ...; by default as the settings say.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder; by default runs/CORPUS-HEAD.", file_okay=False)
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume from the run's last checkpoint.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Start again if the folder already has a run.")
    ] = False,
    as_json: JsonOption = False,
    *,
    observer: Observer,
) -> CommandResult | None:
    """Train a CLAP model on a corpus, or fine-tune one on a CSV of sounds and captions.

    Use torchrun for several GPUs.

    Examples: `segue train data_manifests/foley --head transformer --out runs/foley`,
    `segue train --clap laion/clap-htsat-unfused my.csv`,
    `torchrun --nproc-per-node 4 --no-python segue train data_manifests/foley --out runs/foley`
    """
    # Torch takes seconds: it is loaded once the options are known to be right.
    expect(corpus, PathKind.CORPUS, PathKind.OTHER)
    if clap is not None:
        check_clap(clap, config)
        tell_of_hub(clap)
    with show_waiting("loading torch"):
        from train.engine.loop import train
        from train.engine.ranks import is_leader
        from train.engine.run_folder import has_checkpoint

    settings = make_config(corpus, config, clap, head, virtual, steps, seed, out, device)
    if resume and not has_checkpoint(settings.out) and is_leader():
        print(f"no checkpoint in {settings.out}: starting from step 0", file=sys.stderr)
    quieten_transformers()
    result = train(settings, observer, resume=resume, overwrite=overwrite)
    if not is_leader():
        return None
    if result.warning:
        print(result.warning, file=sys.stderr)
    return CommandResult(
        # The metrics of `val` take a while, and are for programs alone.
        result_json(result, settings, observer) if as_json else {},
        partial(_print_result, result, corpus, settings.steps),
        status=0 if result.finished else _INTERRUPTED,
    )


def check_clap(clap: str, file: Path | None) -> None:
    """Check what is named as the CLAP to fine-tune, before anything is opened."""
    if file is not None:
        raise SpecError("--clap and --config both set the model", fix="give one")
    if is_checkpoint(Path(clap)):
        raise SpecError(
            f"--clap {clap}: a checkpoint, which is converted first",
            fix=f"run `segue export {clap} --to transformers --out FOLDER`, then --clap FOLDER",
        )
    if not (Path(clap).is_dir() or is_hub_name(Path(clap))):
        raise SpecError(f"--clap {clap}: no such folder", fix="give one, or OWNER/NAME")


def make_config(
    corpus: Path,
    file: Path | Mapping[str, Any] | None,
    clap: str | None,
    head: HeadKind | None,
    virtual: bool,
    steps: int | None,
    seed: int | None,
    out: Path | None,
    device: str | None = None,
) -> TrainConfig:
    """The settings of a run: those of the file, or of the demo, and the options over them."""
    from train.config.run import AudioMode, parse_config, read_settings
    from train.engine.presets import default, fine_tuning

    chosen = head or (HeadKind.PROJECTION if clap else HeadKind.TRANSFORMER)
    folder = out or Path("runs") / f"{corpus.resolve().name}-{chosen}"
    values: dict[str, Any]
    where: str | YamlFile = "options"
    if clap is not None:
        if Path(clap).is_dir():  # the run is used from other folders, too
            clap = str(Path(clap).resolve())
        values = fine_tuning(corpus, folder, clap, chosen).model_dump(mode="json")
    elif file is None:
        values = default(corpus, folder).model_dump(mode="json")
    else:
        settings, where = (file, "config") if isinstance(file, Mapping) else read_settings(file)
        values = {"out": str(folder), **settings}
    values["corpus"] = str(corpus)
    if out is not None:
        values["out"] = str(out)
    if virtual:
        values["mode"] = AudioMode.VIRTUAL.value
    if seed is not None:
        values["seed"] = seed
    if device is not None:
        values["device"] = device
    config = parse_config(values, where)
    if head is not None and clap is None:
        heads = config.model.head.model_copy(update={"kind": head})
        model = config.model.model_copy(update={"head": heads})
        config = config.model_copy(update={"model": model})
    return config.scale_steps(steps) if steps is not None else config


def result_json(
    result: TrainResult, config: TrainConfig, observer: Observer
) -> dict[str, dict[str, Any]]:
    """How a run ended, in the JSON shape of metrics, null where a field has no meaning.

    `loss` is that of the last step in nats, `n` its largest batch and chance ln(batch): what equal
    similarities give among the captions of a full batch alone (hard negatives and the frame-wise
    loss add to it). A finished run on a corpus with a split `val` adds what `evaluate` finds there,
    as `val_*`.
    """
    from synth.corpus.corpus import Corpus
    from train.bench.evaluate import evaluate
    from train.data.split import VAL

    facts = {
        "loss": _fact(result.loss, math.log(config.batch), config.batch),
        "samples_per_s": _fact(round(result.samples_per_s, 1)),
        "data_wait": _fact(round(result.data_wait, 4)),
        "step": _fact(result.step),
        "best_step": _fact(result.best_step),
        "texts_cut": _fact(result.cut.cut, n=result.cut.texts),
    }
    if result.finished and VAL in Corpus.open(config.corpus).splits:
        metrics = evaluate(
            result.folder,
            config.corpus,
            VAL,
            mode=config.mode,
            device=config.device,
            observer=observer,
        )
        facts |= {f"{VAL}_{name}": metric.to_json() for name, metric in metrics.items()}
    return facts


def _fact(value: float, chance: float | None = None, n: int | None = None) -> dict[str, Any]:
    """A plain number in the shape of a metric."""
    shown = None if math.isnan(value) else value
    return {"value": shown, "low": None, "high": None, "chance": chance, "n": n}


def _print_result(result: TrainResult, corpus: Path, steps: int) -> None:
    from synth.corpus.corpus import Corpus
    from train.data.split import VAL

    console = make_console()
    splits = Corpus.open(corpus).splits
    if not result.finished:
        console.print(f"stopped after step {result.step:,}, checkpoint written")
        console.print(f"to resume: {_format_resume_command()}")
        return
    console.print(
        f"{result.step:,} steps, {result.samples_per_s:.0f} samples/s, "
        f"data wait {result.data_wait:.0%}"
        if result.samples_per_s
        else f"{result.step:,} steps were already done: nothing to do"
    )
    if result.step < steps:
        console.print(f"stopped early: validation did not improve after step {result.best_step:,}")
    if result.best_loss is not None:
        console.print(f"weights of step {result.best_step:,} kept, val_loss {result.best_loss:.3f}")
    elif VAL in splits:
        console.print(f"split {VAL} has too few usable samples: the last weights are kept")
    else:
        console.print(f"no split {VAL}: the last weights are kept")
    if result.cut.cut:
        console.print(str(result.cut))
    console.print(f"model  {result.folder}", markup=False)
    words = ["segue", "eval", str(result.folder), format_place(corpus)]
    if _TEST not in splits:  # what `segue eval` takes by itself
        words += ["--split", splits[-1]]
    console.print(f"next: {shlex.join(words)}", markup=False)


def _format_resume_command() -> str:
    """The command that was given, with --resume."""
    words = [word for word in sys.argv[1:] if word not in ("--resume", "--overwrite")]
    command = shlex.join(["segue", *words, "--resume"])
    ranks = os.environ.get("WORLD_SIZE", "1")
    return command if ranks == "1" else f"torchrun --nproc-per-node {ranks} --no-python {command}"
