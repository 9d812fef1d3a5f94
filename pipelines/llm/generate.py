"""A whole run: a data file in, answers out, and an honest account of it."""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import Final

from pipelines.llm.money.budget import Account, Budget
from pipelines.llm.money.prices import to_nanos
from pipelines.llm.money.records import ItemState, Status
from pipelines.llm.money.store import AnswerStore
from pipelines.llm.run import Books, PromptRun
from pipelines.llm.second import count_verdicts
from pipelines.llm.settings import GenerateSettings
from pipelines.llm.stops import Stop, StopKind
from pipelines.llm.summary import GenerateEstimate, GenerateSummary
from pipelines.llm.verdicts import classify_reason
from synth.base.errors import SpecError
from synth.base.progress import Observer

_LEAST_OUTPUT: Final = 4


def estimate(settings: GenerateSettings) -> GenerateEstimate:
    """What a run would take; nothing is sent."""
    run = PromptRun.check(settings)
    states: dict[str, ItemState] = {}
    read: dict[str, ItemState] = {}
    settled: set[str] = set()
    if settings.store.is_file():
        with AnswerStore.open(settings.store) as store:
            books = Books(run, store)
            outcomes = books.load(check=True)
            states, read = books.states, books.read
            settled = {each for each, found in outcomes.items() if not _is_open(found.state)}
    found = [(run.first, run.first.estimate(states))]
    if run.second is not None:
        guessed = run.second.guess_questions(run.first.items, run.first.select_open(states))
        asked = run.second.make_questions(run.first.items, states) | guessed
        second = run.make_second_stage(asked.values())
        found.append((second, second.estimate(read)))
    batch = settings.batch
    return GenerateEstimate(
        items=len(run.rows),
        from_store=sum(row.digest in settled for row in run.rows),
        requests=sum(each.requests for _, each in found),
        second_requests=sum(each.requests for _, each in found[1:]),
        input_tokens=sum(each.input_tokens for _, each in found),
        output_tokens=sum(each.output_tokens for _, each in found),
        low=sum(each.compute_cost(stage.price, _LEAST_OUTPUT, batch) for stage, each in found),
        high=sum(2 * each.compute_cost(stage.price, 1, batch) for stage, each in found),
    )


def generate(settings: GenerateSettings, observer: Observer) -> GenerateSummary:
    """Ask for all items of a file that are not settled, and write what became of each."""
    run = PromptRun.check(settings)
    if settings.budget is not None and not math.isfinite(settings.budget):
        raise SpecError(f"--budget {settings.budget}: not an amount", fix="give it in dollars")
    asked = [(run.first.task.model, run.first.price)]
    if run.second is not None:
        asked.append((run.second.task.model, run.second.price))
    dear = next((model for model, price in asked if not price.free), "")
    if settings.budget is None and dear:
        raise SpecError(
            f"no budget is given, but model {dear} costs money",
            fix="give --budget DOLLARS; --dry-run estimates the cost",
        )
    with AnswerStore.open(settings.store) as store:
        return _generate(run, store, observer)


def _generate(run: PromptRun, store: AnswerStore, observer: Observer) -> GenerateSummary:
    begun = time.monotonic()
    settings = run.settings
    limit = None if settings.budget is None else to_nanos(settings.budget)
    books = Books(run, store, str(settings.out.resolve()), limit)
    books.recover()
    if settings.retry_failed:
        books.reopen()
    before = books.load(check=True)
    account = Account()
    try:
        stopped = _buy_first(run, books, store, account, observer)
        if run.second is not None and (stopped is None or stopped.kind is StopKind.BUDGET):
            stopped = _buy_second(run, books, store, account, observer) or stopped
    except KeyboardInterrupt:
        books.write()
        raise
    outcomes = books.write()
    of_rows = [outcomes[row.digest].state for row in run.rows]
    failed = Counter(
        classify_reason(each.reason) for each in of_rows if each.status is Status.FAILED
    )
    return GenerateSummary(
        generator=run.first.task.generator,
        items=len(run.rows),
        answered=sum(each.status is Status.ANSWERED for each in of_rows),
        failed=dict(failed.most_common()),
        left=sum(_is_open(each) for each in of_rows),
        travelling=books.count_travelling(),
        from_store=sum(not _is_open(before[row.digest].state) for row in run.rows),
        account=account,
        spent=books.first.compute_spent(),
        seconds=time.monotonic() - begun,
        stopped=stopped,
        out=settings.out,
        verdicts=count_verdicts(run.rows, outcomes, run.kinds) if run.second else {},
    )


def _buy_first(
    run: PromptRun, books: Books, store: AnswerStore, account: Account, observer: Observer
) -> Stop | None:
    waiting = run.first.select_open(books.states)
    held = None
    if run.second is not None and waiting:
        asked = books.questions
        due = {each for each in asked if _is_due(books.read.get(asked[each].digest))}
        held = run.second.reserve(run.first.items, due, run.settings.batch)
    budget = Budget(books.first, run.first.price, run.settings.batch, account, held)
    return run.first.buy(run.settings, store, books.first, budget, waiting, observer)


def _buy_second(
    run: PromptRun, books: Books, store: AnswerStore, account: Account, observer: Observer
) -> Stop | None:
    """Have the answers verified that there are, even if the budget has no room for others."""
    books.load()
    stage = run.make_second_stage(books.questions.values())
    budget = Budget(books.second, stage.price, run.settings.batch, account)
    waiting = stage.select_open(books.read)
    return stage.buy(run.settings, store, books.second, budget, waiting, observer)


def _is_due(read: ItemState | None) -> bool:
    return read is None or _is_open(read)


def _is_open(state: ItemState) -> bool:
    return state.status is Status.OPEN
