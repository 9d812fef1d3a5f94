"""Segue's packages found by place: a `train.py` of the user's own is not ours."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Final

PACKAGES: Final = ("synth", "pipelines", "train", "experiments", "prompts")
_HOME: Final = Path(__file__).resolve().parents[1]


def put_first() -> None:
    """Have Segue's packages found before modules and folders that are named as they are.

    Worker processes look in the same places as this one.

    Raises:
        ImportError: If such a module is imported already.
    """
    for name in PACKAGES:
        module = sys.modules.get(name)
        if module is not None and not _is_ours(place := _locate(module.__spec__), name):
            raise ImportError(
                f"{place or name} is imported already, and `{name}` is the name of a package of "
                "Segue: import segue before it, or rename it"
            )
    foreign = {name: place for name in PACKAGES if (place := _find_foreign(name)) is not None}
    if not foreign:
        return
    folders = [Path(place or ".").resolve() for place in sys.path]
    first = min(folders.index(place.parent) for place in foreign.values())
    sys.path.insert(first, str(_HOME))
    main = getattr(sys.modules["__main__"], "__file__", None)
    hidden = [str(place) for place in foreign.values() if _is_code(place, main)]
    if hidden:
        notice = f"segue: {', '.join(hidden)}: Segue has a package of this name, which is imported "
        print(f"{notice}instead; rename the file if your code imports it", file=sys.stderr)


def _find_foreign(name: str) -> Path | None:
    """What would be imported by one of our names; None where it is ours."""
    place = _locate(PathFinder.find_spec(name))
    return None if place is None or _is_ours(place, name) else place


def _locate(spec: ModuleSpec | None) -> Path | None:
    """A module's file, or the folder of a package."""
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations))).resolve()
    return Path(spec.origin).resolve() if spec.origin else None


def _is_ours(place: Path | None, name: str) -> bool:
    return place == _HOME / name


def _is_code(place: Path, main: str | None) -> bool:
    """Whether somebody may import it: neither a folder of data nor the script that is run."""
    if place.is_dir():
        return any(place.glob("*.py"))
    return main is None or place != Path(main).resolve()
