"""`segue bench run`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from pipelines.cli.common.show import print_note, say
from pipelines.frozen import ROOT
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.errors import SpecError, suggestion
from synth.base.progress import Observer, show_waiting, track
from train.bench.settings import Padding
from train.cli.show import quieten_transformers, tell_of_hub

if TYPE_CHECKING:
    from pipelines.frozen.description import BuiltSet

if TYPE_CHECKING:
    from experiments.frozen.results import Result
    from experiments.frozen.score import OpenSet
    from train.bench.embedder import Embedder

PAGE: Final = "compare.html"


def bench_run_command(
    models: list[str],
    sets: Annotated[Path, typer.Option(file_okay=False)] = ROOT,
    only: list[str] | None = None,
    out: Annotated[Path | None, typer.Option(file_okay=False)] = None,
    pad: Padding = Padding.PAD,
    device: str = "cpu",
    *,
    observer: Observer,
) -> CommandResult:
    """Score models on the frozen test sets, and compare them on one page.

    Every score has its chance level and a 95 % interval, and is repeated with the sounds played
    backwards. Existing scores are kept.

    Examples: `segue bench run random runs/demo bag-of-words:runs/demo`,
    `segue bench run laion/clap-htsat-unfused --pad repeatpad --only order-v3`

    Args:
        models: A model that `segue eval` opens, random, or bag-of-words:MODEL; one or more.
        sets: Folder of the built sets.
        only: Score only this set, such as order-v3; repeatable.
        out: Folder for scores and page; by default `results` in the folder of the sets. The page
            shows all scores in it.
        pad: What fills a CLAP's input after a shorter sound.
        device: cpu, cuda, ...
    """
    from pipelines.frozen.description import read_records

    quieten_transformers()
    records = read_records(sets)
    chosen = _choose(records, only or ())
    with show_waiting("loading torch"):
        from experiments.frozen.results import compare_page, find_result, read_results
        from experiments.frozen.score import OpenSet
        from pipelines.look.page import write_page
        from train.bench.opening import open_embedder
        from train.export.opening import model_kind
    for model in models:
        model_kind(Path(model))
        tell_of_hub(model)
    folder = out or sets / "results"
    opened = [OpenSet.open(record, sets, observer) for record in chosen]
    # A model that is alone stays open for all sets.
    open_model = lru_cache(maxsize=1)(partial(open_embedder, device=device))
    weights = {
        model: open_model(Path(model)).digest for model in track(models, observer, "open", "models")
    }
    for open_set in opened:
        left = {
            model: digest
            for model, digest in weights.items()
            if find_result(folder, open_set.built, model, digest, pad) is None
        }
        _score(open_set, left, open_model, folder, pad, observer)
    by_corpus = {record.corpus: record for record in records}
    results = [
        result
        for result in read_results(folder)
        if by_corpus.get(result.set.corpus) in (None, result.set)
    ]
    page = compare_page(results)
    write_page(page, folder / PAGE)
    names = {record.corpus for record in chosen}
    shown = [result for result in results if result.model in models and result.set.corpus in names]
    rows = [result.model_dump(mode="json") | {"control": result.control} for result in shown]

    def show() -> None:
        _print(shown)
        for name in (record.corpus for record in chosen if not record.published):
            print_note(f"{name} is unpublished: compare its scores on this page only")
        say(f"page    {folder / PAGE}")

    return CommandResult({"results": rows, "page": str(folder / PAGE)}, show)


def _choose(records: Sequence[BuiltSet], only: Sequence[str]) -> Sequence[BuiltSet]:
    names = {name for record in records for name in (record.name, record.corpus)}
    for name in only:
        if name not in names:
            raise SpecError(f"--only {name}: not built here", fix=suggestion(name, names))
    chosen = [record for record in records if not only or {record.name, record.corpus} & set(only)]
    scored = [record for record in chosen if not record.windows]
    if not scored:
        raise SpecError(
            f"{chosen[0].name} is answered with windows, which `segue eval` scores",
            fix="docs/bench.md#moments shows how",
        )
    return scored


def _score(
    opened: OpenSet,
    models: Mapping[str, str],
    open_model: Callable[[Path], Embedder],
    folder: Path,
    pad: Padding,
    observer: Observer,
) -> None:
    """Score models, told with their digests, on a set.

    Its sounds are decoded once for all of them: some 0.5 GB at 16 kHz and 1.5 GB at 48 kHz for the
    largest of our sets. For one model alone nothing is kept.
    """
    from experiments.frozen.results import Result, Score, write_result
    from experiments.frozen.score import OnePhase, score_set
    from train.bench.embedder import count_cut

    phase = f"score {opened.built.corpus}"
    observer.start(phase, len(models) * opened.effort, "sounds and texts")
    sounds = opened.list_sounds()
    if len(models) > 1:
        sounds = {name: [sound.keep() for sound in sounds_of] for name, sounds_of in sounds.items()}
    for model, weights in models.items():
        embedder = open_model(Path(model))
        cut = count_cut(embedder, opened.texts)
        if cut.cut:
            print(f"note: {model} on {opened.built.corpus}: {cut}", file=sys.stderr)
        metrics = score_set(embedder, opened, sounds, pad, OnePhase(observer, phase))
        write_result(
            Result(
                model=model,
                weights=weights,
                pad=pad,
                heard=_describe_heard(model, opened),
                set=opened.built,
                scores={name: Score(**metric.to_json()) for name, metric in metrics.items()},
            ),
            folder,
        )
    observer.finish(phase)


def _describe_heard(model: str, opened: OpenSet) -> str:
    """How many of a set's recordings a model was trained on, in words; a baseline on none."""
    from train.bench.opening import BAG_OF_WORDS, RANDOM
    from train.bench.plan import describe_heard

    if model == RANDOM:
        return "0 recordings"
    run = model.removeprefix(f"{BAG_OF_WORDS}:")
    return describe_heard(opened.recordings, "the set", Path(run))


def _print(results: Sequence[Result]) -> None:
    from experiments.frozen.score import BACKWARDS, SCORES

    heads = ("set and model", *SCORES, "text,\nbackwards")
    table = Table(*heads, box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("control", width=9)
    for number, result in enumerate(results):
        if not number or results[number - 1].set != result.set:
            table.add_section()
            table.add_row(Text(result.set.corpus, "bold"))
        cells = [
            f"{score.value:.1%}\n{100 * score.low:.1f}-{score.high:.1%}"
            for name in (*SCORES, f"{BACKWARDS}text")
            for score in (result.scores[name],)
        ]
        table.add_row(Text(result.model), *cells, result.control or "-")
    make_console(soft_wrap=False).print(table)
    say("chance: text and audio 50 %, group 16.7 %")
    for name, built in {result.set.corpus: result.set for result in results}.items():
        trivial = f"{built.trivial.value:.1%}" if built.trivial else "not measured"
        facts = [f"trivial audio {trivial}"] if not built.composed else []
        facts += [f"{what} {score.value:.1%}" for what, score in built.baselines.items()]
        say(f"{name}: text alone tells {built.text_only.value:.1%}, {', '.join(facts)}")
