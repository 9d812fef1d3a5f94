"""`segue llm run`, `segue llm stats` and `segue llm tasks`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.markup import escape
from rich.table import Table

from pipelines.cli.common.show import print_read, say
from pipelines.llm.money.prices import Nano, format_cost, to_nanos
from synth.base.choice import check_values
from synth.base.command import CommandResult, Given, refuse_given
from synth.base.doors import make_console
from synth.base.errors import SpecError
from synth.base.progress import Observer

if TYPE_CHECKING:
    from pipelines.llm.run import GenerateEstimate, GenerateSummary

EXIT_CODES: Final = {"endpoint": 1, "budget": 3, "interrupted": 130}
"""By what stopped a run, as `StopKind` names it."""
_STORE: Final = Path("llm-store.sqlite")


def llm_run_command(
    task: str,
    source: Annotated[Path, typer.Argument(metavar="INPUT")],
    out: Annotated[Path, typer.Option(dir_okay=False)],
    model: Annotated[str, typer.Option()],
    base_url: str = "https://api.openai.com/v1",
    key_variable: str = "OPENAI_API_KEY",
    budget: Annotated[float | None, typer.Option(min=0, max=1e9)] = None,
    prices: Path | None = None,
    local: bool = False,
    dry_run: bool = False,
    batch: bool = False,
    concurrency: Annotated[int, typer.Option(min=1, max=1024)] = 16,
    timeout: Annotated[float, typer.Option(min=1, max=86_400)] = 60.0,
    limit: Annotated[int | None, typer.Option(min=1)] = None,
    split: str | None = None,
    positives: bool = False,
    variants: Annotated[int, typer.Option(min=1, max=1000)] = 1,
    verify_model: str = "",
    id_column: str = "id",
    column: list[str] | None = None,
    set_: Annotated[list[str] | None, typer.Option("--set")] = None,
    store: Path = _STORE,
    seed: Annotated[int | None, typer.Option(min=0)] = None,
    retry_failed: bool = False,
    poll: Annotated[float, typer.Option(min=0)] = 30.0,
    *,
    given: Given = frozenset(),
    observer: Observer,
) -> CommandResult:
    """Ask a language model about every item of a file, within a budget.

    Every item is in the output: answered, failed with a reason, or open if the run ended early.
    Repeating the command resumes the run, and nothing is paid for twice. Exit status: 0 if no item
    is open, 3 if the budget stopped the run, 130 on Ctrl-C, otherwise 1.

    Example: `segue llm run paraphrase captions.csv --out said.parquet --model gpt-4o-mini
    --budget 2`

    Args:
        task: A task from `segue llm tasks`, or a prompt's .yaml file.
        source: A .csv, .parquet, .jsonl or .json file, or a corpus's manifest folder.
        out: The Parquet file to write.
        model: The model's name at the endpoint.
        base_url: Any endpoint that speaks OpenAI's protocol.
        key_variable: Environment variable that holds the key; `none` for a server without keys.
        budget: Limit in dollars for all runs with this --out together.
        prices: YAML file with your own prices per model.
        local: The model is self-hosted and costs nothing.
        dry_run: Estimate the cost and send nothing.
        batch: Use the batch API: cheaper, answers within a day.
        concurrency: Concurrent requests.
        timeout: Time limit of one attempt in seconds.
        limit: Process only this many rows.
        split: Split of a corpus: train, val or test.
        positives: Include further true captions of a corpus, but none by a model.
        variants: Items per row, in different styles and languages.
        verify_model: Model of the second request, if the task has one; by default --model.
        id_column: Column with row ids.
        column: FIELD=COLUMN, if the names differ; repeatable.
        set_: FIELD=VALUE, the same for all rows; repeatable.
        store: File that keeps all paid answers.
        seed: Sampling seed, if the endpoint takes one.
        retry_failed: Ask again for items that failed.
        poll: Seconds between polls of a batch.
    """
    from pipelines.llm.run import estimate, generate
    from pipelines.llm.settings import GenerateSettings

    if local:
        refuse_given(given, {"--prices"}, "a local model costs nothing")
    if batch:
        refuse_given(given, {"--concurrency"}, "a batch is one request")
    else:
        refuse_given(given, {"--poll"}, "needs --batch")
    values = {
        "task": task,
        "source": source,
        "out": out,
        "model": model,
        "base_url": base_url,
        "key_variable": key_variable,
        "budget": budget,
        "prices": prices,
        "local": local,
        "store": store,
        "split": split,
        "limit": limit,
        "concurrency": concurrency,
        "timeout_s": timeout,
        "positives": positives,
        "variants": variants,
        "verify_model": verify_model,
        "id_column": id_column,
        "columns": _parse_pairs("--column", column),
        "constants": _parse_pairs("--set", set_),
        "seed": seed,
        "batch": batch,
        "retry_failed": retry_failed,
        "poll_s": poll,
    }
    settings = check_values(GenerateSettings, values, fix="see `segue llm run --help`")
    if dry_run:
        cost = estimate(settings)
        reader = verify_model or model
        verifying = {"verify_model": reader} if cost.second_requests else {}
        return CommandResult(
            {"model": model, **verifying, **cost.to_json()},
            partial(_show_estimate, cost, model, reader),
        )
    summary = generate(settings, observer)
    status = EXIT_CODES[summary.stopped.kind] if summary.stopped else int(bool(summary.left))
    return CommandResult(summary.to_json(), partial(_show_summary, summary), status)


def llm_stats_command(store: Path = _STORE) -> CommandResult:
    """Show what a store of answers holds and what it cost, by task and model.

    Example: `segue llm stats --store llm-store.sqlite`

    Args:
        store: File that keeps all paid answers.
    """
    from pipelines.llm.money.ledger import read_stats

    stats = read_stats(store)
    return CommandResult({"store": str(store), "tasks": stats}, partial(_show_stats, stats))


def llm_tasks_command() -> CommandResult:
    """List the shipped tasks and the fields they need.

    Example: `segue llm tasks`
    """
    from synth.llm.prompt import load_prompt, shipped_files

    prompts = [load_prompt(name) for name in shipped_files()]
    rows = [
        {
            "id": prompt.id,
            "version": prompt.file.version,
            "about": prompt.file.about,
            "fields": list(prompt.file.fields),
            "optional": list(prompt.file.optional),
            "dealt": list(prompt.file.deal),
            "verified_by": prompt.file.verify.prompt if prompt.file.verify else "",
            "batch": prompt.file.batch,
        }
        for prompt in prompts
    ]

    def show() -> None:
        for prompt in prompts:
            file = prompt.file
            make_console().print(f"[bold]{prompt.id}[/]  {escape(file.about)}")
            takes = f"; takes {', '.join(file.optional)}" if file.optional else ""
            needs = [name for name in file.fields if name not in file.deal]
            dealt = f"; deals {', '.join(file.deal)}" if file.deal else ""
            say(f"  needs {', '.join(needs)}{takes}{dealt}")

    return CommandResult({"tasks": rows}, show)


def _parse_pairs(option: str, texts: Iterable[str] | None) -> dict[str, str]:
    pairs = {}
    for pair in texts or ():
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise SpecError(f"{option} {pair}: expected FIELD=...", fix=f"give {option} FIELD=...")
        pairs[name] = value
    return pairs


def _show_estimate(cost: GenerateEstimate, model: str, reader: str) -> None:
    first = cost.requests - cost.second_requests
    second = f" and {cost.second_requests:,} to {reader} to verify" * bool(cost.second_requests)
    say(
        f"{cost.items:,} items, {cost.from_store:,} of them settled; {first:,} requests to "
        f"{model}{second}"
    )
    say(
        f"about {cost.input_tokens:,} tokens in (four letters a token), at most "
        f"{cost.output_tokens:,} out"
    )
    say(
        f"{format_cost(cost.low)} with short answers, {format_cost(cost.high)} if every "
        "answer has the maximum length and is requested twice; nothing was sent"
    )


def _show_summary(result: GenerateSummary) -> None:
    console, account = make_console(), result.account
    say(
        f"{result.generator}: {result.answered:,} of {result.items:,} answered, "
        f"{sum(result.failed.values()):,} failed, {result.left:,} open"
    )
    for reason, count in result.failed.items():
        say(f"  {count:,} {reason}")
    if result.verdicts:
        console.print(_make_verdict_table(result.verdicts))
    say(
        f"{result.bought:,} settled now, {result.from_store:,} from the store; "
        f"{account.requests:,} requests, {account.input_tokens:,} tokens in "
        f"({account.cached_tokens:,} cached), {account.output_tokens:,} out, {result.seconds:.1f} s"
    )
    faults = ", ".join(f"{count:,} {kind}" for kind, count in account.faults.most_common())
    if faults:
        say(f"faults: {faults}")
    cost = format_cost(account.cost) + _tell_uncertain(account.uncertain)
    say(f"cost {cost}; {format_cost(result.spent)} in all runs with this --out")
    if result.travelling:
        say(f"{result.travelling:,} items are in a batch: run with --batch to collect them")
    if result.stopped:
        console.print(f"[bold red]stopped[/]: {escape(result.stopped.message)}")
        say(f"fix: {result.stopped.fix}")
    elif result.left and not result.travelling:
        say("repeat the command to request the open items")
    say(f"wrote {result.out}")
    if not result.left:
        print_read(result.out)


def _tell_uncertain(cost: Nano) -> str:
    return f", {format_cost(cost)} of it perhaps not billed" if cost else ""


def _make_verdict_table(verdicts: Mapping[str, Mapping[str, int]]) -> Table:
    """By kind of claim, how many were asked for, accepted and refused; with the sums."""
    columns = list(next(iter(verdicts.values())))
    table = Table(box=None, header_style="bold")
    table.add_column("kind", no_wrap=True)
    for name in columns:
        table.add_column(name.replace("_", " "), justify="right")
    sums = {name: sum(counts[name] for counts in verdicts.values()) for name in columns}
    for kind, counts in [*verdicts.items(), ("all", sums)]:
        table.add_row(kind, *(f"{counts[name]:,}" for name in columns))
    return table


def _show_stats(stats: Iterable[Mapping[str, Any]]) -> None:
    for stat in stats:
        spent, uncertain = (to_nanos(stat[name]) for name in ("cost", "uncertain_cost"))
        make_console().print(f"[bold]{escape(stat['generator'])}[/] {escape(stat['parameters'])}")
        items = (f"{stat[name]:,} {name}" for name in ("open", "answered", "failed"))
        say(f"  items     {', '.join(items)}")
        say(f"  requests  {stat['requests']:,}, {stat['faults']:,} without an answer")
        say(f"  tokens    {stat['input_tokens']:,} in, {stat['output_tokens']:,} out")
        cost = format_cost(spent) + _tell_uncertain(uncertain)
        say(f"  cost      {cost}; last {stat['last'][:19]}")
