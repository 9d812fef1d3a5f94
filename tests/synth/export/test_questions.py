"""Questions and differences as JSON lines: judged from the files against the corpus's manifest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import pytest
import soundfile

from pipelines.export import export_corpus
from synth.corpus.corpus import Corpus
from synth.derived.questions import Subject
from synth.export.items import list_shards
from synth.scene.claim import claim_from_text


def read(folder: Path, corpus: Corpus) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for split in corpus.splits
        for line in (folder / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


@pytest.fixture(scope="module")
def about(corpus: Corpus) -> dict[str, Subject]:
    """The corpus's samples, by id."""
    return {each.id: each for shard in list_shards(corpus) for each in shard.subjects()}


def test_exported_questions_hold_and_lead_to_their_audio(
    exported: Callable[[Corpus, str], Path], corpus: Corpus, about: dict[str, Subject]
) -> None:
    folder = exported(corpus, "questions")
    rows = read(folder, corpus)
    assert {row["sample"] for row in rows} == set(about)
    assert len({tuple(sorted(row)) for row in rows}) == 1
    for row in rows:
        for option, claim in zip(row["options"], map(claim_from_text, row["claims"]), strict=True):
            subject = about[row["sample"]]
            is_right = option == row["answer"]
            assert subject.proves(claim) if is_right else subject.refutes(claim)
        assert row["group"] == about[row["sample"]].group
    for row in rows[:10]:
        assert soundfile.info(folder / row["audio"]).samplerate == corpus.sample_rate
    answers = Counter((row["kind"], row["answer"]) for row in rows)
    for kind in ("order", "together", "presence"):
        assert answers[kind, "yes"] == answers[kind, "no"] > 0


def test_exported_differences_hold_and_lead_to_both_files(
    exported: Callable[[Corpus, str], Path], corpus: Corpus, about: dict[str, Subject]
) -> None:
    folder = exported(corpus, "differences")
    rows = read(folder, corpus)
    assert rows
    for row in rows:
        first, second = about[row["first"]], about[row["second"]]
        mine, theirs = map(claim_from_text, row["claims"])
        for own, other, claim in ((first, second, mine), (second, first, theirs)):
            assert own.proves(claim)
            assert other.refutes(claim)
        assert first.group == second.group == row["group"]
        assert (folder / row["first_audio"]).is_file()
        assert (folder / row["second_audio"]).is_file()


@pytest.mark.parametrize("name", ["questions", "differences"])
def test_what_could_not_be_made_is_counted_in_the_readme(
    exported: Callable[[Corpus, str], Path], corpus: Corpus, name: str
) -> None:
    text = (exported(corpus, name) / "README.md").read_text(encoding="utf-8")
    assert "UNASKED" not in text
    assert "UNTOLD" not in text
    if name == "questions":
        samples = corpus.samples().num_rows
        assert f"| count | {samples} |" in text
    else:
        members = Counter(corpus.samples()["group"].to_pylist())
        pairs = sum(comb(count, 2) for count in members.values())
        told = len(read(exported(corpus, name), corpus))
        assert f"Of {pairs - told} pairs nothing could be said" in text
        assert told > 0.9 * pairs


@pytest.mark.parametrize("name", ["questions", "differences"])
def test_the_same_corpus_gives_the_same_lines(
    exported: Callable[[Corpus, str], Path], corpus: Corpus, tmp_path: Path, name: str
) -> None:
    export_corpus(corpus, name, tmp_path / "again")
    for split in corpus.splits:
        again = (tmp_path / "again" / f"{split}.jsonl").read_bytes()
        assert again == (exported(corpus, name) / f"{split}.jsonl").read_bytes()
