"""Contrasts, conversations and scored prompts: each answer holds, and no text betrays which."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache

from synth.base.rng import Randomness
from synth.derived.contrasts import (
    DESCRIBE,
    DIFFERENCE,
    KINDS,
    MOST_TURNS,
    TIMESTAMPS,
    WHICH,
    Conversation,
    find_contrasts,
    find_conversations,
    say,
)
from synth.derived.questions import Contrast, Derived, Subject
from synth.derived.reward import SCORED_KINDS, score, wrap
from synth.derived.scoring import ScoredPrompt, find_scored, find_times, say_times
from synth.scene.claim import claim_labels
from tests.kit import asked
from tests.kit.cases import cases

NAMES = (*asked.CORPORA, *asked.MEASURED)
SEED = Randomness(0)


@cache
def subjects(name: str) -> tuple[Subject, ...]:
    """Half of a corpus."""
    who = (asked.CORPORA | asked.MEASURED)[name]()
    groups = list(dict.fromkeys(each.group for each in who))
    few = set(groups if name in asked.MEASURED else groups[: len(groups) // 2])
    return tuple(each for each in who if each.group in few)


@cache
def found(name: str, *, one_way: bool = False) -> Derived[Contrast]:
    return find_contrasts(subjects(name), SEED, one_way=one_way)


@cache
def spoken(name: str) -> tuple[Conversation, ...]:
    return find_conversations(subjects(name), found(name, one_way=True).made, SEED)


def by_id(name: str) -> dict[str, Subject]:
    return {each.id: each for each in subjects(name)}


@cases("name", NAMES)
def test_every_answer_is_proven_and_its_counterpart_refuted(name: str) -> None:
    who = by_id(name)
    sides = [side for contrast in found(name).made for side in contrast]
    turns = [each for conversation in spoken(name) for each in conversation.exchanges]
    assert sides
    for exchange in (*sides, *turns):
        about = [who[sample] for sample in exchange.samples]
        assert all(a.proves(claim) for a, claim in zip(about, exchange.claims, strict=False))
        if exchange.wrong:
            assert any(a.refutes(c) for a, c in zip(about, exchange.wrong_claims, strict=True))


@cases("name", NAMES)
def test_each_contrast_is_followed_by_its_mirror(name: str) -> None:
    for one, other in found(name).made:
        assert (one.kind, one.prompt) == (other.kind, other.prompt)
        assert (one.answer, one.wrong) == (other.wrong, other.answer)
        assert (one.samples, one.others) == (other.others, other.samples)
        if name == "counts" and one.kind == DESCRIBE:
            assert len(set(one.answer.split()) ^ set(one.wrong.split())) <= 3


@cases("name", NAMES)
def test_no_text_of_a_conversation_tells_what_is_answered_next(name: str) -> None:
    """Whatever was said before, each pair of answers is right as often one way as the other."""
    told: Counter[tuple[str, str, str]] = Counter()
    for conversation in spoken(name):
        said = ""
        for exchange in conversation.exchanges:
            said += f"U: {exchange.prompt} "
            if exchange.wrong:
                told[said, exchange.answer, exchange.wrong] += 1
            said += f"A: {exchange.answer} "
    assert told
    for (said, answer, wrong), count in told.items():
        assert told[said, wrong, answer] == count, said


def test_conversations_have_several_turns_where_a_group_gives_it() -> None:
    for name in ("scenes", "triplets"):
        turns = Counter(len(each.exchanges) for each in spoken(name))
        assert turns[2] > 10
        assert max(turns) <= MOST_TURNS
    kinds = {each.kind for each in spoken("scenes")}
    assert kinds >= {DESCRIBE, DIFFERENCE, WHICH, "conversation"}


def test_contrasts_are_of_all_kinds_and_a_function_of_their_batch_and_seed() -> None:
    # But for dense captions, which plans of tests have none of.
    kinds = {contrast[0].kind for name in NAMES for contrast in found(name).made}
    assert kinds == set(KINDS) - {TIMESTAMPS}
    who = subjects("triplets")
    assert find_contrasts(who, SEED) == found("triplets")
    assert find_contrasts(who, Randomness(1)) != found("triplets")
    # What has no counterpart is counted.
    alone = find_contrasts(who[:1], SEED)
    assert alone.made == ()
    assert sum(alone.left_out.values()) > 0
    assert find_contrasts((), SEED) == Derived((), {})
    assert find_conversations((), (), SEED) == ()
    assert (say("a dog barks"), say("Is it a dog?")) == ("A dog barks.", "Is it a dog?")


# Scored prompts: the truth pays, its rival does not, and no text tells one from the other.


@cache
def scored(name: str) -> Derived[ScoredPrompt]:
    return find_scored(subjects(name), SEED)


def pay(prompt: ScoredPrompt, answer: str) -> float:
    return score(prompt.kind, f"Hm. {wrap(answer)}", prompt.exchange.answer)


@cases("name", NAMES)
def test_the_truth_pays_and_its_rival_does_not(name: str) -> None:
    who = by_id(name)
    assert scored(name).made
    for prompt in scored(name).made:
        exchange = prompt.exchange
        (subject,), (other,) = (
            [who[i] for i in ids] for ids in (exchange.samples, exchange.others)
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
    who = by_id(name)
    for prompt in scored(name).made:
        (subject,) = (who[sample] for sample in prompt.exchange.samples)
        assert prompt.evidence
        for sound, times in prompt.evidence.items():
            moments = {
                moment
                for place in subject.timeline.placements
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
