"""YAML that people write: read safely, each key once, with its place in the file for errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from synth.base.errors import SpecError
from synth.base.names import suggestion

_MERGE: Final = "tag:yaml.org,2002:merge"
_MEND: Final = (
    "check this line and the one above it: indent with spaces, keys of one level equally; close "
    "brackets and quotes; quote values that contain ': ' or ' #'"
)


class _Loader(yaml.SafeLoader):
    """Tells where a value stands that its tag does not allow, such as the 45th of May."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(
                None, None, str(error), node.start_mark
            ) from error


@dataclass(frozen=True)
class YamlFile:
    """What a file holds, and where.

    Args:
        where: What errors call it: its path.
        value: Its content; None if it is empty.
        root: The same as it is laid out; None where it was not read from a file.
    """

    where: str
    value: Any
    root: yaml.Node | None = None

    def place(self, keys: Sequence[str | int] = ()) -> str:
        """`FILE:LINE:COLUMN`, from 1, of the deepest part of `keys` that the file holds.

        The file alone, where it holds none of them.
        """
        mark = self._mark(keys)
        return self.where if mark is None else _place(self.where, mark)

    def order(self, keys: Sequence[str | int]) -> int:
        """Characters of the file before that place."""
        mark = self._mark(keys)
        return 0 if mark is None else mark.index

    def existing_keys(self, keys: Sequence[str | int]) -> tuple[str | int, ...]:
        """The parts of `keys` that the file holds; pydantic's names of a value's forms are none."""
        return tuple(key for key, _ in self._steps(keys)) if self.root else tuple(keys)

    def _mark(self, keys: Sequence[str | int]) -> yaml.Mark | None:
        if not keys and self.root is not None:
            return self.root.start_mark
        return next((mark for _, mark in reversed(list(self._steps(keys)))), None)

    def _steps(self, keys: Sequence[str | int]) -> Iterator[tuple[str | int, yaml.Mark]]:
        """Each key that is found, and its mark."""
        node = self.root
        for key in keys:
            if isinstance(node, yaml.MappingNode):
                pairs = (pair for pair in node.value if pair[0].value == str(key))
                if (pair := next(pairs, None)) is not None:
                    node = pair[1]
                    yield key, pair[0].start_mark
            elif isinstance(node, yaml.SequenceNode) and isinstance(key, int):
                if key >= len(node.value):  # an item that is missing
                    return
                node = node.value[key]
                yield key, node.start_mark


def read_yaml(path: Path) -> YamlFile:
    """The content of a YAML file.

    Raises:
        SpecError: If it cannot be read, is not YAML, or gives a key twice; the error names the
            line and the column.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(
            f"{path}: cannot be read: {error.strerror}", fix=suggest_file(path)
        ) from error
    except UnicodeDecodeError as error:
        raise SpecError(
            f"{path}: cannot be read: not UTF-8: {error}", fix="give a YAML file, saved as UTF-8"
        ) from error
    return parse_yaml(text, str(path))


def suggest_file(path: Path) -> str:
    """What to give in the place of a YAML file that is not there; "" where no other is near."""
    here = [str(path.with_name(each.name)) for each in sorted(path.parent.glob("*.y*ml"))]
    return suggestion(str(path), here) if here else ""


def parse_yaml(text: str, where: str) -> YamlFile:
    """The content of YAML.

    Args:
        text: The YAML; its tags may name nothing but plain values.
        where: What errors call it.

    Raises:
        SpecError: If it is not YAML, or gives a key twice.
    """
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        if root is not None:
            _refuse_repeated_keys(root, where)
        value = None if root is None else loader.construct_document(root)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        column = error.position - text.rfind("\n", 0, error.position)
        told = f"the character {error.character:#x} is not allowed"
        raise SpecError(f"{where}:{line}:{column}: not YAML: {told}", fix="remove it") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = where if mark is None else _place(where, mark)
        raise SpecError(f"{place}: not YAML: {_describe_problem(error)}", fix=_MEND) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        told = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise SpecError(f"{where}: not YAML: {told}", fix=_MEND) from error
    return YamlFile(where, value, root)


def _describe_problem(error: yaml.MarkedYAMLError) -> str:
    """What is wrong, in one line; what began further above is told with its line."""
    begun = error.context_mark
    context = " ".join((error.context or "").split())
    if context and begun is not None and error.problem_mark is not None:
        context += f" that begins in line {begun.line + 1}"
    return ", ".join(filter(None, [" ".join((error.problem or "").split()), context]))


def _place(where: str, mark: yaml.Mark) -> str:
    return f"{where}:{mark.line + 1}:{mark.column + 1}"


def _refuse_repeated_keys(root: yaml.Node, where: str) -> None:
    """Check every mapping once; an alias may stand for one many times, or for itself.

    Raises:
        SpecError: If a key is given twice; all of them are told.
    """
    faults, seen, left = [], set(), [root]
    while left:
        node = left.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            left += reversed(node.value)
        elif isinstance(node, yaml.MappingNode):
            left += [child for _, child in reversed(node.value)]
            faults += _find_repeated(node)
    if faults:
        faults.sort(key=lambda fault: fault[0].index)
        raise SpecError(
            "\n".join(
                f"{_place(where, mark)}: {name!r} is given twice, first in line {first}"
                for mark, name, first in faults
            ),
            fix="keep one of them",
        )


def _find_repeated(node: yaml.MappingNode) -> list[tuple[Any, str, int]]:
    """Mark and name of the keys that a mapping holds already, and the line of the first."""
    lines: dict[str, int] = {}
    found = []
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
            continue
        if key.value in lines:
            found.append((key.start_mark, str(key.value), lines[key.value]))
        lines.setdefault(key.value, key.start_mark.line + 1)
    return found
