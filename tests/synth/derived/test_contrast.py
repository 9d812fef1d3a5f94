"""Contrasts and conversations: each answer holds, and no text betrays which."""

from __future__ import annotations

from collections import Counter
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
