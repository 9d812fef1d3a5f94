"""How the command line sets Prefect up, before it is imported."""

from __future__ import annotations

import os


def quieten_prefect() -> None:
    """No telemetry, and no log of Prefect's over the command's own output; settings stay if set."""
    os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_INTERNAL_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_LOGGING_ROOT_LEVEL", "CRITICAL")  # its services log there
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    os.environ.setdefault("DO_NOT_TRACK", "1")
