"""The second request: what it asks about the answers of the first, and what becomes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from pipelines.llm.files import InputRow
from pipelines.llm.money.budget import SecondRequests
from pipelines.llm.money.prices import Price
from pipelines.llm.money.records import ItemState, Status
from pipelines.llm.tasks import PromptTask, item_digest, make_members
from pipelines.llm.verdicts import is_refused
from pipelines.llm.wire.request import bound_tokens
from synth.base.errors import SceneError, SourceError
from synth.corpus.schema import canonical_json
from synth.llm.reply import PromptItem
from synth.llm.verification import TEXT, Verification

PHASE: Final = "verify"
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

    The state is answered only if the text is accepted; `read` is the answer to the second request.
    """

    verdict: ItemVerdict
    state: ItemState
    text: str = ""
    read: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SecondItem:
    """A second item: its digest in the store, and its fields."""

    digest: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SecondRequest:
    """How the answers of a task are verified."""

    first: PromptTask
    task: PromptTask
    verification: Verification
    price: Price

    def find_kinds(self, rows: Sequence[InputRow]) -> dict[str, str]:
        """The kind of each item, by digest."""
        found = {}
        for row in rows:
            try:
                found[row.digest] = self.verification.kind(PromptItem(row.id, row.fields))
            except SceneError as error:
                message = f"row {row.id!r}: {error.message}"
                raise SourceError(message, fix=error.fix or "fix or remove the row") from error
        return found

    def make_questions(
        self, items: Mapping[str, Mapping[str, Any]], states: Mapping[str, ItemState]
    ) -> dict[str, SecondItem]:
        """The second items, by the digests of the first; of those that are answered."""
        found = {}
        for each, state in states.items():
            if state.answer is not None:
                (text,) = self.first.prompt.texts(state.answer)
                found[each] = self._make_question(items[each], text)
        return found

    def guess_questions(
        self, items: Mapping[str, Mapping[str, Any]], digests: Iterable[str]
    ) -> dict[str, SecondItem]:
        """The second items of some that are not answered, as if a text were as long as its item."""
        found = {}
        for each in digests:
            texts = [value for value in items[each].values() if isinstance(value, str)]
            guessed = self._make_question(items[each], max(texts, key=len, default=""))
            found[each] = SecondItem(each, guessed.fields)  # Other variants have other texts.
        return found

    def _make_question(self, fields: Mapping[str, Any], text: str) -> SecondItem:
        told = self.verification.make_fields(PromptItem("", fields), text)
        return SecondItem(item_digest(told), told)

    def reserve(
        self, items: Mapping[str, Mapping[str, Any]], due: set[str], in_batch: bool
    ) -> SecondRequests:
        """What is to be kept of the budget while the first requests are sent.

        Args:
            items: All first items.
            due: Of them, those that are answered and not verified.
            in_batch: The second requests travel in batches.
        """
        most = self.task.prompt.batch
        longest = "x" * (_BYTES_A_TOKEN * self.first.prompt.max_output_tokens_per_item)
        told = [self._make_question(fields, "").fields for fields in items.values()]
        told.sort(key=lambda fields: len(canonical_json(fields)), reverse=True)
        fullest = {str(at): {**fields, TEXT: longest} for at, fields in enumerate(told[:most])}
        request = self.task.make_request(
            make_members(list(fullest), fullest), dict.fromkeys(fullest, ItemState())
        )
        limits = bound_tokens(request), request.max_output_tokens
        worst = self.price.compute_cost(*limits, in_batch=in_batch)
        return SecondRequests(worst, len(fullest), due)

    def settle(
        self, fields: Mapping[str, Any], state: ItemState, read: ItemState | None
    ) -> ItemOutcome:
        """What becomes of an item."""
        if state.answer is None:
            open_or_failed = ItemVerdict.OPEN if state.status is Status.OPEN else ItemVerdict.FAILED
            return ItemOutcome(ItemVerdict.CHECKS if is_refused(state) else open_or_failed, state)
        (text,) = self.first.prompt.texts(state.answer)
        pending = replace(state, status=Status.OPEN, answer=None)
        if read is None or read.status is Status.OPEN:
            return ItemOutcome(
                ItemVerdict.OPEN, replace(pending, reason=read.reason if read else ""), text
            )
        failed = replace(pending, status=Status.FAILED)
        if read.answer is None:
            reason = f"second request: {read.reason}"
            return ItemOutcome(ItemVerdict.FAILED, replace(failed, reason=reason), text)
        faults = self.verification.faults(PromptItem("", fields), read.answer)
        if faults:
            refused = replace(failed, reason="; ".join(faults))
            return ItemOutcome(ItemVerdict.SECOND, refused, text, read.answer)
        return ItemOutcome(ItemVerdict.ACCEPTED, state, text, read.answer)


def count_verdicts(
    rows: Sequence[InputRow], outcomes: Mapping[str, ItemOutcome], kinds: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    """By kind of item, how many rows were asked about, and how many have each verdict."""
    counts: dict[str, Counter[ItemVerdict]] = {}
    for row in rows:
        counts.setdefault(kinds[row.digest], Counter())[outcomes[row.digest].verdict] += 1
    return {
        kind: {"asked": found.total(), **{str(each): found[each] for each in ItemVerdict}}
        for kind, found in sorted(counts.items())
    }
