"""Errors: one clear line, and whole when they come back from a worker."""

from __future__ import annotations

import pickle

from synth.base import errors
from synth.base.errors import LeftOutError, NotationError, SegueError, first_line
from tests.kit.cases import cases

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type)
    and issubclass(kind, SegueError)
    and kind not in (NotationError, LeftOutError)
]


@cases("kind", KINDS)
def test_an_error_travels_from_a_worker_with_its_mend(kind: type[SegueError]) -> None:
    error = pickle.loads(pickle.dumps(kind("no label", fix="add one")))
    assert type(error) is kind
    assert (error.message, error.fix) == ("no label", "add one")
    assert str(error) == "no label (add one)"
    assert str(kind("a.csv: row 3: no label")) == "a.csv: row 3: no label"


def test_a_notation_error_travels_with_its_column_and_what_is_left_out_with_its_example() -> None:
    error = pickle.loads(pickle.dumps(NotationError("expected a label", text="A + ", column=5)))
    assert (error.reason, error.text, error.column) == ("expected a label", "A + ", 5)
    assert str(error).splitlines() == ["column 5: expected a label", "  A + ", "      ^"]
    left = pickle.loads(pickle.dumps(LeftOutError("too few clips", example="cat", fix="add one")))
    assert (left.reason, left.example, left.fix) == ("too few clips", "cat", "add one")
    assert str(left) == "cat: too few clips (add one)"


def test_an_error_is_told_in_its_first_line_and_by_its_class_where_it_says_nothing() -> None:
    told = [first_line(ValueError(said)) for said in ("a\nb", "\n a\n", " \n", "")]
    assert told == ["a", "a", "ValueError", "ValueError"]
