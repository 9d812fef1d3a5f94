"""Contrasts: prompts to which two samples of a group give different answers, and conversations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import combinations, groupby, permutations, product
from typing import Final

import numpy as np

from synth.base.rng import Randomness, pick, shuffle
from synth.captions.caption import capitalise
from synth.captions.narrative import DenseCaption, Resolution, dense_text
from synth.derived.asking import ask
from synth.derived.differences import DIFFERENCE, find_differences
from synth.derived.questions import (
    ASKED_KINDS,
    COMPARED,
    MEASURED,
    NO,
    YES,
    YES_NO,
    AskedKind,
    Contrast,
    Derived,
    Exchange,
    Question,
    QuestionKind,
    Subject,
    TrueSentence,
    group_members,
)
from synth.derived.wording import list_frames, wordings
from synth.scene.claim import Not, Quantity
from synth.scene.scene import Concat, Event, Overlay, labels

# What is asked, and how answers are said.


DESCRIBE: Final = "describe"
TIMESTAMPS: Final = "timestamps"
WHICH: Final = "which"
KINDS: Final = (DESCRIBE, TIMESTAMPS, *(kind.value for kind in ASKED_KINDS), DIFFERENCE, WHICH)
"""What is asked: a caption, dense captions, a question, or how two recordings differ; `which` of
two recordings a caption fits."""


def say(answer: str) -> str:
    """An answer as a sentence."""
    return capitalise(answer if answer.endswith((".", "!", "?")) else f"{answer}.")


# The words of prompts: several ways to ask for each kind of answer.


FIRST: Final = "the first"
SECOND: Final = "the second"

_NAMED: Final = (Quantity.TREND, *COMPARED)
"""Kinds of which each text names both answers."""


def put_question(kind: AskedKind, text: str, options: Sequence[str]) -> list[str]:
    """Every way to put a question, with its options behind it or without.

    Args:
        options: Two answers; yes and no are not named.

    Returns:
        The way without options first, unless the text needs them.
    """
    if kind in YES_NO or kind in _NAMED:
        return [text]
    named = [f"{text} {capitalise(a)} or {b}?" for a, b in permutations(options, 2)]
    return named if "these sounds" in text else [text, *named]


# Finding contrasts: prompts to which two samples of a group give different answers.


_RELATED: Final = (QuestionKind.ORDER, QuestionKind.TOGETHER)
_SHARED: Final = (QuestionKind.PRESENCE, QuestionKind.COUNT)
"""Kinds of which groups lend one another answers."""


def find_contrasts(
    subjects: Sequence[Subject], randomness: Randomness, *, one_way: bool = False
) -> Derived[Contrast]:
    """Every contrast of some samples.

    Both sides get the same prompt, and each answer is right of one side and wrong of the other: no
    text tells which. Sides are of one group, but for the presence and the number of sounds, where
    groups without an answer of each kind lend one another.

    Args:
        one_way: Ask a whole group in the same words, as conversations with a common beginning do;
            a sample may then be asked the same twice.

    Returns:
        With what gave none as left out: questions that no other sample answers differently, and
        pairs of samples of which no two captions, or no difference, are proven and refuted.
    """
    if not subjects:
        return Derived((), {})
    rng = randomness.at(f"contrasts/{subjects[0].id}", 0)
    left_out: Counter[str] = Counter()
    contrasts_made = []
    for group in group_members(subjects):
        for pair in combinations(group, 2):
            one, other = (subjects[i] for i in shuffle(pair, rng))
            sentences = _find_captions(one, other, rng)
            if sentences is None:
                left_out.update((DESCRIBE, WHICH))
            else:
                contrasts_made.append(_describe(one, other, sentences, rng))
                contrasts_made.append(_ask_which(one, other, sentences, rng))
    pairs, unpaired = _pair_questions(
        ask(subjects, randomness).made, subjects, rng, one_way=one_way
    )
    contrasts_made += [_put(one, other, is_open, rng) for one, other, is_open in pairs]
    left_out.update(question.kind.value for question in unpaired)
    differences = find_differences(subjects, randomness)
    contrasts_made += [
        replace(difference, prompt=pick(list_frames("prompt")[DIFFERENCE], rng)).contrast()
        for difference in differences.made
    ]
    left_out.update(differences.left_out)
    return Derived(tuple(contrasts_made), +left_out)


def _find_captions(
    one: Subject, other: Subject, rng: np.random.Generator
) -> tuple[TrueSentence, TrueSentence] | None:
    """A true caption of each that is false of the other; of all such those most alike in words."""
    own, rivals = (
        [
            sentence
            for sentence in about.told
            if against.refutes(sentence.claim) and about.proves(sentence.claim)
        ]
        for about, against in ((one, other), (other, one))
    )

    def measure_likeness(pair: Sequence[TrueSentence]) -> float:
        words, others = (sentence.text.lower().split() for sentence in pair)
        return SequenceMatcher(None, words, others, autojunk=False).ratio()

    pairs = shuffle(list(product(own, rivals)), rng)
    return max(pairs, key=measure_likeness, default=None)


def _describe(
    one: Subject, other: Subject, pair: tuple[TrueSentence, TrueSentence], rng: np.random.Generator
) -> Contrast:
    prompt = pick(list_frames("prompt")[DESCRIBE], rng)
    (a, left), (b, right) = pair
    return Exchange(DESCRIBE, prompt, (one.id,), a, (left,), b, (right,), (other.id,)).contrast()


def _ask_which(
    one: Subject, other: Subject, pair: tuple[TrueSentence, TrueSentence], rng: np.random.Generator
) -> Contrast:
    """Which of two recordings a caption of the first fits, and in the opposite order."""
    text, claim = pair[0]
    quoted = capitalise(text.rstrip("."))
    prompt = pick(list_frames("prompt")[WHICH], rng).format(text=quoted)
    order = one.id, other.id
    of_first, of_second = (claim, Not(claim)), (Not(claim), claim)
    exchange = Exchange(WHICH, prompt, order, FIRST, of_first, SECOND, of_second, order[::-1])
    return exchange.contrast()


def _pair_questions(
    questions: Sequence[Question],
    subjects: Sequence[Subject],
    rng: np.random.Generator,
    *,
    one_way: bool,
) -> tuple[list[tuple[Question, Question, bool]], list[Question]]:
    """Questions that are answered differently, two and two, and those without a partner.

    Each has one partner, but for order and company, which are asked of the whole group, and for
    measures, of which each answer stands against each. Of a pair is told whether it may be put
    without its options: two such pairs would be put alike.
    """
    members = {
        subjects[at].id: [subjects[place] for place in places]
        for places in group_members(subjects)
        for at in places
    }
    by_group: defaultdict[Hashable, list[Question]] = defaultdict(list)
    for question in questions:
        by_group[members[question.sample][0].id, *_find_key(question)].append(question)
    pairs: list[tuple[Question, Question, bool]] = []
    alone: list[Question] = []
    for bucket in by_group.values():
        group = members[bucket[0].sample]
        if bucket[0].kind in MEASURED:
            pairs += [(*pair, len(bucket) == 2) for pair in combinations(bucket, 2)]
        elif bucket[0].kind in _RELATED and len(group) > 1:
            pairs += [(*pair, True) for pair in _ask_all(bucket[0], group, rng, one_way)]
        else:
            matched, single = _match(bucket)
            pairs += [(*pair, True) for pair in matched]
            alone += single
    shared: defaultdict[Hashable, list[Question]] = defaultdict(list)
    rest: list[Question] = []
    for question in alone:
        (shared[_find_key(question)] if question.kind in _SHARED else rest).append(question)
    for bucket in shared.values():
        matched, single = _match(bucket)
        pairs += [(*pair, True) for pair in matched]
        rest += single
    return pairs, rest


def _find_key(question: Question) -> tuple[Hashable, ...]:
    """Equal for questions that ask the same."""
    if question.kind is QuestionKind.COUNT:
        return (question.kind,)
    if question.kind in _RELATED:
        return question.kind, question.options[YES]
    return question.kind, question.text, *question.options


def _ask_all(
    question: Question, group: Sequence[Subject], rng: np.random.Generator, one_way: bool
) -> list[tuple[Question, Question]]:
    """A question of yes or no to every member that hears its sounds, in several ways or one."""
    claim = question.options[YES]
    named = labels(claim) if isinstance(claim, Event | Concat | Overlay) else ()
    hearers = [subject for subject in group if all(subject.has(label) for label in named)]
    yes = [subject for subject in hearers if subject.proves(claim)]
    no = [subject for subject in hearers if subject.refutes(claim)]
    ways = shuffle(wordings(question.kind, named, hearers[0]), rng)[: 1 if one_way else None]
    asked = replace(question, options={YES: claim, NO: Not(claim)})
    return [
        (
            replace(asked, sample=yes[at % len(yes)].id, text=ways[at % len(ways)], answer=YES),
            replace(asked, sample=no[at % len(no)].id, text=ways[at % len(ways)], answer=NO),
        )
        for at in range(max(len(yes), len(no)))
    ]


def _match(bucket: Sequence[Question]) -> tuple[list[tuple[Question, Question]], list[Question]]:
    """Each question with the first free one behind it that has another answer."""
    pairs: list[tuple[Question, Question]] = []
    free = list(bucket)
    rest: list[Question] = []
    while free:
        one = free.pop(0)
        at = next((i for i, candidate in enumerate(free) if candidate.answer != one.answer), None)
        if at is None:
            rest.append(one)
        else:
            pairs.append((one, free.pop(at)))
    return pairs, rest


def _put(one: Question, other: Question, is_open: bool, rng: np.random.Generator) -> Contrast:
    ways = put_question(one.kind, one.text, (one.answer, other.answer))
    prompt = pick(ways if is_open or len(ways) == 1 else ways[1:], rng)
    first, second = _answer(one, other, prompt), _answer(other, one, prompt)
    return first, second


def _answer(one: Question, other: Question, prompt: str) -> Exchange:
    return Exchange(
        one.kind.value,
        prompt,
        (one.sample,),
        one.answer,
        (one.options[one.answer],),
        other.answer,
        (one.options[other.answer],),
        (other.sample,),
    )


# Conversations about recordings, made of exchanges.


MOST_TURNS: Final = 4
"""Questions in one conversation."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Exchanges about the same recordings, in the order in which they are spoken.

    Args:
        id: The id of the first recording and a number.
    """

    id: str
    group: str
    exchanges: tuple[Exchange, ...]

    @property
    def kind(self) -> str:
        """The kind of its only exchange, or `conversation`."""
        return self.exchanges[0].kind if len(self.exchanges) == 1 else "conversation"


def find_conversations(
    subjects: Sequence[Subject], contrasts: Sequence[Contrast], randomness: Randomness
) -> tuple[Conversation, ...]:
    """Conversations about samples, sample by sample.

    Each sample is described once, and its dense captions are told at one resolution, each in turn.
    The sides of all contrasts are asked, several of one recording in one conversation where no
    earlier answer settles a later one. Captions are told by themselves, as they would.
    """
    if not subjects:
        return ()
    rng = randomness.at(f"chat/{subjects[0].id}", 0)
    alone = {
        subject.id: [_describe_sounds(subject, rng), *_tell_times(subject, number, rng)]
        for number, subject in enumerate(subjects)
    }
    compared = [sides for sides in contrasts if sides[0].kind in (DIFFERENCE, WHICH)]
    for contrast in compared:
        for exchange in contrast:
            alone[exchange.samples[0]].append(exchange)
    apart = (DESCRIBE, DIFFERENCE, WHICH)
    asked = _converse(shuffle([sides for sides in contrasts if sides[0].kind not in apart], rng))
    conversations: list[Conversation] = []
    for subject in subjects:
        spoken = [*((sides,) for sides in alone[subject.id]), *asked.get(subject.id, ())]
        conversations += [
            Conversation(f"{subject.id}-c{place:02d}", subject.group, exchanges)
            for place, exchanges in enumerate(spoken)
        ]
    return tuple(conversations)


def dense_texts(captions: Iterable[DenseCaption], rate: int) -> dict[Resolution, str]:
    """The dense captions of a sample in one line for each resolution."""
    by_resolution = groupby(captions, lambda caption: caption.resolution)
    return {resolution: dense_text(list(group), rate) for resolution, group in by_resolution}


def _describe_sounds(subject: Subject, rng: np.random.Generator) -> Exchange:
    text, claim = pick(subject.told, rng)
    return Exchange(
        DESCRIBE, pick(list_frames("prompt")[DESCRIBE], rng), (subject.id,), text, (claim,)
    )


def _tell_times(subject: Subject, number: int, rng: np.random.Generator) -> Iterator[Exchange]:
    texts = dense_texts(subject.dense, subject.rate)
    if texts:
        resolution = [*texts][number % len(texts)]
        prompt = pick(list_frames("prompt")[f"{TIMESTAMPS} {resolution}"], rng)
        yield Exchange(TIMESTAMPS, prompt, (subject.id,), texts[resolution], ())


def _converse(contrasts: Sequence[Contrast]) -> dict[str, list[tuple[Exchange, ...]]]:
    """Questions about one recording as conversations of up to `MOST_TURNS`, by sample.

    A contrast follows other questions only if these were answered alike by both sides: so no
    earlier answer tells a later one, and neither does its place.
    """
    talks: dict[str, list[list[Exchange]]] = {}
    for one, other in contrasts:
        mine, theirs = (talks.setdefault(exchange.samples[0], []) for exchange in (one, other))
        pairs = ((a, b) for a in mine for b in theirs if _are_alike(a, b))
        a, b = next(pairs, ([], []))
        if not a:
            mine.append(a)
            theirs.append(b)
        a.append(one)
        b.append(other)
    return {sample: [tuple(exchange) for exchange in its] for sample, its in talks.items()}


def _are_alike(one: Sequence[Exchange], other: Sequence[Exchange]) -> bool:
    """Whether two conversations are the same so far, and may go on."""
    if len(one) != len(other) or len(one) == MOST_TURNS:
        return False
    return all(
        (a.prompt, a.answer, a.claims) == (b.prompt, b.answer, b.claims)
        for a, b in zip(one, other, strict=True)
    )
