"""Every command teaches by example, and is completed in a shell by the protocol of bash."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from pipelines.cli.app import load_command
from pipelines.cli.commands import COMMANDS
from pipelines.cli.common.options import source_completions, start_completions
from tests.kit.builds import segue_here

_EXAMPLES = re.compile(r"\n\nExamples?: (?P<told>.*)\Z", re.S)


def examples(command: click.Command) -> list[list[str]]:
    """The commands that a command's help ends with, in words."""
    told = _EXAMPLES.search(command.help or "")
    quoted = re.findall(r"`([^`]+)`", told["told"]) if told else []
    return [shlex.split(each) for each in quoted]


@pytest.mark.parametrize("words", COMMANDS)
def test_help_ends_with_examples_that_its_parser_takes(words: str) -> None:
    command = load_command(words)
    found = examples(command)
    assert found, f"segue {words} --help has no Example"
    for example in found:
        called = example[example.index("segue") + 1 :]  # which torchrun may stand before
        assert called[: len(words.split())] == words.split()
        # Raises where an option does not exist, an argument is missing or a value is wrong.
        command.make_context(words, called[len(words.split()) :])


def complete(*words: str) -> list[str]:
    """What bash is offered for the last word."""
    environment = {
        "_SEGUE_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("segue", *words)),
        "COMP_CWORD": str(len(words)),
    }
    done = segue_here(env=environment)
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_options_and_their_values_are_completed() -> None:
    assert complete("ve") == ["versions"]
    assert complete("llm", "ru") == ["run"]
    assert complete("night", "--") == ["--help"]
    assert complete("text", "te") == ["textswap"]
    assert {"--head", "--out", "--resume"} <= set(complete("train", "x", "--"))
    assert complete("train", "x", "--head", "tr") == ["transformer"]
    assert complete("text", "probe", "cl") == ["clause-swap"]
    assert complete("browse", "") == []  # which has the shell complete paths
    assert start_completions("t") == ["tag_captions", "triplets"]
    assert source_completions("esc") == ["esc10", "esc50"]
