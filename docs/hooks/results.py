"""The pages of `docs/results/`, which `segue reproduce` writes, stand in the navigation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BEFORE = "Questions"


def on_config(config: Any, **_: Any) -> Any:
    """Put them before the questions, where there are any."""
    folder = Path(config["docs_dir"])
    pages = sorted(folder.glob("results/**/*.md"))
    if pages:
        named = [path.relative_to(folder).as_posix() for path in pages]
        at = next(at for at, entry in enumerate(config["nav"]) if BEFORE in entry)
        config["nav"].insert(at, {"Results": named})
    return config
