"""The reward: what it reads, what it gives, and that no text makes it do more."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from synth.derived import reward as module
from synth.derived.reward import MOST_CHARACTERS, MOST_STRETCHES, find_answer, reward, score, wrap
from tests.kit.cases import cases

TIMES = "0.50-2.00, 3.25-4.00"


@cases(
    ("kind", "answer", "solution", "right"),
    [
        ("answer", "a dog", "a dog", 1),
        ("answer", " A  Dog.\n", "a dog", 1),
        ("answer", "“Rain falls.”", "“rain falls.”", 1),
        ("answer", "dog", "a dog", 0),
        ("answer", "a dog or rain", "a dog", 0),
        ("answer", "yes and no", "yes", 0),
        ("answer", "", "a dog", 0),
        ("answer", "**A tick–tock.**", "a tick-tock", 1),  # noqa: RUF001
        ("order", "a dog;rain ; A SIREN.", "a dog; rain; a siren", 1),
        ("order", "rain; a dog; a siren", "a dog; rain; a siren", 0),
        ("order", "a dog; rain", "a dog; rain; a siren", 0),
        ("order", "a dog; rain;; a siren", "a dog; rain; a siren", 0),
        ("count", "3", "3", 1),
        ("count", "Three.", "3", 1),
        ("count", "two", "3", 0),
        ("count", "2 or 3", "3", 0),
        ("count", "1+2", "3", 0),
        ("count", "٣", "3", 0),
        ("count", "3" * 200, "3", 0),
        ("interval", TIMES, TIMES, 1),
        ("interval", "3.25 - 4,0.5-2 , 1-1.5", TIMES, 1),
        ("interval", "0.5-2", TIMES, 1.5 / 2.25),
        ("interval", " 0.5  -  2,\n3.25-4.", TIMES, 1),
        ("interval", "**0.5–2**, `3.25−4`", TIMES, 1),  # noqa: RUF001
        ("interval", "0-4", TIMES, 2.25 / 4),
        ("interval", "0-1", "0.500-1.500", 1 / 3),
        ("interval", "5-6", TIMES, 0),
        ("interval", "none", TIMES, 0),
        ("interval", "None.", "none", 1),
        ("absent", "0-99999", "none", 0),
        ("absent", "0.5-2, 3.25-4 s", TIMES, 0),
        ("absent", "2-0.5, 3.25-4", TIMES, 0),
        ("absent", "1-1", TIMES, 0),
        ("absent", "-1-2", TIMES, 0),
        ("absent", "1e0-2e0", TIMES, 0),
        ("absent", "nan-inf", TIMES, 0),
        ("absent", "0.5-2,", TIMES, 0),
        ("absent", ",".join(["0-1"] * MOST_STRETCHES), "0-1", 1),
        ("absent", ",".join(["0-1"] * (MOST_STRETCHES + 1)), "0-1", 0),
        ("absent", "__import__('os').abort()", TIMES, 0),
    ],
)
def test_an_answer_is_read_strictly(kind: str, answer: str, solution: str, right: float) -> None:
    assert score(kind, wrap(answer), solution) == right


@cases(
    ("completion", "answer"),
    [
        ("I hear it. <answer>yes</answer>", "yes"),
        ("<answer>no</answer> or <answer>yes</answer> \n", "yes"),
        ([{"role": "user", "content": ""}, {"role": "assistant", "content": wrap("3")}], "3"),
        ([{"content": [{"type": "text", "text": wrap("4")}]}], "4"),
        ([{"content": [{"type": "audio"}]}, {"content": []}], None),
        (f"**{wrap('yes')}**\n", "yes"),
        ("x" * 10**7 + wrap("yes"), "yes"),
        (wrap("y" * MOST_CHARACTERS), "y" * MOST_CHARACTERS),
        (wrap("y" * MOST_CHARACTERS) + "\n\n", "y" * MOST_CHARACTERS),
        (wrap("y" * (MOST_CHARACTERS + 1)), None),
        (wrap("yes") + " " * 10**7, None),
        ("<answer>yes</answer> I think", None),
        ("<answer>yes</answer></answer>", None),
        ("<answer>yes", None),
        ("yes", None),
        ("<answer>" * 10**6, None),
        ("", None),
        ([], None),
        ([None], None),
        ([{"content": None}], None),
        (None, None),
        (3, None),
    ],
)
def test_the_answer_is_what_a_completion_ends_with(completion: Any, answer: str | None) -> None:
    assert find_answer(completion) == answer
    assert score("answer", completion, "yes") == (answer == "yes")


def test_each_completion_is_scored_by_the_columns_of_its_row() -> None:
    given_texts = [wrap("yes"), wrap("no"), wrap("2"), wrap("1-2")]
    columns: dict[str, Any] = {"audios": [[]] * 4, "trainer_state": None}
    scores = reward(
        given_texts, ["yes", "yes", "2", None], ["answer", "answer", "count", None], **columns
    )
    assert scores == [1, 0, 1, None]  # the last row is of another data set
    assert module.PluginReward(args=None)(given_texts[:1], solution=["yes"], kind=["answer"]) == [1]


MOMENTS = st.integers(0, 30)
STRETCHES = st.lists(st.tuples(MOMENTS, MOMENTS).filter(lambda ends: ends[0] < ends[1]), max_size=6)


def cover(stretches: list[tuple[int, int]]) -> set[int]:
    return {moment for onset, offset in stretches for moment in range(onset, offset)}


def say(moments: set[int]) -> str:
    runs = [moment for moment in sorted(moments) if moment - 1 not in moments]
    ends = [moment + 1 for moment in sorted(moments) if moment + 1 not in moments]
    return ", ".join(f"{a}-{b}" for a, b in zip(runs, ends, strict=True)) or "none"


@given(STRETCHES, STRETCHES, STRETCHES)
def test_stretches_score_what_is_shared_and_two_apart_never_more_than_one_together(
    stretches: list[tuple[int, int]], one: list[tuple[int, int]], other: list[tuple[int, int]]
) -> None:
    text = ",".join(f"{onset}-{offset}" for onset, offset in stretches) or "none"
    here = cover(stretches)
    rights = cover(one), cover(other) - cover(one)
    scores = [score("interval", wrap(text), say(right)) for right in rights]
    for right, got in zip(rights, scores, strict=True):
        assert got == (len(here & right) / len(here | right) if here | right else 1)
    if all(rights) or rights[0] != rights[1]:
        assert sum(scores) <= 1 + 1e-9


def test_it_needs_the_standard_library_alone() -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names
