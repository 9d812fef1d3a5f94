"""A whole run: a data file in, answers out, and an honest account of it."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from pipelines.llm.batches import BatchRunner
from pipelines.llm.files import read_rows, write_answers
from pipelines.llm.money.ledger import Account, DoesNotFitError, FollowUp, Ledger
from pipelines.llm.money.prices import NANOS, Nano, find_price, to_nanos
from pipelines.llm.money.store import AnswerStore, ItemState, Status, TaskItem
from pipelines.llm.runner import Buyer, ItemRunner, Stop, StopKind, TaskStage
from pipelines.llm.settings import GenerateSettings
from pipelines.llm.tasks import PromptTask, Queue, classify_reason
from pipelines.llm.verify import ItemOutcome, ItemVerdict, Verifier, count_verdicts
from pipelines.llm.wire.endpoint import Endpoint, check_address
from pipelines.llm.wire.errors import AttemptError
from pipelines.llm.wire.probe import probe
from pipelines.llm.wire.request import Capabilities, Reply, Request, estimate_tokens
from pipelines.store.places import check_output
from synth.base.errors import SpecError
from synth.base.progress import Observer
from synth.llm.prompt import load_prompt, load_verification


@dataclass(frozen=True, slots=True)
class PromptRun:
    """A run whose settings are good.

    Args:
        rows: Of the input; those that are equal are one item.
        kinds: Of items, by digest, where answers are verified.
    """

    settings: GenerateSettings
    rows: Sequence[TaskItem]
    task: PromptTask
    verifier: Verifier | None
    kinds: Mapping[str, str]

    @classmethod
    def check(cls, settings: GenerateSettings) -> PromptRun:
        """The run of some settings."""
        check_output(settings.out, settings.source)
        endpoint = settings.endpoint
        check_address(endpoint.base_url)
        prompt = load_prompt(settings.task)
        price = find_price(endpoint.model, settings.prices, settings.local)
        task = PromptTask(prompt, endpoint, price, settings.seed)
        verification = load_verification(prompt)
        if verification is None and settings.verify_model:
            raise SpecError(
                f"--verify-model: prompt {prompt.id} has no `verify`",
                fix="leave out --verify-model",
            )
        if verification is None and settings.positives:
            raise SpecError(
                f"--positives: answers to {prompt.id} do not say which caption they belong to",
                fix="leave out --positives: only prompts with a `verify` take it",
            )
        rows = read_rows(settings, prompt)
        if verification is None:
            return cls(settings, rows, task, None, {})
        endpoint = replace(endpoint, model=settings.verify_model or endpoint.model)
        price = find_price(endpoint.model, settings.prices, settings.local)
        second = PromptTask(verification.prompt, endpoint, price, settings.seed, "verify")
        verifier = Verifier(prompt, second, verification)
        return cls(settings, rows, task, verifier, verifier.find_kinds(rows))

    @property
    def tasks(self) -> list[PromptTask]:
        """The task, and the second one where its answers are verified."""
        return [self.task] if self.verifier is None else [self.task, self.verifier.task]

    def check_budget(self) -> Nano | None:
        """What all runs for the same file may cost; None: there is no limit."""
        budget = self.settings.budget
        dear = next((task.endpoint.model for task in self.tasks if not task.price.free), "")
        if budget is None and dear:
            raise SpecError(
                f"no budget is given, but model {dear} costs money",
                fix="give --budget DOLLARS; --dry-run estimates the cost",
            )
        return None if budget is None else to_nanos(budget)


class Books:
    """What is written down of a run's items in a store, task by task.

    Args:
        job: Whose budget pays, "" if nothing is to be changed.
    """

    def __init__(
        self, run: PromptRun, store: AnswerStore, job: str = "", limit: Nano | None = None
    ) -> None:
        self._run = run
        self.account = Account()
        self.stages = [
            TaskStage(task, Ledger(store, task.scope, task.price, job, limit, self.account))
            for task in run.tasks
        ]
        self.first, self.second = self.stages[0], self.stages[-1]
        self.first.take(run.rows)

    def load(self, *, check: bool = False) -> dict[str, ItemOutcome]:
        """What has become of the items by now.

        Args:
            check: Put all answers to the checks of today.
        """
        first, second, verifier = self.first, self.second, self._run.verifier
        first.load(check=check)
        states = {digest: first.states.get(digest, ItemState()) for digest in first.items}
        if verifier is None:
            return {digest: ItemOutcome(state) for digest, state in states.items()}
        questions = verifier.make_items(first.items, first.states)
        second.take(questions)
        second.load(check=check)
        readings = {question.id: second.states.get(question.digest) for question in questions}
        return {
            digest: verifier.settle(first.items[digest], state, readings.get(digest))
            for digest, state in states.items()
        }

    def guess_second(self) -> None:
        """Let the second task also be asked about answers that are still to come."""
        if self._run.verifier is not None:
            waiting = self.first.select_open()
            guesses = self._run.verifier.guess_items(self.first.items, waiting)
            self.second.items |= {guess.digest: guess.fields for guess in guesses}

    def reopen(self) -> None:
        """Let items that failed or were refused be asked about as if for the first time."""
        self.first.ledger.reopen(self.first.items)
        outcomes = self.load(check=True)
        self.second.ledger.reopen(self.second.items)
        refused = {
            digest: ItemState(complaints=(outcome.state.reason,))
            for digest, outcome in outcomes.items()
            if outcome.verdict is ItemVerdict.SECOND
        }
        self.first.ledger.record_states(refused)

    def buy(self, outcomes: Mapping[str, ItemOutcome], observer: Observer) -> Stop | None:
        """Buy the answers of each task; why it ended before all was settled, if it did.

        Texts that are written are verified, even if the budget has no room for others.
        """
        settings = self._run.settings
        self._keep_for_second(outcomes)
        stopped = asyncio.run(_buy(self.first, settings, observer))
        if self._run.verifier and (stopped is None or stopped.kind is StopKind.BUDGET):
            self.load()
            stopped = asyncio.run(_buy(self.second, settings, observer)) or stopped
        return stopped

    def _keep_for_second(self, outcomes: Mapping[str, ItemOutcome]) -> None:
        """Keep room in the budget for the second requests about all answers that are bought."""
        verifier, first = self._run.verifier, self.first
        waiting = first.select_open()
        if verifier is not None and waiting:
            longest = verifier.make_longest_request(first.items)
            worst = self.second.ledger.bound_cost(longest, self._run.settings.batch)
            most = min(verifier.task.prompt.file.batch, len(first.items))
            due = {
                digest
                for digest, outcome in outcomes.items()
                if outcome.verdict is ItemVerdict.OPEN and digest not in waiting
            }
            first.ledger.follow_up = FollowUp(worst, most, due)

    def count_travelling(self) -> int:
        """How many items are in batches that are not collected."""
        return sum(
            len(stage.ledger.find_travelling() & stage.items.keys()) for stage in self.stages
        )

    @contextmanager
    def hold(self, observer: Observer) -> Iterator[None]:
        """Be the only run that buys for these tasks; in one order, so that no two wait for ever."""
        with ExitStack() as locks:
            ledgers = [stage.ledger for stage in self.stages]
            for ledger in sorted(ledgers, key=lambda ledger: ledger.number):
                locks.enter_context(ledger.store.hold(ledger.number, observer))
            yield

    def write(self) -> dict[str, ItemOutcome]:
        """Write what became of every row; the same by item."""
        run, outcomes = self._run, self.load()
        write_answers(run.settings.out, run.rows, run.task, outcomes, run.kinds)
        return outcomes


# How a stage is bought: whom to ask, how, and until when.


async def _buy(stage: TaskStage, settings: GenerateSettings, observer: Observer) -> Stop | None:
    """Ask for the open items of a stage; why it ended before all were settled, if it did."""
    if not stage.select_open():
        return None
    scope, store = stage.task.scope, stage.ledger.store
    async with Endpoint(stage.task.endpoint) as endpoint:
        stored = store.read_capabilities(scope.endpoint, scope.model)
        if stored is None:
            stop = await _probe_endpoint(endpoint, stage.ledger)
            if stop is not None:
                return stop
            able = endpoint.capabilities.to_json()
            store.keep_capabilities(scope.endpoint, scope.model, able)
        else:
            endpoint.capabilities = Capabilities.from_json(stored)
        buyer: Buyer
        if settings.batch:
            buyer = BatchRunner(stage, observer, endpoint, settings.poll_s)
        else:
            arguments = (endpoint.ask, settings.policy, settings.concurrency)
            buyer = ItemRunner(stage, observer, *arguments)
        with _stop_on_signals(buyer):
            stop = await buyer.run()
        if stop is not None and stop.kind is StopKind.ENDPOINT:
            store.keep_capabilities(scope.endpoint, scope.model, "")
        return stop


async def _probe_endpoint(endpoint: Endpoint, ledger: Ledger) -> Stop | None:
    """See what the endpoint can do, by requests that are bought like any other.

    Returns:
        Why the run cannot go on, if it cannot.
    """

    async def ask(request: Request, able: Capabilities) -> Reply:
        purchase = ledger.reserve(request)
        reply = await ledger.buy(purchase, partial(endpoint.ask_as, able=able))
        ledger.record_states({}, purchase.number)
        return reply

    try:
        await probe(endpoint, ask)
    except DoesNotFitError:
        return Stop.for_budget()
    except AttemptError as fault:
        ledger.account.faults[str(fault.kind)] += 1
        return Stop.for_fault(fault) if fault.is_final else Stop.for_silence(fault)
    return None


@contextmanager
def _stop_on_signals(buyer: Buyer) -> Iterator[None]:
    """The first Ctrl-C lets what is sent come back; the second one ends at once."""
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def release() -> None:
        for number, handler in before.items():
            if loop.remove_signal_handler(number):
                signal.signal(number, handler)

    def stop() -> None:
        buyer.stop(Stop.for_interrupt())
        release()

    # Not on Windows, nor outside the main thread: there Ctrl-C ends at once.
    with suppress(NotImplementedError, ValueError, RuntimeError):
        for number in before:
            loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        with suppress(NotImplementedError, ValueError, RuntimeError):
            release()


# What a run did.


def generate(settings: GenerateSettings, observer: Observer) -> GenerateSummary:
    """Ask for all items of a file that are not settled, and write what became of each."""
    begun = time.monotonic()
    run = PromptRun.check(settings)
    limit = run.check_budget()
    with AnswerStore.open(settings.store_path) as store:
        books = Books(run, store, str(settings.out.resolve()), limit)
        with books.hold(observer):
            for stage in books.stages:
                stage.recover()
            if settings.retry_failed:
                books.reopen()
            before = books.load(check=True)
            try:
                stopped = books.buy(before, observer)
            except KeyboardInterrupt:
                books.write()
                raise
            outcomes = books.write()
            states = [outcomes[row.digest].state for row in run.rows]
            failed = [state.reason for state in states if state.status is Status.FAILED]
            return GenerateSummary(
                generator=run.task.generator,
                items=len(run.rows),
                answered=sum(state.status is Status.ANSWERED for state in states),
                failed=dict(Counter(map(classify_reason, failed)).most_common()),
                left=sum(state.status is Status.OPEN for state in states),
                travelling=books.count_travelling(),
                from_store=sum(
                    before[row.digest].state.status is not Status.OPEN for row in run.rows
                ),
                account=books.account,
                spent=books.first.ledger.compute_spent(),
                seconds=time.monotonic() - begun,
                stopped=stopped,
                out=settings.out,
                verdicts=count_verdicts(run.rows, outcomes, run.kinds) if run.verifier else {},
            )


@dataclass(frozen=True, slots=True)
class GenerateSummary:
    """What a run did.

    Items that are `left` are not settled; of these, some are `travelling` in batches. `verdicts`
    counts rows by kind of item and by `ItemVerdict`, where texts are verified.
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
        names = ("generator", "items", "answered", "failed", "left", "travelling", "from_store")
        account, stopped = asdict(self.account), self.stopped
        uncertain = account.pop("uncertain")
        return {
            **{name: getattr(self, name) for name in (*names, "bought")},
            **account,
            "cost": self.account.cost / NANOS,
            "uncertain_cost": uncertain / NANOS,
            "spent": self.spent / NANOS,
            "seconds": round(self.seconds, 2),
            "stopped": str(stopped.kind) if stopped else "",
            "message": stopped.message if stopped else "",
            "fix": stopped.fix if stopped else "",
            "out": str(self.out),
            **({"kinds": self.verdicts} if self.verdicts else {}),
        }


# What a run would take.


_LEAST_OUTPUT: Final = 4


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
        return asdict(self) | {"low": self.low / NANOS, "high": self.high / NANOS}


def estimate(settings: GenerateSettings) -> GenerateEstimate:
    """What a run would take; nothing is sent."""
    run = PromptRun.check(settings)
    with TemporaryDirectory() as folder:
        path = settings.store_path if settings.store_path.is_file() else Path(folder, "none.sqlite")
        with AnswerStore.open(path) as store:
            books = Books(run, store)
            outcomes = books.load(check=True)
    books.guess_second()
    stages = [_estimate_stage(stage, settings.batch) for stage in books.stages]
    total = sum(stages, Counter[str]())
    return GenerateEstimate(
        items=len(run.rows),
        from_store=sum(outcomes[row.digest].state.status is not Status.OPEN for row in run.rows),
        requests=total["requests"],
        second_requests=total["requests"] - stages[0]["requests"],
        input_tokens=total["input_tokens"],
        output_tokens=total["output_tokens"],
        low=total["low"],
        high=total["high"],
    )


def _estimate_stage(stage: TaskStage, in_batch: bool) -> Counter[str]:
    """What the open items of a stage would take if every answer is good."""
    counts: Counter[str] = Counter()
    for digests in Queue(stage.task.prompt.file.batch, stage.select_open()).take_all():
        request = stage.task.make_request(stage.name_items(digests), {})
        counts["requests"] += 1
        counts["input_tokens"] += estimate_tokens(request)
        counts["output_tokens"] += request.max_output_tokens
    sent, answered, price = counts["input_tokens"], counts["output_tokens"], stage.task.price
    counts["low"] = price.compute_cost(sent, answered // _LEAST_OUTPUT, in_batch=in_batch)
    counts["high"] = 2 * price.compute_cost(sent, answered, in_batch=in_batch)
    return counts
