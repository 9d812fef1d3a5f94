"""The `segue` program: mounts every command, and imports each only when it is needed."""

from __future__ import annotations

import errno
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from copy import copy
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_origin

import typer
from rich.text import Text
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from pipelines.cli.commands import COMMANDS, GROUPS, GUESSED
from pipelines.cli.common.options import JsonOption, naming_packages
from pipelines.config.meanings import read_arguments
from synth.base.atomic import disk_error
from synth.base.command import CommandResult
from synth.base.doors import make_console, plain_text
from synth.base.errors import SegueError, nearest
from synth.base.shipped import read_module

DEBUG: Final = "--debug"
HELP: Final[dict[str, Any]] = {"no_args_is_help": True, "rich_markup_mode": "markdown"}
OBSERVER: Final = "observer"
"""A parameter that is no option: a command is given the progress that it reports to by it."""
TELL: Final = "tell"
"""A parameter that is no option: a command that runs until Ctrl-C tells its results by it."""
GIVEN: Final = "given"
"""A parameter that is no option: the options that stand on the command line, as `--split`."""
_CONTEXT: Final = "context"
JSON: Final = "as_json"
NO_THREAD: Final = "can't start new thread"
"""Python's words where the system refuses one."""
_LIMITS: Final = (
    "end other programs or raise the limits of this machine (ulimit -a), then run the same command "
    "again; finished work is kept"
)
_FIXES: Final[dict[int, str]] = {
    **dict.fromkeys((errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE), _LIMITS),
    errno.EIO: "check the disk or the network folder, then run the same command again",
    errno.EROFS: "use a folder on a disk that can be written",
    errno.EACCES: "change the permissions there, or use another folder or file",
    errno.EPERM: "change the permissions there, or use another folder or file",
}
"""By the system's number of the error."""
_UsageError: Final[Any] = typer.BadParameter.__base__
"""What Typer raises for a wrong command line; it exports no name for it."""


def _translate(
    error: SegueError | OSError | MemoryError | RuntimeError | UnicodeDecodeError,
) -> SegueError | OSError:
    """What a fault of the machine, or of a file that was checked in part only, means."""
    if isinstance(error, MemoryError):
        return SegueError(
            "out of memory",
            fix="close other programs, use fewer --workers, or a machine with more memory",
        )
    if str(error) == NO_THREAD:
        return SegueError("this machine allows no more threads", fix=_LIMITS)
    if isinstance(error, RuntimeError | UnicodeDecodeError):
        return SegueError(
            f"a file is damaged: {error}", fix="download or build it again; --debug shows where"
        )
    return error


class LazyGroup(TyperGroup):
    """Finds its commands in `COMMANDS`; help, completion and suggestions import none of them.

    A group by its name; without one it is the program, which holds the groups.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for words in COMMANDS:
            group, _, name = words.rpartition(" ")
            if group == (self.name or ""):
                self.add_command(TyperCommand(name))
            elif not self.name and group not in self.commands:
                self.add_command(LazyGroup(name=group, help=GROUPS[group], **HELP))

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """A command as lists show it, with the first line of its help."""
        command = super().get_command(ctx, cmd_name)
        if command and (place := COMMANDS.get(f"{self.name or ''} {cmd_name}".lstrip())):
            command.help = _read_help(place)
        return command

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command; a value of the wrong type is told in plain words."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = _to_plain_words(str(error.message))
            raise

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """The command that was called, imported."""
        words = f"{self.name or ''} {args[0]}".lstrip()
        for guess in (words, *(f"{words} {argument.partition('=')[0]}" for argument in args[1:])):
            if guess in GUESSED and not ctx.resilient_parsing:
                ctx.fail(f"Instead of `segue {guess}` use {GUESSED[guess]}.")
        if words in COMMANDS:
            return args[0], load_command(words), args[1:]
        near = [] if args[0] in self.commands else _find_nearest(args[0])
        if near and not ctx.resilient_parsing:
            guesses = " or ".join(f"'segue {command}'" for command in near)
            ctx.fail(f"No such command {args[0]!r}. Did you mean {guesses}?")
        return super().resolve_command(ctx, args)


def _read_help(place: str) -> str:
    """The first line of a function's docstring; its module is read, and not imported."""
    module, function = place.split(":")
    _, _, body = read_module(module).partition(f"\ndef {function}(")
    return body.partition('"""')[2].partition("\n")[0].removesuffix('"""')


def _to_plain_words(message: str) -> str:
    """What a check of an option's type says, without the words of programmers."""
    plain = message.removeprefix("Value error, ").partition(", unable to parse")[0]
    plain = plain.replace("Input should be a valid", "expected a")
    return plain.replace("Input should be", "expected a value").replace("integer", "whole number")


def load_command(words: str) -> Any:
    """The command of these words, imported."""
    module, attribute = COMMANDS[words].split(":")
    with naming_packages(words):
        function = getattr(import_module(module), attribute)
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    app.command(name=words.rpartition(" ")[2])(mount(words, function))
    return get_command(app)


def _find_nearest(word: str) -> Sequence[str]:
    """The commands and groups whose last word is nearest to this one, in whatever group."""
    by_name: dict[str, list[str]] = {}
    for words in (*GROUPS, *COMMANDS):
        by_name.setdefault(words.rpartition(" ")[2], []).append(words)
    return by_name.get(nearest(word, by_name) or "", ())


def main() -> None:
    """Run the command line."""
    app = typer.Typer(
        cls=LazyGroup,
        pretty_exceptions_enable=False,
        help="Build audio-caption corpora whose captions are proven true, and train CLAP on them.",
        **HELP,
    )

    @app.callback()
    def options(
        debug: Annotated[bool, typer.Option(DEBUG, help="Show an error's traceback.")] = False,
        version: Annotated[
            bool, typer.Option("--version", callback=_print_version, is_eager=True)
        ] = False,
    ) -> None:
        pass

    try:
        app([argument for argument in sys.argv[1:] if argument != DEBUG])
    except (SegueError, MemoryError) as error:
        if DEBUG in sys.argv:
            raise
        _print_error(_translate(error), "--json" in sys.argv)
        sys.exit(1)
    except SystemExit as end:
        if isinstance(end.__context__, _UsageError) and "--json" in sys.argv:
            # Typer has told it on the standard error.
            _print_json_error(end.__context__.format_message(), "--help lists the options")
        raise


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib import metadata

        print(f"segue {metadata.version('segue-audio')}")
        raise typer.Exit


def present(function: Callable[..., Any], name: str = "segue") -> Callable[..., None]:
    """A command that prints the `CommandResult` that it returns, or those that it tells.

    It gets `--json`, and shows its progress; it ends with the status of its result. Its docstring
    explains its options.
    """
    accepted = inspect.signature(function, eval_str=True).parameters
    page = inspect.getdoc(function) or ""

    @wraps(function)
    def printed(**values: Any) -> None:
        as_json = bool(values.get(JSON))
        arguments = {name: value for name, value in values.items() if name in accepted}
        is_shown = OBSERVER in accepted or not sys.stderr.isatty()
        with ExitStack() as stack:
            from pipelines.cli.common.progress_display import show_progress

            progress = show_progress(as_json, name) if is_shown else nullcontext()
            observer = stack.enter_context(progress)

            def tell(result: CommandResult) -> None:
                stack.close()  # it has begun: from now on it waits
                _print_result(result, as_json)

            context = values.get(_CONTEXT)
            given = _list_given(context) if context else frozenset()
            offered = {OBSERVER: observer, TELL: tell, GIVEN: given}
            arguments |= {key: value for key, value in offered.items() if key in accepted}
            result = function(**arguments)
        if result is not None:
            _print_result(result, as_json)
            if result.status:
                raise typer.Exit(result.status)

    docs = read_arguments(page)
    parameters = [
        _explain(param, docs)
        for key, param in accepted.items()
        if key not in (OBSERVER, TELL, GIVEN)
    ]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if JSON not in accepted:
        parameters.append(inspect.Parameter(JSON, kind, default=False, annotation=JsonOption))
    if GIVEN in accepted:
        parameters.insert(0, inspect.Parameter(_CONTEXT, kind, annotation=typer.Context))
    printed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    printed.__doc__ = page.partition("\n\nArgs:\n")[0]
    return printed


def _list_given(context: typer.Context) -> frozenset[str]:
    """The options that stand on the command line, whatever their values."""
    options = {option.name: option.opts[0] for option in context.command.params if option.name}
    sources = {name: context.get_parameter_source(name) for name in options}
    names = (name for name, source in sources.items() if source and source.name == "COMMANDLINE")
    return frozenset(options[name] for name in names if options[name].startswith("--"))


def _explain(parameter: inspect.Parameter, docs: Mapping[str, str]) -> inspect.Parameter:
    """A parameter as Typer takes it, with what its command's docstring says of it."""
    kind, option = parameter.annotation, typer.Option()
    if get_origin(kind) is Annotated:
        kind, option = get_args(kind)
        option = copy(option)
    elif parameter.default is parameter.empty:
        option = typer.Argument()
    option.help = option.help or docs.get(parameter.name)
    is_named = option.param_decls or option.default is not ...  # Typer takes a first word for it
    if kind is bool and parameter.default is False and not is_named:
        option.param_decls = (f"--{parameter.name.replace('_', '-')}",)
    return parameter.replace(annotation=Annotated[kind, option])


def _print_result(result: CommandResult, as_json: bool) -> None:
    if as_json:
        print(json.dumps(result.facts, ensure_ascii=False), flush=True)
    else:
        result.show()


def mount(name: str, function: Callable[..., Any]) -> Callable[..., None]:
    """The command as the program mounts it: an error is one clear line and exit code 1."""
    command = present(function, name)

    @wraps(command)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            with naming_packages(name):
                command(*args, **kwargs)
        except (SegueError, OSError, MemoryError, RuntimeError, UnicodeDecodeError) as error:
            is_known = isinstance(error, RecursionError) or str(error) == NO_THREAD
            is_fault = isinstance(error, RuntimeError) and not is_known  # of ours, and shown whole
            if DEBUG in sys.argv or isinstance(error, BrokenPipeError) or is_fault:
                raise
            _print_error(_translate(error), bool(kwargs.get(JSON)))
            raise typer.Exit(1) from error

    return guarded


def _print_error(error: SegueError | OSError, as_json: bool) -> None:
    """One line of what is wrong and one of the fix; under `--json` an object, too."""
    message, fix = (plain_text(text, keep="\n") for text in _describe(error))
    console = make_console(stderr=True)
    console.print(Text.assemble(("error: ", "bold red"), message))
    if fix:
        console.print(Text.assemble(("fix:   ", "bold"), fix))
    if as_json:
        _print_json_error(message, fix)


def _print_json_error(message: str, fix: str) -> None:
    print(json.dumps({"error": message, "fix": fix}, ensure_ascii=False), flush=True)


def _describe(error: SegueError | OSError) -> tuple[str, str]:
    """What is wrong, and the fix."""
    if isinstance(error, OSError) and error.filename:
        error = disk_error(error, Path(os.fsdecode(error.filename))) or error
    if isinstance(error, SegueError):
        return error.message, error.fix
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error}", _FIXES.get(error.errno or 0, "")
