"""A task: what is asked of which model about an item, and what a reply makes of it.

Every task goes one way: items, requests for some of them together, replies, answers that pass the
checks, or failures with their reason. The second request about a generated text is another task.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pipelines.llm.money.prices import Price
from pipelines.llm.money.store import ItemState, Scope, Status, TaskItem
from pipelines.llm.wire.endpoint import EndpointSettings, identify_endpoint
from pipelines.llm.wire.request import Request
from synth.base.rng import digest
from synth.captions.caption import Provenance
from synth.corpus.schema import canonical_json
from synth.llm.prompt import Prompt
from synth.llm.reply import AnswerError, PromptItem, read_reply

REPLY_TOKENS = 64
"""Room in a reply for what is around its answers."""


@dataclass(frozen=True, slots=True)
class PromptTask:
    """What is asked of which model, and at what price.

    Args:
        seed: Of sampling, where the endpoint takes one.
    """

    prompt: Prompt
    endpoint: EndpointSettings
    price: Price
    seed: int | None = None
    phase: str = "ask"

    @property
    def scope(self) -> Scope:
        """What all its answers depend on."""
        parameters = {"temperature": self.prompt.file.temperature, "seed": self.seed}
        head = (self.prompt.id, self.prompt.file.version, self.prompt.digest, self.endpoint.model)
        return Scope(*head, parameters, identify_endpoint(self.endpoint.base_url))

    @property
    def generator(self) -> str:
        """The provenance of its texts."""
        model = self.endpoint.model
        return str(Provenance.of_model(self.prompt.id, self.prompt.file.version, model))

    def make_request(self, items: Sequence[TaskItem], states: Mapping[str, ItemState]) -> Request:
        """The request for some items, with what was wrong with their last answers."""
        complaints = {
            item.id: "; ".join(states[item.digest].complaints)
            for item in items
            if item.digest in states and states[item.digest].complaints
        }
        messages = self.prompt.messages(items, complaints)
        return Request(
            prompt=self.prompt.id,
            version=self.prompt.file.version,
            model=self.endpoint.model,
            messages=tuple((message["role"], message["content"]) for message in messages),
            schema=canonical_json(self.prompt.schema),
            max_output_tokens=REPLY_TOKENS
            + len(items) * self.prompt.file.max_output_tokens_per_item,
            temperature=self.prompt.file.temperature,
            seed=self.seed,
        )

    def recheck(self, state: ItemState, fields: Mapping[str, Any]) -> ItemState:
        """A state as the prompt's checks of today have it: an answer that breaks one is open."""
        if state.answer is None:
            return state
        faults = self.prompt.faults(PromptItem("", fields), state.answer)
        if not faults:
            return state
        return ItemState(Status.OPEN, None, "; ".join(faults), 1, tuple(faults), state.together)


def make_item(name: str, fields: Mapping[str, Any]) -> TaskItem:
    """An item with its digest."""
    return TaskItem(name, fields, digest("llm item", canonical_json(fields)))


class Queue:
    """Items that wait to be asked, by how many of them may go together.

    Args:
        most: So many a request, unless an item says less.
    """

    def __init__(self, most: int, states: Mapping[str, ItemState] | None = None) -> None:
        self._most = most
        self._waiting: dict[int, deque[str]] = {}
        self.put(states or {})

    def put(self, states: Mapping[str, ItemState]) -> None:
        """Add items that are open."""
        for item, state in states.items():
            if state.status is Status.OPEN:
                together = min(state.together or self._most, self._most)
                self._waiting.setdefault(together, deque()).append(item)

    def take(self) -> list[str]:
        """The items of one request, those from replies that were spoiled first; none if none wait.

        The smallest groups go first, as they have the longest way before them.
        """
        for together in sorted(self._waiting):
            waiting = self._waiting[together]
            if waiting:
                return [waiting.popleft() for _ in range(min(together, len(waiting)))]
        return []

    def take_all(self) -> Iterator[list[str]]:
        """All that wait, request by request."""
        while batch := self.take():
            yield batch


# What a reply, or a fault, makes of the items that were asked about.


MAX_ATTEMPTS: Final = 2
"""An answer that is refused is asked for once more, with the reason."""

_QUOTED: Final = re.compile(r'"[^"]*"|\B\'[^\']*\'\B')
_NUMBER: Final = re.compile(r"\d+")
_SHOWN: Final = 500
"""Letters of a fault that are kept, as it may quote what the model wrote."""
_MISSING: Final = "the reply left it out"
_UNUSABLE: Final = "unusable reply"


def judge_reply(
    prompt: Prompt, items: Sequence[TaskItem], states: Mapping[str, ItemState], text: str
) -> dict[str, ItemState]:
    """The items' states, by digest, after a reply that came whole."""
    try:
        answers = read_reply(text)
    except AnswerError as error:
        return apply_fault(items, states, f"{_UNUSABLE}: {error.message}", ask_again=True)
    after: dict[str, ItemState] = {}
    for item in items:
        before = states.get(item.digest, ItemState())
        answer = answers.get(item.id)
        if answer is None and len(items) > 1:  # It shared its reply: this attempt does not count.
            missing = replace(before, reason=_MISSING, together=_halve(len(items)))
            after[item.digest] = missing
        elif answer is None:
            after[item.digest] = _refuse([_MISSING], replace(before, together=1))
        elif faults := prompt.faults(item, answer):
            after[item.digest] = _refuse(faults, before)
        else:
            attempts = before.attempts + 1
            answered = ItemState(Status.ANSWERED, answer, "", attempts, (), before.together)
            after[item.digest] = answered
    return after


def apply_fault(
    items: Sequence[TaskItem], states: Mapping[str, ItemState], reason: str, ask_again: bool = False
) -> dict[str, ItemState]:
    """The items' states after a fault of the whole reply.

    Several are asked again in halves, so that one item cannot spoil the others; one alone fails.

    Args:
        ask_again: One alone is asked once more, with the reason.
    """
    after = {}
    for item in items:
        before = states.get(item.digest, ItemState())
        shared = replace(before, reason=reason, together=_halve(len(items)))
        failed = replace(shared, status=Status.FAILED, attempts=before.attempts + 1)
        alone = _refuse([reason], shared) if ask_again else failed
        after[item.digest] = shared if len(items) > 1 else alone
    return after


def keep_open(states: Mapping[str, ItemState], reason: str) -> dict[str, ItemState]:
    """The items' states after a fault that says nothing of them: the next run asks again."""
    return {item: replace(state, reason=reason) for item, state in states.items()}


def _refuse(faults: Sequence[str], before: ItemState) -> ItemState:
    """The state after a refused answer."""
    attempts = before.attempts + 1
    status = Status.OPEN if attempts < MAX_ATTEMPTS else Status.FAILED
    faults = [fault if len(fault) <= _SHOWN else f"{fault[:_SHOWN]}..." for fault in faults]
    return ItemState(status, None, "; ".join(faults), attempts, tuple(faults), before.together)


def _halve(count: int) -> int:
    return max(1, (count + 1) // 2)


def count_settled(states: Mapping[str, ItemState]) -> int:
    """How many of the items are answered or have failed."""
    return sum(state.status is not Status.OPEN for state in states.values())


def is_refused(state: ItemState) -> bool:
    """Whether an item failed as its answer broke the prompt's schema or checks."""
    complaints = "; ".join(state.complaints)
    return (
        state.status is Status.FAILED
        and complaints == state.reason != _MISSING
        and not complaints.startswith(_UNUSABLE)
    )


def classify_reason(reason: str) -> str:
    """A reason without its particulars, for counting."""
    first = _QUOTED.sub("...", reason).split(";")[0].split(":")[0]
    return " ".join(_NUMBER.sub("N", first).split()) or "other"
