"""Scored prompts: the truth pays, its rival does not, and no text tells one from the other."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache

from synth.base.rng import Randomness
from synth.derived.questions import Derived, Subject
from synth.derived.reward import SCORED_KINDS, score, wrap
from synth.derived.scoring import ScoredPrompt, find_scored, find_times, say_times
from synth.scene.claim import claim_labels
from tests.kit import asked
from tests.kit.cases import cases

NAMES = (*asked.CORPORA, *asked.MEASURED)
SEED = Randomness(0)


@cache
def subjects(name: str) -> tuple[Subject, ...]:
    return (asked.CORPORA | asked.MEASURED)[name]()[:60]


@cache
def scored(name: str) -> Derived[ScoredPrompt]:
    return find_scored(subjects(name), SEED)


def pay(prompt: ScoredPrompt, answer: str) -> float:
    return score(prompt.kind, f"Hm. {wrap(answer)}", prompt.exchange.answer)


@cases("name", NAMES)
def test_the_truth_pays_and_its_rival_does_not(name: str) -> None:
    by_id = {subject.id: subject for subject in subjects(name)}
    assert scored(name).made
    for prompt in scored(name).made:
        exchange = prompt.exchange
        (subject,), (other,) = (
            [by_id[i] for i in ids] for ids in (exchange.samples, exchange.others)
        )
        assert (pay(prompt, exchange.answer), pay(prompt, exchange.wrong)) == (1, 0)
        (claim,), (rival,) = exchange.claims, exchange.wrong_claims
        assert subject.proves(claim)
        if prompt.kind == "interval":
            (label,) = claim_labels(claim)
            assert [say_times(find_times(at, label)) for at in (subject, other)] == [
                exchange.answer,
                exchange.wrong,
            ]
        else:
            assert subject.refutes(rival)


@cases("name", NAMES)
def test_whatever_is_answered_by_text_alone_pays_half_at_most(name: str) -> None:
    made = scored(name).made
    for one, other in zip(made[::2], made[1::2], strict=True):
        assert (one.kind, one.exchange.prompt) == (other.kind, other.exchange.prompt)
        assert one.exchange.answer == other.exchange.wrong
        assert one.exchange.wrong == other.exchange.answer
        assert one.exchange.samples == other.exchange.others
    # Who knows both answers, and the text, gets exactly half.
    assert (
        sum(pay(row, min(row.exchange.answer, row.exchange.wrong)) for row in made) == len(made) / 2
    )
    by_text: defaultdict[str, list[ScoredPrompt]] = defaultdict(list)
    for prompt in made:
        by_text[prompt.exchange.prompt].append(prompt)
    for rows in by_text.values():
        answers = {row.exchange.answer for row in rows}
        best = max(sum(pay(row, answer) for row in rows) for answer in answers)
        assert best <= len(rows) / 2 + 1e-9


@cases("name", NAMES)
def test_evidence_says_when_each_sound_is_heard(name: str) -> None:
    by_id = {subject.id: subject for subject in subjects(name)}
    for prompt in scored(name).made:
        (subject,) = (by_id[sample] for sample in prompt.exchange.samples)
        assert prompt.evidence
        for sound, times in prompt.evidence.items():
            moments = {
                moment
                for place in subject.heard.placements
                if subject.phrase(place.label).noun == sound
                for onset, offset in place.heard.labelled
                for moment in range(onset, offset, max(1, (offset - onset) // 20))
            }
            inside = [
                any(on - 0.01 <= at / subject.rate <= off + 0.01 for on, off in times)
                for at in moments
            ]
            assert all(inside)
            assert bool(moments) == bool(times)


def test_prompts_are_of_all_kinds_and_a_function_of_their_batch_and_seed() -> None:
    kinds = Counter(prompt.kind for name in NAMES for prompt in scored(name).made)
    assert set(kinds) == set(SCORED_KINDS)
    who = subjects("triplets")
    assert find_scored(who, SEED) == scored("triplets")
    assert find_scored(who, Randomness(1)) != scored("triplets")
    alone = find_scored(who[:1], SEED)
    assert alone.made == ()
    assert sum(alone.left_out.values()) > 0
    assert find_scored((), SEED) == Derived((), {})
