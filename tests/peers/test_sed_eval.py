"""sed_eval reads the tables of the export `dcase`."""

from __future__ import annotations

import importlib
import sys

import pytest

from synth.corpus.corpus import Corpus
from tests.kit.export_corpora import Exported


def test_sed_eval_opens_the_tables_by_name(
    short: Corpus, exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some machines have libmagic, by which it guesses what a name does not tell.
    monkeypatch.setitem(sys.modules, "magic", None)
    sed_eval = importlib.import_module("sed_eval")
    table = exported(short, "dcase") / "metadata" / "test_events.csv"
    events = sed_eval.io.load_event_list(str(table))
    rows = short.samples("test").to_pylist()
    assert events.unique_files == sorted(f"{row['id']}.flac" for row in rows)
    assert events.unique_event_labels == ["dog", "rain", "siren", "wind"]
    measured = sed_eval.sound_event.EventBasedMetrics(event_label_list=events.unique_event_labels)
    for name in events.unique_files:
        own = events.filter(filename=name)
        measured.evaluate(reference_event_list=own, estimated_event_list=own)
    assert measured.results_overall_metrics()["f_measure"]["f_measure"] == 1.0
