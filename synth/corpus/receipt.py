"""The receipt of a version: size and hash of each of its manifests, by which damage is told.

`receipt.json` is written when a plan is made, for the files of the plan, and again before
`corpus.json`, for all. Versions of before there were receipts have none, and are read all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Self

from synth.base.atomic import file_state, replacing, write_text
from synth.base.doors import own_file, read_regular
from synth.base.errors import CorpusError
from synth.base.hashing import FileHash, seal, unseal
from synth.storage import display_path, fetch

RECEIPT_FILE: Final = "receipt.json"
DIFFERS: Final = "the library lies elsewhere by now, or other packages are installed"
_CHANGED: Final = (
    "build the same spec again, or get it again; delete receipt.json if the change is yours"
)


@dataclass(frozen=True, slots=True)
class VersionReceipt:
    """What certifies the manifests of a version."""

    folder: Path
    digest: str
    files: Mapping[str, FileHash]

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """That of a manifest folder; None where there is none."""
        path = fetch(folder / RECEIPT_FILE)
        if not path.exists():
            return None
        values = unseal(read_regular(path), display_path(path))
        try:
            files = {name: FileHash.parse(value) for name, value in values["files"].items()}
            return cls(folder, str(values["digest"]), files)
        except (KeyError, ValueError, AttributeError) as error:
            raise CorpusError(f"{display_path(path)}: damaged: {error}", fix=_CHANGED) from error

    def write(self) -> None:
        """Write it into its folder."""
        files = {name: asdict(file) for name, file in self.files.items()}
        write_text(self.folder / RECEIPT_FILE, seal({"digest": self.digest, "files": files}))

    def find_faults(self, names: Collection[str] | None = None) -> dict[str, str]:
        """What is other with the files, by name.

        Args:
            names: Those that are looked at, as far as they are certified; all by default.
        """
        faults = {}
        for name in self.files if names is None else self.files.keys() & {*names}:
            try:
                path = fetch(own_file(self.folder, name))
                fault = self.files[name].find_fault(path)
            except CorpusError as error:
                fault = error.message
            if fault:
                faults[name] = fault
        return faults

    def check(self, names: Collection[str] | None = None) -> None:
        """Refuse files that are other than they were; the arguments are those of `find_faults`."""
        for name, fault in sorted(self.find_faults(names).items()):
            raise CorpusError(f"{display_path(self.folder / name)}: {fault}", fix=_CHANGED)


def check_receipt(folder: Path, names: Sequence[str]) -> None:
    """Refuse files of a version that are other than they were; those that stayed are read once."""
    there = tuple(name for name in (RECEIPT_FILE, *names) if (folder / name).exists())
    _check_files(folder, there, tuple(file_state(folder / name) for name in there))


@lru_cache(64)
def _check_files(folder: Path, names: Sequence[str], stamp: tuple[tuple[int, ...], ...]) -> None:
    if (receipt := VersionReceipt.read(folder)) is not None:
        receipt.check(names)


class _KeptError(Exception):
    """A file stays as it is."""


@contextmanager
def replacing_certified(path: Path, receipt: VersionReceipt | None) -> Iterator[Path]:
    """As `replacing`; but what a receipt certifies stays, or is made as it was."""
    name = path.relative_to(receipt.folder).as_posix() if receipt is not None else ""
    certified = receipt.files.get(name) if receipt is not None else None
    with suppress(_KeptError), replacing(path) as partial:
        yield partial
        if certified is not None and FileHash.of(partial) != certified:
            if path.exists():
                raise _KeptError
            raise CorpusError(
                f"{path}: damaged, and cannot be made again as it was: {DIFFERS}",
                fix="restore it from a copy, or give the spec another `version`",
            )
