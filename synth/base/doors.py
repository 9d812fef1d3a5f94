"""The doors for what comes from elsewhere: one opens files, one parses JSON, one shows text.

A corpus, a library, a model or an answer may be a stranger's. So a file that is read is a regular
one, of bounded size, and below its folder; JSON has a bounded size and depth, and holds text that
can be written again; and what is shown on a terminal holds no control characters.
"""

from __future__ import annotations

import errno
import json
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from synth.base.atomic import format_bytes
from synth.base.errors import CorpusError, MachineError, SegueError

MAX_BYTES: Final = 256 * 2**20
"""Most bytes of a file that is read whole."""
MAX_LINE: Final = 64 * 2**20
"""Most bytes of a line of JSON."""
MAX_DEPTH: Final = 210
"""Most levels of JSON; the deepest scene has 201, most have fewer than twenty."""
_REPLACE: Final = "download or build the file again"
_OF_THE_FILE: Final = frozenset(
    {
        *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP),
        *(errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENXIO),
    }
)
UNWELL: Final = (
    "check the disk, the network folder and the limits of this machine, then run the same command "
    "again; finished work is kept, and no file was refused"
)
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)
JOINERS: Final = frozenset("\u200c\u200d")
"""Letters without width that some languages and emoji are spelt with."""
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def require_regular(
    path: Path, *, refuse: type[SegueError] = CorpusError, fix: str = _REPLACE
) -> Path:
    """The same path, which may be missing; pipes would be waited for, and devices have no end."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return path
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise refuse(f"{plain_text(path)}: cannot be read: {reason}", fix=fix) from error
    if not stat.S_ISREG(mode):
        raise refuse(f"{plain_text(path)}: is not a regular file", fix=fix)
    return path


def own_file(folder: Path, name: str) -> Path:
    """`folder / name`, which may be missing, or a copy that is not here yet."""
    path = require_regular(folder / name)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise CorpusError(
            f"{plain_text(path)}: is a link that leads out of its folder",
            fix="replace the link with the file, if the file is yours",
        )
    return path


def open_regular(
    path: Path, *, refuse: type[SegueError] = CorpusError, fix: str = _REPLACE
) -> BufferedReader:
    """Open a regular file for reading.

    Raises:
        OSError: If it is missing, or the system cannot read it: that says nothing of the file.
    """
    return require_regular(path, refuse=refuse, fix=fix).open("rb")


def explain_unreadable(error: OSError, path: object) -> str:
    """Why a file cannot be read, where that is the file's own fault."""
    reason = error.strerror or str(error)
    if error.errno not in _OF_THE_FILE:
        raise MachineError(f"{plain_text(path)}: cannot be read: {reason}", fix=UNWELL) from error
    return reason


def read_regular(
    path: Path,
    *,
    limit: int = MAX_BYTES,
    refuse: type[SegueError] = CorpusError,
    fix: str = _REPLACE,
) -> bytes:
    """All bytes of a regular file."""
    with open_regular(path, refuse=refuse, fix=fix) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise refuse(
            f"{plain_text(path)}: is larger than {format_bytes(limit)}, so it is not read",
            fix=fix,
        )
    return data


def read_text(path: Path, *, refuse: type[SegueError] = CorpusError, fix: str = _REPLACE) -> str:
    """The text of a regular file in UTF-8, with or without BOM."""
    try:
        return read_regular(path, refuse=refuse, fix=fix).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refuse(f"{plain_text(path)}: is not text in UTF-8", fix=fix) from error


def read_json(
    path: Path, *, refuse: type[SegueError] = CorpusError, fix: str = _REPLACE, where: str = ""
) -> Any:
    """The value in a regular file of JSON.

    Args:
        where: What the error calls the file; its path by default.
    """
    data = read_regular(path, refuse=refuse, fix=fix)
    return parse_json(data, where or str(path), refuse=refuse, fix=fix)


def parse_json(
    text: str | bytes,
    where: str,
    *,
    refuse: type[SegueError] = CorpusError,
    fix: str = _REPLACE,
    **hooks: Any,
) -> Any:
    """The value of JSON that somebody else may have written.

    Args:
        text: The JSON; bytes in UTF-8, UTF-16 or UTF-32, as the standard allows.
        where: What it is, for the error: a file, a column, an answer.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode(json.detect_encoding(text))
        if _is_deep(text):
            raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
        value = json.loads(text, **hooks)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        reason = "it holds half of a surrogate pair"
        raise refuse(f"{plain_text(where)}: is not JSON: {reason}", fix=fix) from error
    except (ValueError, RecursionError) as error:
        problem = str(error)
        if isinstance(error, json.JSONDecodeError) and error.lineno == 1:
            problem = f"{error.msg} at column {error.colno}"  # `where` may tell the line
        raise refuse(f"{plain_text(where)}: is not JSON: {problem}", fix=fix) from error
    return value


def read_json_lines(
    path: Path, *, refuse: type[SegueError] = CorpusError, fix: str = _REPLACE
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a regular file of JSON lines, each with its place: "a.jsonl: line 3"."""
    if not path.exists():
        raise refuse(f"{plain_text(path)}: no such file", fix=fix)
    with open_regular(path, refuse=refuse, fix=fix) as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), b""), start=1):
            where = f"{path}: line {number}"
            if len(line) > MAX_LINE:
                longest = format_bytes(MAX_LINE)
                raise refuse(f"{plain_text(where)}: is longer than {longest}", fix=fix)
            if not line.isspace():
                value = parse_json(line, where, refuse=refuse, fix=fix)
                if not isinstance(value, dict):
                    raise refuse(f"{plain_text(where)}: expected an object", fix=fix)
                yield where, value


def _is_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for token in _BRACKETS.finditer(text):
        letter = token[0]
        depth += (letter in "[{") - (letter in "]}") if len(letter) == 1 else 0
        if depth > MAX_DEPTH:
            return True
    return False


def plain_text(text: object, *, keep: str = "") -> str:
    r"""Text that may be a stranger's, as a terminal may show it: `\x1b` stands for an escape.

    Spaces of every width are kept; controls, marks of direction and line ends are escaped.

    Args:
        keep: Further characters that are kept, such as line ends of our own messages.
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(
        letter
        if letter.isprintable() or letter in keep or unicodedata.category(letter) == "Zs"
        else letter.encode("unicode_escape").decode()
        for letter in shown
    )


def tidy_text(text: str) -> str:
    """Text of others as a sentence may hold it: composed, on one line, and without controls.

    Text that is so already stays as it is, with its spaces; nothing is left of invisible letters.
    """
    if text.isprintable() and unicodedata.is_normalized("NFC", text):
        return text
    letters = (
        letter
        for letter in text
        if letter.isspace() or letter in JOINERS or unicodedata.category(letter) not in ("Cc", "Cf")
    )
    tidied = " ".join(unicodedata.normalize("NFC", "".join(letters)).split())
    return tidied if set(tidied) - JOINERS - {" "} else ""


# The console of the commands, of all packages.


class PlainConsole(Console):
    """A console on which text moves no cursor and sets no title: it may be a stranger's."""

    def render_str(self, text: str, **settings: Any) -> Text:
        """The text, escaped before its width is measured."""
        return super().render_str(plain_text(text, keep="\n\t"), **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of what is printed; rich's own control sequences stay.

        Where a table has no room for a name, it is folded: two that are cut may look the same.
        """
        for column in renderable.columns if isinstance(renderable, Table) else ():
            column.overflow = column.overflow if column.no_wrap else "fold"
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(plain_text(segment.text, keep="\n\t"), segment.style)


def make_console(**settings: Any) -> Console:
    """The console of a command: it breaks no line and colours no number, unless told to."""
    return PlainConsole(**{"soft_wrap": True, "highlight": False, **settings})
