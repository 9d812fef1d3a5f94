"""What is derived, as JSON lines: judged from the files against the corpus's manifest."""

from __future__ import annotations

import runpy
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from math import comb
from pathlib import Path
from typing import Any

import pytest
import soundfile

from pipelines.export import export_corpus
from synth.base.errors import CorpusError
from synth.corpus.corpus import Corpus
from synth.derived.questions import Subject
from synth.export.items import list_shards
from synth.scene.claim import claim_from_text
from tests.kit.cases import cases
from tests.kit.chats import read_lines
from tests.kit.corpora import manifests
from tests.kit.export_corpora import Exported, built
from tests.kit.libraries import write_foley

NO_ROWS = pytest.raises(CorpusError, match="of recipe negation, gives no rows of")


@cases(
    ("name", "expected"),
    [
        ("chat", nullcontext()),
        *((name, NO_ROWS) for name in ("grpo", "questions", "differences")),
    ],
)
def test_an_export_without_rows_is_refused(
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    name: str,
    expected: AbstractContextManager[Any],
) -> None:
    spec = {
        **{"corpus": "bare", "seed": 7, "source": {"jam": {"tracks": 8}}, "splits": {"test": 1.0}},
        **{"recipe": {"negation": {}}, "audio": {"sample_rate": 8000, "length": "exact 1 s"}},
    }
    with expected:
        export_corpus(Corpus.open(manifests(spec, tmp_path_factory)), name, tmp_path / name)


# Questions and differences


def read_all(folder: Path, corpus: Corpus) -> list[dict[str, Any]]:
    return [row for split in corpus.splits for row in read_lines(folder / f"{split}.jsonl")]


@pytest.fixture(scope="module")
def about(corpus: Corpus) -> dict[str, Subject]:
    """The corpus's samples, by id."""
    return {each.id: each for shard in list_shards(corpus) for each in shard.subjects()}


def test_exported_questions_hold_and_lead_to_their_audio(
    exported: Exported, corpus: Corpus, about: dict[str, Subject]
) -> None:
    folder = exported(corpus, "questions")
    rows = read_all(folder, corpus)
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
    exported: Exported, corpus: Corpus, about: dict[str, Subject]
) -> None:
    folder = exported(corpus, "differences")
    rows = read_all(folder, corpus)
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


@cases("name", ["questions", "differences"])
def test_what_could_not_be_made_is_counted_in_the_readme(
    exported: Exported, corpus: Corpus, name: str
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
        told = len(read_all(exported(corpus, name), corpus))
        assert f"Of {pairs - told} pairs nothing could be said" in text
        assert told > 0.9 * pairs


@cases("name", ["differences", "preference", "grpo"])
def test_the_same_corpus_gives_the_same_lines(
    exported: Exported, corpus: Corpus, tmp_path: Path, name: str
) -> None:
    export_corpus(corpus, name, tmp_path / "again", worker_count=2)
    for path in exported(corpus, name).glob("*.json*"):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


# Chat and preferences


def prove(proof: dict[str, Any], about: dict[str, Subject]) -> bool:
    """Whether the samples prove what an answer claims, and refute what the wrong one claims."""
    samples = [about[sample] for sample in proof["samples"]]
    proven = [
        sample.proves(claim_from_text(claim))
        for sample, claim in zip(samples, proof["claims"], strict=False)
    ]
    refuted = [
        sample.refutes(claim_from_text(claim))
        for sample, claim in zip(samples, proof["wrong_claims"], strict=False)
    ]
    return all(proven) and (any(refuted) or not proof["wrong"])


def test_exported_conversations_hold_and_lead_to_their_audio(
    exported: Exported, corpus: Corpus, about: dict[str, Subject]
) -> None:
    folder = exported(corpus, "chat")
    rows = read_lines(folder / "test.jsonl")
    assert len({row["id"] for row in rows}) == len(rows)
    assert {row["samples"][0] for row in rows} == {i for i in about if "-test-" in i}
    for row in rows:
        assert all(prove(proof, about) for proof in row["proofs"])
        assert row["messages"][0]["content"].count("<audio>") == len(row["audios"])
        assert [each["role"] for each in row["messages"]] == ["user", "assistant"] * len(
            row["proofs"]
        )
    kinds = Counter(row["kind"] for row in rows)
    assert kinds["describe"] == kinds["timestamps"] == len({row["samples"][0] for row in rows})
    assert min(kinds[each] for each in ("conversation", "difference", "which", "order")) > 0
    for row in rows[:5]:
        for path in row["audios"]:
            assert soundfile.info(folder / path).samplerate == corpus.sample_rate


def test_exported_preferences_hold_and_lead_to_their_audio(
    exported: Exported, corpus: Corpus, about: dict[str, Subject]
) -> None:
    folder = exported(corpus, "preference")
    texts, audios = read_lines(folder / "test.jsonl"), read_lines(folder / "test_audios.jsonl")
    assert len({row["id"] for row in (*texts, *audios)}) == len(texts) + len(audios)
    for row in (*texts, *audios):
        assert prove(row["proof"], about)
    for row in texts:
        assert row["messages"] == [*row["prompt"], *row["chosen"]]
        assert row["rejected"][0]["content"] == row["rejected_response"] != row["response"]
    for row in audios:
        assert row["rejected_audios"] != row["audios"]
        assert all((folder / path).is_file() for path in row["rejected_audios"])
    assert {row["kind"] for row in audios} == {row["kind"] for row in texts} - {"presence"}
    # Each is followed by its mirror.
    for one, other in zip(texts[::2], texts[1::2], strict=True):
        assert one["query"] == other["query"]
        assert one["response"] == other["rejected_response"]
        assert one["rejected_response"] == other["response"]
        assert one["audios"] != other["audios"]


def test_exported_rewards_pay_the_truth_by_the_file_beside_them(
    exported: Exported, corpus: Corpus, about: dict[str, Subject]
) -> None:
    folder = exported(corpus, "grpo")
    rows = read_lines(folder / "test.jsonl")
    assert {row["kind"] for row in rows} >= {"answer", "order", "absent"}
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert row["messages"] == row["prompt"]
        assert row["prompt"][0]["content"] == f"<audio>{row['proof']['prompt']}"
        assert row["kind"] == "interval" or prove(row["proof"], about)
        assert all(0 <= on < off for each in row["evidence"] for on, off in each["spans"])
        (path,) = row["audios"]
        assert (folder / path).is_file()
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    reward = runpy.run_path(str(folder / "reward.py"))["reward"]
    for name, paid in (("solution", 1), ("rival", 0)):
        texts = [f"It is <answer>{answer}</answer>" for answer in columns[name]]
        assert set(reward(completions=texts, prompts=columns["prompt"], **columns)) == {paid}
    # Each is followed by its mirror.
    for one, other in zip(rows[::2], rows[1::2], strict=True):
        assert one["prompt"] == other["prompt"]
        assert (one["solution"], one["rival"]) == (other["rival"], other["solution"])
        assert one["audios"] != other["audios"]


def test_labels_with_tags_and_separators_lead_no_reader_astray(
    exported: Exported, tmp_path_factory: pytest.TempPathFactory
) -> None:
    names = {"dog": "<audio> dog", "rain": "rain; fog", "siren": "siren", "wind": "wind"}
    root = write_foley(tmp_path_factory.mktemp("odd"), names, takes=5)
    changes = {"corpus": "odd", "source": {"folder": {"root": str(root)}}}
    changes |= {"recipe": {"triplets": {"repeats": 1}}, "splits": {"test": 1.0}}
    corpus = built(tmp_path_factory, changes)
    for name in ("chat", "preference", "grpo"):
        rows = read_lines(exported(corpus, name) / "test.jsonl")
        assert any("audio dog" in row["messages"][0]["content"] for row in rows)
        for row in rows:
            texts = [message["content"] for message in row["messages"]]
            assert "".join(texts).count("<audio>") == len(row["audios"])
    orders = [row["solution"] for row in rows if row["kind"] == "order"]
    assert {order.count(";") for order in orders} == {1}


@cases("name", ["chat", "preference", "grpo"])
def test_readme_counts_rows_of_each_kind_and_what_was_left_out(
    exported: Exported, corpus: Corpus, tmp_path: Path, name: str
) -> None:
    folder = exported(corpus, name)
    text = (folder / "README.md").read_text(encoding="utf-8")
    rows = read_all(folder, corpus)
    proofs = [each for row in rows for each in row.get("proofs", [row.get("proof")])]
    kinds = Counter(each["kind"] for each in (rows if name == "grpo" else proofs))
    for kind, count in kinds.items():
        assert f"| {kind} | {count:,} |" in text
    if name == "chat":
        # Every sample is described, whether or not another has a caption against its own.
        assert f"| describe | {kinds['describe']:,} | 0 |" in text
    summary = export_corpus(corpus, name, folder)
    assert summary.written == 0
    column = {"chat": "answers", "preference": "text", "grpo": "prompts"}[name]
    assert summary.counts[column] == len(proofs)
    assert summary.counts["left out"] > 0
