"""`segue eval`."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from synth.base.command import CommandResult, Given, refuse_given
from synth.base.doors import make_console
from synth.base.progress import Observer, show_waiting
from synth.corpus.kinds import PathKind, expect
from train.bench.settings import QUERIES, BenchSettings, Padding, Task, is_corpus
from train.cli.show import VirtualOption, metric_table, quieten_transformers, tell_of_hub
from train.export.files import checkpoint_tokenizer, is_checkpoint

if TYPE_CHECKING:
    from train.bench.evaluate import Evaluation

_TEMPLATES = list(BenchSettings().templates)
_LEFT_OUT: Final = "_left_out"
_OF_MOMENTS: Final = frozenset({"--seed", "--threshold", "--out", "--json"})


def eval_command(
    model: Annotated[
        Path,
        typer.Argument(
            help="A run folder, an exported model, any ClapModel or PE-AV model, a LAION-CLAP "
            "checkpoint (.pt), a CLAP of open_clip (folder, hf-hub:OWNER/NAME or "
            "open_clip:MODEL:CHECKPOINT), or your own module:factory. For moments, JSON lines of "
            "predicted windows, or `prior`.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path,
        typer.Argument(
            help="Manifest folder of a corpus, or a benchmark file: CompA's CSV, a table of "
            "captions (AudioCaps, Clotho, AudioTime), classes (ESC-50, UrbanSound8K, FSD50K, "
            "VGGSound) or questions (TREA), a probe set from `segue text probe`, or queries from "
            "`segue export --to moments`.",
            show_default=False,
        ),
    ],
    task: Annotated[
        list[Task] | None,
        typer.Option(
            help="Task to run, repeatable; by default all that the data allows except localisation."
        ),
    ] = None,
    split: Annotated[str, typer.Option(help="Split of a corpus.")] = "test",
    audio: Annotated[
        Path | None,
        typer.Option(
            help="Audio folder of a benchmark file; by default as published, or its own folder."
        ),
    ] = None,
    fold: Annotated[
        str | None,
        typer.Option(help="Fold or split of a table of classes; by default as published."),
    ] = None,
    file_column: Annotated[
        str | None, typer.Option(help="Column of file names in a table of captions.")
    ] = None,
    caption_column: Annotated[
        list[str] | None, typer.Option(help="Column of a table of captions; repeatable.")
    ] = None,
    every_caption: Annotated[
        bool,
        typer.Option(
            "--every-caption",
            help="Make every caption of a table a query, as in published figures; by default "
            "equal captions are one query.",
        ),
    ] = False,
    template: Annotated[
        list[str] | None,
        typer.Option(help="Zero-shot prompt, with {} for the class; repeatable."),
    ] = None,
    subset_size: Annotated[
        int | None,
        typer.Option(help="Test retrieval in random subsets of this many sounds, not in all."),
    ] = None,
    subsets: Annotated[int, typer.Option(help="Number of subsets.")] = 10,
    prompts: Annotated[
        int, typer.Option(help="Prompts to choose from in ZSTE T4 and T5B.")
    ] = BenchSettings().prompts,
    negation_sample: Annotated[
        int, typer.Option(help="Limit of samples in the negation tasks.")
    ] = BenchSettings().negation_sample or 512,
    seed: Annotated[int, typer.Option(help="Seed of subsets and bootstrap intervals.")] = 0,
    cut: Annotated[
        bool, typer.Option("--cut", help="Cut sounds that are too long for the model.")
    ] = False,
    pad: Annotated[
        Padding,
        typer.Option(
            help="What fills a CLAP's input after a shorter sound: silence (pad), or the "
            "sound again (repeat, or repeatpad as in transformers and LAION)."
        ),
    ] = Padding.PAD,
    fusion: Annotated[
        bool, typer.Option("--fusion", help="With a fused CLAP: hear longer sounds whole.")
    ] = False,
    window: Annotated[
        float | None,
        typer.Option(
            help="Localisation: window length in seconds. By default the model's own frames; "
            "1 s if it has none, or with `--hop`.",
            show_default=False,
        ),
    ] = None,
    hop: Annotated[
        float | None,
        typer.Option(
            help="Localisation: seconds between the starts of windows; by default 0.2.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(help="Moments: a sound is found if a window has a higher score."),
    ] = 0.5,
    virtual: VirtualOption = False,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="Tokenizer of a LAION-CLAP checkpoint, by folder or name; by default the one in "
            "its folder, otherwise RoBERTa's.",
            show_default=False,
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, ...")] = "cpu",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for metrics.json, facts.json, report.md and report.png. By default a "
            "folder in the run, without report.png, for `segue report`.",
            show_default=False,
            file_okay=False,
        ),
    ] = None,
    *,
    given: Given = frozenset(),
    observer: Observer,
) -> CommandResult:
    """Test a model. Every metric has its chance level and a 95 % interval.

    Examples: `segue eval runs/foley data_manifests/foley --split test`,
    `segue eval laion-clap CompA_order.csv --audio CompA_order_files --out results`
    """
    from train.bench.verdicts import explain_metrics, verdicts
    from train.config.run import AudioMode

    if is_moments := data.suffix == QUERIES:
        refuse_given(given, given - _OF_MOMENTS, "counts for nothing beside predicted windows")
    elif is_corpus(data):
        refuse_given(given, {"--threshold"}, "a corpus is no file of queries for moments")
    else:
        of_others = {"--split", "--virtual", "--threshold"}
        refuse_given(given, of_others, f"{data.name} is no corpus, nor a file of queries")
    quieten_transformers()
    expect(data, PathKind.CORPUS, PathKind.OTHER)
    tell_of_hub(checkpoint_tokenizer(model, tokenizer) if is_checkpoint(model) else str(model))
    # Torch takes seconds: it is loaded once the options are known to be right.
    with show_waiting("loading torch"):
        from train.bench.evaluate import assess, open_benchmark
        from train.bench.moments import ABSENT_FACT, score_moments
        from train.bench.opening import open_embedder
        from train.bench.plan import add_heard_fact, heard_warning
        from train.bench.report import split_main_metrics, write_report
        from train.engine.log import LOG_FILE

    if is_moments:
        evaluation = score_moments(model, data, threshold, seed)
    else:
        embedder = open_embedder(model, device, tokenizer)
        settings = BenchSettings(
            seed=seed,
            subset_size=subset_size,
            subsets=subsets,
            negation_sample=negation_sample,
            prompts=prompts,
            templates=tuple(template or _TEMPLATES),
            every_caption=every_caption,
            cut=cut,
            padding=pad,
            fusion=fusion,
            window_s=window,
            hop_s=hop,
        )
        benchmark = open_benchmark(
            data,
            audio,
            split=split,
            mode=AudioMode.VIRTUAL if virtual else AudioMode.SHARDS,
            settings=settings,
            sample_rate=embedder.sample_rate,
            file_column=file_column,
            caption_columns=caption_column or (),
            fold=fold,
        )
        benchmark = add_heard_fact(benchmark, model)
        evaluation = assess(
            embedder, benchmark, task, str(model), observer, embedder.digest, baselines=True
        )
    # A model that is no run, or somebody else's run, gets no folder that was not asked for.
    is_ours = (model / LOG_FILE).is_file() and os.access(model, os.W_OK)
    folder = out or (model / _name_folder(data, evaluation.facts) if is_ours else None)
    files = write_report(evaluation, folder, plot=folder == out) if folder is not None else {}
    for warning in (heard_warning(evaluation.facts), evaluation.facts.get(ABSENT_FACT)):
        if warning:
            print(warning, file=sys.stderr)

    def show() -> None:
        console = make_console()
        for line in verdicts(evaluation.metrics):
            console.print(line, markup=False)
        main, others = split_main_metrics(evaluation.metrics)
        console.print(metric_table(f"{model} on {data}", main), soft_wrap=False)
        for name, line in explain_metrics(main).items():
            console.print(f"{name}: {line}", markup=False)
        if others:
            console.print(metric_table("Other tests", others), soft_wrap=False)
            console.print("definitions: report.md of the results, or docs/reference/metrics.md")
        for reason, count in evaluation.left_out.items():
            console.print(f"left out: {count:,} ({reason})", markup=False)
        for path in files.values():
            console.print(str(path), markup=False)
        if folder is None:
            console.print("next: repeat with --out FOLDER to save and plot these figures")
        elif folder.parent == model:
            console.print(f"next: {shlex.join(['segue', 'report', str(model)])}", markup=False)

    return CommandResult(result_json(evaluation), show)


def _name_folder(data: Path, facts: Mapping[str, str]) -> str:
    """Of the results on some data: `eval-triplets-test`, `eval-AudioCaps-test.csv`."""
    part = facts.get("split") or facts.get("fold")
    place = data.resolve()
    folder = [] if is_corpus(data) else [place.parent.name]  # tables of many have one name
    return "-".join(["eval", *folder, place.name, *([part] if part else [])])


def result_json(evaluation: Evaluation) -> dict[str, dict[str, Any]]:
    """The metrics by name; where anything was passed over, its counts under `_left_out`."""
    metrics: dict[str, dict[str, Any]]
    metrics = {name: metric.to_json() for name, metric in evaluation.metrics.items()}
    return metrics | ({_LEFT_OUT: dict(evaluation.left_out)} if evaluation.left_out else {})
