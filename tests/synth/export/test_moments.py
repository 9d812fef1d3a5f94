"""Queries with windows, judged from the files against the corpus's manifest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import soundfile

from synth.corpus.corpus import Corpus
from synth.corpus.schema import read_timeline
from tests.kit.chats import read_lines
from tests.kit.export_corpora import Exported, built

CLASSES = ["dog", "rain", "siren", "cat", "crow", "engine", "footsteps", "frog", "rooster"]
LONG: dict[str, Any] = {
    "corpus": "long",
    "source": {"foley": {"classes": CLASSES, "takes": 3}},
    "recipe": {"moments": {"pairs": {"test": 3}, "sounds": 4, "length_s": [40, 60]}},
    "audio": {"length": "natural"},
    "truth": {"pause_s": 1.0},
    "splits": {"test": 1.0},
    "shards": {"samples": 4},
}


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return built(tmp_path_factory, LONG)


def test_each_sound_of_a_pair_has_windows_in_one_scene_and_none_in_the_other(
    exported: Exported, long: Corpus
) -> None:
    folder = exported(long, "moments")
    present, absent = (read_lines(folder / name) for name in ("test.jsonl", "test_absent.jsonl"))
    rows = {row["id"]: row for row in long.samples().to_pylist()}
    assert len(present) == len(absent) == 4 * len(rows)
    assert {(line["group"], line["query"]) for line in present} == {
        (line["group"], line["query"]) for line in absent
    }
    assert len({line["qid"] for line in (*present, *absent)}) == 2 * len(present)
    for line in (*present, *absent):
        row = rows[line["vid"]]
        texts = {row["caption"], *(caption["text"] for caption in row["positives"])}
        assert (line["query"] in texts) is bool(line["relevant_windows"])
        assert line["group"] == row["group"]
        sound = soundfile.info(folder / line["audio"])
        assert sound.frames == row["frames"] == line["duration"] * sound.samplerate
        assert 40 <= line["duration"] <= 60
        times = np.ravel([[0, 0], *line["relevant_windows"]])
        assert (np.diff(times)[2:] > 0).all()
        assert times[-1] <= line["duration"]


def test_windows_cover_what_everybody_hears_and_nothing_else(
    exported: Exported, long: Corpus
) -> None:
    rows = {row["id"]: row for row in long.samples().to_pylist()}
    for line in read_lines(exported(long, "moments") / "test.jsonl"):
        row = rows[line["vid"]]
        windows = np.array(line["relevant_windows"]) * row["sample_rate"]
        fitting = [
            label
            for label in {place.label for place in read_timeline(row).placements}
            if fits(windows, row, label)
        ]
        assert fitting, line


def fits(windows: np.ndarray, row: dict[str, Any], label: str) -> bool:
    """Whether all that is clear of a sound lies in the windows, and all of them in what is faint.

    Pauses of less than a second are none.
    """
    own = [place.heard for place in read_timeline(row).placements if place.label == label]
    slack = 0.002 * row["sample_rate"]

    def within(inner: Any, outer: Any) -> bool:
        return all(any(a - slack <= s and e <= b + slack for a, b in outer) for s, e in inner)

    clear = [stretch for activity in own for stretch in activity.clear]
    faint = [stretch for activity in own for stretch in activity.faint]
    return within(clear, windows) and within(windows, faint)


def test_samples_of_one_group_with_the_same_sounds_have_no_absent_ones(
    exported: Exported, corpus: Corpus
) -> None:
    """Pairs of sounds in three compositions: each is heard in all three."""
    folder = exported(corpus, "moments")
    present = read_lines(folder / "train.jsonl")
    assert not read_lines(folder / "train_absent.jsonl")
    samples = corpus.samples("train").num_rows
    assert 0 < len(present) <= 2 * samples
    assert "queries are left out" in (folder / "README.md").read_text(encoding="utf-8")
