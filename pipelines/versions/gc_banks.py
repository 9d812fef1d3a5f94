"""Which files of the banks no version needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.places import BANKS
from pipelines.versions.history import Version, is_corpus, list_versions, read_facts
from pipelines.versions.removal import Node, Removal, folders_in, freed_bytes
from synth.errors import CorpusError

_BANK_FILES: Final = ("index-*.parquet", "part-*.pcm", "part-*.parquet", "part-*.json")


def unneeded(folder: Path, stay: Iterable[Version], links: Counter[Node]) -> Iterator[Removal]:
    """What goes of each bank: the files that no index of a version that stays leads to."""
    out = folder.parent.parent
    needed: set[Path] = set()
    for index in _indexes(folder, stay):
        needed |= {index, *_parts(index)}
    for bank in folders_in(out / BANKS):
        found = sorted(path for pattern in _BANK_FILES for path in bank.glob(pattern))
        files = tuple(path for path in found if path.resolve() not in needed)
        if files:
            yield Removal(f"{BANKS}/{bank.name}", files, freed_bytes(files, links))


def _indexes(folder: Path, stay: Iterable[Version]) -> set[Path]:
    """The bank index of every finished version, of any corpus, that gc did not remove."""
    others = (
        version
        for corpus in folders_in(folder.parent)
        if corpus != folder and is_corpus(corpus)
        for version in list_versions(corpus)
    )
    return {
        (version.places.manifests / str(read_facts(version.places)["bank"])).resolve()
        for version in (*stay, *others)
        if version.finished and not version.is_removed
    }


def _parts(index: Path) -> Iterator[Path]:
    """The files of the parts that an index leads to."""
    if not index.is_file():
        return
    try:
        names = pq.read_table(index, columns=["part"]).column("part").unique().to_pylist()
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise CorpusError(f"{index}: damaged: {reason}", mend="build its corpus again") from error
    for name in names:
        yield from ((index.parent / name).with_suffix(end) for end in (".pcm", ".parquet", ".json"))
