"""What is asked of a file that is no manifest is refused in one clear error."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipelines.cli.look.inspect import inspect_command
from pipelines.look.inspection import count_shares, describe, draw
from synth.base.errors import CorpusError
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, QUARANTINE_FILE, Corpus
from synth.corpus.schema import CLIPS, QUARANTINE, to_table


def test_what_is_no_whole_manifest_is_one_clear_error(corpus: Corpus, tmp_path: Path) -> None:
    clips = corpus.folder / CLIPS_FILE
    for ask in (describe, lambda path: draw(path, 1)):
        with pytest.raises(CorpusError, match=r"clips\.parquet: lacks the column 'index'"):
            ask(clips)
    notes = tmp_path / "notes.txt"
    notes.write_text("no corpus")
    with pytest.raises(CorpusError, match=r"notes\.txt: damaged"):
        describe(notes)
    alone = tmp_path / "plan.parquet"
    alone.write_bytes((corpus.folder / "plan.parquet").read_bytes())
    with pytest.raises(CorpusError, match=r"clips\.parquet: missing"):
        describe(alone)


def test_shares_are_of_all_values_the_most_frequent_first() -> None:
    assert count_shares(Counter(["b", "a", "b", ""])) == {
        "b": {"count": 2, "percent": 50.0},
        "a": {"count": 1, "percent": 25.0},
        "(none)": {"count": 1, "percent": 25.0},
    }


def test_every_clip_is_counted_once_and_rare_labels_stand_out(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tiny" / "lossy"
    folder.mkdir(parents=True)
    (folder / PLAN_FILE).write_bytes((corpus.folder / PLAN_FILE).read_bytes())
    clips = pq.read_table(corpus.folder / CLIPS_FILE).to_pylist()
    before = describe(corpus.folder)["clips"]
    used = before["used"]
    assert before["listed"] == len(clips)
    clips += [clips[0] | {"id": name, "labels": ["hound"], "split": "test"} for name in "ab"]
    refused = [
        {"id": name, "location": name, "stage": stage, "reason": "is too short"}
        for name, stage in (("a", "recipe triplets"), ("unread", "ingest"))
    ]
    pq.write_table(to_table(clips, CLIPS), folder / CLIPS_FILE)
    pq.write_table(to_table(refused, QUARANTINE), folder / QUARANTINE_FILE)
    assert describe(folder)["clips"] == {
        "listed": len(clips) + 1,
        "used": used,
        "not drawn": before["not drawn"] + 1,
        "refused": 2,
        "refused by": {"recipe triplets": 1, "ingest": 1},
    }
    inspect_command(folder, samples=0).show()
    told = capsys.readouterr().out
    assert (
        f"{used} heard + {before['not drawn'] + 1} not drawn + 2 quarantined "
        f"(1 by recipe triplets, 1 by ingest) = {len(clips) + 1} clips listed"
    ) in told
    (line,) = [line for line in told.splitlines() if "│ hound" in line]
    assert line.count("none") == 1
    assert "note: split train has no clip of: hound (1 of 5 labels)" in told
