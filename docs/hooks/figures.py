"""Figures that pages quote: each is looked up in the file that a command wrote.

A comment before a block of Markdown says where its figures come from, or that they were set:

    <!-- figures: results/acba-tiny-foley.json#test.bat, ../benchmarks/results/a.md; given: 50 -->
    <!-- given -->

Sources are relative to `docs/`, in the README too. `#PART` narrows a source to the lines that hold
PART, or to the leaves of JSON whose path (`metrics/MLP/test.bat/value`) does: the fewer numbers it
has, the rarer a wrong figure is right by chance. Numbers behind `given` were set, not measured.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

DOCS: Final = Path(__file__).resolve().parents[1]

MARKER: Final = re.compile(
    r"^<!-- (?:figures: (?P<sources>[^;>]+?)(?:; given: (?P<given>[^>]+?))?|given) -->[ ]*\n?", re.M
)
BROKEN: Final = re.compile(r"<!--\s*(?:figures|given)\b")
NUMBER: Final = re.compile(
    r"(?<![\w.@])(?<![A-Za-z]-)(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\w@]|\.\d|-[A-Za-z])"
)
MEASURED: Final = re.compile(
    NUMBER.pattern + r"\s?(?:%|(?:ms|s|min|minutes?|seconds?|hours?|h|[kKMGT]i?B)(?![\w/])"
    r"|\w+/s\b|times (?:as|more|less|faster|slower)\b)"
)
# What is no figure: code, where a link leads, tags, commands at a prompt, digests.
SILENT: Final = re.compile(
    r"`[^`\n]*`|\]\([^)\n]*\)|<[^>\n]*>|^ {4}(?:\$ |segue |python ).*|\b(?=\d*[a-f])[\da-f]{12,}\b",
    re.M,
)
INPUT: Final = re.compile(r"```(?!text)\w")
"""A fenced block with a language is what somebody writes, not what a command printed."""


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    """A paragraph, list, table or code block; its first line, from 1; the comment before it."""

    text: str
    line: int
    marker: re.Match[str] | None


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leave the comments out of the site."""
    return MARKER.sub("", markdown)


def check_page(text: str, name: str, root: Path = DOCS) -> Iterator[str]:
    """What is wrong with the figures of a page, one line each.

    Args:
        text: The page in Markdown.
        name: What messages call it.
        root: The folder that sources are relative to.
    """
    for block in split(text):
        where = f"{name}:{block.line}"
        if BROKEN.search(re.sub(r"`[^`\n]*`", "", block.text)):
            yield (
                f"{where}: cannot read a comment: write <!-- figures: FILE, FILE#PART; given: 1 -->"
                " or <!-- given --> on a line of its own"
            )
        if not block.text:
            yield f"{where}: this comment is before no block: put it right before its figures"
        elif block.marker is None:
            found = MEASURED.search(_quiet(block.text))
            if found and not INPUT.match(block.text):
                yield (
                    f'{where}: "{found[0].strip()}" looks measured: put <!-- figures: FILE --> '
                    "before this block, or <!-- given --> if nothing in it was measured"
                )
        elif block.marker["sources"]:
            yield from (f"{where}: {wrong}" for wrong in _check(block, block.marker, root))


def split(text: str) -> Iterator[MarkdownBlock]:
    """The blocks of a page; a comment without a block after it is an empty one."""
    lines: list[str] = []
    first, marker, marked_at, fenced = 0, None, 0, False
    source = [*text.splitlines(), ""]
    for number, line in enumerate(source, 1):
        found = None if fenced else MARKER.match(line)
        ends = not fenced and (found is not None or not line.strip())
        # A code block may hold blank lines.
        code = bool(lines) and lines[0].startswith("    ")
        if ends and code and found is None and _is_code_after(source, number):
            continue
        if ends and lines:
            yield MarkdownBlock("\n".join(lines), first, marker)
            lines, marker = [], None
        if found is not None:
            if marker is not None:
                yield MarkdownBlock("", marked_at, marker)
            marker, marked_at = found, number
        elif not ends:
            first = first if lines else number
            lines.append(line)
            fenced ^= line.startswith("```")
    if marker is not None:
        yield MarkdownBlock("", marked_at, marker)


def numbers(text: str) -> Iterator[tuple[float, int]]:
    """Every number of a text outside code and names, with its digits after the point."""
    for found in NUMBER.finditer(text):
        yield float(found[0].replace(",", "")), len(found[2] or ".") - 1


@cache
def read_source(path: Path, part: str = "") -> tuple[float, ...]:
    """The numbers of a file: leaves of JSON, or every number of another text.

    Args:
        path: The file.
        part: What the path of a leaf, or the line of a number, must hold.

    Raises:
        OSError: If the file cannot be read.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return tuple(value for key, value in _leaves(json.loads(text)) if part in key)
    lines = (line for line in text.splitlines() if part in line)
    return tuple(value for line in lines for value, _ in numbers(line))


def _check(block: MarkdownBlock, marker: re.Match[str], root: Path) -> Iterator[str]:
    values: dict[str, Sequence[float]] = {}
    for source in re.split(r",\s*", marker["sources"]):
        try:
            file, part = _split(source)
            values[source] = read_source((root / file).resolve(), part)
        except OSError:
            yield f"no file {file}: run the command that writes it, or name another"
            return
        if not values[source]:
            yield f"{source} has no number: name another part"
    given = {value for value, _ in numbers(marker["given"] or "")}
    for line in block.text.splitlines():
        # A row of a table that links to a source has its figures from there alone.
        told = [source for source in values if f"({_split(source)[0].stem}." in line] or [*values]
        for value, digits in numbers(_quiet(line)):
            if value not in given and not any(
                _is_quoted(value, digits, values[source]) for source in told
            ):
                yield (
                    f"{value:,.{digits}f} is not in {' or '.join(told)}: quote what is there, "
                    "or list it behind given if it was set"
                )


def _split(source: str) -> tuple[Path, str]:
    file, _, part = source.partition("#")
    return Path(file), part


def _is_quoted(value: float, digits: int, values: Sequence[float]) -> bool:
    """Whether it is one of the values, or a share of them in percent, rounded to `digits`."""
    most = 0.5 * 10**-digits + 1e-9
    known = [abs(each) for each in values]
    shares = [100 * each for each in known if each <= 1]
    return any(abs(value - each) <= most for each in (*known, *shares))


def _quiet(text: str) -> str:
    return SILENT.sub(" ", text)


def _is_code_after(lines: Sequence[str], number: int) -> bool:
    """Whether the next line that is not blank belongs to an indented code block."""
    following = next((line for line in lines[number:] if line.strip()), "")
    return following.startswith("    ")


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, (dict, list)):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, f"{path}/{key}" if path else str(key))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, float(value)
