"""Scored prompts: each is asked of two recordings, and a program tells right answers from wrong.

What is right of one recording scores 1 there, and nothing at all of the other (`reward.score`).
Of stretches, too: what two recordings are asked for never overlaps. So whatever a model answers by
the text alone, both rewards together come to at most 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from synth.base.rng import Randomness, pick, shuffle
from synth.base.units import Seconds, to_seconds
from synth.derived import reward
from synth.derived.contrasts import find_contrasts
from synth.derived.questions import (
    ASKED_KINDS,
    NUMBERS,
    Contrast,
    Derived,
    Exchange,
    QuestionKind,
    Subject,
    group_members,
)
from synth.derived.wording import list_frames, say_of
from synth.scene.activity import Activity, Stretches, intersect, unite
from synth.scene.claim import And, Claim, Count, Not, claim_labels
from synth.scene.scene import Concat, Event

_ENDINGS: Final[Mapping[str, str]] = {
    reward.ANSWER: "End with {options}.",
    reward.ORDER: "End with all of them in this order: <answer>...; ...</answer>.",
    reward.COUNT: "End with the number: <answer>...</answer>.",
    reward.INTERVAL: "End with each stretch from start to end in seconds, as in "
    "<answer>0.5-2, 3.25-4</answer>, or with <answer>none</answer> if it is not heard at all.",
}
"""How a completion must end."""

_MOST_SOUNDS: Final = 4
_TRIES: Final = 12

Times: TypeAlias = tuple[tuple[Seconds, Seconds], ...]


@dataclass(frozen=True, slots=True)
class ScoredPrompt:
    """A prompt about a recording, with its right answer and one that is wrong there.

    Args:
        kind: One of `reward.SCORED_KINDS`.
        exchange: Both answers as they stand between the tags. Where stretches stand against
            others, both claim that the sound is heard.
        evidence: When each sound that the answers are about is heard in the recording; never, for
            one that is not.
    """

    kind: str
    exchange: Exchange
    evidence: Mapping[str, Times]


def find_scored(subjects: Sequence[Subject], randomness: Randomness) -> Derived[ScoredPrompt]:
    """Prompts about some samples, each followed by the same prompt about another sample.

    Returns:
        With what gave none as left out: of `order` and `interval` pairs of samples of a group, of
        other kinds questions that no other sample answers differently, or that cannot be scored.
    """
    if not subjects:
        return Derived((), {})
    rng = randomness.at(f"scored/{subjects[0].id}", 0)
    by_id = {subject.id: subject for subject in subjects}
    asked = find_contrasts(subjects, randomness)
    left_out: Counter[str] = Counter()
    for kind, count in asked.left_out.items():
        if kind in ASKED_KINDS:
            left_out[_find_kind(kind)] += count
    drafts: list[tuple[str, Contrast | None]] = []
    for one, other in asked.made:
        if one.kind not in ASKED_KINDS:
            continue
        kind = _find_kind(one.kind)
        options = " or ".join(map(reward.wrap, shuffle([one.answer, other.answer], rng)))
        ending = _ENDINGS[kind].format(options=options)
        drafts.append((kind, (_end(one, ending), _end(other, ending))))
        if one.kind == QuestionKind.PRESENCE:
            drafts.append((reward.ABSENT, _ask_absent((one, other), by_id, rng)))
    for group in group_members(subjects):
        for pair in combinations(group, 2):
            first, second = (subjects[i] for i in shuffle(pair, rng))
            drafts.append((reward.ORDER, _ask_order(first, second, rng)))
            drafts.append((reward.INTERVAL, _ask_times(first, second, rng)))
    prompts: list[ScoredPrompt] = []
    for kind, draft in drafts:
        if draft is None or not all(_is_scored(kind, exchange) for exchange in draft):
            left_out[kind] += 1
            continue
        prompts += [
            ScoredPrompt(kind, exchange, _find_evidence(exchange, by_id)) for exchange in draft
        ]
    return Derived(tuple(prompts), left_out)


def find_times(subject: Subject, label: str) -> Times:
    """When a sound is heard, where a strong label puts it, in seconds to the hundredth."""
    times = (
        tuple(round(to_seconds(moment, subject.rate), 2) for moment in stretch)
        for stretch in _unite_places(subject, label, lambda heard: heard.labelled)
    )
    return tuple((onset, offset) for onset, offset in times if onset < offset)


def _unite_places(
    subject: Subject, label: str, choose: Callable[[Activity], Stretches]
) -> Stretches:
    places = subject.timeline.of_label(label)
    return unite(stretch for place in places for stretch in choose(place.heard))


def say_times(times: Times) -> str:
    """The answer that gives these times."""
    return ", ".join(f"{onset:.2f}-{offset:.2f}" for onset, offset in times) or reward.NONE


def _find_kind(kind: str) -> str:
    return reward.COUNT if kind in (QuestionKind.COUNT, QuestionKind.TIMES) else reward.ANSWER


def _is_scored(kind: str, exchange: Exchange) -> bool:
    """Whether the right answer scores 1, and the wrong one nothing."""
    right = exchange.answer
    return [
        reward.score(kind, reward.wrap(answer), right) for answer in (right, exchange.wrong)
    ] == [1, 0]


def _find_evidence(exchange: Exchange, subjects: Mapping[str, Subject]) -> dict[str, Times]:
    subject = subjects[exchange.samples[0]]
    claims = (*exchange.claims, *exchange.wrong_claims)
    named = sorted({label for claim in claims for label in claim_labels(claim)})
    return {subject.phrase(label).noun: find_times(subject, label) for label in named}


def _end(exchange: Exchange, ending: str) -> Exchange:
    """The same question, with how to end an answer; numbers in digits."""
    prompt = f"{exchange.prompt} {ending}"
    if _find_kind(exchange.kind) == reward.ANSWER:
        return replace(exchange, prompt=prompt)
    answer = _say_number(exchange.answer, exchange.claims[0])
    wrong = _say_number(exchange.wrong, exchange.wrong_claims[0])
    return replace(exchange, prompt=prompt, answer=answer, wrong=wrong)


def _say_number(answer: str, claim: Claim) -> str:
    return str(claim.times if isinstance(claim, Count) else NUMBERS.index(answer) + 1)


Side: TypeAlias = tuple[Subject, str, Claim]
"""A sample, what is right of it, and what that claims."""


def _oppose(kind: str, prompt: str, one: Side, other: Side) -> Contrast:
    (about, answer, claim), (against, wrong, rival) = one, other
    return Exchange(
        kind, prompt, (about.id,), answer, (claim,), wrong, (rival,), (against.id,)
    ).contrast()


# When a sound is heard, if at all.


def _ask_absent(
    presence: Contrast, subjects: Mapping[str, Subject], rng: np.random.Generator
) -> Contrast | None:
    """When a sound is heard, of two samples of which only one has it."""
    has = next(exchange for exchange in presence if isinstance(exchange.claims[0], Event))
    one, other = subjects[has.samples[0]], subjects[has.others[0]]
    claim = has.claims[0]
    (label,) = claim_labels(claim)
    if not _is_timed(one, label):
        return None
    sides = (one, say_times(find_times(one, label)), claim), (other, reward.NONE, Not(claim))
    return _oppose(reward.ABSENT, _ask_when(one, label, rng), *sides)


def _ask_times(one: Subject, other: Subject, rng: np.random.Generator) -> Contrast | None:
    """When a sound is heard that both have, at times that nobody could confuse."""
    for label in shuffle(one.sounds, rng):
        if not (_is_timed(one, label) and _is_timed(other, label)):
            continue
        if not (_is_apart(one, other, label) and _is_apart(other, one, label)):
            continue
        mine, theirs = (
            (subject, say_times(find_times(subject, label)), Event(label))
            for subject in (one, other)
        )
        return _oppose(reward.INTERVAL, _ask_when(one, label, rng), mine, theirs)
    return None


def _is_timed(subject: Subject, label: str) -> bool:
    """Whether everybody knows which sound is meant, and its times can be said."""
    is_clear = subject.has(label) and subject.hearing.bears_alone(label)
    return is_clear and 0 < len(find_times(subject, label)) <= reward.MOST_STRETCHES


def _is_apart(one: Subject, other: Subject, label: str) -> bool:
    """Whether nobody hears a sound in one sample where a strong label puts it in another."""
    faint = _unite_places(one, label, lambda heard: heard.faint)
    return not intersect(faint, _unite_places(other, label, lambda heard: heard.labelled))


def _ask_when(subject: Subject, label: str, rng: np.random.Generator) -> str:
    ways = say_of(subject, list_frames("prompt")[reward.INTERVAL], (label,))
    return f"{pick(ways, rng)} {_ENDINGS[reward.INTERVAL]}"


# In which order sounds are heard.


def _ask_order(one: Subject, other: Subject, rng: np.random.Generator) -> Contrast | None:
    """The order of as many sounds as possible that both have, one after the other."""
    common = [
        label
        for label in one.sounds
        if one.has(label) and other.has(label) and reward.PART not in one.phrase(label).noun
    ]
    choices = (
        choice
        for size in range(min(len(common), _MOST_SOUNDS), 1, -1)
        for choice in shuffle(list(combinations(common, size)), rng)[:_TRIES]
    )
    for choice in choices:
        # In scenes of one sound after another they are named in order; else nothing is proven.
        mine, theirs = (
            [label for label in subject.sounds if label in choice] for subject in (one, other)
        )
        claim, rival = _claim_order(mine), _claim_order(theirs)
        if not (one.proves(claim) and other.proves(rival) and one.refutes(rival)):
            continue
        if not other.refutes(claim):
            continue
        names = {label: one.phrase(label).noun for label in shuffle(choice, rng)}
        listed, answer, wrong = (
            f"{reward.PART} ".join(names[label] for label in labels)
            for labels in (names, mine, theirs)
        )
        asked = pick(list_frames("prompt")[reward.ORDER], rng).format(sounds=listed)
        prompt = f"{asked} {_ENDINGS[reward.ORDER]}"
        return _oppose(reward.ORDER, prompt, (one, answer, claim), (other, wrong, rival))
    return None


def _claim_order(labels: Sequence[str]) -> Claim:
    pairs: list[Claim] = [Concat(Event(a), Event(b)) for a, b in combinations(labels, 2)]
    return reduce(And, pairs)
