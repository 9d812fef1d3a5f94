"""The judge of exchanges: is the answer right, the wrong one wrong, and do words say the claims?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from synth.derived.contrasts import (
    COMPARING,
    DESCRIBE,
    DESCRIBING,
    DIFFERENCE,
    FIRST,
    SECOND,
    TIMESTAMPS,
    TIMING,
    WHICH,
    Exchange,
    ask_which,
    dense_texts,
    put_question,
)
from synth.derived.differences import Difference, DifferenceKind
from synth.derived.differences import fault as difference_fault
from synth.derived.question_judge import fault as question_fault
from synth.derived.questions import (
    NO,
    YES,
    YES_NO,
    Question,
    QuestionKind,
    Subject,
    question_labels,
)
from synth.derived.wording import wordings
from synth.scene.claim import Claim, Not


def fault(exchange: Exchange, subjects: Mapping[str, Subject]) -> str | None:
    """Why a stored exchange does not hold; None where it does.

    It takes nothing on trust but timelines and, for captions, the manifest's sentences: what is
    right is judged anew, and all words are made anew from what they claim.

    Args:
        exchange: As it was stored.
        subjects: The samples by id, those that it names at least.
    """
    unknown = [each for each in (*exchange.samples, *exchange.others) if each not in subjects]
    if unknown:
        return f"the corpus has no sample {unknown[0]!r} beside it"
    if not exchange.samples:
        return "it names no sample"
    about = [subjects[each] for each in exchange.samples]
    others = [subjects[each] for each in exchange.others]
    if exchange.kind == TIMESTAMPS:
        return _timestamps_fault(exchange, about)
    if not len(about) == len(exchange.claims) == (2 if exchange.kind in (DIFFERENCE, WHICH) else 1):
        return "expected one recording, or two where they are compared, and a claim for each"
    for subject, claim in zip(about, exchange.claims, strict=True):
        if not subject.proves(claim):
            return f"the timeline of {subject.id!r} does not prove {exchange.answer!r}"
    if exchange.wrong or exchange.wrong_claims or others:
        if not len(exchange.wrong_claims) == len(others) == len(about):
            return "expected a claim of the wrong answer, and another recording, for each"
        if not refute_any(about, exchange.wrong_claims):
            return f"the timeline does not refute {exchange.wrong!r}"
    if exchange.kind == DESCRIBE:
        return _description_fault(exchange, about[0], others)
    if not exchange.wrong:
        return "it has no wrong answer"
    if exchange.kind == DIFFERENCE:
        return _difference_fault(exchange, *about)
    if exchange.kind == WHICH:
        return _which_fault(exchange, about)
    return _question_fault(exchange, about[0])


def refute_any(subjects: Iterable[Subject], claims: Sequence[Claim]) -> bool:
    """Whether one claim at least, each of its own recording, is refuted: all together are false."""
    return any(subject.refutes(claim) for subject, claim in zip(subjects, claims, strict=True))


def _timestamps_fault(exchange: Exchange, about: Sequence[Subject]) -> str | None:
    texts = dense_texts(about[0])
    if len(about) > 1 or exchange.claims or exchange.wrong:
        return "dense captions are of one recording, without claims or a wrong answer"
    if not any(
        exchange.prompt in TIMING[resolution] and exchange.answer == text
        for resolution, text in texts.items()
    ):
        return "its words are not the dense captions that were asked for"
    return None


def _description_fault(exchange: Exchange, about: Subject, others: Sequence[Subject]) -> str | None:
    if exchange.prompt not in DESCRIBING:
        return "its words do not ask for a caption"
    if not _has_told(about, exchange.answer, exchange.claims[0]):
        return f"{exchange.answer!r} is no caption of {about.id!r} with this claim"
    if others and not _has_told(others[0], exchange.wrong, exchange.wrong_claims[0]):
        return f"{exchange.wrong!r} is no caption of {others[0].id!r} with this claim"
    return None


def _has_told(subject: Subject, text: str, claim: Claim) -> bool:
    return (text, claim) in subject.told


def _which_fault(exchange: Exchange, about: Sequence[Subject]) -> str | None:
    first, second = exchange.claims
    says_first = second == Not(first)
    claim = first if says_first else second
    if not says_first and first != Not(second):
        return "expected a claim of one recording, and of the other that it is false"
    if exchange.wrong_claims != exchange.claims[::-1]:
        return "the wrong answer must claim the opposite"
    if (exchange.answer, exchange.wrong) != ((FIRST, SECOND) if says_first else (SECOND, FIRST)):
        return "its answers do not name the recordings of which they claim it"
    told = [text for subject in about for text, its in subject.told if its == claim]
    if not any(exchange.prompt in ask_which(text) for text in told):
        return "its words quote no caption with this claim"
    return None


def _difference_fault(exchange: Exchange, first: Subject, second: Subject) -> str | None:
    if exchange.prompt not in COMPARING:
        return "its words do not ask how the recordings differ"
    (mine, theirs), reverse = exchange.claims, exchange.wrong_claims
    if reverse != (theirs, mine):
        return "the wrong answer must claim the same of the recordings in the opposite order"
    why: str | None = "its answer does not say what it claims"
    for kind in DifferenceKind:
        told = Difference(
            "", first.id, second.id, exchange.answer, exchange.wrong, kind, (mine, theirs)
        )
        why = difference_fault(told, first, second)
        if why is None:
            break
    return why


def _question_fault(exchange: Exchange, about: Subject) -> str | None:
    """A question with these two answers as its options, in either order and any of its ways."""
    kind, options = QuestionKind(exchange.kind), (exchange.answer, exchange.wrong)
    claims = (*exchange.claims, *exchange.wrong_claims)
    if kind in YES_NO and set(options) != {YES, NO}:
        return "expected the answers yes and no"
    for step in (1, -1):
        asked = Question("", about.id, "", exchange.answer, kind, options[::step], claims[::step])
        named = question_labels(asked)
        if named is None:
            return f"its claims are none of kind {exchange.kind!r}"
        anchor, labels = named
        for text in wordings(kind, labels if anchor is None else (anchor,), about):
            if exchange.prompt in put_question(kind, text, options):
                return question_fault(replace(asked, text=text), about)
    return "its words do not ask what it claims"
