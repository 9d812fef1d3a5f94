"""What a reply, or a fault, makes of the items that were asked about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pipelines.llm.money.records import ItemState, RequestMember, Status
from synth.llm.answer_schema import AnswerError
from synth.llm.prompt import Prompt
from synth.llm.reply import PromptItem

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
