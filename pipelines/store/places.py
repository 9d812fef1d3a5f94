"""Where the files of a corpus lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipelines.store.mirror import Mirror

BANKS: Final = "banks"
SHARDS: Final = "shards"
MANIFESTS: Final = "data_manifests"
RECEIPTS: Final = "receipts"


@dataclass(frozen=True, slots=True)
class Places:
    """The folders below `out`.

    Args:
        out: Root of everything a build writes.
        mirror: The store that mirrors `out`, where one does.
    """

    out: Path
    corpus: str
    version: str
    mirror: Mirror | None = None

    @property
    def versions(self) -> Path:
        """Holds one manifest folder a version, and the `latest` pointer."""
        return locate_versions(self.out, self.corpus)

    @property
    def manifests(self) -> Path:
        """The version's manifests."""
        return self.versions / self.version

    @property
    def receipts(self) -> Path:
        """One receipt and one table of measurements a shard."""
        return self.manifests / RECEIPTS

    @property
    def shards(self) -> Path:
        """The version's shards, one folder a split."""
        return self.out / SHARDS / self.corpus / self.version

    @property
    def journal(self) -> Path:
        """What every run of this build did."""
        return self.manifests / "journal.jsonl"

    def shard_path(self, split: str, name: str) -> Path:
        """One shard."""
        return self.shards / split / name

    def find_size(self, split: str, name: str) -> int | None:
        """Bytes of a shard where it is kept: here, or at the store; None if it is not there."""
        path = self.shard_path(split, name)
        if self.mirror is not None:
            return self.mirror.find_size(path)
        try:
            return path.stat().st_size
        except OSError:
            return None

    def format_path(self, path: Path) -> str:
        """A path below `out` as the user knows it."""
        return str(path) if self.mirror is None else self.mirror.to_url(path)

    def receipt_path(self, name: str) -> Path:
        """The receipt of a shard, by the shard's name."""
        return self.receipts / f"{name}.json"

    def measurements_path(self, name: str) -> Path:
        """The measurements of a shard's samples."""
        return self.receipts / f"{name}.parquet"

    def locate_sibling(self, version: str) -> Places:
        """The same corpus's other version."""
        return Places(self.out, self.corpus, version, self.mirror)


def locate_versions(out: Path, corpus: str) -> Path:
    """Where the manifests of all versions of a corpus lie."""
    return out / MANIFESTS / corpus
