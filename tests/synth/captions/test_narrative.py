"""Narratives: no text stands for two statements, and words come from the table alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial, reduce
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.rng import pick
from synth.captions.caption import Style
from synth.captions.narrative import DenseCaption, Narrator, Resolution, dense_captions, dense_text
from synth.labels.connective import ORDER, SIMULTANEOUS, Connective
from synth.labels.lexicon import Phrase, shipped_phrases
from synth.recipes.casting import fill_labels, random_sequence
from synth.scene.activity import Stretch, Stretches, cut
from synth.scene.claim import And, Claim, Not, Only
from synth.scene.edit import meaning, rename_labels
from synth.scene.scene import Concat, Event, Overlay, Scene, operands, parse
from synth.scene.timeline import Timeline
from tests.kit.cases import cases
from tests.kit.tables import read_data
from tests.kit.timelines import FRAMES, heard_timelines, placed
from tests.synth.truth.cases import read_claim

CASES = read_data("texts/narratives.yaml")

LETTERS = "abcdefghijkl"
A, B, C, D = map(Event, LETTERS[:4])


def narrator(seed: int, style: Style = Style.NATURAL) -> Narrator:
    return Narrator(style, partial(pick, rng=np.random.default_rng(seed)))


def first(options: Sequence[Any]) -> Any:
    return options[0]


def trees(names: str) -> Iterator[Scene]:
    if len(names) == 1:
        yield Event(names)
        return
    for count in range(1, len(names)):
        for left in combinations(names, count):
            right = "".join(name for name in names if name not in left)
            for one in trees("".join(left)):
                for other in trees(right):
                    yield Concat(one, other)
                    yield Overlay(one, other)


@cache
def statements(count: int) -> dict[Any, Scene]:
    """Every statement over the first labels, by meaning."""
    scenes: dict[Any, Scene] = {}
    for tree in trees(LETTERS[:count]):
        scenes.setdefault(meaning(tree), tree)
    return scenes


@cases(("count", "tellings"), [(2, 400), (3, 200), (4, 40)])
def test_no_text_stands_for_two_statements(count: int, tellings: int) -> None:
    said: dict[str, Any] = {}
    tell = narrator(count).tell
    for key, statement in statements(count).items():
        for _ in range(tellings):
            text = tell(statement).text
            assert said.setdefault(text, key) == key, text
            assert all(re.search(rf"\b{name}\b", text, re.I) for name in LETTERS[1:count]), text


@cases("count", [2, 3, 4])
def test_the_connective_relates_what_the_statement_relates(count: int) -> None:
    tell = narrator(1).tell
    for statement in statements(count).values():
        caption = tell(statement)
        word = Connective(caption.connective)
        assert word in (ORDER if isinstance(statement, Concat) else SIMULTANEOUS)
        assert word.value in caption.text.lower(), caption.text


@cases(("claim", "texts"), CASES["compa"])
def test_compa_is_printed_as_it_is(claim: str, texts: list[str]) -> None:
    capitals = read_claim(re.sub(r"\b[a-l]\b", lambda name: name[0].upper(), claim))
    told = {narrator(seed, Style.PAPER).tell(capitals).text for seed in range(120)}
    assert told >= {*texts}


@cases("statement", [A, Concat(A, B), Concat(Overlay(A, B), C), Overlay(Concat(A, B), C)])
def test_a_denial_is_of_the_whole_recording(statement: Scene) -> None:
    for seed in range(60):
        text = narrator(seed).tell(And(statement, Not(D))).text
        denial = re.search(r"\b(not|no|never|cannot|without)\b", text, re.I)
        assert denial, text
        # "After a, b, but you never hear d" may deny d of the time after a alone.
        assert isinstance(statement, Event) or ". " in text, text


@cases(
    "claim",
    [
        Not(A),
        Only(A),
        And(A, Only(B)),
        And(Concat(A, B), C),
        And(A, Concat(B, C)),
        And(Not(A), Not(B)),
        And(Not(A), B),
        And(A, Not(Concat(B, C))),
        And(And(A, B), Not(C)),
        Not(Not(A)),
    ],
)
@cases("style", Style)
def test_other_claims_have_no_words(claim: Claim, style: Style) -> None:
    with pytest.raises(ValueError, match="no words for the claim"):
        Narrator(style, first).tell(claim)


def test_sentences_over_shipped_phrases_are_whole() -> None:
    labels = sorted(shipped_phrases())
    rng = np.random.default_rng(3)
    tell = narrator(5).tell
    for statement in [*statements(3).values(), *statements(4).values()] * 4:
        chosen = rng.choice(labels, 4, replace=False).tolist()
        names = dict(zip(LETTERS[:4], chosen, strict=True))
        one, other, third = (Event(label) for label in chosen[:3])
        for claim in (
            rename_labels(statement, names),
            And(one, Not(other)),
            And(Concat(one, other), Not(third)),
            And(one, other),
        ):
            text = tell(claim).text
            plain = text.replace("etc.", "etc")
            assert not re.search(r"  |\n|_|[.,;:] ?[.,;:]| [.,;:]|\(\)|[{}]", plain), text
            assert not re.search(r"\b(\w+) \1\b", text.lower()), text
            assert not re.search(r"\ba [aeio]\w+", text.lower()), text
            assert text[0].isupper()


@cases(("statement", "text"), CASES["natural"])
def test_examples(statement: str, text: str) -> None:
    assert Narrator(Style.NATURAL, first).tell(parse(statement)).text == text


@cases("pick_words", [first, lambda options: options[-1]])
def test_twins_differ_in_their_connective_alone(pick_words: Callable[[Any], Any]) -> None:
    dog, rain = Event("dog"), Event("rain")
    claims = {
        Connective.BEFORE: Concat(dog, rain),
        Connective.AFTER: Concat(rain, dog),
        Connective.WHILE: Overlay(dog, rain),
    }
    tell = Narrator(Style.NATURAL, pick_words)
    texts = {
        tell.relate(claim, word).text.lower().replace(word.value, "_")
        for word, claim in claims.items()
    }
    assert len(texts) == 1


@cases("count", [5, 8, 12])
def test_sequences_are_told_in_order_a_few_sounds_at_a_time(count: int) -> None:
    rng = np.random.default_rng(count)
    for seed in range(12):
        drawn = random_sequence(count, int(rng.integers(1, 5)), rng)
        statement = fill_labels(drawn, iter(LETTERS))
        sentences = narrator(seed).tell(statement).text.rstrip(".").split(". ")
        parts = list(operands(statement)) if isinstance(statement, Concat) else []
        assert len(sentences) >= len(parts) / 3
        for sentence in sentences:
            assert len(re.findall(r"\b[a-l]\b(?! sound)", sentence.lower())) <= 6
        flat = narrator(seed).tell(reduce(Concat, map(Event, LETTERS[:count]))).text.lower()
        at = [flat[: flat.index(f"of {name}")].count(". ") for name in LETTERS[:count]]
        assert at == sorted(at)


# Dense captions, beside an oracle that goes frame by frame.


LABELS = ("dog", "rain", "Siren", "Theremin")


def told(found: tuple[DenseCaption, ...], resolution: Resolution) -> list[tuple[int, int, str]]:
    return [(each.onset, each.offset, each.text) for each in found if each.resolution is resolution]


def oracle(
    heard: Timeline, frames: int, audible: int
) -> dict[Resolution, set[tuple[int, int, str]]]:
    """The same from sets of frames."""

    def count(stretches: Stretches) -> set[int]:
        return {frame for onset, offset in stretches for frame in range(onset, offset)}

    labels = list(dict.fromkeys(place.label for place in heard.placements))
    clear = {label: set[int]() for label in labels}
    placed = {label: set[int]() for label in labels}
    faint: set[int] = set()
    for place in heard.placements:
        its = count(place.heard.clear)
        clear[place.label] |= its
        placed[place.label] |= set(range(place.onset, place.offset))
        faint |= count(place.heard.faint)

    def runs(texts: list[str | None]) -> set[tuple[int, int, str]]:
        found, since = set(), 0
        for at in range(1, frames + 1):
            if at == frames or texts[at] != texts[since]:
                text = texts[since]
                if text is not None:
                    found.add((since, at, text))
                since = at
        return found

    def say(frame: int) -> str | None:
        named = [Phrase.of_label(label).clause for label in labels if frame in clear[label]]
        if not named:
            return None if frame in faint else "silence"
        return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"

    def single(sets: dict[str, set[int]]) -> set[tuple[int, int, str]]:
        return {
            run
            for label, its in sets.items()
            for run in runs(
                [Phrase.of_label(label).clause if at in its else None for at in range(frames)]
            )
        }

    whole = {label: set[int]() for label in labels}
    for label in labels:
        for onset, offset, _ in runs(
            ["x" if at in placed[label] else None for at in range(frames)]
        ):
            its = clear[label] & set(range(onset, offset))
            whole[label] |= set(range(min(its), max(its) + 1)) if its else set()
    segments = runs([say(frame) for frame in range(frames)])
    return {
        Resolution.STRETCH: single(clear),
        Resolution.SOUND: single(whole),
        Resolution.SCENE: {run for run in segments if run[1] - run[0] >= audible},
    }


@given(heard_timelines(LABELS), st.integers(1, 6), st.integers(0, 20))
def test_dense_captions_are_those_of_the_frames(
    heard: Timeline, audible: int, padding: int
) -> None:
    frames = FRAMES + padding
    found = dense_captions(heard, frames, audible)
    expected = oracle(heard, frames, audible)
    for resolution in Resolution:
        its = told(found, resolution)
        assert len(its) == len(set(its))
        assert set(its) == expected[resolution]
        assert [each[:2] for each in its] == sorted(each[:2] for each in its)


def test_what_may_be_missed_is_neither_told_nor_called_silence() -> None:
    dog = ((Stretch(0, 10), Stretch(20, 30)), (Stretch(0, 12), Stretch(18, 30)))
    heard = placed(("dog", *dog), ("rain", (), (Stretch(40, 60),)))
    found = dense_captions(heard, 80, 2)
    assert told(found, Resolution.STRETCH) == [(0, 10, "a dog barks"), (20, 30, "a dog barks")]
    assert told(found, Resolution.SOUND) == [(0, 30, "a dog barks")]
    assert told(found, Resolution.SCENE) == [
        (0, 10, "a dog barks"),
        (12, 18, "silence"),
        (20, 30, "a dog barks"),
        (30, 40, "silence"),
        (60, 80, "silence"),
    ]


def test_a_bed_of_repeated_tiles_is_one_sound() -> None:
    tiles = [(Stretch(0, 25),), (Stretch(20, 45),), (Stretch(40, 60),)]
    heard = placed(*(("rain", cut(tile, 2, 58), tile) for tile in tiles))
    found = dense_captions(heard, FRAMES, 1)
    assert [(each.onset, each.offset, each.text) for each in found] == 3 * [(2, 58, "rain falls")]
    faded = placed(*(("rain", cut(tile, 2, 22) + cut(tile, 48, 58), tile) for tile in tiles))
    assert told(dense_captions(faded, FRAMES, 1), Resolution.SOUND) == [(2, 58, "rain falls")]


def test_times_are_told_to_a_tenth_and_equal_lengths_stay_equal() -> None:
    captions = [
        DenseCaption(Resolution.SCENE, 0, 30_400, "a dog barks"),
        DenseCaption(Resolution.SCENE, 30_400, 48_000, "silence"),
    ]
    assert dense_text(captions, 16_000) == "0.0-1.9 s a dog barks; 1.9-3.0 s silence"
    # A block of 50 ms is the grid of activity: a stretch of 0.1 s must never be told as 0.0 s.
    for start in range(0, 16_000, 800):
        text = dense_text([DenseCaption(Resolution.SCENE, start, start + 1_600, "x")], 16_000)
        onset, offset = text.split(" ")[0].split("-")
        assert round(10 * (float(offset) - float(onset))) == 1
