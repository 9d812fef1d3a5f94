"""`segue export`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pipelines.cli.common.options import WorkersOption
from pipelines.cli.common.show import say
from synth.base.command import CommandResult, Given, refuse_given
from synth.base.doors import make_console
from synth.base.errors import SpecError, suggestion
from synth.base.progress import Observer
from synth.corpus.kinds import PathKind, expect
from synth.export import FORMATS, find_format

if TYPE_CHECKING:
    from pipelines.export import ExportSummary
    from synth.corpus.corpus import Corpus

MODEL_FORMATS: Final = {
    "transformers": "a trained model with the towers of a CLAP, for ClapModel",
    "safetensors": "any trained model with all that opens it, for load_exported and segue eval",
    "onnx": "a trained model as two graphs from waveform and from text, for onnxruntime",
}
MODEL_EXPORT: Final = "train.cli.export:export_command"
_COUNTED: Final = {
    "left out": "left out, as no other recording gives another answer",
    "uncertain": "queries left out, as not all listeners agree when the sound is heard",
}
"""What is counted of an export, in words."""
_OF_MODELS: Final = ", ".join(MODEL_FORMATS)
_HELP: Final = "; ".join(
    f"{name}: {about}"
    for name, about in [
        *((name, about) for name, (_, about) in FORMATS.items()),
        *MODEL_FORMATS.items(),
    ]
)


def export_command(
    path: Path,
    to: Annotated[str, typer.Option(help=f"The format. {_HELP}.")],
    out: Annotated[Path, typer.Option(file_okay=False)],
    split: list[str] | None = None,
    allow_long: bool = False,
    absolute: bool = False,
    workers: WorkersOption = None,
    *,
    given: Given = frozenset(),
    observer: Observer,
) -> CommandResult:
    """Export a corpus to another program's format, or a trained model to a folder.

    Repeating the command resumes an interrupted export of a corpus. A model's folder appears whole
    or not at all.

    Examples: `segue export data_manifests/acba --to hf --out exported/acba`,
    `segue export runs/acba --to onnx --out exported/model`

    Args:
        path: A corpus: data_manifests/CORPUS or one of its versions. For transformers, safetensors
            and onnx: the run folder of a trained model. For transformers also a LAION-CLAP
            checkpoint (.pt).
        out: A new or empty folder, or the folder of the same export.
        split: Export only this split; repeatable.
        allow_long: With `laion`: also write samples over 10 s, which LAION-CLAP's readers cut.
        absolute: With `audiocraft`: write absolute paths, so that it may be started anywhere.
    """
    from synth.corpus.corpus import Corpus

    if to in MODEL_FORMATS:
        useless = {"--split", "--workers", "--allow-long", "--absolute"}
        refuse_given(given, useless, f"--to {to} exports a model, which has no splits and workers")
        return _export_model(path, out, to, observer)
    if to not in FORMATS:
        raise SpecError(
            f"--to {to}: no such format", fix=suggestion(to, (*FORMATS, *MODEL_FORMATS))
        )
    fix = f"give --to {_OF_MODELS}, or a corpus: data_manifests/CORPUS"
    expect(path, PathKind.CORPUS, PathKind.OTHER, fix=fix)
    # A model's way does not wait for what builds corpora.
    from pipelines.cli.make.build import choose_worker_count
    from pipelines.export import export_corpus

    corpus = Corpus.open(path)
    summary = export_corpus(
        corpus,
        to,
        out,
        tuple(split or ()),
        choose_worker_count(workers),
        observer,
        allow_long,
        absolute,
    )
    return CommandResult(summary.to_json(), partial(_print, corpus, summary))


def _print(corpus: Corpus, summary: ExportSummary) -> None:
    console = make_console()
    console.print(
        f"[bold]{corpus.name}[/] {corpus.version} as {summary.format}: {summary.samples:,} samples "
        f"in {summary.parts:,} parts"
    )
    say(
        f"{summary.written:,} parts written, {summary.skipped:,} already there, "
        f"{summary.seconds:.1f} s"
    )
    if summary.counts:
        counts = summary.counts.items()
        lines = (f"{_COUNTED.get(name, name)}: {count:,}" for name, count in counts)
        console.print(", ".join(lines), markup=False)
    say(f"export  {summary.paths['export']}")
    if needs := find_format(summary.format).needs:
        say(f"note: {needs}")
    say(f"next: read {summary.paths['readme']}")


def _export_model(run: Path, out: Path, to: str, observer: Observer) -> CommandResult:
    """The trained model's way, whose package is imported only here."""
    fix = f"give --to {', '.join(FORMATS)}, or the --out of `segue train`"
    expect(run, PathKind.RUN, PathKind.OTHER, fix=fix)
    module, function = MODEL_EXPORT.split(":")
    command: Callable[..., CommandResult] = getattr(import_module(module), function)
    return command(run, out, to, observer=observer)
