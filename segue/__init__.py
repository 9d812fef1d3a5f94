"""Segue from Python: sounds composed with `+` and `*`, corpora, models.

What a name needs is imported when it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from segue.place import put_first

if TYPE_CHECKING:
    from segue.corpora import build as build
    from segue.corpora import open as open
    from segue.models import compare as compare
    from segue.models import evaluate as evaluate
    from segue.models import train as train
    from segue.sounds import scene as scene
    from segue.sounds import sound as sound
    from synth.base.errors import SegueError as SegueError

_MODULES: Final = {
    "SegueError": "synth.base.errors",
    "build": "segue.corpora",
    "compare": "segue.models",
    "evaluate": "segue.models",
    "open": "segue.corpora",
    "scene": "segue.sounds",
    "sound": "segue.sounds",
    "train": "segue.models",
}
__all__ = ["SegueError", "build", "compare", "evaluate", "open", "scene", "sound", "train"]

put_first()


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
