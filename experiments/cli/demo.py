"""`segue demo`: from single sounds to a corpus to two trained and tested models."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

from pipelines.cli.common.options import PrefectOption, WorkersOption
from pipelines.cli.common.show import print_next, say
from pipelines.cli.make.build import choose_worker_count, print_summary, run_build
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.errors import SpecError
from synth.base.progress import Observer
from train.config.model import HeadKind

if TYPE_CHECKING:
    from pipelines.config.spec import Spec
    from train.bench.metrics import Metric

# Groups to train on and to test on, over however many classes the source has.
TRAIN_GROUPS: Final = 720
TEST_GROUPS: Final = 360
QUICK_STEPS: Final = 40
_TEST: Final = "test"
HEADLINES: Final = ("bat", "triplets", "audio_to_text_r1", "text_to_audio_r1")
HEADS: Final = {"Transformer head": HeadKind.TRANSFORMER, "mean-pool head": HeadKind.MLP}


def demo_command(
    source: Annotated[str | None, typer.Option(metavar="NAME:PATH")] = None,
    test_folds: str = "5",
    out: Annotated[Path, typer.Option(file_okay=False)] = Path("out/demo"),
    workers: WorkersOption = None,
    prefect: PrefectOption = None,
    quick: bool = False,
    *,
    observer: Observer,
) -> CommandResult:
    """Build a corpus, train two CLAP models on it, and test them on unheard recordings.

    The Transformer head learns the order of sounds; the mean-pool head cannot.

    Example: `segue demo --source esc10:/data/ESC-10 --test-folds 4`

    Args:
        source: Use these sounds, as NAME:PATH, not the embedded ones. They need folds.
        test_folds: Comma-separated folds to keep out of training.
        out: Output folder.
        quick: Train few steps: enough to see it run, too few to learn.
    """
    from pipelines.look.inspection import rebuild
    from synth.corpus.corpus import Corpus
    from train.bench.verdicts import format_whole

    started = time.monotonic()
    spec = make_demo_spec(source, test_folds)
    summary = run_build(spec, out, choose_worker_count(workers), prefect, observer)
    folder = Path(summary.paths["manifests"])
    steps = QUICK_STEPS if quick else None
    metrics = {
        name: _train_and_test(folder, out / "runs", head, steps, observer)
        for name, head in HEADS.items()
    }
    corpus = Corpus.open(folder)
    rows: list[dict[str, Any]] = corpus.samples("test").to_pylist()
    members = [row for row in rows if row["group"] == rows[0]["group"]]
    wavs = {row["caption"]: rebuild(corpus, row, out / "wavs") for row in members}
    seconds = round(time.monotonic() - started, 1)

    def show() -> None:
        print_summary(summary)
        table = Table("never heard in training", *metrics, "chance", "n")
        for key, first in next(iter(metrics.values())).items():
            if key not in HEADLINES:
                continue
            shown = (format_whole(key, figures[key]) for figures in metrics.values())
            table.add_row(key, *shown, f"{100 * first.chance:.1f} %", f"{first.n:,}")
        make_console().print(table)
        if quick:
            say(f"trained for {QUICK_STEPS} steps, too few to learn order: run it without --quick")
        say("listen:")
        for caption, path in wavs.items():
            say(f"  {path}  {caption}")
        say(f"{seconds:.0f} s in all")
        print_next("segue", "inspect", folder)

    facts = {
        "bat": {HEADS[name].value: figures["bat"].value for name, figures in metrics.items()},
        "metrics": {
            HEADS[name].value: {key: metric.to_json() for key, metric in figures.items()}
            for name, figures in metrics.items()
        },
        "seconds": seconds,
        "corpus": str(folder),
        "wavs": [str(path) for path in wavs.values()],
    }
    return CommandResult(facts, show)


def make_demo_spec(source: str | None, test_folds: str) -> Spec:
    """The demo's spec, over another source and other folds where they are given."""
    import yaml

    from pipelines.config.spec import Spec
    from synth.base.choice import check_values

    shipped = files("pipelines").joinpath("config/shipped/demo.yaml")
    values = yaml.safe_load(shipped.read_text("utf-8"))
    if source is not None:
        from experiments.harness.library import SoundLibrary  # it imports torch

        library = SoundLibrary.parse(source)
        values |= {"source": library.source, "corpus": f"demo-{library.name}"}
    refs = list(check_values(Spec, values, fix="give --source NAME:PATH").make_source().refs())
    folds = sorted({ref.split for ref in refs})
    test = [fold.strip() for fold in test_folds.split(",")]
    train = [fold for fold in folds if fold not in test]
    if not set(test) <= set(folds) or not train:
        raise SpecError(
            f"--test-folds {test_folds}: expected some of the folds {', '.join(folds)}",
            fix="give folds of the source, and leave some for training",
        )
    pairs = len({ref.labels for ref in refs}) * (len({ref.labels for ref in refs}) - 1)
    values["splits"] = {"train": train, "test": test}
    values["recipe"]["triplets"]["repeats"] = {
        "train": max(1, TRAIN_GROUPS // max(1, pairs)),
        "test": max(1, TEST_GROUPS // max(1, pairs)),
    }
    return check_values(Spec, values, fix="give --source NAME:PATH")


def _train_and_test(
    corpus: Path, runs: Path, head: HeadKind, steps: int | None, observer: Observer
) -> Mapping[str, Metric]:
    from synth.base.rng import digest
    from train.bench.corpus import corpus_benchmark
    from train.bench.evaluate import assess
    from train.bench.opening import open_embedder
    from train.bench.report import write_report
    from train.config.run import AudioMode
    from train.engine.loop import train
    from train.engine.presets import demo

    config = demo(corpus, runs, head)
    if steps is not None:
        config = config.scale_steps(steps)
    settings = digest(config.model_dump_json())[:8]
    folder = runs / f"{corpus.parent.name}-{head.value}-{settings}"
    result = train(config.model_copy(update={"out": folder}), observer, resume=folder.is_dir())
    if not result.finished:
        signal.raise_signal(signal.SIGINT)  # it was meant for the demo, not for this run alone
    embedder = open_embedder(folder, "cpu")
    benchmark = corpus_benchmark(corpus, _TEST, AudioMode.SHARDS, sample_rate=embedder.sample_rate)
    evaluation = assess(embedder, benchmark, None, str(folder), observer, embedder.digest)
    write_report(evaluation, folder / f"eval-{corpus.parent.name}-{_TEST}", plot=False)
    return evaluation.metrics
