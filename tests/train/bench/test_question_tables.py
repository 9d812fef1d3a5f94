"""Multiple choice as TREA publishes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from synth.base.errors import CorpusError
from train.bench.evaluate import data_kind, open_benchmark
from train.bench.plan import DataKind
from train.bench.settings import Task

COLUMNS = ("question", "id", "audio_path", "optionA", "optionB", "optionC", "optionD", "correct")
FIRST = "Which sound event occurs first?"
ROWS = [
    (FIRST, "0", "audios/0.wav", "High", "low", "Crow", "Door, wood creaks", "B"),
    (FIRST, "1", "audios/1.wav", "mid", "Low", "High", "Cow", "C"),
    (
        "Which sound event occurs after low sound?",
        "2",
        "audios/0.wav",
        "high",
        "mid",
        "A",
        "B",
        "A",
    ),
    ("Which of these lasts longest?", "3", "audios/1.wav", "crow", "Crow", "Low", "sea_waves", "A"),
]


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
