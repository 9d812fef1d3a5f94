"""The Prefect server that is configured. Prefect, which takes a second to import, stays unread."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from synth.base.errors import SegueError


def find_server() -> str:
    """The address that the environment or Prefect's active profile names, "" for none."""
    if "PREFECT_API_URL" in os.environ:
        return os.environ["PREFECT_API_URL"]
    home = Path(os.environ.get("PREFECT_HOME") or "~/.prefect")
    path = Path(os.environ.get("PREFECT_PROFILES_PATH") or home / "profiles.toml").expanduser()
    try:
        known = tomllib.loads(path.read_text("utf-8"))
        active = os.environ.get("PREFECT_PROFILE") or known.get("active", "")
        return str(known.get("profiles", {}).get(active, {}).get("PREFECT_API_URL") or "")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError, AttributeError, TypeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SegueError(
            f"{path}: Prefect's profiles cannot be read: {reason}",
            fix="fix or move the file, or use --no-prefect, which ignores it",
        ) from error
