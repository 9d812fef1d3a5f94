"""Probe sets that `segue text probe` cuts, and how a path tells what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli.texts.probe import TaggerName, probe_command
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import Silent
from synth.text.order.clause_swap import Probe
from train.bench.evaluate import assess, open_benchmark
from train.bench.plan import DataKind
from train.bench.settings import Task
from train.bench.tables import probes_benchmark

COMPA = ("pair_caption", "reversed_pair_caption", "pair_file", "reversed_pair_file")
TRIPLET = ("triplet_caption", "triplet_file")

Sound = Callable[..., str]
Csv = Callable[..., Path]


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
def told(sound: Sound, write_csv: Csv) -> Path:
    """Captions of three sounds."""
    return write_csv(
        ("file_name", "caption"),
        (sound("low", "high"), "A dog barks low before a siren wails high"),
        (sound("high", "low"), "A dog barks low after a siren wails high"),
        (sound("mid", "low"), "A cow moos mid then a dog barks low"),
        (sound("low", "low", "low.wav"), "A dog barks"),
        (sound("mid", "high"), "A cow moos mid as a siren wails high"),
    )


def test_pte_compares_sentences_with_their_swapped_clauses(
    tones: Any, told: Path, tmp_path: Path
) -> None:
    benchmark = probes_benchmark(cut(Probe.PTE, told, tmp_path), tmp_path / "audio")
    assert benchmark.allowed == (Task.PTE,)
    found = assess(tones, benchmark)
    assert found.metrics["pte_original_r1"].value == 1.0
    assert found.metrics["pte_swapped_r1"].value == 0.0
    assert found.metrics["pte_original_r1"].n == 3
    assert found.metrics["pte_original_r1"].chance == pytest.approx(1 / 3)
    assert found.metrics["pte_before_original_r1"].n == 1
    assert sum(found.left_out.values()) == 2


def test_bat_of_a_probe_set(tones: Any, told: Path, tmp_path: Path) -> None:
    found = assess(tones, probes_benchmark(cut(Probe.BAT, told, tmp_path), tmp_path / "audio"))
    assert set(found.metrics) == {"bat"}
    assert (found.metrics["bat"].value, found.metrics["bat"].n) == (1.0, 2)


def test_as_and_then_are_looked_for_among_their_own(tones: Any, told: Path, tmp_path: Path) -> None:
    table = cut(Probe.AS_THEN_SET, told, tmp_path)
    found = assess(tones, probes_benchmark(table, tmp_path / "audio")).metrics
    assert set(found) == {
        f"{word}_{version}_r10" for word in ("as", "then") for version in ("original", "swapped")
    }
    assert found["then_original_r10"].n == 1


def test_a_set_allows_the_task_it_was_cut_for(told: Path, tmp_path: Path) -> None:
    benchmark = probes_benchmark(cut(Probe.PTE, told, tmp_path), tmp_path / "audio")
    with pytest.raises(
        SpecError, match=r"no bat here: .*`segue text probe pte` \(it allows: pte\)"
    ):
        benchmark.plans([Task.BAT])
    with pytest.raises(SpecError, match=r"no zste here: not a task for a probe set"):
        benchmark.plans([Task.ZSTE])


def test_a_set_names_audio_files(told: Path, tmp_path: Path) -> None:
    table = cut(Probe.PTE, told, tmp_path)
    (tmp_path / "audio" / "mid-low.wav").unlink()
    with pytest.raises(CorpusError, match=r"row 3: 'mid-low.wav' is not in"):
        probes_benchmark(table, tmp_path / "audio")
    with pytest.raises(CorpusError, match="Parquet"):
        probes_benchmark(told, tmp_path / "audio")


# What a path is


def test_the_columns_tell_what_a_file_is(
    sound: Sound, write_csv: Csv, told: Path, tmp_path: Path
) -> None:
    audio = tmp_path / "audio"
    pair = ("a", "b", sound("low", "high"), sound("high", "low"), "-", "-")
    compa = write_csv(COMPA + TRIPLET, pair, name="compa.csv")
    labelled = ((sound(tone, tone), "1", "0", tone) for tone in ("low", "mid"))
    classes = write_csv(("filename", "fold", "target", "category"), *labelled, name="esc50.csv")
    kinds = [
        open_benchmark(path, audio).kind
        for path in (compa, classes, told, cut(Probe.BAT, told, tmp_path))
    ]
    with pytest.raises(SpecError, match="CompA table, a fold can be chosen for a class table"):
        open_benchmark(compa, audio, fold="1")
    with pytest.raises(SpecError, match="class table, columns can be chosen for a caption table"):
        open_benchmark(classes, audio, caption_columns=["category"])
    assert kinds == [DataKind.COMPA, DataKind.CLASSES, DataKind.CAPTIONS, DataKind.PROBES]
