"""What is asked of a file that is no manifest is refused in one clear error."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.inspection import describe, draw, draw_captions, shares
from synth.corpus import CLIPS_FILE, Corpus
from synth.errors import CorpusError


def test_a_table_that_is_no_manifest_is_one_clear_error(corpus: Corpus, tmp_path: Path) -> None:
    clips = corpus.folder / CLIPS_FILE
    for ask in (describe, lambda path: draw(path, 1), lambda path: draw_captions(path, 1, 0)):
        with pytest.raises(CorpusError, match=r"clips\.parquet: lacks the column 'index'"):
            ask(clips)
    notes = tmp_path / "notes.txt"
    notes.write_text("no corpus")
    with pytest.raises(CorpusError, match=r"notes\.txt: damaged"):
        describe(notes)


def test_a_manifest_without_its_clips_is_one_clear_error(corpus: Corpus, tmp_path: Path) -> None:
    alone = tmp_path / "plan.parquet"
    alone.write_bytes((corpus.folder / "plan.parquet").read_bytes())
    with pytest.raises(CorpusError, match=r"clips\.parquet: missing"):
        describe(alone)


def test_shares_are_of_all_values_the_most_frequent_first() -> None:
    assert shares(["b", "a", "b", ""]) == {
        "b": {"count": 2, "percent": 50.0},
        "a": {"count": 1, "percent": 25.0},
        "(none)": {"count": 1, "percent": 25.0},
    }
