"""The `segue` program: mounts every command, imports each only when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module, metadata
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from pipelines.cli.show import print_json
from synth.errors import SegueError

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "sources": (
        "pipelines.cli.sources:sources_command",
        "List the sound libraries that can be read, and their settings.",
    ),
    "check": (
        "pipelines.cli.check:check_command",
        "Compare a sound library on disk with its index: missing, changed and unknown files.",
    ),
    "ingest": (
        "pipelines.cli.ingest:ingest_command",
        "Read a spec's sound library: check and measure every clip.",
    ),
    "build": (
        "pipelines.cli.build:build_command",
        "Build a corpus from a spec; what is built already is not made again.",
    ),
    "plan": (
        "pipelines.cli.plan:plan_command",
        "Plan a corpus: every scene and caption, before any audio is made.",
    ),
    "audit": (
        "pipelines.cli.audit:audit_command",
        "Prove a corpus's captions true and its negatives false, from its manifest.",
    ),
    "inspect": (
        "pipelines.cli.inspect:inspect_command",
        "Show what was built: counts, durations, balance, samples, checks.",
    ),
    "text": (
        "pipelines.cli.text:text_command",
        "Temporal text probes of captions: reduce, reorder, or cut test sets.",
    ),
    "negate": (
        "pipelines.cli.tags:negate_command",
        "Negate the tags in captions: insert an absent one, deny half of them, or all.",
    ),
    "tag-captions": (
        "pipelines.cli.tags:tag_captions_command",
        "Make captions of tags, and of balanced views of them.",
    ),
    "textswap": (
        "pipelines.cli.tags:textswap_command",
        "Build a dictionary of tags that contradict each other.",
    ),
    "lexicon": (
        "pipelines.cli.lexicon:lexicon_command",
        "Build the phrases of every label from their readable sources.",
    ),
    "llm": (
        "pipelines.cli.llm:COMMANDS",
        "Ask a language model about captions: bought once, checked, within a budget.",
    ),
    "train": ("train.cli.train:train_command", "Train a CLAP model on a corpus."),
    "eval": (
        "train.cli.eval:eval_command",
        "Test a model on a corpus or on a benchmark's own files.",
    ),
    "export": (
        "pipelines.cli.export:export_command",
        "Write a corpus as others read it, or a trained model for transformers.",
    ),
    "demo": (
        "pipelines.cli.demo:demo_command",
        "Build a corpus, train on it twice, and test both on unheard recordings.",
    ),
}
DEBUG: Final = "--debug"
INTERRUPTED: Final = 130


class LazyGroup(TyperGroup):
    """Finds its commands in `COMMANDS`."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """In the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """What `--help` says of a command; nothing is imported for it."""
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name][1]) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """The command that was called, imported."""
        if args[0] not in COMMANDS:
            return super().resolve_command(ctx, args)
        return args[0], _load(args[0]), args[1:]


def _load(name: str) -> Any:
    """The command of a name; a mapping of functions is a group of commands."""
    module, attribute = COMMANDS[name][0].split(":")
    found = getattr(import_module(module), attribute)
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode="markdown",
        no_args_is_help=not callable(found),
        help=COMMANDS[name][1],
    )
    for each, function in ({name: found} if callable(found) else found).items():
        app.command(name=each)(_guarded(function, debug=DEBUG in sys.argv))
    return get_command(app)


def main() -> None:
    """Run the command line."""
    app = typer.Typer(
        cls=LazyGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        help="Build audio-caption corpora whose captions are proven true, and train CLAP on them.",
    )

    @app.callback()
    def options(
        debug: Annotated[bool, typer.Option(DEBUG, help="Show an error's traceback.")] = False,
        version: Annotated[
            bool, typer.Option("--version", callback=_print_version, is_eager=True)
        ] = False,
    ) -> None:
        pass

    app([argument for argument in sys.argv[1:] if argument != DEBUG])


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"segue {metadata.version('segue-audio')}")
        raise typer.Exit


def _guarded(function: Callable[..., None], debug: bool) -> Callable[..., None]:
    """The command with its errors told in one clear line, its exit code right."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except (SegueError, OSError) as error:
            if debug or isinstance(error, BrokenPipeError):
                raise
            message, mend = _told(error)
            console.print(Text.assemble(("error: ", "bold red"), message))
            if mend:
                console.print(Text.assemble(("mend:  ", "bold"), mend))
            if kwargs.get("as_json"):
                print_json({"error": message, "mend": mend})
            raise typer.Exit(1) from error
        except KeyboardInterrupt as interrupt:
            console.print("stopped; the same command goes on where it stopped")
            raise typer.Exit(INTERRUPTED) from interrupt

    return guarded


def _told(error: SegueError | OSError) -> tuple[str, str]:
    """What is wrong, and the mend."""
    if isinstance(error, SegueError):
        return error.message, error.mend
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}", ""
