"""Items of `rewrite`: styles and languages are dealt, and corpora give all true captions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.llm.files import Input, read_rows
from pipelines.store.places import find_manifest
from synth.base.errors import SpecError
from synth.llm.prompt import load_prompt
from tests.kit.llm_tasks import write_rows

REWRITE = load_prompt("rewrite")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [{"id": f"c{n}", "caption": f"Noise {n}", "claim": {"event": "dog"}} for n in range(10)]
    return write_rows(tmp_path / "captions.jsonl", rows)


def _deal(path: Path, **changes: Any) -> list[tuple[str, ...]]:
    found = read_rows(Input(path, **changes), REWRITE)
    return [(row.id, row.fields["style"], row.fields["language"]) for row in found]


def test_the_values_of_a_row_depend_on_the_row_alone(path: Path) -> None:
    every = _deal(path, variants=35)
    assert len(set(every)) == 350
    assert _deal(path, variants=3) == [each for at, each in enumerate(every) if at % 35 < 3]
    assert _deal(path, limit=4) == _deal(path)[:4]
    assert len({language for _, _, language in _deal(path)}) > 2


def test_what_is_given_is_not_dealt(path: Path, tmp_path: Path) -> None:
    fixed = {"constants": {"language": "it"}}
    assert {language for _, _, language in _deal(path, **fixed)} == {"it"}
    rows = [{"id": "a", "caption": "x", "claim": {"event": "dog"}, "style": "vivid"}]
    own = write_rows(tmp_path / "own.jsonl", rows)
    assert {style for _, style, _ in _deal(own, variants=5)} == {"vivid"}
    with pytest.raises(SpecError, match="--set style=question: 'style' must be one of plain, viv"):
        _deal(path, constants={"style": "question"})
    with pytest.raises(SpecError, match="--set sample_rate=0: 'sample_rate' must be at least 1"):
        _deal(path, constants={"sample_rate": "0"})


def test_there_are_only_so_many_variants(path: Path) -> None:
    with pytest.raises(SpecError, match="a row has only 35 variants, by style and language"):
        _deal(path, variants=36)
    with pytest.raises(SpecError, match="a row has only 7 variants, by style"):
        _deal(path, variants=8, constants={"language": "it"})
    with pytest.raises(SpecError, match="nothing is dealt"):
        read_rows(Input(path, variants=2), load_prompt("paraphrase"))


def test_all_true_captions_of_a_corpus(path: Path, tiny_corpus: Path) -> None:
    (folder,) = (tiny_corpus / "data_manifests").iterdir()
    rows = pq.read_table(find_manifest(folder)).to_pylist()
    texts = [t for row in rows for t in (row["caption"], *(p["text"] for p in row["positives"]))]
    found = read_rows(Input(folder, positives=True), REWRITE)
    assert [row.fields["caption"] for row in found] == texts
    assert len(texts) > len(rows)
    assert all(row.fields["sample_rate"] == 16_000 for row in found)
    with pytest.raises(SpecError, match=r"has no split 'dev' \(its splits are train"):
        read_rows(Input(folder, split="dev"), REWRITE)
    with pytest.raises(SpecError, match="--positives is for corpora"):
        read_rows(Input(path, positives=True), REWRITE)
