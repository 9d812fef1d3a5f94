"""What differs between a version of a corpus and what would be built now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pipelines.builder.claim import (
    LISTS,
    SHARDS_FILE,
    algorithm_versions,
    flat_settings,
    read_finished,
    refuse_other_build,
    remove_files,
)
from pipelines.builder.plan import ShardPlan
from pipelines.builder.render import ShardReceipt, read_receipt
from pipelines.config.spec import Spec
from pipelines.engines.cluster import library_versions
from pipelines.ingest.ingest import IngestedLibrary
from pipelines.store.places import Places
from synth.base.errors import CorpusError
from synth.base.progress import Observer, tell_damage
from synth.corpus.corpus import CORPUS_FILE, REMOVED_FILE, SAMPLES_FILE
from synth.corpus.receipt import RECEIPT_FILE, VersionReceipt
from synth.corpus.schema import INCIDENTAL, canonical_json
from synth.sources import take_places

SHOWN: Final = 10
_HASH_LETTERS: Final = 12

Row: TypeAlias = Mapping[str, Any]


OTHER: Final = ""
KINDS: Final = (
    *("setting", "algorithm", "library", "missing clip", "changed clip", "new clip"),
    OTHER,
)


@dataclass(frozen=True, slots=True)
class Differences:
    """One line a difference, by its kind, one of `KINDS`; none where nothing differs."""

    by_kind: Mapping[str, Sequence[str]]

    def __bool__(self) -> bool:
        return any(self.by_kind.values())

    def lines(self) -> Iterator[str]:
        """For people: the first ten of each kind, and how many more there are."""
        for kind in KINDS:
            lines = self.by_kind.get(kind, ())
            yield from (f"{kind} {line}".strip() for line in lines[:SHOWN])
            if len(lines) > SHOWN:
                yield f"{kind or 'difference'}: {len(lines) - SHOWN:,} more"

    def to_json(self) -> dict[str, Any]:
        """The number of each kind, and the first ten."""
        named = {f"{kind}s" if kind else "others": self.by_kind.get(kind, ()) for kind in KINDS}
        return {
            kind: {"count": len(lines), "first": lines[:SHOWN]} for kind, lines in named.items()
        }


def setting_differences(stored: Spec, given: Spec) -> tuple[str, ...]:
    """Where two specs ask for different corpora; where files lie does not count."""
    old, new = flat_settings(stored), flat_settings(given)
    return tuple(
        f"{key}: {_read_setting(old, key)} there, {_read_setting(new, key)} in the spec given"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    )


def relocate_files(stored: Spec, given: Spec) -> Spec:
    """The stored spec, its files taken from where the given one says they lie."""
    values = stored.model_dump(mode="json", exclude_none=True)
    source, other = (
        spec.model_dump(mode="json", exclude_none=True)["source"] for spec in (stored, given)
    )
    for name in source.keys() & other.keys():
        values["source"] = {name: take_places(source[name], other[name])}
    for key in LISTS:
        old, new = getattr(stored, key), getattr(given, key)
        if [path.name for path in old] == [path.name for path in new]:
            values[key] = [str(path) for path in new]
    return Spec.model_validate(values)


def algorithm_differences(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Algorithms of Segue that are not the ones which a version's `corpus.json` names."""
    recorded = {"format": facts.get("format_version"), **facts.get("algorithms", {})}
    return tuple(
        f"{name}: {_shorten(recorded[name])} there, {_shorten(value)} here"
        for name, value in algorithm_versions().items()
        if recorded.get(name) is not None and recorded[name] != value
    )


def library_differences(receipts: Sequence[ShardReceipt]) -> tuple[str, ...]:
    """Packages that are not of the versions which made the shards."""
    counts: Counter[tuple[str, str]] = Counter()
    for receipt in receipts:
        counts.update(receipt.libraries.items())
    versions = library_versions()
    return tuple(
        f"{name}: {version} there ({count:,} of {len(receipts):,} shards), "
        f"{versions.get(name, 'none')} here"
        for (name, version), count in sorted(counts.items())
        if versions.get(name) != version
    )


def clip_differences(stored: Iterable[Row], library: IngestedLibrary) -> dict[str, Sequence[str]]:
    """Clips that are missing, changed or new, and what became of them, by kind."""
    old = {row["id"]: row for row in stored}
    new = {row["id"]: row for row in library.clips}
    refused = {row["id"]: f"it is refused now: {row['reason']}" for row in library.quarantine}
    order: list[str] = []
    if old.keys() == new.keys() and list(old) != list(new):
        pairs = enumerate(zip(old, new, strict=True), 1)
        first, (there, here) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
        order.append(
            f"the clips are listed in another order: clip {first} is {there} there, {here} here"
        )
    missing, changed = [], []
    for name, row in old.items():
        if name not in new:
            missing.append(f"{name}: {refused.get(name, row['location'])}")
        elif change := _change(row, new[name]):
            changed.append(f"{name}: {change}")
    return {
        "missing clip": missing,
        "changed clip": changed,
        "new clip": [f"{name}: {new[name]['location']}" for name in new if name not in old],
        OTHER: order,
    }


def _change(old: Row, new: Row) -> str:
    """What is other in a clip; "" where nothing is that a corpus depends on."""
    if old["sha256"] != new["sha256"]:
        return f"SHA-256 {_shorten(old['sha256'])} there, {_shorten(new['sha256'])} here"
    return ", ".join(
        f"{name} {canonical_json(old[name])} there, {canonical_json(new[name])} here"
        for name in new
        if name in old and name not in INCIDENTAL and old[name] != new[name]
    )


def _read_setting(settings: Mapping[str, Any], key: str) -> str:
    return canonical_json(settings[key]) if key in settings else "nothing"


def _shorten(value: object) -> str:
    """A value; of a hash the first letters."""
    return str(value)[:_HASH_LETTERS]


# A finished version never changes: what a plain build may still make of one.


def remove_damaged(places: Places, digest: str, observer: Observer) -> VersionReceipt | None:
    """Delete what of a version is not what its receipt says, so that it is made again.

    Where the receipt itself is damaged, all that it certified is made again.

    Returns:
        The receipt of a finished version, which what is made again must match.
    """
    try:
        receipt = VersionReceipt.read(places.manifests)
    except CorpusError as error:
        read_finished(places, digest)
        tell_damage(observer, [error.message], "made again")
        remove_files(places, [RECEIPT_FILE, SHARDS_FILE, SAMPLES_FILE])
        return None
    path = places.manifests / CORPUS_FILE
    if receipt is None or path.name not in receipt.files or not path.exists():
        return None
    refuse_other_build(places, receipt.digest, digest)
    if not (places.manifests / REMOVED_FILE).is_file():
        faults = receipt.find_faults()
        lines = (
            f"{places.format_path(places.manifests / name)}: {faults[name]}" for name in faults
        )
        tell_damage(observer, [*lines], "made again")
        remove_files(places, faults)
    return receipt


def refuse_other_bytes(places: Places, missing: Sequence[ShardPlan], planned: int) -> None:
    """Check that a plain build may make what is missing of a finished version.

    Shards that went by themselves are made again if the libraries are those of their receipts. A
    version whose shards `segue gc` removed is reproduced, and nothing else, so that every shard is
    proven against its receipt before any of them is there again.
    """
    if not missing:
        return
    folder = places.format_path(places.manifests)
    fix = (
        f"`segue rebuild {folder}` rebuilds them byte for byte, or lists what differs; "
        "another `version` in the spec builds a new one"
    )
    if (places.manifests / REMOVED_FILE).is_file():
        raise CorpusError(
            f"{folder}: `segue gc` removed the shards of this finished version", fix=fix
        )
    receipts = [read_receipt(places, shard.shard) for shard in missing]
    differences = library_differences([receipt for receipt in receipts if receipt is not None])
    if differences:
        raise CorpusError(
            f"{folder}: {len(missing)} of {planned} shards of this finished version "
            f"are missing, and would now differ: library {differences[0]}",
            fix=fix,
        )


def unmark(places: Places) -> None:
    """Take back that the shards were removed; they are all there again."""
    path = places.manifests / REMOVED_FILE
    if path.is_file():
        places.store.remove([path])
