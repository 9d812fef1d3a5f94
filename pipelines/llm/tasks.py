"""What is to be asked: the items that are not settled, and the requests made of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.llm.money.store import ItemState, RequestMember, Scope, Status
from pipelines.llm.wire.request import Request
from synth.base.rng import digest
from synth.captions.caption import Provenance
from synth.corpus.schema import canonical_json
from synth.llm.prompt import Prompt
from synth.llm.reply import PromptItem

REPLY_TOKENS = 64
"""Room in a reply for what is around its answers."""


@dataclass(frozen=True, slots=True)
class PromptTask:
    """What is asked of which model, and how."""

    prompt: Prompt
    model: str
    seed: int | None = None
    endpoint: str = ""

    @property
    def scope(self) -> Scope:
        """What all its answers depend on."""
        parameters = {"temperature": self.prompt.temperature, "seed": self.seed}
        head = (self.prompt.id, str(self.prompt.version), self.prompt.digest)
        return Scope(*head, self.model, parameters, self.endpoint)

    def recheck(self, state: ItemState, fields: Mapping[str, Any]) -> ItemState:
        """A state as the prompt's checks of today have it: an answer that breaks one is open."""
        if state.answer is None:
            return state
        faults = self.prompt.faults(PromptItem("1", fields), state.answer)
        if not faults:
            return state
        return ItemState(Status.OPEN, None, "; ".join(faults), 1, tuple(faults), state.together)

    @property
    def generator(self) -> str:
        """The provenance of its texts."""
        return str(Provenance.of_model(self.prompt.id, self.prompt.version, self.model))

    def make_request(
        self, members: Sequence[RequestMember], states: Mapping[str, ItemState]
    ) -> Request:
        """The request for some items, with what was wrong with their last answers."""
        items = [PromptItem(member.id, member.fields) for member in members]
        complaints = {
            member.id: "; ".join(states[member.digest].complaints)
            for member in members
            if states[member.digest].complaints
        }
        messages = self.prompt.messages(items, complaints)
        return Request(
            prompt=self.prompt.id,
            version=self.prompt.version,
            model=self.model,
            messages=tuple((each["role"], each["content"]) for each in messages),
            schema=canonical_json(self.prompt.schema),
            max_output_tokens=REPLY_TOKENS + len(items) * self.prompt.max_output_tokens_per_item,
            temperature=self.prompt.temperature,
            seed=self.seed,
        )


def item_digest(fields: Mapping[str, Any]) -> str:
    """An item's name in the store: equal fields are one item, whatever their ids."""
    return digest("llm item", canonical_json(fields))


def make_members(
    digests: Sequence[str], fields: Mapping[str, Mapping[str, Any]]
) -> tuple[RequestMember, ...]:
    """Items under short names, which cost less than their ids: 1, 2, 3."""
    return tuple(
        RequestMember(each, str(at), fields[each]) for at, each in enumerate(digests, start=1)
    )


class Queue:
    """Items that wait to be asked, by how many of them may go together.

    Args:
        most: So many a request, unless an item says less.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: dict[int, deque[str]] = {}

    def put(self, states: Mapping[str, ItemState]) -> None:
        """Add items."""
        for each, state in states.items():
            together = min(state.together or self._most, self._most)
            self._waiting.setdefault(together, deque()).append(each)

    def take(self) -> list[str]:
        """The items of one request, those from replies that were spoiled first; none if none wait.

        The smallest groups go first, as they have the longest way before them.
        """
        for together in sorted(self._waiting):
            waiting = self._waiting[together]
            if waiting:
                return [waiting.popleft() for _ in range(min(together, len(waiting)))]
        return []

    def __len__(self) -> int:
        return sum(len(waiting) for waiting in self._waiting.values())

    def take_all(self) -> Iterator[list[str]]:
        """All that wait, request by request."""
        while batch := self.take():
            yield batch
