"""Every command teaches by example: its help ends with one that its own parser takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import import_module

import click
import pytest
import typer
from typer.main import get_command

from pipelines.cli.app import COMMANDS, mount

_EXAMPLES = re.compile(r"\n\nExamples?: (?P<told>.*)\Z", re.S)


def commands(name: str) -> Iterator[tuple[str, click.Command]]:
    """Each command of an entry under all of its words."""
    module, attribute = COMMANDS[name][0].split(":")
    found = getattr(import_module(module), attribute)
    for each, function in ({name: found} if callable(found) else found).items():
        app = typer.Typer(add_completion=False)
        app.command(name=each)(mount(each, function))
        yield (name if callable(found) else f"{name} {each}"), get_command(app)


def examples(command: click.Command) -> list[list[str]]:
    """The commands that a command's help ends with, in words."""
    told = _EXAMPLES.search(command.help or "")
    quoted = re.findall(r"`([^`]+)`", told["told"]) if told else []
    return [shlex.split(each) for each in quoted]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_that_its_parser_takes(name: str) -> None:
    for words, command in commands(name):
        found = examples(command)
        assert found, f"segue {words} --help has no Example"
        for example in found:
            called = example[example.index("segue") + 1 :]  # which torchrun may stand before
            assert called[: len(words.split())] == words.split()
            # Raises where an option does not exist, an argument is missing or a value is wrong.
            command.make_context(words, called[len(words.split()) :])
