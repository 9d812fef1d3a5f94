"""Index paths and file names from elsewhere: none leads out of the library, none stops the run."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.engines.engine import engine
from pipelines.ingest.ingest import IngestedLibrary, Intake, ingest
from synth.base.errors import ClipError
from synth.base.progress import Silent
from synth.labels.lexicon import Tag
from synth.sources.own.folder import FolderSource
from synth.sources.own.hf import ParquetSource
from synth.sources.reading.base import ClipRef, Settings
from synth.sources.reading.files import explain_escape, list_refs

RATE = 16_000


@pytest.fixture
def library(tmp_path: Path) -> Path:
    root = tmp_path / "library"
    (root / "dog").mkdir(parents=True)
    sound = 0.3 * np.sin(np.arange(RATE) / 20)
    soundfile.write(root / "dog" / "good.wav", sound, RATE)
    soundfile.write(tmp_path / "secret.wav", sound[: RATE // 2], RATE)
    return root


def read(source: Settings, banks: Path) -> IngestedLibrary:
    with engine(0) as where:
        return ingest(Intake(source, RATE), banks, where, Silent())


def reasons(found: IngestedLibrary) -> dict[str, str]:
    return {row["location"]: row["reason"] for row in found.quarantine}


@pytest.mark.parametrize("kind", ["relative", "absolute", "through a folder", "NUL"])
def test_an_index_path_out_of_the_library_is_quarantined(
    library: Path, tmp_path: Path, kind: str
) -> None:
    path = {
        "relative": "../secret.wav",
        "absolute": str(tmp_path / "secret.wav"),
        "through a folder": "dog/../../secret.wav",
        "NUL": "dog/\0.wav",
    }[kind]
    rows = [{"path": each, "label": "dog"} for each in ("dog/good.wav", path)]
    pq.write_table(pa.Table.from_pylist(rows), library / "index.parquet")
    found = read(FolderSource(root=library, index=Path("index.parquet")), tmp_path / "banks")
    assert [clip["location"] for clip in found.clips] == ["dog/good.wav"]
    said = "holds a NUL" if kind == "NUL" else "leads out of the library"
    assert [said in reason for reason in reasons(found).values()] == [True]


@pytest.mark.parametrize("path", ["../secret.wav", "/secret.wav", "a\0.wav"])
def test_a_row_s_path_out_of_the_library_is_quarantined(
    library: Path, tmp_path: Path, path: str
) -> None:
    path = str(tmp_path / path[1:]) if path.startswith("/") else path
    rows = [{"path": each, "label": "dog"} for each in ("dog/good.wav", path)]
    pq.write_table(pa.Table.from_pylist(rows), library / "rows.parquet")
    found = read(ParquetSource(root=library), tmp_path / "banks")
    assert len(found.clips) == 1
    (reason,) = reasons(found).values()
    assert "leads out of the library" in reason or "holds a NUL" in reason


def test_a_path_with_two_dots_is_quarantined_even_where_it_comes_back(
    library: Path, tmp_path: Path
) -> None:
    (tmp_path / "other" / "deep").mkdir(parents=True)
    shutil.copy(library / "dog" / "good.wav", tmp_path / "other" / "private.wav")
    (library / "link").symlink_to(tmp_path / "other" / "deep")
    paths = ("dog/good.wav", "link/../private.wav", "dog/../dog/good.wav")
    rows = [{"path": each, "label": "dog"} for each in paths]
    pq.write_table(pa.Table.from_pylist(rows), library / "index.parquet")
    found = read(FolderSource(root=library, index=Path("index.parquet")), tmp_path / "banks")
    assert [clip["location"] for clip in found.clips] == ["dog/good.wav"]
    assert ["without any `..`" in reason for reason in reasons(found).values()] == [True, True]


def test_a_folder_of_the_settings_may_lie_above_the_library(tmp_path: Path) -> None:
    root = tmp_path / "a" / "library"
    settings = (Path("../sounds"), Path("../../b/./sounds"), tmp_path / "sounds")
    for folder in settings:
        assert explain_escape(f"{folder}/x.wav", root, root / folder) == ""
        assert explain_escape(f"{folder}/../x.wav", root, root / folder)
    assert explain_escape(str(root / "x.wav"), Path("..") / ".." / root) == ""


@pytest.mark.parametrize("place", ["library", "library/data"])
@pytest.mark.parametrize("path", ["../secret.wav", "data/../../secret.wav", "../../secret.wav"])
def test_a_row_s_path_is_below_the_library_from_wherever_it_is_seen(
    library: Path, tmp_path: Path, place: str, path: str
) -> None:
    (library / "data").mkdir()
    with pytest.raises(ClipError, match="leads out of the library"):
        ParquetSource(root=library)._recording(path, tmp_path / place)


def test_a_file_name_that_is_not_utf_8_is_quarantined(library: Path, tmp_path: Path) -> None:
    try:
        shutil.copy(library / "dog" / "good.wav", os.fsencode(library / "dog") + b"/caf\xe9.wav")
    except OSError:
        pytest.skip("this file system takes no such names")
    found = read(FolderSource(root=library), tmp_path / "banks")
    assert [clip["location"] for clip in found.clips] == ["dog/good.wav"]
    assert reasons(found) == {"dog/caf\\udce9.wav": "its name is not UTF-8; rename the file"}


HALF = "caf\udce9"


@pytest.mark.parametrize(
    "told",
    [
        {"captions": (HALF,)},
        {"attribution": HALF},
        {"licence": HALF},
        {"split": HALF},
        {"tags": (Tag("genre", HALF),)},
        {"tags": (Tag(HALF, "rock"),)},
    ],
)
def test_text_that_is_not_utf_8_is_quarantined(told: dict[str, Any]) -> None:
    class StrangeLibrary:
        def refs(self) -> Iterator[ClipRef]:
            yield ClipRef("a/b", "b.wav", ("dog",), **told)

    (ref,) = list_refs(StrangeLibrary())
    assert "is not UTF-8" in ref.refusal
    assert b"caf\\\\udce9" in json.dumps(asdict(ref), ensure_ascii=False).encode()
