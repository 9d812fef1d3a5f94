"""Probe sets that `segue text probe` cuts, and how a path tells what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.texts.probe import TaggerName, probe_command
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import Silent
from synth.text.order.clause_swap import Probe
from train.bench.evaluate import open_benchmark
from train.bench.plan import DataKind
from train.bench.settings import Task
from train.bench.tables import probes_benchmark

COMPA = ("pair_caption", "reversed_pair_caption", "pair_file", "reversed_pair_file")
TRIPLET = ("triplet_caption", "triplet_file")


def cut(tool: Probe, captions: Path, tmp_path: Path) -> Path:
    """The set, by the command itself."""
    out = tmp_path / f"{tool}.parquet"
    probe_command(
        tool,
        captions,
        out,
        id_column="file_name",
        tagger=TaggerName.EMBEDDED,
        observer=Silent(),
    )
    return out


@pytest.fixture
def told(tables: Any) -> Path:
    """Captions of three sounds."""
    return tables.write(
        ("file_name", "caption"),
        (tables.sound("low", "high"), "A dog barks low before a siren wails high"),
        (tables.sound("high", "low"), "A dog barks low after a siren wails high"),
        (tables.sound("mid", "low"), "A cow moos mid then a dog barks low"),
        (tables.sound("low", "low", "low.wav"), "A dog barks"),
        (tables.sound("mid", "high"), "A cow moos mid as a siren wails high"),
    )


def test_pte_compares_sentences_with_their_swapped_clauses(told: Path, tables: Any) -> None:
    benchmark = probes_benchmark(cut(Probe.PTE, told, tables.folder), tables.audio)
    assert benchmark.allowed == (Task.PTE,)
    found = tables.assess(benchmark)
    assert found.metrics["pte_original_r1"].value == 1.0
    assert found.metrics["pte_swapped_r1"].value == 0.0
    assert found.metrics["pte_original_r1"].n == 3
    assert found.metrics["pte_original_r1"].chance == pytest.approx(1 / 3)
    assert found.metrics["pte_before_original_r1"].n == 1
    assert sum(found.left_out.values()) == 2


def test_bat_of_a_probe_set(told: Path, tables: Any) -> None:
    found = tables.assess(probes_benchmark(cut(Probe.BAT, told, tables.folder), tables.audio))
    assert set(found.metrics) == {"bat"}
    assert (found.metrics["bat"].value, found.metrics["bat"].n) == (1.0, 2)


def test_as_and_then_are_looked_for_among_their_own(told: Path, tables: Any) -> None:
    table = cut(Probe.AS_THEN_SET, told, tables.folder)
    found = tables.assess(probes_benchmark(table, tables.audio)).metrics
    assert set(found) == {
        f"{word}_{version}_r10" for word in ("as", "then") for version in ("original", "swapped")
    }
    assert found["then_original_r10"].n == 1


def test_a_set_allows_the_task_it_was_cut_for(told: Path, tables: Any) -> None:
    benchmark = probes_benchmark(cut(Probe.PTE, told, tables.folder), tables.audio)
    with pytest.raises(
        SpecError, match=r"no bat here: .*`segue text probe pte` \(it allows: pte\)"
    ):
        benchmark.plans([Task.BAT])
    with pytest.raises(SpecError, match=r"no zste here: not a task for a probe set"):
        benchmark.plans([Task.ZSTE])


def test_a_set_names_audio_files(told: Path, tables: Any) -> None:
    table = cut(Probe.PTE, told, tables.folder)
    (tables.audio / "mid-low.wav").unlink()
    with pytest.raises(CorpusError, match=r"row 3: 'mid-low.wav' is not in"):
        probes_benchmark(table, tables.audio)
    with pytest.raises(CorpusError, match="Parquet"):
        probes_benchmark(told, tables.audio)


# What a path is


def test_the_columns_tell_what_a_file_is(told: Path, tables: Any) -> None:
    audio = tables.audio
    pair = ("a", "b", tables.sound("low", "high"), tables.sound("high", "low"), "-", "-")
    compa = tables.write(COMPA + TRIPLET, pair, name="compa.csv")
    labelled = ((tables.sound(tone, tone), "1", "0", tone) for tone in ("low", "mid"))
    classes = tables.write(("filename", "fold", "target", "category"), *labelled, name="esc50.csv")
    kinds = [
        open_benchmark(path, audio).kind
        for path in (compa, classes, told, cut(Probe.BAT, told, tables.folder))
    ]
    with pytest.raises(SpecError, match="CompA table, a fold can be chosen for a class table"):
        open_benchmark(compa, audio, fold="1")
    with pytest.raises(SpecError, match="class table, columns can be chosen for a caption table"):
        open_benchmark(classes, audio, caption_columns=["category"])
    assert kinds == [DataKind.COMPA, DataKind.CLASSES, DataKind.CAPTIONS, DataKind.PROBES]
