"""A run whose settings are good: what is asked, how it is verified, and what is known of it."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pipelines.llm.files import InputRow, read_rows
from pipelines.llm.money.budget import Account, Budget
from pipelines.llm.money.ledger import Ledger
from pipelines.llm.money.prices import NANOS, Nano, find_price, to_nanos
from pipelines.llm.money.store import AnswerStore, ItemState, Status
from pipelines.llm.runner import Stop, StopKind, recover
from pipelines.llm.second import (
    PHASE,
    ItemOutcome,
    ItemVerdict,
    SecondItem,
    SecondRequest,
    classify_reason,
    count_verdicts,
    write_answers,
)
from pipelines.llm.stage import GenerateSettings, TaskStage
from pipelines.llm.tasks import PromptTask
from pipelines.llm.wire.endpoint import check_address, identify_endpoint
from pipelines.store.places import check_output
from synth.base.errors import SpecError
from synth.base.progress import Observer
from synth.llm.prompt import load_prompt
from synth.llm.verification import load_verification


@dataclass(frozen=True, slots=True)
class PromptRun:
    """A run whose settings are good.

    Rows that are equal are one item; `kinds` are by digest, where answers are verified.
    """

    settings: GenerateSettings
    rows: Sequence[InputRow]
    first: TaskStage
    second: SecondRequest | None
    kinds: Mapping[str, str]

    @classmethod
    def check(cls, settings: GenerateSettings) -> PromptRun:
        """The run of some settings."""
        check_output(settings.out, settings.source.path)
        asked = settings.endpoint
        check_address(asked.base_url)
        where = identify_endpoint(asked.base_url)
        task = PromptTask(load_prompt(settings.task), asked.model, settings.seed, where)
        price = find_price(task.model, settings.prices, settings.local)
        verification = load_verification(task.prompt)
        if verification is None and settings.verify_model:
            raise SpecError(
                f"--verify-model: prompt {task.prompt.id} has no `verify`", fix="drop the option"
            )
        if verification is None and settings.source.positives:
            raise SpecError(
                f"--positives: answers to {task.prompt.id} do not tell which caption they are of",
                fix="drop it; it is for prompts that have a `verify`",
            )
        rows = read_rows(settings.source, task.prompt)
        first = TaskStage(task, {row.digest: row.fields for row in rows}, asked, price)
        if verification is None:
            return cls(settings, rows, first, None, {})
        model = settings.verify_model or task.model
        reader = PromptTask(verification.prompt, model, settings.seed, where)
        price = find_price(model, settings.prices, settings.local)
        second = SecondRequest(task, reader, verification, price)
        return cls(settings, rows, first, second, second.find_kinds(rows))

    def make_second_stage(self, questions: Iterable[SecondItem]) -> TaskStage:
        """What the second requests ask."""
        assert self.second is not None
        endpoint = replace(self.settings.endpoint, model=self.second.task.model)
        items = {each.digest: each.fields for each in questions}
        return TaskStage(self.second.task, items, endpoint, self.second.price, PHASE)


class Books:
    """What is written down of a run's items in a store.

    Args:
        job: Whose budget pays, "" if nothing is to be changed.
    """

    def __init__(
        self, run: PromptRun, store: AnswerStore, job: str = "", limit: Nano | None = None
    ) -> None:
        self._run = run
        self._keep = bool(job)
        tasks = [run.first.task, *([] if run.second is None else [run.second.task])]
        ledgers = [Ledger(store, store.find_scope(task.scope), job, limit) for task in tasks]
        self.first, self.second = ledgers[0], ledgers[-1]
        self.states: dict[str, ItemState] = {}
        self.questions: dict[str, SecondItem] = {}
        self.read: dict[str, ItemState] = {}

    def recover(self) -> None:
        """Read what dead processes paid for, and write off what they had under way."""
        recover(self._run.first.task, self.first)
        if self._run.second is not None:
            recover(self._run.second.task, self.second)

    def load(self, check: bool = False) -> dict[str, ItemOutcome]:
        """What has become of the items by now.

        Args:
            check: Put all answers to the checks of today.
        """
        run = self._run
        self.states = self._load(run.first, self.first, check)
        if run.second is None:  # There are no verdicts, and nobody asks for them.
            every = {each: self.states.get(each, ItemState()) for each in run.first.items}
            return {each: ItemOutcome(ItemVerdict.OPEN, state) for each, state in every.items()}
        self.questions = run.second.make_questions(run.first.items, self.states)
        stage = run.make_second_stage(self.questions.values())
        self.read = self._load(stage, self.second, check)
        found = {}
        for each, fields in run.first.items.items():
            asked = self.questions.get(each)
            read = None if asked is None else self.read.get(asked.digest)
            found[each] = run.second.settle(fields, self.states.get(each, ItemState()), read)
        return found

    def _load(self, stage: TaskStage, ledger: Ledger, check: bool) -> dict[str, ItemState]:
        if check:
            return stage.read_states(ledger, self._keep)
        return ledger.read_states(list(stage.items))

    def reopen(self) -> None:
        """Let items that failed or were refused be asked about as if for the first time."""
        self.first.reopen(list(self._run.first.items))
        outcomes = self.load(check=True)
        self.second.reopen([each.digest for each in self.questions.values()])
        refused = {
            each: ItemState(complaints=(found.state.reason,))
            for each, found in outcomes.items()
            if found.verdict is ItemVerdict.SECOND
        }
        self.first.record_states(refused)

    def count_travelling(self) -> int:
        """How many items are in batches that are not collected."""
        first = self.first.count_travelling(list(self._run.first.items))
        if self._run.second is None:
            return first
        asked = {each.digest for each in self.questions.values()}
        return first + self.second.count_travelling(list(asked))

    def write(self) -> dict[str, ItemOutcome]:
        """Write what became of every row; the same by item."""
        run, outcomes = self._run, self.load()
        write_answers(run.settings.out, run.rows, run.first.task, outcomes, run.kinds)
        return outcomes


# A whole run: a data file in, answers out, and an honest account of it.


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


# What a run did, and what one would take.


@dataclass(frozen=True, slots=True)
class GenerateSummary:
    """What a run did.

    Items that are `left` are not settled; of these, some are `travelling` in batches. `verdicts`
    counts rows by kind of item and by `Verdict`, where texts are verified.
    """

    generator: str
    items: int
    answered: int
    failed: Mapping[str, int]
    left: int
    travelling: int
    from_store: int
    account: Account
    spent: Nano
    seconds: float
    stopped: Stop | None
    out: Path
    verdicts: Mapping[str, Mapping[str, int]]

    @property
    def bought(self) -> int:
        """Items that this run settled."""
        return self.answered + sum(self.failed.values()) - self.from_store

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        account = self.account
        return {
            "generator": self.generator,
            "items": self.items,
            "answered": self.answered,
            "failed": dict(self.failed),
            "left": self.left,
            "travelling": self.travelling,
            "from_store": self.from_store,
            "bought": self.bought,
            "requests": account.requests,
            "faults": dict(account.faults),
            "input_tokens": account.input_tokens,
            "output_tokens": account.output_tokens,
            "cached_tokens": account.cached_tokens,
            "cost": account.cost / NANOS,
            "uncertain_cost": account.uncertain / NANOS,
            "spent": self.spent / NANOS,
            "seconds": round(self.seconds, 2),
            "stopped": str(self.stopped.kind) if self.stopped else "",
            "message": self.stopped.message if self.stopped else "",
            "fix": self.stopped.fix if self.stopped else "",
            "out": str(self.out),
        } | ({"kinds": self.verdicts} if self.verdicts else {})


@dataclass(frozen=True, slots=True)
class GenerateEstimate:
    """What a run would take.

    `low` is the cost if answers take a quarter of what they may, `high` if all are as long as they
    may be and are asked for twice.
    """

    items: int
    from_store: int
    requests: int
    second_requests: int
    input_tokens: int
    output_tokens: int
    low: Nano
    high: Nano

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "items": self.items,
            "from_store": self.from_store,
            "requests": self.requests,
            "second_requests": self.second_requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "low": self.low / NANOS,
            "high": self.high / NANOS,
        }
