"""Errors: one clear line, whole when they come back from a worker; what comes from elsewhere."""

from __future__ import annotations

import io
import json
import os
import pickle
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from synth.base import errors
from synth.base.doors import (
    MAX_DEPTH,
    make_console,
    parse_json,
    plain_text,
    read_json,
    read_regular,
    tidy_text,
)
from synth.base.errors import (
    CorpusError,
    LeftOutError,
    NotationError,
    SegueError,
    SourceError,
    SpecError,
    first_line,
)
from synth.base.yaml_file import parse_yaml, read_yaml
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


# What comes from elsewhere: files, JSON, text that is shown


def test_what_is_no_regular_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    pipe, loop, huge = (tmp_path / name for name in ("pipe", "loop", "huge.json"))
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for path in (pipe, Path("/dev/zero"), tmp_path, loop, tmp_path / "a\0b"):
        with pytest.raises(SourceError, match=r"not a regular file|cannot be read"):
            read_regular(path, refuse=SourceError)
    with huge.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(CorpusError, match=r"huge.json: is larger than"):
        read_json(huge)
    with pytest.raises(FileNotFoundError):
        read_json(Path("/nowhere/at/all.json"))


@cases(
    "text",
    [
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "[" * 10**6,
        "9" * 5000,
        '"\\ud800"',
        "{",
        b"\xff\xfe\xfd",
    ],
)
def test_json_that_cannot_be_held_is_refused(text: str | bytes) -> None:
    with pytest.raises(SegueError, match="answer 3: is not JSON"):
        parse_json(text, "answer 3")


def test_json_of_every_kind_is_read_as_it_is() -> None:
    deep = json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    brackets = [
        "[" * 200,
        '\\"{' * 200,
        "\U0001f415",
        "\ud83d\udc15".encode("utf-16", "surrogatepass").decode("utf-16"),
    ]
    for value in (deep, brackets, [[]] * 500, {"a": {"b": None}}):
        assert parse_json(json.dumps(value), "x") == value
        assert parse_json(json.dumps(value, ensure_ascii=False).encode(), "x") == value
        assert parse_json(json.dumps(value).encode("utf-8-sig"), "x") == value


TIDIED = {
    "e\u200b\u0301": "\xe9",  # what is between them is no more
    "dog\nbarks\x01\u202e": "dog barks",
    "dog\xa0 \u2028bark": "dog bark",
    # A joiner that Persian is spelt with.
    "\u0645\u06cc\u200c\u062e": "\u0645\u06cc\u200c\u062e",
    "dog  bark": "dog  bark",  # there are folders of such names
    "\u200d \u200d": "",
    "\u200b \u200c": "",
}


@cases(("text", "tidied"), TIDIED.items())
def test_texts_of_others_are_tidied_where_they_must(text: str, tidied: str) -> None:
    assert tidy_text(text) == tidied


@given(st.text("ae \n\t\xa0\u0301\xe9\xad\u200b\u200c\u200d\u202e\u2028\uac00\u11a8"))
def test_a_tidied_text_stays_as_it_is(text: str) -> None:
    tidied = tidy_text(text)
    assert tidy_text(tidied) == tidied
    assert unicodedata.is_normalized("NFC", tidied)


def test_foreign_text_moves_no_cursor() -> None:
    assert plain_text("caf\u00e9 \u2003 \u732b") == "caf\u00e9 \u2003 \u732b"
    assert plain_text("a\x1b[2J\x9b1mb\n\u202ec") == r"a\x1b[2J\x9b1mb\n\u202ec"
    assert plain_text("a\nb", keep="\n") == "a\nb"
    shown = io.StringIO()
    table = Table("na\x1bme")
    table.add_row("\x1b]0;title\x07dog")
    make_console(file=shown, width=200).print("\x1b[2Jhello", table, markup=False)
    assert "\x1b" not in shown.getvalue()
    assert r"\x1b]0;title\x07dog" in shown.getvalue()


# YAML that people write: one line an error, with the place.


@cases(
    ("text", "told"),
    [
        ("a: [1", "f:1:6: not YAML: expected ',' or ']', but got '<stream end>', while parsing"),
        ("a: 1\n\tb: 1\n", "f:2:1: not YAML: found character '\\t' that cannot start any token"),
        ("a: *b", "f:1:4: not YAML: found undefined alias 'b'"),
        ("a: 1\nb: 2024-13-45", "f:2:4: not YAML: month must be in 1..12"),
        ("a: !!python/name:os.system\n", "f:1:4: not YAML: could not determine a constructor"),
        ("a: 1\nb: \x07", "f:2:4: not YAML: the character 0x7 is not allowed"),
        ("a: 1\n---\nb: 1\n", "f:2:1: not YAML: but found another document"),
        ("[" * 1500, "f: not YAML: it is nested too deeply"),
    ],
)
def test_what_is_no_yaml_is_told_in_one_line_with_its_place(text: str, told: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_yaml(text, "f")
    assert caught.value.message.startswith(told)
    assert "\n" not in caught.value.message


def test_all_repeated_keys_are_told_with_their_places() -> None:
    with pytest.raises(SpecError) as caught:
        parse_yaml("a: {x: 1, x: 2}\nb:\n- {y: 1,\n   y: 2}\na: 3\n", "f")
    assert caught.value.message.splitlines() == [
        "f:1:11: 'x' is given twice, first in line 1",
        "f:4:4: 'y' is given twice, first in line 3",
        "f:5:1: 'a' is given twice, first in line 1",
    ]


def test_aliases_of_aliases_are_refused_in_no_time() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60)]
    with pytest.raises(SpecError, match="too many values"):
        parse_yaml("\n".join(lines), "f")


def test_places_are_found_in_blocks_flows_and_lists() -> None:
    file = parse_yaml("a:\n  b: {c: 1, d: [7, {e: 8}]}\n", "f")
    assert file.place() == "f:1:1"
    assert file.place(["a", "b"]) == "f:2:3"
    assert file.place(["a", "b", "d", 1, "e"]) == "f:2:21"
    assert file.place(["a", "b", "not there"]) == "f:2:3"
    assert file.place(["nowhere"]) == "f"
    # An item that a list lacks is where the list is.
    listed = parse_yaml("a: 1\nb: [0.9]", "f")
    assert listed.place(("b", 1)) == "f:2:1"
    assert listed.existing_keys(("b", 1)) == ("b",)
    text = "base: &base {x: 1, y: 2}\nmine:\n  <<: *base\n  x: 3\n"
    assert parse_yaml(text, "f").value["mine"] == {"x": 3, "y": 2}


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "somewhere.yaml").touch()
    with pytest.raises(SpecError, match=r"nowhere\.yaml: cannot be read: No such file") as lost:
        read_yaml(tmp_path / "nowhere.yaml")
    assert lost.value.fix == f"did you mean '{tmp_path / 'somewhere.yaml'}'?"
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff")
    with pytest.raises(SpecError, match=r"latin\.yaml: is not text in UTF-8"):
        read_yaml(tmp_path / "latin.yaml")
