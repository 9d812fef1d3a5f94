"""Whether a model had heard what it is tested on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from synth.base.errors import CorpusError
from synth.corpus.corpus import Corpus
from train.bench.corpus import corpus_benchmark
from train.bench.plan import HEARD, add_heard_fact, heard_warning
from train.config.run import AudioMode
from train.data.recordings import RECORDINGS_FILE, Recordings
from train.data.split import SplitData


def test_the_recordings_heard_in_training_are_counted(corpus: Path, tmp_path: Path) -> None:
    opened = Corpus.open(corpus)
    Recordings.of(SplitData(opened, "train", AudioMode.SHARDS)).save(tmp_path)
    clean = add_heard_fact(corpus_benchmark(corpus), tmp_path)
    assert clean.facts[HEARD] == "0 of 4 recordings"
    assert heard_warning(clean.facts) == ""
    heard = add_heard_fact(corpus_benchmark(corpus, "train"), tmp_path)
    assert heard.facts[HEARD] == "9 of 9 recordings"
    assert heard_warning(heard.facts).startswith("9 of 9 recordings of this test were heard")


def test_a_recording_is_known_by_its_name_or_by_its_bytes() -> None:
    trained = Recordings({"a": frozenset({"1"}), "b": frozenset({"2"})})
    tested = Recordings({"a": frozenset({"9"}), "c": frozenset({"2"}), "d": frozenset({"3"})})
    assert tested.count_shared(trained) == 2


def test_where_it_cannot_be_known_that_is_told(corpus: Path, tmp_path: Path) -> None:
    benchmark = corpus_benchmark(corpus)
    assert RECORDINGS_FILE in heard_warning(add_heard_fact(benchmark, tmp_path).facts)
    nameless = add_heard_fact(replace(benchmark, recordings=None), tmp_path)
    assert "does not name its recordings" in heard_warning(nameless.facts)
    (tmp_path / RECORDINGS_FILE).write_text("[]")
    with pytest.raises(CorpusError, match="damaged"):
        add_heard_fact(benchmark, tmp_path)
