"""Index paths and file names from elsewhere: none leads out of the library, none stops the run."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.config.spec import Intake
from pipelines.engines.engine import engine
from pipelines.ingest.ingest import IngestedLibrary, ingest
from synth.audio.bank import Bank
from synth.base.errors import ClipError
from synth.base.progress import Silent
from synth.labels.lexicon import Tag
from synth.sources.catalogue import Acceptance
from synth.sources.own.folder import FolderSource
from synth.sources.own.hf import ParquetSource
from synth.sources.reading.base import ClipRef, Settings
from synth.sources.reading.files import explain_escape, list_refs
from tests.kit.mutations import write_damaged

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


def test_paths_of_an_index_or_of_rows_out_of_the_library_are_quarantined(
    library: Path, tmp_path: Path
) -> None:
    paths = ["../secret.wav", str(tmp_path / "secret.wav"), "dog/../../secret.wav", "dog/\0.wav"]
    rows = [{"path": path, "label": "dog"} for path in ("dog/good.wav", *paths)]
    pq.write_table(pa.Table.from_pylist(rows), library / "index.parquet")
    for number, source in enumerate(
        (FolderSource(root=library, index=Path("index.parquet")), ParquetSource(root=library))
    ):
        found = read(source, tmp_path / f"banks-{number}")
        assert len(found.clips) == 1
        told = " ".join(reasons(found).values())
        assert len(found.quarantine) == 4
        assert (told.count("leads out of the library"), told.count("holds a NUL")) == (3, 1)
        assert number or told.count("(row 3 of index.parquet)") == 1


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


def test_a_path_is_below_the_library_from_wherever_it_is_seen(
    library: Path, tmp_path: Path
) -> None:
    (library / "data").mkdir()
    paths = ("../secret.wav", "data/../../secret.wav", "../../secret.wav")
    for place, path in product(("library", "library/data"), paths):
        with pytest.raises(ClipError, match="leads out of the library"):
            ParquetSource(root=library)._recording(path, tmp_path / place)
    root = tmp_path / "a" / "library"
    settings = (Path("../sounds"), Path("../../b/./sounds"), tmp_path / "sounds")
    for folder in settings:
        assert explain_escape(f"{folder}/x.wav", root, root / folder) == ""
        assert explain_escape(f"{folder}/../x.wav", root, root / folder)
    assert explain_escape(str(root / "x.wav"), Path("..") / ".." / root) == ""


def test_a_file_name_that_is_not_utf_8_is_quarantined(library: Path, tmp_path: Path) -> None:
    try:
        shutil.copy(library / "dog" / "good.wav", os.fsencode(library / "dog") + b"/caf\xe9.wav")
    except OSError:
        pytest.skip("this file system takes no such names")
    found = read(FolderSource(root=library), tmp_path / "banks")
    assert [clip["location"] for clip in found.clips] == ["dog/good.wav"]
    assert reasons(found) == {"dog/caf\\udce9.wav": "its name is not UTF-8; rename the file"}


HALF = "caf\udce9"


def test_text_that_is_not_utf_8_is_quarantined() -> None:
    facts: list[dict[str, Any]] = [{"captions": (HALF,)}]
    facts += [{name: HALF} for name in ("attribution", "licence", "split")]
    facts += [{"tags": (tag,)} for tag in (Tag("genre", HALF), Tag(HALF, "rock"))]

    class StrangeLibrary:
        def refs(self) -> Iterator[ClipRef]:
            for number, told in enumerate(facts):
                yield ClipRef(f"a/{number}", "b.wav", ("dog",), **told)

    refs = list_refs(StrangeLibrary())
    assert ["is not UTF-8" in ref.refusal for ref in refs] == [True] * 6
    for ref in refs:
        assert b"caf\\\\udce9" in json.dumps(asdict(ref), ensure_ascii=False).encode()


# Damaged files by the hundred: none may crash or hang an ingest, and all are accounted for. A
# seeded generator damages small files of every format: 150 of them, or SEGUE_MUTATIONS.


MUTATIONS = int(os.environ.get("SEGUE_MUTATIONS", "150"))
LIMIT_S = 20.0


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_damaged(tmp_path_factory.mktemp("damaged"), MUTATIONS).parent


@pytest.mark.slow
def test_damaged_files_are_accepted_or_quarantined_and_end_nothing(damaged: Path) -> None:
    """SEGUE_MUTATIONS=1000 in the environment gives the full count."""
    source = FolderSource(root=damaged / "lib")
    intake = Intake(source, RATE, Acceptance(decode_timeout_s=LIMIT_S, max_s=30))
    with engine(1) as where:
        library = ingest(intake, damaged / "banks", where, Silent())
    assert len(library.clips) + len(library.quarantine) == MUTATIONS
    ids = {row["id"] for row in (*library.clips, *library.quarantine)}
    assert ids == {ref.id for ref in source.refs()}
    assert all(row["reason"] for row in library.quarantine)
    assert len(library.quarantine) > MUTATIONS // 3
    assert len({row["reason"] for row in library.quarantine}) > 10
    # Told by the files' own bytes, not by what became of the process that read them.
    faults = re.compile(
        r"crashes|ends the decoder|processor time|more memory|"
        r"cannot be decoded: (what it holds|it cannot be read|the decoder fails)"
    )
    wrong = [row["reason"] for row in library.quarantine if faults.search(row["reason"])]
    assert not wrong, Counter(wrong)
    bank = Bank.open(library.index)
    for clip in library.clips:
        audio = bank.read(clip["id"], 0, bank.frames(clip["id"]), 1.0)
        assert len(audio)
        assert np.isfinite(audio).all()
