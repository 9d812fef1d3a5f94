"""The hooks of the documentation site, which lie outside any package."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

HOOKS: Final = Path(__file__).resolve().parents[2] / "docs" / "hooks"


def load_hook(name: str) -> ModuleType:
    """The module `docs/hooks/<name>.py`, executed anew."""
    spec = importlib.util.spec_from_file_location(name, HOOKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module
