"""The Parquet files of a corpus as DuckDB takes them: checked, and named literally."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from synth.base.errors import CorpusError


def check_columns(path: Path, expected: pa.Schema) -> pq.FileMetaData:
    """The metadata of a Parquet file that has the columns of a schema.

    Raises:
        CorpusError: If it is missing or damaged, or lacks one.
    """
    try:
        metadata = pq.read_metadata(path)
    except FileNotFoundError as error:
        raise CorpusError(f"{path}: missing", fix="build or plan again") from error
    except (pa.ArrowException, OSError) as error:
        raise make_damage_error(path, error) from error
    names = metadata.schema.to_arrow_schema().names
    lacking = [name for name in expected.names if name not in names]
    if lacking:
        raise CorpusError(
            f"{path}: lacks the column {lacking[0]!r}",
            fix="it was made by an older version: build or plan again",
        )
    return metadata


def make_damage_error(path: Path, error: Exception) -> CorpusError:
    """What is to be told of a file, or of a folder, that cannot be read."""
    reason = str(error).strip().partition("\n")[0]
    return CorpusError(f"{path}: damaged: {reason}", fix="build or plan again")


def escape_glob(path: Path) -> str:
    """A path that DuckDB takes as it is, not for a pattern."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in str(path.resolve()))
