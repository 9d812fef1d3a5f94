"""YAML that people write: one line an error, with the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.base.errors import SpecError
from synth.base.yaml_file import parse_yaml, read_yaml
from tests.kit.cases import cases


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
