"""The second request: what it asks about the answers of the first, and what becomes of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.llm.files import InputRow
from pipelines.llm.money.budget import SecondRequests
from pipelines.llm.money.prices import Price
from pipelines.llm.money.store import ItemState, RequestMember, Status
from pipelines.llm.tasks import PromptTask, item_digest, make_members
from pipelines.llm.wire.request import bound_tokens
from synth.base.atomic import replacing
from synth.base.errors import SceneError, SourceError
from synth.corpus.schema import canonical_json
from synth.llm.answer_schema import AnswerError
from synth.llm.prompt import Prompt
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


# What a reply, or a fault, makes of the items that were asked about.


MAX_ATTEMPTS: Final = 2
"""An answer that is refused is asked for once more, with the reason."""

_QUOTED: Final = re.compile(r'"[^"]*"|\B\'[^\']*\'\B')
_NUMBER: Final = re.compile(r"\d+")
_SHOWN: Final = 500
"""Letters of a fault that are kept, as it may quote what the model wrote."""
MISSING: Final = "the reply left it out"
_UNUSABLE: Final = "unusable reply"


def judge_reply(
    prompt: Prompt, members: Sequence[RequestMember], states: Mapping[str, ItemState], text: str
) -> dict[str, ItemState]:
    """The items' states, by digest, after a reply that came whole."""
    try:
        answers = prompt.parse(text)
    except AnswerError as error:
        return apply_fault(members, states, f"{_UNUSABLE}: {error.message}", ask_again=True)
    after: dict[str, ItemState] = {}
    for member in members:
        before = states.get(member.digest, ItemState())
        answer = answers.get(member.id)
        if answer is None:
            smaller = _halve(len(members))
            after[member.digest] = _refuse([MISSING], before, smaller, len(members) > 1)
        elif faults := prompt.faults(PromptItem(member.id, member.fields), answer):
            after[member.digest] = _refuse(faults, before, before.together, False)
        else:
            after[member.digest] = _accept(answer, before)
    return after


def apply_fault(
    members: Sequence[RequestMember],
    states: Mapping[str, ItemState],
    reason: str,
    ask_again: bool = False,
) -> dict[str, ItemState]:
    """The items' states after a fault of the whole reply.

    Several are asked again in halves, so that one item cannot spoil the others; one alone fails.

    Args:
        states: Their states before.
        ask_again: One alone is asked once more, with the reason.
    """
    alone = len(members) == 1
    after = {}
    for member in members:
        before = states.get(member.digest, ItemState())
        if not alone:
            smaller = _halve(len(members))
            after[member.digest] = replace(before, reason=reason, together=smaller)
        elif ask_again:
            after[member.digest] = _refuse([reason], before, 1, False)
        else:
            failed = replace(before, status=Status.FAILED, reason=reason)
            after[member.digest] = replace(failed, attempts=before.attempts + 1, together=1)
    return after


def count_settled(states: Mapping[str, ItemState]) -> int:
    """How many of the items are answered or have failed."""
    return sum(state.status is not Status.OPEN for state in states.values())


def is_refused(state: ItemState) -> bool:
    """Whether an item failed as its answer broke the prompt's schema or checks."""
    told = "; ".join(state.complaints)
    return (
        state.status is Status.FAILED
        and told == state.reason != MISSING
        and not told.startswith(_UNUSABLE)
    )


def classify_reason(reason: str) -> str:
    """A reason without its particulars, for counting."""
    first = _QUOTED.sub("...", reason).split(";")[0].split(":")[0]
    return " ".join(_NUMBER.sub("N", first).split()) or "other"


def _halve(count: int) -> int:
    return max(1, (count + 1) // 2)


def _accept(answer: Mapping[str, Any], before: ItemState) -> ItemState:
    attempts = before.attempts + 1
    return ItemState(Status.ANSWERED, answer, "", attempts, (), before.together)


def _refuse(
    faults: Sequence[str], before: ItemState, together: int, for_nothing: bool
) -> ItemState:
    """The state after a refused answer.

    Args:
        faults: Why it was refused.
        together: At most so many items in the next request.
        for_nothing: The attempt does not count.
    """
    attempts = before.attempts + (not for_nothing)
    status = Status.OPEN if attempts < MAX_ATTEMPTS else Status.FAILED
    faults = [fault if len(fault) <= _SHOWN else f"{fault[:_SHOWN]}..." for fault in faults]
    complaints = before.complaints if for_nothing else tuple(faults)
    return ItemState(status, None, "; ".join(faults), attempts, complaints, together)


# What is written: what became of every row, as Parquet.


_TEXT: Final = pa.string()
ANSWERS: Final = pa.schema(
    [
        pa.field("id", _TEXT, nullable=False),
        pa.field("status", _TEXT, nullable=False),
        pa.field("texts", pa.list_(_TEXT), nullable=False),
        pa.field("answer", _TEXT, nullable=False),
        pa.field("reason", _TEXT, nullable=False),
        pa.field("generator", _TEXT, nullable=False),
        pa.field("attempts", pa.int32(), nullable=False),
    ]
)
VERIFIED: Final = ("text", "verdict", "kind", "read")
"""Columns of answers that are verified: the text, accepted or not, its `Verdict`, the kind of the
item, and the answer to the second request. The item's fields follow."""


def write_answers(
    out: Path,
    rows: Sequence[InputRow],
    task: PromptTask,
    outcomes: Mapping[str, ItemOutcome],
    kinds: Mapping[str, str],
) -> None:
    """Write what became of every row, in the order of the input."""
    names = dict.fromkeys((*VERIFIED, *task.prompt.file.fields) if kinds else ())
    added = [pa.field(name, _TEXT, nullable=False) for name in names if name not in ANSWERS.names]
    schema = pa.schema([*ANSWERS, *added])
    facts = {"task": task.prompt.id, "digest": task.prompt.digest, "generator": task.generator}
    table = []
    for row in rows:
        found = outcomes[row.digest]
        made = _make_row(row, found, task)
        table.append(_make_verified(row, found, kinds[row.digest]) | made if kinds else made)
    with replacing(out) as partial:
        found_table = pa.Table.from_pylist(table, schema=schema.with_metadata(facts))
        pq.write_table(found_table, partial, compression="zstd")


def _make_row(row: InputRow, found: ItemOutcome, task: PromptTask) -> dict[str, Any]:
    state = found.state
    return {
        "id": row.id,
        "status": str(state.status),
        "texts": [] if state.answer is None else task.prompt.texts(state.answer),
        "answer": "" if state.answer is None else canonical_json(state.answer),
        "reason": state.reason,
        "generator": task.generator,
        "attempts": state.attempts,
    }


def _make_verified(row: InputRow, found: ItemOutcome, kind: str) -> dict[str, Any]:
    fields = {
        name: value if isinstance(value, str) else canonical_json(value)
        for name, value in row.fields.items()
    }
    read = "" if found.read is None else canonical_json(found.read)
    return {**fields, "text": found.text, "verdict": str(found.verdict), "kind": kind, "read": read}
