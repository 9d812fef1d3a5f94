"""The files that ship: modules, and lexicons in `data_manifests/`, beside this package.

Found by place, not by import: a folder of built corpora is called `data_manifests` too, and a
script run where one lies would find that instead.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path


def shipped_path(name: str) -> Path:
    """A file that ships, by its path below `data_manifests`."""
    return Path(__file__).resolve().parents[2] / "data_manifests" / name


def read_module(name: str) -> str:
    """The text of a module of ours, which is not imported."""
    path = Path(__file__).resolve().parents[2].joinpath(*name.split(".")).with_suffix(".py")
    return path.read_text(encoding="utf-8")


def read_shipped_rows(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file that ships."""
    return list(csv.DictReader(_read(name)))


def _read(name: str) -> list[str]:
    return shipped_path(name).read_text(encoding="utf-8").splitlines()


@cache
def shipped_table(name: str) -> Mapping[str, str]:
    """The second column of a table that ships, by the first."""
    return {row[0]: row[1] for row in csv.reader(_read(f"lexicons/tables/{name}.csv")[1:])}


@cache
def shipped_set(name: str) -> frozenset[str]:
    """A set of words of the table of sets."""
    return frozenset(shipped_table("word_sets")[name].split())


@cache
def shipped_words(name: str) -> frozenset[str]:
    """The words of a list that ships, a word a line."""
    return frozenset(shipped_path(name).read_text(encoding="utf-8").split())
