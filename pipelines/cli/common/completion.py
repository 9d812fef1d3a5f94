"""What a shell offers for a value of a command that is not finished."""

from __future__ import annotations

from pathlib import Path
from typing import Final

MARKS: Final = ("latest", "corpus.json")
"""As `synth.corpus.corpus` calls them, which takes too long to import."""
_MANIFESTS: Final = "data_manifests"


def source_completions(incomplete: str) -> list[str]:
    """Sound libraries by name."""
    from synth.sources import source_names

    return [name for name in source_names() if name.startswith(incomplete)]


def corpus_completions(incomplete: str) -> list[str]:
    """Manifest folders, and folders on the way to one, which end in a slash."""
    folder, _, begun = incomplete.rpartition("/")
    parent = Path(f"{folder}/" if folder or incomplete.startswith("/") else ".").expanduser()
    stem = incomplete[: len(incomplete) - len(begun)]
    found = [
        f"{stem}{each}" if _is_corpus(parent / each) else f"{stem}{each}/"
        for each in _folders(parent)
        if each.startswith(begun) and (begun or not each.startswith("."))
    ]
    if not incomplete:
        here = Path(_MANIFESTS)
        found = [
            f"{_MANIFESTS}/{each}" for each in _folders(here) if _is_corpus(here / each)
        ] + found
    return found


def _folders(folder: Path) -> list[str]:
    try:
        return sorted(each.name for each in folder.iterdir() if each.is_dir())
    except OSError:
        return []


def _is_corpus(folder: Path) -> bool:
    return any((folder / name).is_file() for name in MARKS)
