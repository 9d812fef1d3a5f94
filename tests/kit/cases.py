"""Tables of cases that are one test each: a case of pytest's own costs 5 ms before it starts."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

Test = Callable[..., None]


def cases(names: str | tuple[str, ...], table: Iterable[Any]) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but as one test that tells all the cases which fail.

    A case has a `tmp_path` of its own, and what it patches is undone.
    """
    arguments = (names,) if isinstance(names, str) else names
    rows = [(row,) if isinstance(names, str) else tuple(row) for row in table]
    assert rows
    assert all(len(row) == len(arguments) for row in rows)

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            faults = []
            for number, row in enumerate(rows):
                given = dict(fixtures)
                if isinstance(given.get("tmp_path"), Path):
                    given["tmp_path"] = given["tmp_path"] / f"case-{number}"
                    given["tmp_path"].mkdir()
                try:
                    test(**given, **dict(zip(arguments, row, strict=True)))
                except (Exception, pytest.fail.Exception):
                    faults.append(
                        f"{dict(zip(arguments, row, strict=True))}\n{traceback.format_exc()}"
                    )
                finally:
                    if "monkeypatch" in given:
                        given["monkeypatch"].undo()
            if faults:
                pytest.fail(f"{len(faults)} of {len(rows)} cases:\n" + "\n".join(faults), False)

        signature = inspect.signature(test)
        rest = [each for each in signature.parameters.values() if each.name not in arguments]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        del run.__wrapped__  # type: ignore[attr-defined]
        return run

    return decorate
