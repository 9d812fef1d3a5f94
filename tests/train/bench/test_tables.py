"""Captions, questions and probe sets as they are published; how a path tells what it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pipelines.cli.texts.probe import TaggerName, probe_command
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import UNOBSERVED
from synth.text.order.clause_swap import Probe
from tests.kit.tables import read_data
from train.bench.evaluate import data_kind, open_benchmark
from train.bench.plan import DataKind
from train.bench.settings import BenchSettings, Task
from train.bench.tables import FILE_COLUMNS, captions_benchmark, probes_benchmark


def test_clotho_has_several_captions_a_row(tables: Any) -> None:
    table = tables.write(
        ("file_name", "caption_1", "caption_2"),
        (tables.sound("low", "high"), "low then high", "no idea"),
        (tables.sound("high", "low"), "high then low", "high, then low"),
        (tables.sound("mid", "mid"), "mid then mid", "nobody knows"),
    )
    found = tables.assess(captions_benchmark(table, tables.audio)).metrics
    # Every audio has a caption that tells it; two of the six captions tell nothing.
    assert found["audio_to_text_r1"].value == 1.0
    assert found["audio_to_text_r1"].n == 3
    assert found["text_to_audio_r1"].value == pytest.approx(4 / 6)
    assert found["text_to_audio_r1"].n == 6
    assert found["text_to_audio_r1"].chance == pytest.approx(1 / 3)
    assert found["audio_to_text_map10"].value < 1


def test_audiocaps_has_a_row_a_caption_and_files_without_ending(tables: Any) -> None:
    tables.sound("low", "high", "abc.flac")
    tables.sound("high", "low", "a.b-c.wav")
    table = tables.write(
        ("audiocap_id", "youtube_id", "start_time", "caption"),
        ("1", "abc", "30", "low then high"),
        ("2", "abc", "30", "high after low"),
        ("3", "a.b-c", "0", "high then low"),
        ("4", "abc", "30", "low then high"),
    )
    found = tables.assess(captions_benchmark(table, tables.audio))
    assert found.metrics["audio_to_text_r1"].n == 2
    assert found.metrics["text_to_audio_r1"].n == 3
    assert found.metrics["text_to_audio_r1"].value == 1.0
    assert found.left_out == {"retrieval: captions that repeat another": 1}


def test_every_caption_may_be_a_query_as_published_figures_have_it(tables: Any) -> None:
    tables.sound("low", "high", "abc.wav")
    tables.sound("high", "low", "def.wav")
    said = {
        "abc": ["low then high", "high after low", "low then high"],
        "def": ["high then low", "low then high"],
    }
    rows = [(name, caption) for name, captions in said.items() for caption in captions]
    table = tables.write(("youtube_id", "caption"), *rows)
    settings = BenchSettings(every_caption=True)
    found = tables.assess(captions_benchmark(table, tables.audio, settings))
    # Four captions find their sound; the last of "def" finds "abc". Of the captions of "abc", two
    # tie with that one, which stands before them; the best one of "def" has no rival.
    assert found.metrics["text_to_audio_r1"].n == 5
    assert found.metrics["text_to_audio_r1"].value == pytest.approx(4 / 5)
    assert found.metrics["text_to_audio_r1"].chance == pytest.approx(1 / 2)
    assert found.metrics["audio_to_text_r1"].value == pytest.approx(1 / 2)
    assert found.metrics["audio_to_text_r5"].value == 1.0
    assert found.metrics["audio_to_text_r1"].chance == pytest.approx((3 + 2) / 5 / 2)
    assert found.facts["queries"] == "every caption"
    assert not found.left_out
    classes = tables.write(("filename", "category"), name="classes.csv")
    with pytest.raises(SpecError, match="--every-caption can be chosen for a caption table"):
        open_benchmark(classes, tables.audio, settings=settings)


def test_audiotime_is_json_beside_its_audio(tables: Any) -> None:
    entries = {
        "syn_1": {"event": {"Low": [[0.1, 0.2]]}, "caption": "low then high"},
        "syn_2": {"event": {}, "caption": ["high then low", "Yes."]},
        "syn_10": {"event": {}, "caption": "no idea"},
    }
    for name, tones_of in zip(
        entries, (("low", "high"), ("high", "low"), ("mid", "mid")), strict=True
    ):
        tables.sound(*tones_of, f"{name}.wav")
    table = tables.folder / "ordering_captions.json"
    table.write_text(json.dumps(entries, indent=4))
    found = tables.assess(open_benchmark(table))
    assert {"low then high", "high then low", "no idea"} == set(tables.tones.read)
    assert found.metrics["text_to_audio_r1"].value == pytest.approx(2 / 3)
    assert found.metrics["audio_to_text_r1"].n == 3
    with pytest.raises(SpecError, match="JSON has no columns"):
        open_benchmark(table, file_column="event")
    table.write_text(json.dumps({"syn_1": {"event": {}}}))
    with pytest.raises(CorpusError, match=r"syn_1.caption: Field required.*AudioTime"):
        open_benchmark(table)
    table.write_text("{")
    with pytest.raises(CorpusError, match="is not JSON"):
        open_benchmark(table)


@pytest.mark.parametrize("column", FILE_COLUMNS)
def test_usual_names_of_the_column_of_files_are_known(column: str, tables: Any) -> None:
    rows = [
        (tables.sound("low", "high"), "low then high"),
        (tables.sound("high", "low"), "high then low"),
    ]
    table = tables.write((column, "caption"), *rows)
    found = tables.assess(captions_benchmark(table, tables.audio))
    assert found.metrics["text_to_audio_r1"].value == 1.0


def test_columns_of_a_caption_table_can_be_named(tables: Any) -> None:
    table = tables.write(("wav", "said"), (tables.sound("low", "high"), "low then high"))
    with pytest.raises(SpecError, match=r"column of files.*wav, said"):
        captions_benchmark(table, tables.audio)
    with pytest.raises(SpecError, match=r"column of captions.*wav, said"):
        captions_benchmark(table, tables.audio, file_column="wav")
    found = captions_benchmark(table, tables.audio, file_column="wav", caption_columns=["said"])
    assert tables.assess(found).metrics["text_to_audio_r1"].value == 1.0


def test_retrieval_within_random_subsets(tables: Any) -> None:
    names = ("low", "mid", "high")
    rows = [(tables.sound(a, b), f"{a} then {b}") for a in names for b in names]
    table = tables.write(("file_name", "caption"), *rows)
    settings = BenchSettings(subset_size=4, subsets=5)
    benchmark = captions_benchmark(table, tables.audio, settings)
    found = tables.assess(benchmark)
    assert found.metrics["text_to_audio_r1"].value == 1.0
    assert found.metrics["text_to_audio_r1"].chance == pytest.approx(1 / 4)
    assert found.facts["retrieval"] == "mean over 5 random subsets of 4 sounds"
    # They stand in for retrieval among all, not beside it, as the help of `--subset-size` says.
    whole = tables.assess(captions_benchmark(table, tables.audio)).metrics
    assert found.metrics.keys() == whole.keys()
    assert whole["text_to_audio_r1"].chance == pytest.approx(1 / 9)
    with pytest.raises(SpecError, match="subsets of 10 cannot be drawn from 9"):
        captions_benchmark(table, tables.audio, BenchSettings(subset_size=10))


# Multiple choice as TREA publishes it.


COLUMNS = ("question", "id", "audio_path", "optionA", "optionB", "optionC", "optionD", "correct")
FIRST = "Which sound event occurs first?"
ROWS = read_data("bench/questions.yaml")


@pytest.fixture
def table(tables: Any) -> Path:
    for name, pair in (("0.wav", ("low", "high")), ("1.wav", ("high", "mid"))):
        tables.sound(*pair, name)
    tables.audio.rename(tables.folder / "audios")
    return tables.write(COLUMNS, *ROWS, name="order.csv")


def test_the_closest_answer_after_its_question_is_counted(table: Path, tables: Any) -> None:
    assert data_kind(table) is DataKind.QUESTIONS
    benchmark = open_benchmark(table)
    assert benchmark.allowed == (Task.QUESTIONS,)
    found = tables.assess(benchmark).metrics
    points, chances = [], []
    for question, _, file, *answers, letter in ROWS:
        heard = tables.tones.audio([soundfile.read(table.parent / file)[0]])[0]
        plain = [each.lower().replace("_", " ").replace(",", "") for each in answers]
        near = np.array([heard @ tables.tones.texts([f"{question} {each}"])[0] for each in plain])
        right = np.array([each == plain["ABCD".index(letter)] for each in plain])
        best = near == near.max()
        points.append((best & right).sum() / best.sum())
        chances.append(right.mean())
    assert found["questions"].value == pytest.approx(np.mean(points))
    assert 0 < np.mean(points) < 1
    # The last question has two spellings of its answer: both are right.
    assert found["questions"].chance == pytest.approx(np.mean(chances)) == pytest.approx(5 / 16)
    assert found["questions"].n == 4


def test_spelling_does_not_give_an_answer_away(table: Path, tables: Any) -> None:
    tables.assess(open_benchmark(table))
    assert f"{FIRST} high" in tables.tones.read
    assert "Which of these lasts longest? sea waves" in tables.tones.read
    assert f"{FIRST} door wood creaks" in tables.tones.read
    assert not any("_" in text for text in tables.tones.read)


def test_faults_of_a_table_are_told_with_their_row(table: Path) -> None:
    table.write_text(table.read_text().replace('"C"\n', '"E"\n'))
    with pytest.raises(CorpusError, match=r"row 3: 'correct' is 'E'"):
        open_benchmark(table)
    table.write_text(table.read_text().replace('"E"\n', '"C"\n').replace("audios/1", "audios/9"))
    with pytest.raises(CorpusError, match=r"row 3: 'audios/9.wav' is not in"):
        open_benchmark(table)


# Probe sets that `segue text probe` cuts, and how a path tells what it is.


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
        observer=UNOBSERVED,
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


def test_sets_of_bat_as_and_then_are_scored(told: Path, tables: Any) -> None:
    found = tables.assess(probes_benchmark(cut(Probe.BAT, told, tables.folder), tables.audio))
    assert set(found.metrics) == {"bat"}
    assert (found.metrics["bat"].value, found.metrics["bat"].n) == (1.0, 2)
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
