"""What comes from elsewhere: files, JSON, text that is shown."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from rich.table import Table

from synth.base.doors import (
    MAX_DEPTH,
    make_console,
    parse_json,
    plain_text,
    read_json,
    read_regular,
)
from synth.base.errors import CorpusError, SegueError, SourceError
from tests.kit.cases import cases


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
