"""What a path that a command is given leads to."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Final

from synth.base.errors import SegueError, SpecError


class PathKind(Enum):
    """What lies at a path, in words."""

    SPEC = "a spec"
    CORPUS = "a corpus"
    """Or a plan, rendered or not: a manifest folder, the folder above it, or its Parquet file."""
    RUN = "a training run"
    EXPORT = "an export of a corpus"
    OTHER = "something else"
    """Or nothing; whoever opens it says best what is wrong."""


_OF_RUNS: Final = ("log.jsonl", "model.pt", "checkpoint.pt")
"""Files of a run's folder, as `train` calls them."""
_OF_EXPORT: Final = Path(".segue", "export.json")
_FIXES: Final = {
    PathKind.SPEC: "give the YAML file",
    PathKind.CORPUS: "give data_manifests/CORPUS, which `segue build SPEC` makes",
    PathKind.RUN: "give the --out of `segue train`",
    PathKind.EXPORT: "give the --out of `segue export`",
}


def find_kind(path: Path) -> PathKind:
    """What a path leads to; a URL leads to a corpus."""
    from synth.corpus.corpus import holds_corpus

    if path.suffix == ".parquet" or holds_corpus(path):
        return PathKind.CORPUS
    if path.suffix in (".yaml", ".yml"):
        return PathKind.SPEC if path.is_file() else PathKind.OTHER
    if (path / _OF_EXPORT).is_file():
        return PathKind.EXPORT
    if any((path / name).is_file() for name in _OF_RUNS):
        return PathKind.RUN
    return PathKind.OTHER


def expect(path: Path, *wanted: PathKind, fix: str = "") -> PathKind:
    """The kind of a path, which must be one of these."""
    kind = find_kind(path)
    if kind in wanted:
        return kind
    names = [each.value for each in wanted if each is not PathKind.OTHER]
    told = f"is {kind.value}, not {' or '.join(names)}"
    if kind is PathKind.OTHER:
        told = f"neither {' nor '.join(names)}" if len(names) > 1 else f"is not {names[0]}"
    usual = ", or ".join(_FIXES[each] for each in wanted if each in _FIXES)
    if kind is PathKind.SPEC and PathKind.CORPUS in wanted:
        usual = f"give its manifest folder, data_manifests/{_read_name(path)}"
    raise SpecError(f"{path}: {told}", fix=fix or usual)


def _read_name(spec: Path) -> str:
    """The name of the corpus that a spec makes."""
    from synth.base.yaml_file import read_yaml

    try:
        return str(read_yaml(spec).value["corpus"])
    except (SegueError, TypeError, KeyError):
        return "CORPUS"
