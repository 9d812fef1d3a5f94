"""Compare two corpora: what differs in clips, samples and shards, and what they were made with."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import duckdb

from pipelines.build.differences import SHOWN
from pipelines.look.comparison import queries
from pipelines.look.comparison.side import ComparedSide, ValueChange, find_changes
from pipelines.look.console.connection import open_sealed

EXAMPLES: Final = 3
"""Ids that are named of each kind, and of each reason; of a clip's reasons `SHOWN` are."""


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Rows that one thing became of, or that one thing is the reason of.

    Args:
        name: What became of them, or the reason.
        first: Ids of the first of them.
        reasons: Why, the most frequent ones; empty where they do not say.
        more_reasons: How many there are beside those.
    """

    name: str
    count: int
    first: tuple[str, ...]
    reasons: tuple[ChangeGroup, ...] = ()
    more_reasons: int = 0


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What differs in the rows of a table.

    Args:
        a: How many A has.
        b: How many B has.
        kinds: What became of those that differ.
    """

    a: int
    b: int
    kinds: tuple[ChangeGroup, ...]

    @property
    def same(self) -> int:
        """Rows that both have, in nothing other."""
        return self.b - sum(kind.count for kind in self.kinds if kind.name in ("changed", "added"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between A and B, and why; causes first.

    Args:
        clips: Of the catalogue, each kind with the reasons.
        libraries: Packages that made the audio.
        samples: By their place in the plan, each kind with the parts that are other.
        shards: By their place, other where anything that determines their bytes is.
        hear_a_changed_clip: Changed samples of whose clips one differs.
        hear_a_moved_clip: Samples of B that hear a clip which lies in another split in A.
    """

    a: ComparedSide
    b: ComparedSide
    settings: tuple[ValueChange, ...]
    clips: TableChanges
    algorithms: tuple[ValueChange, ...]
    libraries: tuple[ValueChange, ...]
    samples: TableChanges
    shards: TableChanges
    hear_a_changed_clip: int
    hear_a_moved_clip: int

    @property
    def causes(self) -> bool:
        """Whether anything that a corpus is made of differs."""
        return bool(self.settings or self.clips.kinds or self.algorithms or self.libraries)

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.causes or self.samples.kinds or self.shards.kinds)

    @property
    def unknown(self) -> str:
        """What of the causes cannot be told, and why; "" where all is known."""
        plans = [name for name, side in (("A", self.a), ("B", self.b)) if not side.rendered]
        if plans:
            return f"{' and '.join(plans)}: planned, not built: it has no settings or versions"
        if self.causes or self.same:
            return ""
        files = [name for key in ("enrich", "block") for name in self.a.settings.get(key, ())]
        reason = f"{', '.join(files)} may hold other lines" if files else "no cause is recorded"
        return f"settings, clips, algorithms and libraries are the same; {reason}"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "a": self.a.to_json(),
            "b": self.b.to_json(),
            "same": self.same,
            "causes": {
                "settings": [asdict(each) for each in self.settings],
                "clips": asdict(self.clips),
                "algorithms": [asdict(each) for each in self.algorithms],
                "libraries": [asdict(each) for each in self.libraries],
                "unknown": self.unknown,
            },
            "samples": {
                **asdict(self.samples),
                "same": self.samples.same,
                "changed_that_hear_a_changed_clip": self.hear_a_changed_clip,
                "that_hear_a_moved_clip": self.hear_a_moved_clip,
            },
            "shards": {**asdict(self.shards), "same": self.shards.same},
        }


def compare(first: Path, second: Path) -> Comparison:
    """Compare two corpora, or plans, as `find_manifest` takes them.

    Samples and shards are compared by their place: sample 5 of `train` with sample 5 of `train`.
    """
    a, b = ComparedSide.open(first), ComparedSide.open(second)
    tables = {
        f"{letter}_{name}": table
        for letter, side in (("a", a), ("b", b))
        for name, table in side.tables.items()
    }
    audible = a.rendered and b.rendered
    with open_sealed(tables) as connection:
        for query in (
            queries.build_clip_changes(a.clip_columns & b.clip_columns),
            queries.build_keyed_view("a", a.corpus, audible),
            queries.build_keyed_view("b", b.corpus, audible),
            queries.build_sample_changes(audible),
            queries.build_shard_changes(a.corpus, b.corpus),
        ):
            connection.execute(query)
        return Comparison(
            a=a,
            b=b,
            settings=tuple(find_changes(a.settings, b.settings)) if audible else (),
            clips=_read_changes(connection, "clip", "clips", "why"),
            algorithms=tuple(find_changes(a.algorithms, b.algorithms)) if audible else (),
            libraries=tuple(find_changes(a.libraries, b.libraries)) if audible else (),
            samples=_read_changes(connection, "sample", "samples", "unnest(parts)"),
            shards=_read_changes(connection, "shard", "shards", None),
            hear_a_changed_clip=_read_number(connection, queries.HEAR_A_CHANGED_CLIP),
            hear_a_moved_clip=_read_number(connection, queries.HEAR_A_MOVED_CLIP),
        )


def _read_changes(
    connection: duckdb.DuckDBPyConnection, name: str, table: str, reason: str | None
) -> TableChanges:
    """What differs in a table, of which `NAME_changes` lists the rows that do."""
    a, b = (_read_number(connection, f"SELECT count(*) FROM {side}_{table}") for side in "ab")
    changed = f"FROM {name}_changes"
    kinds = []
    for kind in _count_groups(connection, f"SELECT id, change AS value {changed}"):
        if reason is not None:
            values = f"SELECT id, {reason} AS value {changed} WHERE change = '{kind.name}'"
            distinct = _read_number(connection, f"SELECT count(DISTINCT value) FROM ({values})")
            reasons = _count_groups(connection, values, SHOWN if name == "clip" else EXAMPLES)
            kind = replace(kind, reasons=reasons, more_reasons=distinct - len(reasons))
        kinds.append(kind)
    return TableChanges(a, b, tuple(kinds))


def _count_groups(
    connection: duckdb.DuckDBPyConnection, values: str, examples: int = EXAMPLES
) -> tuple[ChangeGroup, ...]:
    """The most frequent values, how many rows each has, and the first of them."""
    query = f"""
        SELECT value, count(*), list_sort(min(id, {examples})) FROM ({values})
        GROUP BY value ORDER BY count(*) DESC, value LIMIT {SHOWN}
    """
    return tuple(
        ChangeGroup(value, count, tuple(first))
        for value, count, first in connection.execute(query).fetchall()
    )


def _read_number(connection: duckdb.DuckDBPyConnection, query: str) -> int:
    (found,) = connection.execute(query).fetchone() or (0,)
    return int(found)
