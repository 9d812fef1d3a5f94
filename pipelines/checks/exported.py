"""Audit of an export: it is made again from its corpus, and every file compared byte for byte."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Final

from synth.base.doors import open_regular, own_file, parse_json, read_json
from synth.base.errors import CorpusError, SpecError
from synth.base.hashing import file_sha256
from synth.base.progress import UNOBSERVED, Observer
from synth.corpus.corpus import Corpus
from synth.corpus.facts import SPLIT_NAME
from synth.export import FORMATS, find_format
from synth.export.base import README, ExportFormat, Whole, identify_export
from synth.export.folder import KEPT, Folder, Writer
from synth.export.items import Shard, list_shards

_LIBRARY_FOLDERS: Final = ("lance",)
"""Formats whose folders a library writes; other runs of it name the files otherwise."""
_LINES: Final = ".jsonl"
AGAIN: Final = "export again"
_OTHER: Final = "is not what the corpus makes"
_MOST_FAULTS: Final = 1000
"""That are kept; the others are counted."""


@dataclass(frozen=True, slots=True)
class ExportFault:
    """A line or a file that the corpus does not make.

    Args:
        file: Its path, from the folder of the export.
        line: From 1; 0 if the whole file is meant.
        row: The id of the line, "" if it has none.
    """

    file: str
    line: int
    row: str
    why: str


@dataclass(frozen=True, slots=True)
class ExportAudit:
    """What the audit of an export found; of many faults the first are kept."""

    format: str
    rows: int
    files: int
    fault_count: int
    faults: tuple[ExportFault, ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `faults` is their number, `examples` the first ten."""
        return {
            "format": self.format,
            "rows": self.rows,
            "files": self.files,
            "faults": self.fault_count,
            "examples": [asdict(fault) for fault in self.faults[:10]],
        }


def audit_export(path: Path, out: Path, observer: Observer = UNOBSERVED) -> ExportAudit:
    """Make an export again, and compare its lines and files with those that are there.

    `README.md` and hidden files are left alone. Pieces of manifests are made in a temporary folder.
    """
    corpus = Corpus.open(path)
    export, shards = _find_export(corpus, out)
    comparison = _Comparison(out)
    observer.start("audit", len(shards), "parts")
    with TemporaryDirectory(prefix="segue-audit-") as temporary:
        folder = Folder(Path(temporary))
        for shard in shards:
            export.part(shard, _ComparingWriter(comparison, folder, shard.name))
            observer.advance("audit")
        export.finish(Whole(corpus, shards, folder), _ComparingWriter(comparison, folder))
    comparison.blame_strangers()
    observer.finish("audit", f"{comparison.fault_count} faults")
    return ExportAudit(
        export.name,
        comparison.rows,
        comparison.files,
        comparison.fault_count,
        tuple(comparison.faults),
    )


def read_identity(out: Path) -> Mapping[str, Any]:
    """What an export says of itself: format, splits and corpus."""
    fix = "give the --out of `segue export`"
    try:
        identity: Any = read_json(Folder(out).identity, refuse=SpecError, fix=fix)
        match identity:
            case {"format": str(), "splits": [*splits], "corpus_digest": str()}:
                if all(isinstance(split, str) and SPLIT_NAME.fullmatch(split) for split in splits):
                    return dict(identity)
    except (FileNotFoundError, NotADirectoryError):
        pass
    raise SpecError(f"{out}: is not an export of a corpus", fix=fix)


def verify_export(out: Path) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Compare the sizes of an export's files with its receipts; what it says of itself, too."""
    identity, folder = read_identity(out), Folder(out)
    again = "run the same `segue export` again: it writes what is missing"
    receipts = sorted(folder.receipt("").parent.glob("*.json"))
    files = 0
    for receipt in (*receipts, folder.finished):
        if not receipt.is_file():
            raise CorpusError(f"{out}: is not finished", fix=again)
        match read_json(receipt, fix=again):
            case {"digest": str(digest), "files": dict(sizes)} if digest == identity.get("digest"):
                pass
            case _:
                raise CorpusError(f"{receipt}: is not the receipt of this export", fix=again)
        for name, size in sizes.items():
            path = own_file(out, name)
            count = path.stat().st_size if path.is_file() else None
            if count != size:
                fault = "missing" if count is None else f"has {count} bytes: expected {size}"
                raise CorpusError(f"{path}: {fault}", fix=again)
        files += len(sizes)
    return identity, {"parts with a receipt": len(receipts), "files of their sizes": files}


def _find_export(corpus: Corpus, out: Path) -> tuple[ExportFormat, tuple[Shard, ...]]:
    """The format and the shards of an export of this corpus, as this version writes it."""
    identity = read_identity(out)
    name = identity["format"]
    if name not in FORMATS or name in _LIBRARY_FOLDERS:
        comparable = [name for name in FORMATS if name not in _LIBRARY_FOLDERS]
        raise SpecError(
            f"{out}: exports as {name} cannot be made again and compared",
            fix=f"give one of {', '.join(comparable)}",
        )
    export = find_format(name, root=str(identity.get("root", "")))
    if identity["corpus_digest"] != corpus.facts["digest"]:
        raise SpecError(
            f"{out}: is an export of {identity.get('corpus')} {identity.get('version')}, not of "
            f"{corpus.name} {corpus.version}",
            fix="give the version of the corpus that was exported",
        )
    shards = list_shards(corpus, identity["splits"])
    expected = identify_export(export, corpus, shards)
    if identity.get("format_version") != export.version:
        raise SpecError(
            f"{out}: was written as {name} version {identity.get('format_version')}, and this "
            f"Segue writes version {export.version}",
            fix="audit it with the Segue that wrote it, or export again",
        )
    if identity != expected:
        raise SpecError(f"{out}: its description differs from its corpus", fix=AGAIN)
    return export, shards


class _ComparingWriter(Writer):
    """Writes below a temporary folder; what is no piece is compared, and deleted."""

    def __init__(self, comparison: _Comparison, folder: Folder, shard: str = "") -> None:
        super().__init__(folder, shard)
        self._comparison = comparison
        self._root = folder.root

    def write(self, name: str, data: bytes) -> None:
        """Compare a whole file without writing it."""
        self._comparison.compare_digest(name, hashlib.sha256(data).hexdigest())

    @contextmanager
    def path(self, name: str) -> Iterator[Path]:
        """Where a file is written, to be compared when the block ends."""
        with super().path(name) as partial:
            yield partial
        remade = self._root / name
        if not name.startswith(f"{KEPT}/"):
            self._comparison.compare_file(name, remade)
            remade.unlink()


class _Comparison:
    """What the files of an export are compared with, and what differs."""

    def __init__(self, root: Path) -> None:
        self.rows = 0
        self.files = 0
        self.fault_count = 0
        self.faults: list[ExportFault] = []
        self._root = root
        self._names = {README}

    def compare_digest(self, name: str, digest: str) -> None:
        """Compare a file with the digest of what the corpus makes."""
        if name == README:
            return
        self.files += 1
        file = self._locate(name)
        if file is not None and file_sha256(file) != digest:
            self._blame(ExportFault(name, 0, "", _OTHER))

    def compare_file(self, name: str, remade: Path) -> None:
        """Compare a file with the one that was made; JSON lines each by itself."""
        if not name.endswith(_LINES):
            self.compare_digest(name, file_sha256(remade))
            return
        with remade.open("rb") as lines:
            self.rows += sum(1 for _ in lines)
        file = self._locate(name)
        if file is not None and file_sha256(file) != file_sha256(remade):
            for fault in _compare_lines(name, file, remade):
                self._blame(fault)

    def blame_strangers(self) -> None:
        """Name the files that the corpus does not make: a reader may take them for its own."""
        for parent, folders, names in os.walk(self._root):
            folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
            for name in sorted(names):
                path = Path(parent, name).relative_to(self._root).as_posix()
                if path not in self._names and not name.startswith("."):
                    self._blame(ExportFault(path, 0, "", "is not of this export"))

    def _locate(self, name: str) -> Path | None:
        self._names.add(name)
        try:
            file = own_file(self._root, name)
        except CorpusError as error:
            self._blame(ExportFault(name, 0, "", error.message))
            return None
        if not file.is_file():
            self._blame(ExportFault(name, 0, "", "is missing"))
            return None
        return file

    def _blame(self, fault: ExportFault) -> None:
        self.fault_count += 1
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(fault)


def _compare_lines(name: str, file: Path, remade: Path) -> Iterator[ExportFault]:
    """The lines of a file that the corpus does not make, those missing, and where order breaks.

    Lines are compared by digest, so that neither file is held in memory.
    """
    unmatched: defaultdict[bytes, deque[int]] = defaultdict(deque)
    longest = 0
    with remade.open("rb") as lines:
        for place, line in enumerate(lines, 1):
            unmatched[_digest(line)].append(place)
            longest = max(longest, len(line))
    matches: list[tuple[int, int]] = []
    blamed: set[str] = set()
    with open_regular(file) as lines:
        for number, line in enumerate(_read_bounded(lines, longest), 1):
            places = unmatched.get(_digest(line))
            if places:
                matches.append((number, places.popleft()))
                continue
            row = _read_id(line) if len(line) <= longest else ""
            if len(blamed) < _MOST_FAULTS:
                blamed.add(row)
            why = _OTHER if places is None else "is there twice"
            yield ExportFault(name, number, row, why)
    moved = {place: number for (_, before), (number, place) in pairwise(matches) if place < before}
    missing = {place for places in unmatched.values() for place in places}
    with remade.open("rb") as lines:
        for place, line in enumerate(lines, 1):
            if place in moved:
                yield ExportFault(name, moved[place], _read_id(line), "is out of order")
            elif place in missing and (row := _read_id(line)) not in blamed:
                yield ExportFault(name, place, row, "is missing")


def _read_bounded(lines: BinaryIO, longest: int) -> Iterator[bytes]:
    """The lines of a file; of one that is longer than any should be, one byte more than that."""
    while line := lines.readline(longest + 1):
        rest = line
        while rest and not rest.endswith(b"\n") and len(rest) > longest:
            rest = lines.readline(longest + 1)
        yield line


def _digest(line: bytes) -> bytes:
    return hashlib.sha256(line).digest()


def _read_id(line: bytes) -> str:
    try:
        row = parse_json(line, "line")
    except CorpusError:
        return ""
    return str(row.get("id", ""))[:200] if isinstance(row, dict) else ""
