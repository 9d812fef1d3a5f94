"""What the classes of settings say of themselves: their docstrings are the one source of it."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic import BaseModel  # takes a while

_ARGUMENT: Final = re.compile(r"^ {4}(?P<key>\w+): (?P<text>.*(?:\n {8}.*|\n(?=\n {8}))*)", re.M)


def read_arguments(page: str) -> dict[str, str]:
    """What a docstring says of each of its `Args`."""
    matches = _ARGUMENT.finditer(page.partition("Args:\n")[2])
    return {match["key"]: " ".join(match["text"].split()) for match in matches}


def read_meanings(model: type[BaseModel]) -> dict[str, str]:
    """What the docstrings of a class and those above it say of each setting; "" for nothing."""
    meanings: dict[str, str] = {}
    for base in reversed(model.__mro__):
        meanings |= read_arguments(inspect.cleandoc(base.__doc__ or ""))
    return {key: meanings.get(key, "") for key in model.model_fields}


def read_purpose(model: type[BaseModel]) -> str:
    """The first sentences of a class's docstring."""
    return " ".join((inspect.getdoc(model) or "").partition("\n\n")[0].split())


def read_summary(model: type[BaseModel]) -> str:
    """The first sentences of the file that a class has for itself, or of the class."""
    page = inspect.getdoc(inspect.getmodule(model)) or inspect.getdoc(model) or ""
    return " ".join(page.partition("\n\n")[0].split())


def read_layout(model: type[BaseModel]) -> str:
    """What follows on the summary."""
    page = inspect.getdoc(inspect.getmodule(model)) or inspect.getdoc(model) or ""
    return page.partition("\n\n")[2]
