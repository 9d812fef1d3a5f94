"""Damaged files by the hundred: none may crash or hang an ingest, and all are accounted for.

A seeded generator damages small files of every format. The suite takes the first 150;
`SEGUE_MUTATIONS=1000` takes so many.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pipelines.config.spec import Intake
from pipelines.engines.engine import engine
from pipelines.ingest.ingest import ingest
from synth.audio.bank import Bank
from synth.base.progress import Silent
from synth.sources.catalogue import Acceptance
from synth.sources.own.folder import FolderSource
from tests.kit.mutations import RATE, write_damaged

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
