"""Questions to the manifests of a corpus, answered from Parquet a page at a time."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
from numpy.typing import NDArray

from pipelines.look.browse.filters import FACTS, NONE, Filter, build_query
from pipelines.look.browse.limits import SEARCH_S, limit_time
from pipelines.look.browse.rows import ManifestRows
from pipelines.store.parquet import escape_glob
from synth.base.atomic import file_state
from synth.base.errors import SegueError
from synth.corpus.corpus import CLIPS_FILE
from synth.corpus.licence import effective_licence, parse_licence
from synth.corpus.schema import AUDIBLE, CLIPS, PLAN
from synth.corpus.validation import check_columns, explain_damage, make_damage_error

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
