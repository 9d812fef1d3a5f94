"""The Prefect server that is configured. Prefect, which takes a second to import, stays unread."""

from __future__ import annotations

import os
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from synth.base.errors import SegueError


def find_server() -> str:
    """The address that Prefect would use, "" for none: its first place that names one counts."""
    address = _find_setting("PREFECT_API_URL", "api", "url")
    if address is not None:
        return address
    home = Path(os.environ.get("PREFECT_HOME") or "~/.prefect")
    named = _find_setting("PREFECT_PROFILES_PATH", "profiles_path")
    path = Path(named or home / "profiles.toml").expanduser()
    active = os.environ.get("PREFECT_PROFILE") or _look_up(path, "active")
    return _look_up(path, "profiles", active, "PREFECT_API_URL")


def _find_setting(variable: str, *keys: str) -> str | None:
    """A setting of the environment or of a file in this folder; None where neither has it."""
    if variable in os.environ:
        return os.environ[variable]
    if find_spec("dotenv"):  # it comes with Prefect
        from dotenv import dotenv_values

        if value := dotenv_values(".env").get(variable):
            return value
    in_project = _look_up(Path("prefect.toml"), *keys)
    return in_project or _look_up(Path("pyproject.toml"), "tool", "prefect", *keys) or None


def _look_up(path: Path, *keys: str) -> str:
    """The text that a TOML file holds below some keys, "" for none."""
    try:
        value: Any = tomllib.loads(path.read_text("utf-8"))
        for key in keys:
            value = value.get(key, {})
        if not isinstance(value, str) and value != {}:
            raise ValueError(f"{'.'.join(keys)}: expected text")
        return str(value or "")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError, AttributeError, TypeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SegueError(
            f"{path}: Prefect's settings cannot be read: {reason}",
            fix="fix or move the file, or use --no-prefect, which ignores it",
        ) from error
