"""Questions to the manifests of a corpus, answered from Parquet a page at a time."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pipelines.look.browse.guard import SEARCH_S, limit_time
from pipelines.store.row_file import escape_glob
from synth.base.atomic import file_state
from synth.base.errors import SegueError
from synth.corpus.corpus import CLIPS_FILE
from synth.corpus.licence import effective_licence, parse_licence
from synth.corpus.schema import AUDIBLE, CLIPS, PLAN
from synth.corpus.validation import check_columns, explain_damage, make_damage_error

# What a reader asks to see, and the condition that it puts to the rows.


NONE: Final = "(none)"
"""How a filter asks for the samples that have no relation."""

FACTS: Final = "facts"
"""The table of what samples are filtered by, one row a sample, in the order of the plan."""

_CONDITIONS: Final = {
    "label": "list_contains(labels, $label)",
    "relation": "relation = $relation",
    "split": "split = $split",
    "kind": "list_contains(kinds, $kind)",
    "licence": "list_contains($licence, licences)",
}


MAX_LETTERS: Final = 500
MAX_WORDS: Final = 32


class LongSearchError(SegueError):
    """A search for more than anybody types."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which samples are wanted; an empty field asks for nothing.

    Args:
        text: Words that one sentence of the sample, its notation or its id holds, in any case.
        label: A label that is heard.
        relation: The main caption's connective, or `NONE`.
        split: `train`, `val` or `test`.
        licence: Id of the licence that the mix is under.
        kind: Edit kind of one of its negatives.
    """

    text: str = ""
    label: str = ""
    relation: str = ""
    split: str = ""
    licence: str = ""
    kind: str = ""

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Filter:
        """From the parameters of a request, each named as its field."""
        wanted = {each.name: asked.get(each.name, "").strip() for each in fields(cls)}
        for name, value in wanted.items():
            if len(value) > MAX_LETTERS or len(value.split()) > MAX_WORDS:
                raise LongSearchError(
                    f"{name}: {len(value):,} letters in {len(value.split()):,} words are too many",
                    fix=f"search for at most {MAX_WORDS} words of {MAX_LETTERS} letters together",
                )
        return cls(**wanted)

    def to_params(self) -> dict[str, str]:
        """The fields that ask for something."""
        values = {each.name: str(getattr(self, each.name)) for each in fields(self)}
        return {name: value for name, value in values.items() if value}


def build_query(wanted: Filter, mixes: list[list[str]]) -> tuple[str, dict[str, Any]]:
    """The query for the places of what a filter finds, and its values.

    What the reader wrote is in the values alone.

    Args:
        mixes: The sets of clip licences that make a mix of the wanted licence.
    """
    asked = wanted.to_params()
    words = {f"word{at}": word for at, word in enumerate(asked.pop("text", "").split())}
    values: dict[str, Any] = {**asked, **words}
    if wanted.relation == NONE:
        values["relation"] = ""
    if wanted.licence:
        values["licence"] = mixes or [[NONE]]
    condition = " AND ".join(_CONDITIONS[name] for name in asked) or "true"
    query = f"SELECT place FROM {FACTS} WHERE {condition}"
    if words:
        held = _build_words_condition(list(words))
        query = f"SELECT file_row_number AS place FROM samples WHERE {held}" + (
            f" AND file_row_number IN ({query})" if asked else ""
        )
    return f"{query} ORDER BY place", values


def _build_words_condition(names: Sequence[str]) -> str:
    """Whether one sentence, the notation or the id holds all of the words."""

    def match_all(text: str) -> str:
        return " AND ".join(f"contains(lower({text}), lower(${name}))" for name in names)

    listed = " OR ".join(
        f"len(list_filter({column}, lambda each: {match_all('each.text')})) > 0"
        for column in ("positives", "negatives")
    )
    single = " OR ".join(f"({match_all(column)})" for column in ("caption", "notation", "id"))
    return f"({single} OR {listed})"


MAX_LABELS: Final = 600
"""Labels offered as suggestions, the most frequent ones; any other can be typed."""

MAX_SIBLINGS: Final = 24
_FILTERS_KEPT: Final = 16
_PLACES_KEPT: Final = 1 << 23
_CLIPS_KEPT: Final = 1 << 14
_MEMORY: Final = "1GB"
_ROW: Final = ("id", "index", "caption", "relation", "split", "labels", "frames", "sample_rate")
_SUMMARY: Final = (*_ROW, "positives.list.element.text", "negatives.list.element.text")
_NO_TEXTS: Final[Mapping[str, list[str]]] = {"true_texts": [], "false_texts": []}
_SIBLING: Final = (*_ROW, "notation", "scene")
_MAKE_FACTS: Final = f"""
    CREATE OR REPLACE TABLE {FACTS} AS
    WITH mixes AS (
        SELECT place, list_sort(list_distinct(list(coalesce(c.licence, '')))) AS licences
        FROM (SELECT file_row_number AS place, unnest(clips) AS clip FROM samples) s
        LEFT JOIN clips c ON c.id = s.clip GROUP BY place
    )
    SELECT s.file_row_number AS place, split, relation, list_distinct(labels) AS labels,
        list_distinct(list_transform(negatives, lambda each: each.kind)) AS kinds, licences
    FROM samples s LEFT JOIN mixes ON mixes.place = s.file_row_number ORDER BY ALL
"""
"""What samples are filtered by, the licences of their clips among it: read once, in a second for
half a million rows, as every filter would read and join all rows anew."""


class ChangedManifestError(SegueError):
    """A manifest that is another one than the one that was opened."""


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of what a filter finds.

    Args:
        rows: Summaries, in plan order.
        number: Which page, from 1.
        pages: How many there are, at least 1.
        total: Samples that the filter finds.
    """

    rows: tuple[dict[str, Any], ...]
    number: int
    pages: int
    total: int


Counts = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Facets:
    """What can be filtered by, each value with the number of its samples."""

    split: Counts
    relation: Counts
    kind: Counts
    licence: Counts
    label: Counts


class Manifest:
    """The rows of a corpus or of a plan, and its clips; thread-safe.

    Args:
        path: `samples.parquet` or `plan.parquet`; `clips.parquet` lies beside it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._files = path, path.with_name(CLIPS_FILE)
        with explain_damage(path):
            self._states = [file_state(file) for file in self._files]
        metadata = check_columns(path, PLAN)
        check_columns(path.with_name(CLIPS_FILE), CLIPS)
        self._rows = ManifestRows(path)
        self.rows = metadata.num_rows
        """How many samples there are."""
        audible = (metadata.metadata or {}).get(AUDIBLE.encode())
        self.audible = None if audible is None else int(audible)
        """Shortest overlap that can be heard, in frames; None in manifests of older versions."""
        self._spill = tempfile.TemporaryDirectory(prefix="segue-browse-")
        self._database = duckdb.connect(
            config={
                "memory_limit": _MEMORY,
                "temp_directory": self._spill.name,
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            }
        )
        # Else every question reads the places of all columns of all row groups anew.
        self._database.load_extension("parquet")
        self._database.execute("SET GLOBAL parquet_metadata_cache = true")
        for name, file in (("samples", path), ("clips", path.with_name(CLIPS_FILE))):
            rows = self._database.read_parquet(escape_glob(file), file_row_number=True)
            rows.create_view(name)
        self._lock = threading.Lock()
        self._found = lru_cache(max(_FILTERS_KEPT, min(256, _PLACES_KEPT // self.rows)))(self._find)
        self._clips = lru_cache(_CLIPS_KEPT)(self._find_clip)

    def refuse_change(self) -> None:
        """Check that what is read now is what was opened: places of rows are kept."""
        try:
            if [file_state(file) for file in self._files] == self._states:
                return
        except OSError:
            pass
        raise ChangedManifestError(
            f"{self.path.parent}: the corpus was rebuilt", fix="start `segue browse` again"
        )

    def close(self) -> None:
        """Let go of the files."""
        self._database.close()
        self._spill.cleanup()

    def find_page(self, wanted: Filter, number: int, size: int) -> ResultPage:
        """The samples that a filter finds, `size` a page; a number past the end gives the last."""
        found = self._found(wanted)
        pages = max(1, -(-len(found) // size))
        number = min(max(number, 1), pages)
        skipped = size * (number - 1)
        rows = self._read_summaries(found[skipped : skipped + size], bool(wanted.text))
        return ResultPage(tuple(rows), number, pages, len(found))

    def _read_summaries(self, places: NDArray[np.int64], with_texts: bool) -> list[dict[str, Any]]:
        """The summaries at some ascending places of the plan, with their sentences' texts."""
        if not with_texts:
            return [{**row, **_NO_TEXTS} for row in self._rows.take(places, _ROW)]
        return [
            {name: row[name] for name in _ROW}
            | {
                "true_texts": [each["text"] for each in row["positives"]],
                "false_texts": [each["text"] for each in row["negatives"]],
            }
            for row in self._rows.take(places, _SUMMARY)
        ]

    def find_sample(self, name: str) -> dict[str, Any] | None:
        """The whole row of one sample, by its id."""
        place = self._rows.find(name)
        return None if place is None else self._rows.take([place])[0]

    def find_siblings(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The other samples of a row's minimal-pair group, `MAX_SIBLINGS` at most."""
        place = self._rows.find(row["id"])
        if place is None:
            return []
        near = self._rows.find_equal(place, ("shard", "group"))
        others = [each for each in near if each != place]
        return self._rows.take(others[:MAX_SIBLINGS], _SIBLING)

    def find_clips(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Rows of `clips.parquet` by clip id, without measurements."""
        found = {name: self._clips(name) for name in names}
        return {name: row for name, row in found.items() if row is not None}

    def _find_clip(self, name: str) -> dict[str, Any] | None:
        rows = self._ask(
            "SELECT id, source, location, recording, licence, attribution, tags FROM clips"
            " WHERE id = $id LIMIT 1",
            {"id": name},
        )
        return rows[0] if rows else None

    @property
    def facets(self) -> Facets:
        """What can be filtered by; found once, which takes a second for 50,000 rows."""
        with self._lock:
            return self._facets

    @cached_property
    def _facets(self) -> Facets:
        licences: Counter[str] = Counter()
        for parts, samples in self._mixes.items():
            licences[find_mix_licence(parts)] += samples
        return Facets(
            split=self._count_values(f"SELECT split AS value FROM {FACTS}"),
            relation=self._count_values(f"SELECT relation AS value FROM {FACTS}"),
            kind=self._count_values(f"SELECT unnest(kinds) AS value FROM {FACTS}"),
            licence=tuple(licences.most_common()),
            label=self._count_values(f"SELECT unnest(labels) AS value FROM {FACTS}")[:MAX_LABELS],
        )

    @cached_property
    def _mixes(self) -> dict[tuple[str, ...], int]:
        """Which licences meet in samples, and in how many; makes the table of facts."""
        self._ask(_MAKE_FACTS, {})
        query = (
            f"SELECT licences, count(*) AS n FROM {FACTS} WHERE licences IS NOT NULL"
            " GROUP BY ALL ORDER BY ALL"
        )
        rows = self._ask(query, {})
        return {tuple(row["licences"]): row["n"] for row in rows}

    def _count_values(self, values: str) -> Counts:
        rows = self._ask(
            f"SELECT value, count(*) AS n FROM ({values}) GROUP BY value ORDER BY n DESC, value", {}
        )
        return tuple((row["value"] or NONE, row["n"]) for row in rows)

    def _find(self, wanted: Filter) -> NDArray[np.int64]:
        """The places in the plan of what a filter finds, ascending."""
        with self._lock:
            mixes = self._mixes
        wanted_mixes = [list(parts) for parts in mixes if find_mix_licence(parts) == wanted.licence]
        query, values = build_query(wanted, wanted_mixes)
        with self._answer(query, values, SEARCH_S) as found:
            return np.asarray(found.fetchnumpy()["place"], np.int64)

    def _ask(self, query: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        with self._answer(query, values) as found:
            names = [each[0] for each in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    @contextmanager
    def _answer(
        self, query: str, values: Mapping[str, Any], limit_s: float = 0
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """What a question finds, to be fetched within; stopped after `limit_s`, 0 for never."""
        try:
            with self._database.cursor() as cursor, limit_time(cursor, limit_s):
                yield cursor.execute(query, dict(values))
        except duckdb.Error as error:
            raise make_damage_error(self.path.parent, error) from error


def find_mix_licence(parts: Sequence[str]) -> str:
    """Id of the licence of a sample whose clips have these."""
    return effective_licence(parse_licence(part) for part in parts).id


# Rows of a manifest by their place or their id, read a row group at a time.


MOST_ROW_BYTES: Final = 256 << 20
"""Of the row groups that are kept."""

_ROW_PLACES_KEPT: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class _KeptGroup:
    """A row group that is kept: which one, and which of its columns."""

    group: int
    columns: tuple[str, ...] | None


class ManifestRows:
    """The rows of a Parquet file; thread-safe. Row groups that were read last are kept.

    Args:
        path: The file, which has a column `id`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with explain_damage(path):
            self.metadata: pq.FileMetaData = pq.read_metadata(path)
        groups = range(self.metadata.num_row_groups)
        sizes = [self.metadata.row_group(at).num_rows for at in groups]
        self._starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self._kept: OrderedDict[_KeptGroup, pa.Table] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._found = lru_cache(_ROW_PLACES_KEPT)(self._find)

    def find(self, name: str) -> int | None:
        """The place of the row with an id; None where there is none."""
        return self._found(name)

    def _find(self, name: str) -> int | None:
        place = int(pc.index(self._ids, name).as_py())
        return None if place < 0 else place

    @cached_property
    def _ids(self) -> pa.ChunkedArray:
        with explain_damage(self._path):
            return pq.read_table(self._path, columns=["id"]).column("id")

    def take(
        self, places: Sequence[int] | NDArray[np.int64], columns: tuple[str, ...] | None = None
    ) -> list[dict[str, Any]]:
        """The rows at some ascending places.

        Args:
            places: Counted from 0.
            columns: Names of columns, or paths of their leaves; None for all.
        """
        rows: list[dict[str, Any]] = []
        groups = np.searchsorted(self._starts, places, side="right") - 1
        for group in dict.fromkeys(groups.tolist()):
            own = [
                int(place) - int(self._starts[group])
                for place, its in zip(places, groups, strict=True)
                if its == group
            ]
            rows += self._read(_KeptGroup(group, columns)).take(own).to_pylist()
        return rows

    def find_equal(self, place: int, names: Sequence[str]) -> list[int]:
        """The places near a row, itself among them, of rows that have the same values.

        Near is the row's own row group and its neighbours as far as they hold the first value.

        Args:
            names: Of columns of text.
        """
        here = int(np.searchsorted(self._starts, place, side="right")) - 1
        (row,) = self.take([place], tuple(names))
        groups = [here]
        for step in (-1, 1):
            group = here + step
            while 0 <= group < len(self._starts) - 1 and self._may_hold(group, row, names[0]):
                groups.append(group)
                group += step
        found: list[int] = []
        for group in sorted(groups):
            table = self._read(_KeptGroup(group, tuple(names)))
            mask = pc.equal(table[names[0]], row[names[0]])
            for name in names[1:]:
                mask = pc.and_(mask, pc.equal(table[name], row[name]))
            start = int(self._starts[group])
            found += [start + at for at in pc.indices_nonzero(mask).to_pylist()]
        return found

    def _may_hold(self, group: int, row: dict[str, Any], name: str) -> bool:
        """Whether a row group may hold a row's value of a column, as far as its statistics say."""
        columns = self.metadata.row_group(group)
        at = self.metadata.schema.names.index(name)
        statistics = columns.column(at).statistics
        if statistics is None or not statistics.has_min_max:
            return False
        return bool(statistics.min <= row[name] <= statistics.max)

    def _read(self, part: _KeptGroup) -> pa.Table:
        with self._lock:
            table = self._kept.get(part)
            if table is not None:
                self._kept.move_to_end(part)
                return table
        with explain_damage(self._path), pq.ParquetFile(self._path) as file:
            chosen = None if part.columns is None else list(part.columns)
            table = file.read_row_group(part.group, columns=chosen, use_threads=False)
        with self._lock:
            if part not in self._kept:
                self._bytes += table.nbytes
            self._kept[part] = table
            while self._bytes > MOST_ROW_BYTES and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= oldest.nbytes
        return table
