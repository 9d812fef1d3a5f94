"""The `segue` program: mounts every command, imports each only when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from typer.core import TyperGroup
from typer.main import get_command

from synth.errors import SegueError

COMMANDS: Final[dict[str, str]] = {
    "sources": "pipelines.cli.sources:sources_command",
    "ingest": "pipelines.cli.ingest:ingest_command",
    "build": "pipelines.cli.build:build_command",
    "inspect": "pipelines.cli.inspect:inspect_command",
    "train": "train.cli:train_command",
    "eval": "train.cli:eval_command",
    "demo": "pipelines.cli.demo:demo_command",
}
DEBUG: Final = "--debug"
INTERRUPTED: Final = 130


class LazyGroup(TyperGroup):
    """Finds its commands in `COMMANDS`."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """In the order of the work."""
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """Import a command and make it one of this program's."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        single = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        function = getattr(import_module(module), attribute)
        single.command(name=cmd_name)(_guarded(function, debug=DEBUG in sys.argv))
        return get_command(single)


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
    ) -> None:
        pass

    app([argument for argument in sys.argv[1:] if argument != DEBUG])


def _guarded(function: Callable[..., None], debug: bool) -> Callable[..., None]:
    """The command with its errors told in one clear line, its exit code right."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except SegueError as error:
            if debug:
                raise
            console.print("[bold red]error:[/]", end=" ")
            console.print(error.message, markup=False)
            if error.mend:
                console.print("[bold]mend:[/] ", end=" ")
                console.print(error.mend, markup=False)
            raise typer.Exit(1) from error
        except KeyboardInterrupt as interrupt:
            console.print("stopped; the same command goes on where it stopped")
            raise typer.Exit(INTERRUPTED) from interrupt

    return guarded
