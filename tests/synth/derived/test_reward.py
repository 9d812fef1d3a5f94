"""The reward: what it reads, what it gives, and that no text makes it do more."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from synth.derived import reward as module
from synth.derived.reward import MOST_CHARACTERS, find_answer, reward, score, wrap
from tests.kit.cases import cases
from tests.kit.tables import read_data

CASES = read_data("texts/rewards.yaml")


@cases(("kind", "answer", "solution", "right"), CASES["answers"])
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
    given_texts = [wrap("yes"), wrap("no"), wrap("2"), wrap("1-2"), wrap("2"), wrap("2")]
    columns: dict[str, Any] = {"audios": [[]] * 6, "trainer_state": None}
    kinds = ["answer", "answer", "count", None, "count", "count"]
    scores = reward(given_texts, ["yes", "yes", "2", None, None, 2], kinds, **columns)
    assert scores == [1, 0, 1, None, None, None]  # the last three rows are of other data sets
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
