"""Verification: a second task, whose items are the answers of the first; and what it decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from pipelines.llm.money.store import ItemState, Status, TaskItem
from pipelines.llm.tasks import PromptTask, is_refused, make_item
from pipelines.llm.wire.request import Request
from synth.base.errors import SceneError, SourceError
from synth.corpus.schema import canonical_json
from synth.llm.prompt import Prompt, Verification
from synth.llm.reply import PromptItem

_BYTES_A_TOKEN: Final = 4


class ItemVerdict(StrEnum):
    """What became of an item whose texts are verified."""

    ACCEPTED = "accepted"
    CHECKS = "refused_by_checks"
    SECOND = "refused_by_second"
    FAILED = "failed"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class ItemOutcome:
    """What became of an item.

    The state is answered only if the text is accepted; `read` is the answer of the second task.
    Where nothing is verified, the state is all there is.
    """

    state: ItemState
    verdict: ItemVerdict = ItemVerdict.OPEN
    text: str = ""
    read: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Verifier:
    """The second task, and how its answers decide about those of the first."""

    first: Prompt
    task: PromptTask
    verification: Verification

    def find_kinds(self, items: Iterable[TaskItem]) -> dict[str, str]:
        """The kind of each first item, by digest."""
        kinds = {}
        for item in items:
            try:
                kinds[item.digest] = self.verification.kind(item)
            except SceneError as error:
                message = f"row {item.id!r}: {error.message}"
                raise SourceError(message, fix=error.fix or "fix or remove the row") from error
        return kinds

    def make_items(
        self, items: Mapping[str, Mapping[str, Any]], states: Mapping[str, ItemState]
    ) -> list[TaskItem]:
        """An item about each answer; its id is the digest of the first item."""
        return [
            self._make_item(digest, items[digest], self._find_text(state.answer))
            for digest, state in states.items()
            if state.answer is not None
        ]

    def guess_items(
        self, items: Mapping[str, Mapping[str, Any]], digests: Iterable[str]
    ) -> list[TaskItem]:
        """Items about answers that are still to come, each as long as the longest given text."""
        guesses = []
        for digest in digests:
            texts = [value for value in items[digest].values() if isinstance(value, str)]
            guess = self._make_item(digest, items[digest], max(texts, key=len, default=""))
            guesses.append(replace(guess, digest=digest))  # Other variants will have other texts.
        return guesses

    def _make_item(self, name: str, fields: Mapping[str, Any], text: str) -> TaskItem:
        return make_item(name, self.verification.make_fields(PromptItem("", fields), text))

    def _find_text(self, answer: Mapping[str, Any]) -> str:
        (text,) = self.first.texts(answer)
        return text

    def make_longest_request(self, items: Mapping[str, Mapping[str, Any]]) -> Request:
        """A request as long as any of the second task can be."""
        longest = "x" * (_BYTES_A_TOKEN * self.first.file.max_output_tokens_per_item)
        largest = [self._make_item("", fields, longest) for fields in items.values()]
        largest.sort(key=lambda item: len(canonical_json(item.fields)), reverse=True)
        most = largest[: self.task.prompt.file.batch]
        return self.task.make_request([replace(x, id=str(at)) for at, x in enumerate(most)], {})

    def settle(
        self, fields: Mapping[str, Any], state: ItemState, read: ItemState | None
    ) -> ItemOutcome:
        """What becomes of a first item.

        Args:
            read: The state of the item about its answer.
        """
        if state.answer is None:
            open_or_failed = ItemVerdict.OPEN if state.status is Status.OPEN else ItemVerdict.FAILED
            return ItemOutcome(state, ItemVerdict.CHECKS if is_refused(state) else open_or_failed)
        text = self._find_text(state.answer)
        pending = replace(state, status=Status.OPEN, answer=None)
        if read is None or read.status is Status.OPEN:
            pending = replace(pending, reason=read.reason if read else "")
            return ItemOutcome(pending, ItemVerdict.OPEN, text)
        failed = replace(pending, status=Status.FAILED)
        if read.answer is None:
            failed = replace(failed, reason=f"second request: {read.reason}")
            return ItemOutcome(failed, ItemVerdict.FAILED, text)
        faults = self.verification.faults(PromptItem("", fields), read.answer)
        if faults:
            refused = replace(failed, reason="; ".join(faults))
            return ItemOutcome(refused, ItemVerdict.SECOND, text, read.answer)
        return ItemOutcome(state, ItemVerdict.ACCEPTED, text, read.answer)


def count_verdicts(
    items: Sequence[TaskItem], outcomes: Mapping[str, ItemOutcome], kinds: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """By kind of item, how many rows were asked about, and how many have each verdict."""
    counts: dict[str, Counter[ItemVerdict]] = {}
    for item in items:
        counts.setdefault(kinds[item.digest], Counter())[outcomes[item.digest].verdict] += 1
    return {
        kind: {"asked": count.total(), **{str(verdict): count[verdict] for verdict in ItemVerdict}}
        for kind, count in sorted(counts.items())
    }
