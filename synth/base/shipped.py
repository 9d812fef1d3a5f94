"""The files that ship: lexicons in `data_manifests/`, beside this package.

Found by place, not by import: a folder of built corpora is called `data_manifests` too, and a
script run where one lies would find that instead.
"""

from __future__ import annotations

from pathlib import Path


def shipped_path(name: str) -> Path:
    """A file that ships, by its path below `data_manifests`."""
    return Path(__file__).resolve().parents[2] / "data_manifests" / name
