"""Errors a user can fix: each says where, what was expected and how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

_SHOWN: Final = 60


class SegueError(Exception):
    """An error caused by input, printed by the command line as one clear line."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} ({self.fix})" if self.fix else self.message


def first_line(error: BaseException) -> str:
    """What an error says, on one line; its class where it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


class NotationError(SegueError):
    """Scene notation that does not parse, from a column on, counted from 1."""

    def __init__(self, reason: str, *, text: str, column: int) -> None:
        shown = "".join(" " if letter.isspace() else letter for letter in text)
        super().__init__(f"column {column}: {reason}\n  {shown}\n  {' ' * (column - 1)}^")
        self.reason = reason
        self.text = text
        self.column = column

    def __reduce__(self) -> tuple[object, ...]:
        return partial(NotationError, self.reason, text=self.text, column=self.column), ()


class SceneError(SegueError):
    """A scene that cannot exist: an empty label, a crossfade longer than its parts."""


class TruthError(SegueError):
    """A caption that its own timeline does not prove."""


class SpecError(SegueError):
    """A corpus spec, or a command's options, that cannot be carried out."""


class SourceError(SegueError):
    """A sound library that is not where, or not what, it was said to be."""


class ClipError(SegueError):
    """One clip that cannot be used; the reason goes into the quarantine table."""


class MachineError(SegueError):
    """What the system said while a file was read or written: it says nothing about the file."""


class PlanError(SegueError):
    """A recipe that cannot be planned over the clips at hand."""


class LeftOutError(PlanError):
    """A group that cannot be made, for a reason that others share; its split goes without it."""

    def __init__(self, reason: str, *, example: str, fix: str) -> None:
        super().__init__(f"{example}: {reason}", fix=fix)
        self.reason = reason
        self.example = example

    def __reduce__(self) -> tuple[object, ...]:
        return partial(LeftOutError, self.reason, example=self.example, fix=self.fix), ()


class CorpusError(SegueError):
    """A built corpus that is missing, unfinished or damaged."""


class DiskFullError(SegueError):
    """A file that did not fit where it was to be written; the same command goes on when it does."""


class LexiconError(SegueError):
    """A row of a lexicon's sources that breaks a rule, or a lexicon that is not built from them."""


def shorten(value: Any) -> str:
    """A value for an error message, on one line and not long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that a misspelt one is most like; upper and lower case do not count.

    Args:
        likeness: Least that the two must have, 0 to 1: `difflib.SequenceMatcher.ratio`.
    """
    spelt = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.strip().casefold(), spelt, 1, likeness)
    return spelt[near[0]] if near else None


def suggestion(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The fix for an unknown name: `did you mean 'esc50'?`, else `otherwise`, or all there are."""
    names = tuple(known)
    near = nearest(name, names)
    return f"did you mean {near!r}?" if near else otherwise or list_known(names)


def list_known(names: Sequence[str]) -> str:
    """`there is a`, `there are a, b`; names with commas in quotes."""
    listed = ", ".join(repr(name) if "," in name else name for name in names)
    return f"there {'is' if len(names) == 1 else 'are'} {listed}"
