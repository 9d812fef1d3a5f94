"""Questions and exchanges, what their answers claim, and the samples that they are about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, reduce
from itertools import combinations
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from synth.base.rng import Randomness, shuffle
from synth.base.units import Frames
from synth.captions.narrative import DenseCaption, dense_captions
from synth.corpus.schema import read_dense, read_timeline
from synth.labels.lexicon import Phrase, heard_tags
from synth.scene.claim import (
    And,
    Claim,
    Count,
    Measured,
    Only,
    Quantity,
    claim_from_text,
    claim_labels,
    claim_to_text,
)
from synth.scene.scene import Concat, Event, Overlay, events, from_text
from synth.scene.timeline import Timeline
from synth.truth.change import annotate
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing

T = TypeVar("T")


@dataclass(frozen=True)
class Derived(Generic[T]):
    """What was made of whole groups of samples of one split; a function of them and the seed.

    Args:
        left_out: By kind, how many questions, or pairs of samples of a group, gave none.
    """

    made: tuple[T, ...]
    left_out: Mapping[str, int]


# A question with its answer, and the claims that its options make.


class QuestionKind(StrEnum):
    """What a question asks.

    `order`, `together`, `presence`: yes or no. `first`, `last`, `after`, `before`, `with`: which
    sound. `count`: how many different sounds. `times`: how often one sound is heard. A question
    may also ask for a `Quantity`: of one sound, of two, or of one that is heard twice.
    """

    ORDER = "order"
    TOGETHER = "together"
    PRESENCE = "presence"
    FIRST = "first"
    LAST = "last"
    AFTER = "after"
    BEFORE = "before"
    WITH = "with"
    COUNT = "count"
    TIMES = "times"


AskedKind: TypeAlias = QuestionKind | Quantity
ASKED_KINDS: Final[tuple[AskedKind, ...]] = (*QuestionKind, *Quantity)

YES: Final = "yes"
NO: Final = "no"
YES_NO: Final = (QuestionKind.ORDER, QuestionKind.TOGETHER, QuestionKind.PRESENCE)
ENDS: Final = (QuestionKind.FIRST, QuestionKind.LAST)
ANCHORED: Final = (QuestionKind.AFTER, QuestionKind.BEFORE, QuestionKind.WITH)
COMPARED: Final = tuple(quantity for quantity in Quantity if quantity.is_comparison)
MEASURED: Final[tuple[AskedKind, ...]] = (QuestionKind.TIMES, *Quantity)
NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one sample.

    Args:
        options: What each possible answer claims; they are `yes` and `no` where it asks for them.
    """

    id: str
    sample: str
    text: str
    answer: str
    kind: AskedKind
    options: Mapping[str, Claim]

    def to_json(self) -> dict[str, Any]:
        """As a row; claims are JSON text, as in the manifests."""
        return {
            "id": self.id,
            "sample": self.sample,
            "question": self.text,
            "answer": self.answer,
            "kind": self.kind.value,
            "options": list(self.options),
            "claims": [claim_to_text(claim) for claim in self.options.values()],
        }


# An exchange: a prompt about recordings, the right answer, a wrong one, and what both claim.


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is asked of one recording, or of two in this order, and what may be answered.

    Args:
        answer: The right answer; `said` of it is what the assistant says.
        claims: What it claims of each recording; none for dense captions, which are made anew.
        wrong: A wrong answer, "" where none is given.
        others: The recordings of which the wrong answer is right, in order.
        detail: How two recordings differ; "" where something else is asked.
    """

    kind: str
    prompt: str
    samples: tuple[str, ...]
    answer: str
    claims: tuple[Claim, ...]
    wrong: str = ""
    wrong_claims: tuple[Claim, ...] = ()
    others: tuple[str, ...] = ()
    detail: str = ""

    def contrast(self) -> Contrast:
        """It, and the same prompt about the other recordings, with both answers exchanged."""
        mirror = replace(
            self,
            samples=self.others,
            answer=self.wrong,
            claims=self.wrong_claims,
            wrong=self.answer,
            wrong_claims=self.claims,
            others=self.samples,
        )
        return self, mirror

    def to_json(self) -> dict[str, Any]:
        """As values for JSON; claims are JSON text, as in the manifests."""
        return {
            "kind": self.kind,
            "prompt": self.prompt,
            "samples": list(self.samples),
            "answer": self.answer,
            "claims": [claim_to_text(claim) for claim in self.claims],
            "wrong": self.wrong,
            "wrong_claims": [claim_to_text(claim) for claim in self.wrong_claims],
            "others": list(self.others),
        }


Contrast: TypeAlias = tuple[Exchange, Exchange]
"""The same prompt about two recordings, or about two in either order; what is right of one is wrong
of the other."""


# What answers claim.


def choice_claim(
    kind: QuestionKind, candidate: str, anchor: str | None, heard: Collection[str]
) -> Claim | None:
    """What it claims to name `candidate` as the answer to a which-question.

    Args:
        kind: One of `ENDS` or `ANCHORED`.
        anchor: The label that the question names, for `ANCHORED`.

    Returns:
        None where nothing is claimed: what is first or last needs another sound.
    """
    sound = Event(candidate)
    if kind in ANCHORED:
        if anchor is None:
            raise ValueError(f"a question of kind {kind.value!r} names a sound")
        match kind:
            case QuestionKind.AFTER:
                return Concat(Event(anchor), sound)
            case QuestionKind.BEFORE:
                return Concat(sound, Event(anchor))
        return Overlay(Event(anchor), sound)
    others = [Event(label) for label in sorted(heard) if label != candidate]
    if kind not in ENDS or not others:
        return None
    pairs: list[Claim] = [
        Concat(sound, other) if kind is QuestionKind.FIRST else Concat(other, sound)
        for other in others
    ]
    return reduce(And, pairs)


def count_claim(heard: Collection[str]) -> Claim:
    """That these sounds are heard and no others."""
    every: list[Claim] = [Event(label) for label in sorted(heard)]
    return Only(reduce(And, every))


def find_topic(claim: Claim) -> tuple[AskedKind, tuple[str, ...]] | None:
    """What a claim on a measure answers: a kind of question, and the labels that it names.

    Of two sounds that are compared the one with more comes first. None for any other claim.
    """
    match claim:
        case Count(event, _):
            return QuestionKind.TIMES, (event.label,)
        case Measured(quantity, of, value):
            named = tuple(event.label for event in of)
            return quantity, named[::-1] if quantity in COMPARED and value < 0 else named
    return None


# Subjects: samples as they are asked about, read from the rows of their manifest.


class TrueSentence(NamedTuple):
    """A sentence that passes for true of a sample, and its claim."""

    text: str
    claim: Claim


@dataclass(frozen=True)
class Subject:
    """One sample of a corpus.

    Args:
        timeline: What is heard, the tags of its clips included.
        sounds: The labels that its main caption names, in scene order, each once. A background bed
            is none of them.
        sentences: Those of its labels that are whole captions of a clip. They say nothing of what
            is absent, and a question quotes them.
        told: Its true captions, the main one first.
        dense: Its dense captions, made anew from its activity; none where its recipe makes none.
    """

    id: str
    group: str
    timeline: Timeline
    tolerance: Tolerance
    sounds: tuple[str, ...]
    sentences: frozenset[str] = frozenset()
    told: tuple[TrueSentence, ...] = ()
    dense: tuple[DenseCaption, ...] = ()
    rate: int = 1

    def proves(self, claim: Claim) -> bool:
        """Whether the claim is true of it under every reading."""
        return self.hearing.proves(claim)

    def refutes(self, claim: Claim) -> bool:
        """Whether the claim is false of it under every reading."""
        return self.hearing.refutes(claim)

    @cached_property
    def hearing(self) -> Hearing:
        """Decides claims on what is heard."""
        return Hearing(self.timeline, self.tolerance)

    def has(self, label: str) -> bool:
        """Whether a label is one of its sounds, and no other sound could be meant."""
        return label in self.sounds and self.proves(Event(label))

    def phrase(self, label: str) -> Phrase:
        """How a label is said of it; a whole caption stands in quotation marks."""
        if label not in self.sentences:
            return Phrase.of_label(label)
        said = Phrase.of_caption(label)
        return Phrase(said.plain, f"“{said.plain}”", said.clause, said.gerund)


def subjects(
    rows: Iterable[Mapping[str, Any]], clips: Mapping[str, Mapping[str, Any]], audible: Frames
) -> list[Subject]:
    """Samples as they are asked about, in the order of their rows.

    Args:
        rows: Rows of `schema.PLAN` or `schema.SAMPLES`.
        clips: Rows of `schema.CLIPS` by clip id; labels, captions and tags are read.
        audible: Shortest overlap that can be heard, as the manifest's metadata says.
    """
    return [_subject(row, clips, audible) for row in rows]


def group_members(subjects: Iterable[Subject]) -> list[list[int]]:
    """The positions of the members of each group, in order."""
    members: dict[str, list[int]] = {}
    for index, subject in enumerate(subjects):
        members.setdefault(subject.group, []).append(index)
    return list(members.values())


def derive_of_pairs(
    subjects: Sequence[Subject],
    randomness: Randomness,
    what: str,
    derive: Callable[[Subject, Subject, np.random.Generator], T | None],
    left: str,
) -> Derived[T]:
    """What every two samples of a group give, in an order that is drawn.

    Args:
        what: Tells apart what is drawn for one thing from what is drawn for another.
        derive: Given both and what draws for their group; None for what gives nothing.
        left: The kind under which these are counted.
    """
    made: list[T] = []
    pairs = 0
    for number, members in enumerate(group_members(subjects)):
        rng = randomness.at(f"{what}/{subjects[0].id}", number)
        for pair in combinations(members, 2):
            first, second = (subjects[i] for i in shuffle(pair, rng))
            pairs += 1
            if (value := derive(first, second, rng)) is not None:
                made.append(value)
    return Derived(tuple(made), {left: pairs - len(made)})


def _subject(
    row: Mapping[str, Any], clips: Mapping[str, Mapping[str, Any]], audible: Frames
) -> Subject:
    scene = from_text(row["scene"])
    named = claim_labels(claim_from_text(row["claim"]))
    played = list(events(scene))
    placed = read_timeline(row)
    is_dense = bool(read_dense(row)) and row.get("activity") is not None
    sources = [clips[event.played.clip] for event in played]
    tags = {
        event.played.clip: [tag.name for tag in heard_tags(clip["tags"])]
        for event, clip in zip(played, sources, strict=True)
    }
    return Subject(
        id=row["id"],
        group=row["group"],
        timeline=annotate(placed, tags),
        tolerance=Tolerance(audible=audible),
        sounds=tuple(dict.fromkeys(event.label for event in played if event.label in named)),
        sentences=frozenset(
            event.label
            for event, clip in zip(played, sources, strict=True)
            if event.label not in clip["labels"]
            and any(event.label == Phrase.of_caption(text).plain for text in clip["captions"])
        ),
        told=tuple(
            TrueSentence(sentence["text"], claim_from_text(sentence["claim"]))
            for sentence in ({"text": row["caption"], "claim": row["claim"]}, *row["positives"])
        ),
        dense=dense_captions(placed, row["frames"], audible) if is_dense else (),
        rate=row["sample_rate"],
    )
