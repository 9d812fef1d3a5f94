"""How the command line sets Prefect up, before it is imported."""

from __future__ import annotations

import logging
import os
import tomllib
from pathlib import Path

from synth.base.errors import SegueError


def is_server_configured() -> bool:
    """Whether the environment or Prefect's active profile names a server; Prefect stays unread."""
    if "PREFECT_API_URL" in os.environ:
        return bool(os.environ["PREFECT_API_URL"])
    home = Path(os.environ.get("PREFECT_HOME") or "~/.prefect")
    path = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml").expanduser()
    try:
        known = tomllib.loads(path.read_text("utf-8"))
        active = os.environ.get("PREFECT_PROFILE") or known.get("active", "")
        return bool(known.get("profiles", {}).get(active, {}).get("PREFECT_API_URL"))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError, AttributeError, TypeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SegueError(
            f"{path}: Prefect's profiles cannot be read: {reason}",
            fix="fix or move the file, or use --no-prefect, which ignores it",
        ) from error


def quieten_prefect() -> None:
    """No telemetry, and no log of Prefect's over the command's own output; settings stay if set.

    Its pages show the log. That a log could not be sent is not told: the command tells what failed.
    """
    logging.raiseExceptions = False
    if "PREFECT_LOGGING_LEVEL" not in os.environ:
        os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_INTERNAL_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    os.environ.setdefault("DO_NOT_TRACK", "1")
