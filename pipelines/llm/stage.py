"""A stage of a run: a task, the items that it is asked about, and what has become of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pipelines.llm.money.ledger import Ledger
from pipelines.llm.money.store import ItemState, Status, TaskItem
from pipelines.llm.tasks import PromptTask, judge_reply


class TaskStage:
    """A task, the items that it is asked about, and what has become of them."""

    def __init__(self, task: PromptTask, ledger: Ledger) -> None:
        self.task = task
        self.ledger = ledger
        self.items: dict[str, Mapping[str, Any]] = {}
        self.states: Mapping[str, ItemState] = {}

    def take(self, items: Iterable[TaskItem]) -> None:
        """Be asked about these items; those that are equal are one."""
        self.items = {item.digest: item.fields for item in items}

    def load(self, *, check: bool = False) -> None:
        """Read how far the items have come.

        Args:
            check: Put their answers to the checks of today; those that break one are open again.
        """
        states = self.ledger.read_states(self.items)
        if check:
            before = dict(states)
            states = {
                each: self.task.recheck(state, self.items[each]) for each, state in before.items()
            }
            changed = {each: state for each, state in states.items() if state != before[each]}
            if changed and self.ledger.job:
                self.ledger.record_states(changed)
        self.states = states

    def select_open(self) -> dict[str, ItemState]:
        """The items that are not settled, as they were loaded."""
        every = {each: self.states.get(each, ItemState()) for each in self.items}
        return {each: state for each, state in every.items() if state.status is Status.OPEN}

    def name_items(self, digests: Iterable[str]) -> tuple[TaskItem, ...]:
        """Items under short names, which cost less than their ids: 1, 2, 3."""
        return tuple(
            TaskItem(str(at), self.items[each], each) for at, each in enumerate(digests, 1)
        )

    def recover(self) -> None:
        """Read the replies that dead processes paid for, and write off what they had under way."""
        self.ledger.mark_lost()
        for left in self.ledger.list_unread():
            states = self.ledger.read_states([item.digest for item in left.items])
            after = judge_reply(self.task.prompt, left.items, states, left.text)
            settled = {each for each, state in states.items() if state.status is not Status.OPEN}
            after = {each: state for each, state in after.items() if each not in settled}
            self.ledger.record_states(after, left.number)
