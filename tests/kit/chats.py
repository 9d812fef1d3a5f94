"""Lines of exports in JSON, and what stands in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}
