"""A run whose settings are good: what is asked, how it is verified, and what is known of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipelines.llm.answers import write_answers
from pipelines.llm.files import InputRow, read_rows
from pipelines.llm.money.ledger import Ledger
from pipelines.llm.money.prices import Nano, find_price
from pipelines.llm.money.records import ItemState
from pipelines.llm.money.store import AnswerStore
from pipelines.llm.runner import recover
from pipelines.llm.second import PHASE, ItemOutcome, ItemVerdict, SecondItem, SecondRequest
from pipelines.llm.settings import GenerateSettings
from pipelines.llm.stage import TaskStage
from pipelines.llm.tasks import PromptTask
from pipelines.llm.wire.address import check_address, identify_endpoint
from pipelines.store.output import check_output
from synth.base.errors import SpecError
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
