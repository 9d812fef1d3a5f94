"""Multiple choice about audio, as TREA has it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from synth.base.errors import CorpusError
from synth.labels.lexicon import Phrase
from train.bench.plan import Benchmark, DataKind
from train.bench.settings import BenchSettings, Task
from train.bench.sounds import Files
from train.bench.tables import rows
from train.bench.tasks.questions import SoundQuestion, plan_questions

OPTIONS: Final = {letter: f"option{letter}" for letter in "ABCD"}
QUESTION_COLUMNS: Final = ("question", "audio_path", *OPTIONS.values(), "correct")


def questions_benchmark(
    table: Path, audio: Path | None = None, settings: BenchSettings | None = None
) -> Benchmark:
    """A table of questions, each with four answers.

    Answers are written alike, "keyboard typing" for "Keyboard typing" and "keyboard_typing": in
    TREA's tables the spelling gives many right ones away. All that read like the right one are
    right.

    Args:
        table: CSV with question, audio_path, optionA to optionD, and the letter in correct.
        audio: Folder that audio_path starts from; by default that of the table.
    """
    files, questions = Files(audio or table.parent, table), []
    fix = f"give TREA's CSV, with the columns {', '.join(QUESTION_COLUMNS)}"
    for number, row in rows(table, QUESTION_COLUMNS, fix):
        letter = row["correct"].strip()
        if letter not in OPTIONS:
            raise CorpusError(
                f"{table}: row {number}: 'correct' is {letter!r}", fix="write A, B, C or D"
            )
        asked = row["question"].strip().replace("_", " ")
        answers = {key: _plain(row[column]) for key, column in OPTIONS.items()}
        questions.append(
            SoundQuestion(
                files.number(row["audio_path"].strip(), number),
                tuple(f"{asked} {answer}" for answer in answers.values()),
                tuple(answer == answers[letter] for answer in answers.values()),
            )
        )
    sounds, chosen = files.sounds(), settings or BenchSettings()
    return Benchmark(
        DataKind.QUESTIONS,
        str(table),
        {"table": str(table), "questions": str(len(questions))},
        sounds,
        chosen,
        {Task.QUESTIONS: plan_questions(questions, chosen)},
    )


def _plain(answer: str) -> str:
    return Phrase.of_label(answer.strip()).plain.casefold().replace(",", "")
