"""Compare two corpora: what differs in clips, samples and shards, and what they were made with."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pipelines.builder.claim import SHARDS_FILE, flat_settings
from pipelines.builder.differences import SHOWN
from pipelines.builder.finalise import SPEC_FILE
from pipelines.config.file import read_spec
from pipelines.look.sql.database import open_sealed
from pipelines.store.places import find_manifest
from synth.base.doors import own_file
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, QUARANTINE_FILE, Corpus
from synth.corpus.schema import CLIPS, INCIDENTAL, PLAN, QUARANTINE, SAMPLES
from synth.corpus.validation import check_columns
from synth.storage import display_path

# One of two corpora that are compared: its manifests, and what it was made with.


_FILES: Final = {
    "clips": (CLIPS_FILE, CLIPS),
    "quarantine": (QUARANTINE_FILE, QUARANTINE),
    "shards": (SHARDS_FILE, pa.schema([])),
}


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """A corpus, or a plan that is not rendered.

    Args:
        facts: What `corpus.json` says; None of a plan.
    """

    manifest: Path
    corpus: str
    facts: Mapping[str, Any] | None

    @classmethod
    def open(cls, path: Path) -> ComparedSide:
        """Open a corpus or a plan, as `find_manifest` takes it."""
        manifest = find_manifest(path)
        folder = manifest.parent
        planned = manifest.name == PLAN_FILE
        check_columns(manifest, PLAN if planned else SAMPLES)
        for file, schema in _FILES.values():
            check_columns(folder / file, schema)
        facts = None if planned else Corpus.open(folder).facts
        return cls(manifest, folder.parent.name if facts is None else facts["corpus"], facts)

    @property
    def rendered(self) -> bool:
        """Whether it has audio."""
        return self.facts is not None

    @property
    def tables(self) -> Mapping[str, ds.Dataset]:
        """`samples`, `clips`, `quarantine` and `shards`."""
        folder = self.manifest.parent
        return {
            "samples": ds.dataset(self.manifest),
            **{name: ds.dataset(folder / file) for name, (file, _) in _FILES.items()},
        }

    @property
    def clip_columns(self) -> frozenset[str]:
        """The columns of its catalogue, which differ between versions of Segue."""
        return frozenset(pq.read_schema(self.manifest.with_name(CLIPS_FILE)).names)

    @property
    def settings(self) -> dict[str, Any]:
        """Of its spec, by dotted key; a plan keeps none."""
        path = own_file(self.manifest.parent, SPEC_FILE)
        return flat_settings(read_spec(path)) if self.rendered else {}

    @property
    def algorithms(self) -> dict[str, Any]:
        """Versions of Segue's algorithms, by name; a plan does not say."""
        if self.facts is None:
            return {}
        return {"format": self.facts.get("format_version"), **self.facts.get("algorithms", {})}

    @property
    def libraries(self) -> dict[str, str]:
        """Versions of the packages that made its shards, by name; several where several did."""
        by_name: dict[str, set[str]] = {}
        for libraries in (self.facts or {}).get("libraries", ()):
            for name, version in libraries.items():
                by_name.setdefault(name, set()).add(version)
        return {name: " and ".join(sorted(versions)) for name, versions in by_name.items()}

    def to_json(self) -> dict[str, Any]:
        """Which it is."""
        return {
            "corpus": self.corpus,
            "version": self.manifest.parent.name,
            "manifests": display_path(self.manifest.parent),
            "rendered": self.rendered,
            "digest": None if self.facts is None else self.facts["digest"],
        }


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value that is another in B than in A; None where one of them has none."""

    name: str
    a: Any
    b: Any


def find_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[ValueChange]:
    """Where two mappings differ, in their order."""
    for name in dict.fromkeys([*a, *b]):
        if a.get(name) != b.get(name):
            yield ValueChange(name, a.get(name), b.get(name))


EXAMPLES: Final = 3
"""Ids that are named of each kind, and of each reason; of a clip's reasons `SHOWN` are."""


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """Rows that one thing became of, or that one thing is the reason of.

    Args:
        name: What became of them, or the reason.
        reasons: Why, the most frequent ones; empty where they do not say.
    """

    name: str
    count: int
    first: tuple[str, ...]
    reasons: tuple[ChangeGroup, ...] = ()
    more_reasons: int = 0


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What differs in the rows of a table."""

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
                "settings": [asdict(change) for change in self.settings],
                "clips": asdict(self.clips),
                "algorithms": [asdict(change) for change in self.algorithms],
                "libraries": [asdict(change) for change in self.libraries],
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
            build_clip_changes(a.clip_columns & b.clip_columns),
            build_keyed_view("a", a.corpus, audible),
            build_keyed_view("b", b.corpus, audible),
            build_sample_changes(audible),
            build_shard_changes(a.corpus, b.corpus),
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
            hear_a_changed_clip=_read_number(connection, HEAR_A_CHANGED_CLIP),
            hear_a_moved_clip=_read_number(connection, HEAR_A_MOVED_CLIP),
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
    (number,) = connection.execute(query).fetchone() or (0,)
    return int(number)


# The joins that find what differs; they work on hashes, so that long texts need not be kept.


SCENE: Final = "scene"
AUDIO: Final = "audio"
PARTS: Final = {
    SCENE: "hash(scene)",
    "caption": "hash(caption, claim, generator, relation)",
    "positives": "hash(positives)",
    "negatives": "hash(negatives)",
    "length": "hash(frames, sample_rate)",
    "place": """hash(split, "group", {shard})""",
}
"""What a sample consists of."""

MOVE: Final = """
    concat('split ', coalesce(nullif(a.split, ''), 'none'), ' -> ',
        coalesce(nullif(b.split, ''), 'none'))
"""
"""From which split a clip went to which."""


def build_clip_changes(shared: Collection[str]) -> str:
    """One row a clip that differs: its id, what became of it, and why."""
    reasons = {name: f"'{name}'" for name in sorted(set(shared) - INCIDENTAL - {"id", "sha256"})}
    reasons |= {"split": MOVE}
    differing = ", ".join(
        f"""CASE WHEN a."{name}" IS DISTINCT FROM b."{name}" THEN {reason} END"""
        for name, reason in reasons.items()
    )
    return f"""
        CREATE TEMP TABLE clip_changes AS
        WITH {_build_clip_states("a")}, {_build_clip_states("b")}, joined AS (
            SELECT id, a.admitted AS in_a, b.admitted AS in_b, a.refusal AS reason_a,
                b.refusal AS reason_b, a.split <> b.split AS moved,
                CASE WHEN a.sha256 IS DISTINCT FROM b.sha256 THEN 'the file'
                    ELSE array_to_string(list_value({differing}), ', ') END AS why
            FROM a_state a FULL JOIN b_state b USING (id)
        )
        SELECT id,
            CASE WHEN in_a AND in_b THEN 'changed' WHEN in_b THEN 'admitted'
                WHEN in_a THEN 'lost' ELSE 'refused' END AS change,
            moved,
            CASE WHEN in_a AND in_b THEN why
                WHEN in_b THEN coalesce('was refused: ' || reason_a, 'is new')
                WHEN in_a THEN coalesce('is refused: ' || reason_b, 'is gone')
                WHEN in_a IS NULL THEN 'is new, and refused: ' || reason_b
                WHEN in_b IS NULL THEN 'is gone, and was refused: ' || reason_a
                ELSE 'is refused: ' || reason_b || ', was: ' || reason_a END AS why
        FROM joined
        WHERE CASE WHEN in_a AND in_b THEN why <> ''
            ELSE in_a OR in_b OR reason_a IS DISTINCT FROM reason_b END
    """


def _build_clip_states(side: str) -> str:
    """Every clip of a side, with the reason where it was refused."""
    return f"""
        {side}_refused AS (
            SELECT id, min(stage || ': it ' || reason) AS refusal
            FROM {side}_quarantine GROUP BY id
        ),
        {side}_state AS (
            SELECT coalesce(c.id, q.id) AS id, q.id IS NULL AS admitted, q.refusal,
                c.* EXCLUDE (id)
            FROM {side}_clips c FULL JOIN {side}_refused q ON q.id = c.id
        )
    """


def build_keyed_view(side: str, corpus: str, audible: bool) -> str:
    """The samples of a side and hashes of their parts, by their id without the corpus's name."""
    parts = PARTS | {"place": PARTS["place"].format(shard=_strip_corpus(corpus, "shard"))}
    if audible:
        parts[AUDIO] = "hash(sha256)"
    hashes = ", ".join(f"{part} AS {name}_hash" for name, part in parts.items())
    return f"""
        CREATE TEMP VIEW {side}_keyed AS
        SELECT {_strip_corpus(corpus, "id")} AS key, id, clips, {hashes} FROM {side}_samples
    """


def build_sample_changes(audible: bool) -> str:
    """One row a sample that differs: its key, its id, what became of it, and in which parts."""
    names = [*PARTS, AUDIO] if audible else list(PARTS)
    parts = ", ".join(
        f"CASE WHEN a.{name}_hash IS DISTINCT FROM b.{name}_hash THEN '{name}' END"
        for name in names
    )
    return f"""
        CREATE TEMP TABLE sample_changes AS
        SELECT key, coalesce(b.id, a.id) AS id,
            CASE WHEN a.id IS NULL THEN 'added' WHEN b.id IS NULL THEN 'removed'
                ELSE 'changed' END AS change,
            CASE WHEN a.id IS NULL OR b.id IS NULL THEN []
                ELSE list_filter(list_value({parts}), lambda part: part IS NOT NULL) END AS parts
        FROM (SELECT * EXCLUDE (clips) FROM a_keyed) a
        FULL JOIN (SELECT * EXCLUDE (clips) FROM b_keyed) b USING (key)
        WHERE a.id IS NULL OR b.id IS NULL OR len(parts) > 0
    """


HEAR_A_MOVED_CLIP: Final = """
    SELECT count(DISTINCT key) FROM (SELECT key, unnest(clips) AS clip FROM b_keyed)
    WHERE clip IN (SELECT id FROM clip_changes WHERE change = 'changed' AND moved)
"""

HEAR_A_CHANGED_CLIP: Final = """
    SELECT count(DISTINCT heard.key)
    FROM (
        SELECT key, unnest(clips) AS clip FROM a_keyed
        UNION ALL SELECT key, unnest(clips) AS clip FROM b_keyed
    ) heard
    WHERE heard.clip IN (SELECT id FROM clip_changes)
        AND heard.key IN (SELECT key FROM sample_changes WHERE change = 'changed')
"""


def build_shard_changes(a: str, b: str) -> str:
    """One row a shard that differs: its key, its name, and what became of it."""
    return f"""
        CREATE TEMP TABLE shard_changes AS
        SELECT coalesce(b.shard, a.shard) AS id,
            CASE WHEN a.shard IS NULL THEN 'added' WHEN b.shard IS NULL THEN 'removed'
                ELSE 'changed' END AS change
        FROM (SELECT {_strip_corpus(a, "shard")} AS key, shard, digest FROM a_shards) a
        FULL JOIN (SELECT {_strip_corpus(b, "shard")} AS key, shard, digest FROM b_shards) b
            USING (key)
        WHERE a.digest IS DISTINCT FROM b.digest
    """


def _strip_corpus(corpus: str, column: str) -> str:
    """A name without that of its corpus in front."""
    head = f"{corpus}-".replace("'", "''")
    return f"CASE WHEN starts_with({column}, '{head}') THEN {column}[{len(corpus) + 2}:] " + (
        f"ELSE {column} END"
    )
