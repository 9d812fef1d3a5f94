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

    It is skipped where a case is and none fails; the others have run by then.
    A case has a `tmp_path` and a `monkeypatch` of its own.
    """
    arguments = (names,) if isinstance(names, str) else names
    rows = [(row,) if isinstance(names, str) else tuple(row) for row in table]
    assert rows
    assert all(len(row) == len(arguments) for row in rows)

    def decorate(test: Test) -> Test:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            faults, skipped = [], []
            for number, row in enumerate(rows):
                case = dict(zip(arguments, row, strict=True))
                with pytest.MonkeyPatch.context() as patch:
                    try:
                        test(**own(fixtures, number, patch), **case)
                    except pytest.skip.Exception as reason:
                        skipped.append(f"{case}: {reason}")
                    except (Exception, pytest.fail.Exception):
                        faults.append(f"{case}\n{traceback.format_exc()}")
            if faults:
                pytest.fail(f"{len(faults)} of {len(rows)} cases:\n" + "\n".join(faults), False)
            if skipped:
                pytest.skip("\n".join(skipped))

        signature = inspect.signature(test)
        rest = [each for each in signature.parameters.values() if each.name not in arguments]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        del run.__wrapped__  # type: ignore[attr-defined]
        return run

    return decorate


def own(fixtures: dict[str, Any], number: int, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a test is given for one of its cases."""
    given = dict(fixtures)
    if "monkeypatch" in given:
        given["monkeypatch"] = patch
    if isinstance(given.get("tmp_path"), Path):
        given["tmp_path"] = given["tmp_path"] / f"case-{number}"
        given["tmp_path"].mkdir()
    return given
