"""Questions to the manifests of a corpus, answered from Parquet a page at a time."""

from __future__ import annotations

import glob
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from pipelines.look.browse.guard import SEARCH_S, limit_time
from pipelines.look.sql.database import connect
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
        relation: The main caption's connective, or `NONE`.
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
    def of(cls, params: Mapping[str, str]) -> Filter:
        """From the parameters of a request, each named as its field."""
        values = {field.name: params.get(field.name, "").strip() for field in fields(cls)}
        for name, value in values.items():
            if len(value) > MAX_LETTERS or len(value.split()) > MAX_WORDS:
                raise LongSearchError(
                    f"{name}: {len(value):,} letters in {len(value.split()):,} words are too many",
                    fix=f"search for at most {MAX_WORDS} words of {MAX_LETTERS} letters together",
                )
        return cls(**values)

    def to_params(self) -> dict[str, str]:
        """The fields that ask for something."""
        values = {field.name: str(getattr(self, field.name)) for field in fields(self)}
        return {name: value for name, value in values.items() if value}


def build_query(search: Filter, mixes: list[list[str]]) -> tuple[str, dict[str, Any]]:
    """The query for the places of what a filter finds, and its values.

    What the reader wrote is in the values alone.

    Args:
        mixes: The sets of clip licences that make a mix of the wanted licence.
    """
    params = search.to_params()
    words = {f"word{at}": word for at, word in enumerate(params.pop("text", "").split())}
    values: dict[str, Any] = {**params, **words}
    if search.relation == NONE:
        values["relation"] = ""
    if search.licence:
        values["licence"] = mixes or [[NONE]]
    condition = " AND ".join(_CONDITIONS[name] for name in params) or "true"
    query = f"SELECT place FROM {FACTS} WHERE {condition}"
    if words:
        contained = _build_words_condition(list(words))
        query = f"SELECT file_row_number AS place FROM samples WHERE {contained}" + (
            f" AND file_row_number IN ({query})" if params else ""
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
_ROW: Final = 'id, "index", caption, relation, split, labels, frames, sample_rate'
_NO_TEXTS: Final = "[]::VARCHAR[] AS true_texts, []::VARCHAR[] AS false_texts"
_TEXTS: Final = ", ".join(
    f"list_transform({column}, lambda each: each.text) AS {kind}_texts"
    for column, kind in (("positives", "true"), ("negatives", "false"))
)
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
        number: Which page, from 1.
        pages: How many there are, at least 1.
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
        self.rows = metadata.num_rows
        """How many samples there are."""
        audible = (metadata.metadata or {}).get(AUDIBLE.encode())
        self.audible = None if audible is None else int(audible)
        """Shortest overlap that can be heard, in frames; None in manifests of older versions."""
        self._spill = tempfile.TemporaryDirectory(prefix="segue-browse-")
        self._database = connect(self._spill.name, memory="1GB")
        # Else every question reads the places of all columns of all row groups anew.
        self._database.load_extension("parquet")
        self._database.execute("SET GLOBAL parquet_metadata_cache = true")
        for name, file in (("samples", path), ("clips", path.with_name(CLIPS_FILE))):
            name_of_file = glob.escape(str(file.resolve()))  # DuckDB takes patterns
            rows = self._database.read_parquet(name_of_file, file_row_number=True)
            rows.create_view(name)
        self._lock = threading.Lock()
        self._query = lru_cache(max(_FILTERS_KEPT, min(256, _PLACES_KEPT // self.rows)))(self._find)

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

    def find_page(self, search: Filter, number: int, size: int) -> ResultPage:
        """The samples that a filter finds, `size` a page; a number past the end gives the last."""
        places = self._query(search)
        pages = max(1, -(-len(places) // size))
        number = min(max(number, 1), pages)
        skipped = size * (number - 1)
        listed = ", ".join(map(str, places[skipped : skipped + size])) or "NULL"
        rows = self._ask(
            # Written out, the places let DuckDB leave out the row groups that hold none of them.
            f"SELECT {_ROW}, {_TEXTS if search.text else _NO_TEXTS} FROM samples"
            f" WHERE file_row_number IN ({listed}) ORDER BY file_row_number",
            {},
        )
        return ResultPage(tuple(rows), number, pages, len(places))

    def find_sample(self, name: str) -> dict[str, Any] | None:
        """The whole row of one sample, by its id."""
        rows = self._ask(
            "SELECT * EXCLUDE (file_row_number) FROM samples WHERE id = $id LIMIT 1", {"id": name}
        )
        return rows[0] if rows else None

    def find_siblings(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The other samples of a row's minimal-pair group, `MAX_SIBLINGS` at most."""
        return self._ask(
            f'SELECT {_ROW}, notation, scene FROM samples WHERE shard = $shard AND "group" = $group'
            f" AND id <> $id ORDER BY file_row_number LIMIT {MAX_SIBLINGS}",
            {name: row[name] for name in ("shard", "group", "id")},
        )

    def find_clips(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Rows of `clips.parquet` by clip id, without measurements."""
        rows = self._ask(
            "SELECT id, source, location, recording, licence, attribution, tags FROM clips"
            " WHERE id IN (SELECT unnest($names::VARCHAR[]))",
            {"names": list(names)},
        )
        return {row["id"]: row for row in rows}

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

    def _find(self, search: Filter) -> NDArray[np.int64]:
        """The places in the plan of what a filter finds, ascending."""
        with self._lock:
            mixes = self._mixes
        wanted_mixes = [list(parts) for parts in mixes if find_mix_licence(parts) == search.licence]
        query, values = build_query(search, wanted_mixes)
        with self._answer(query, values, SEARCH_S) as result:
            return np.asarray(result.fetchnumpy()["place"], np.int64)

    def _ask(self, query: str, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        with self._answer(query, values) as result:
            names = [column[0] for column in result.description or ()]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

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
