"""`segue llm`: files in, Parquet out, the account, and one clear line for every fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from pipelines.cli.texts import llm
from pipelines.llm.files import ANSWERS
from pipelines.store.places import find_manifest
from synth.base.errors import SegueError, SourceError, SpecError
from synth.llm.prompt import load_prompt, shipped_files
from tests.kit.builds import invoke
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import (
    KEY,
    KEY_VARIABLE,
    PRICES,
    captions,
    items_in,
    obliging,
    write_prompt,
    write_rows,
)


def _run(folder: Path, source: Path, url: str, *more: object) -> Result:
    (folder / "prices.yaml").write_text(PRICES)
    paths = ("--out", folder / "out.parquet", "--store", folder / "store.sqlite")
    where = ("--model", "tiny", "--base-url", url, "--key-variable", KEY_VARIABLE)
    price = ("--prices", folder / "prices.yaml")
    return invoke(llm.llm_run_command, write_prompt(folder), source, *paths, *where, *price, *more)


def _error(result: Result) -> SegueError:
    assert isinstance(result.exception, SegueError), result.output
    return result.exception


def test_run_and_stats(tmp_path: Path) -> None:
    rows = captions(20)
    rows[4]["caption"] = "A hopeless noise"
    source = write_rows(tmp_path / "captions.jsonl", rows)
    with LlmServer(obliging, key=KEY) as server:
        done = _run(tmp_path, source, server.base_url, "--budget", 1)
        assert done.exit_code == 0, done.output
        assert "llm:say@1/tiny: 19 of 20 answered, 1 failed, 0 open" in done.output
        again = _run(tmp_path, source, server.base_url, "--budget", 1, "--json")
    facts = json.loads(again.output)
    assert (facts["answered"], facts["from_store"], facts["requests"]) == (19, 20, 0)
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema.equals(ANSWERS)
    assert table.schema.metadata[b"generator"] == b"llm:say@1/tiny"
    told = invoke(llm.llm_stats_command, "--store", tmp_path / "store.sqlite", "--json")
    (stat,) = json.loads(told.output)["tasks"]
    assert (stat["answered"], stat["failed"], stat["open"], stat["requests"]) == (19, 1, 0, 5)
    assert stat["cost"] == pytest.approx(facts["spent"])
    assert (
        "llm:say@1/tiny"
        in invoke(llm.llm_stats_command, "--store", tmp_path / "store.sqlite").output
    )


def test_a_dry_run_sends_and_makes_nothing(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "captions.jsonl", captions(20))
    with LlmServer(obliging, key=KEY) as server:
        told = _run(tmp_path, source, server.base_url, "--dry-run", "--json")
        assert told.exit_code == 0, told.output
        assert server.paths == []
        assert not (tmp_path / "store.sqlite").exists()
        assert not (tmp_path / "out.parquet").exists()
        guess = json.loads(told.output)
        _run(tmp_path, source, server.base_url, "--budget", 1)
        spent = server.billed_tokens
        rest = json.loads(_run(tmp_path, source, server.base_url, "--dry-run", "--json").output)
    assert (guess["items"], guess["requests"], guess["from_store"]) == (20, 3, 0)
    assert 0.5 * spent[0] < guess["input_tokens"] < 2.5 * spent[0]
    assert 0 < guess["low"] < guess["high"]
    assert (rest["from_store"], rest["requests"], rest["high"]) == (20, 0, 0)


def test_a_budget_ends_with_status_3_and_a_refused_key_with_1(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "captions.jsonl", captions(100))
    with LlmServer(obliging, key=KEY) as server:
        done = _run(tmp_path, source, server.base_url, "--budget", 0.001)
    assert done.exit_code == 3
    assert "repeat the command with a larger --budget" in done.output
    source = write_rows(tmp_path / "captions.jsonl", captions(3))
    with LlmServer(obliging, key="another") as server:
        done = _run(tmp_path, source, server.base_url, "--budget", 1)
    assert done.exit_code == 1
    assert "the endpoint refuses (auth)" in done.output
    assert KEY not in done.output


def test_tasks() -> None:
    found = json.loads(invoke(llm.llm_tasks_command, "--json").output)["tasks"]
    assert [task["id"] for task in found] == list(shipped_files())
    assert "paraphrase" in invoke(llm.llm_tasks_command).output


def test_files_and_their_columns(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"key": 7, "said": "A dog barks"}, {"key": 8, "said": "Rain"}]
    csv, parquet = tmp_path / "captions.csv", tmp_path / "captions.parquet"
    csv.write_text("\ufeffkey,said\n7,A dog barks\n8,Rain\n")
    pq.write_table(pa.Table.from_pylist(rows), parquet)
    prompt = load_prompt(write_prompt(tmp_path))
    renamed: dict[str, Any] = {"id_column": "key", "columns": {"caption": "said"}}
    for path in (csv, parquet, write_rows(tmp_path / "captions.jsonl", rows)):
        found = items_in(path, prompt, **renamed, constants={"labels": "dog; rain"})
        assert [row.id for row in found] == ["7", "8"]
        assert found[0].fields == {"caption": "A dog barks", "labels": ["dog", "rain"]}
        assert len(items_in(path, prompt, **renamed, limit=1)) == 1
        assert found[0].digest != found[1].digest


def test_a_corpus(tmp_path: Path, tiny_corpus: Path) -> None:
    prompt = load_prompt(write_prompt(tmp_path))
    (folder,) = (tiny_corpus / "data_manifests").iterdir()
    every = items_in(folder, prompt)
    some = items_in(folder, prompt, split="train")
    assert 0 < len(some) < len(every)
    assert set(some[0].fields) == {"caption", "labels"}
    told = items_in(folder, load_prompt("order-negatives"))[0].fields
    assert {"caption", "claim", "scene"} <= told.keys()
    assert not isinstance(told["claim"], str)


def test_rows_that_cannot_be_asked_about_and_wrong_options(tmp_path: Path) -> None:
    source = tmp_path / "captions.csv"
    good = "id,caption\na,x\n"
    cases: list[tuple[str, tuple[str, ...], str]] = [
        ("id,caption\na,x\na,y\n", (), "line 3: the id 'a' is also that of line 2"),
        ("id,caption\n,x\n", (), "line 2: lacks an id"),
        ("id,caption\n", (), "has no rows"),
        ("id,text\na,x\n", (), "no column 'caption', which prompt say needs"),
        ("name,caption\na,x\n", (), "no column 'id' for the ids"),
        ("id,caption\na\n", (), "line 2: prompt say: item 'a': 'caption' is missing"),
        ("id,caption\na, \n", (), "line 2: 'caption' is blank"),
        (good, ("--column", "caption"), "expected FIELD=..."),
        (good, ("--column", "noise=a"), "the prompt has no such field"),
        (good, ("--split", "train"), "--split goes only with a corpus"),
        (good, ("--prices", "none.yaml"), "no such file"),
        (good, ("--out", "out.csv"), "the result is a Parquet file"),
        (good, ("--out", str(source)), "the result is a Parquet file"),
    ]
    faults = []
    for text, more, said in cases:
        source.write_text(text)
        told = _error(_run(tmp_path, source, "http://127.0.0.1:9/v1", "--budget", 1, *more))
        if said not in told.message or not told.fix:
            faults.append((text, more, str(told)))
    assert faults == []
    assert not (tmp_path / "store.sqlite").exists()


def test_files_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    source = tmp_path / "out.parquet"
    pq.write_table(pa.Table.from_pylist(captions(3)), source)
    told = _error(_run(tmp_path, source, "http://127.0.0.1:9/v1", "--budget", 1))
    assert isinstance(told, SpecError)
    assert "is the input file" in told.message
    rows = [{"id": "a", "events": [{"label": "Dog", "onset": 2.0, "offset": 1.0}]}]
    source = write_rows(tmp_path / "rows.jsonl", rows)
    with pytest.raises(SourceError, match=r"line 1: .*fix or remove the row"):
        items_in(source, load_prompt("strong-caption"))
    prompt = load_prompt(write_prompt(tmp_path))
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "a", "caption": "x"}\n{"id": \n')
    with pytest.raises(SourceError, match="line 2"):
        items_in(bad, prompt)
    with pytest.raises(SourceError, match="no such file"):
        items_in(tmp_path / "none.csv", prompt)
    with pytest.raises(SourceError, match="unknown kind of file"):
        items_in(write_prompt(tmp_path), prompt)
    told = invoke(llm.llm_stats_command, "--store", tmp_path / "none")
    assert "no such file" in _error(told).message


REWRITE = load_prompt("rewrite")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [{"id": f"c{n}", "caption": f"Noise {n}", "claim": {"event": "dog"}} for n in range(10)]
    return write_rows(tmp_path / "captions.jsonl", rows)


def _deal(path: Path, **changes: Any) -> list[tuple[str, ...]]:
    found = items_in(path, REWRITE, **changes)
    return [(row.id, row.fields["style"], row.fields["language"]) for row in found]


def test_values_are_dealt_by_row_where_none_is_given(path: Path, tmp_path: Path) -> None:
    every = _deal(path, variants=35)
    assert len(set(every)) == 350
    assert _deal(path, variants=3) == [each for at, each in enumerate(every) if at % 35 < 3]
    assert _deal(path, limit=4) == _deal(path)[:4]
    assert len({language for _, _, language in _deal(path)}) > 2
    fixed = {"constants": {"language": "it"}}
    assert {language for _, _, language in _deal(path, **fixed)} == {"it"}
    rows = [{"id": "a", "caption": "x", "claim": {"event": "dog"}, "style": "vivid"}]
    own = write_rows(tmp_path / "own.jsonl", rows)
    assert {style for _, style, _ in _deal(own, variants=5)} == {"vivid"}
    with pytest.raises(SpecError, match="--set style=question: 'style' must be one of plain, viv"):
        _deal(path, constants={"style": "question"})
    with pytest.raises(SpecError, match="--set sample_rate=0: 'sample_rate' must be at least 1"):
        _deal(path, constants={"sample_rate": "0"})
    with pytest.raises(SpecError, match="a row has only 35 variants, by style and language"):
        _deal(path, variants=36)
    with pytest.raises(SpecError, match="a row has only 7 variants, by style"):
        _deal(path, variants=8, constants={"language": "it"})
    with pytest.raises(SpecError, match="nothing is dealt"):
        items_in(path, load_prompt("paraphrase"), variants=2)


def test_all_true_captions_of_a_corpus(path: Path, tiny_corpus: Path) -> None:
    (folder,) = (tiny_corpus / "data_manifests").iterdir()
    rows = pq.read_table(find_manifest(folder)).to_pylist()
    texts = [t for row in rows for t in (row["caption"], *(p["text"] for p in row["positives"]))]
    found = items_in(folder, REWRITE, positives=True)
    assert [row.fields["caption"] for row in found] == texts
    assert len(texts) > len(rows)
    assert all(row.fields["sample_rate"] == 16_000 for row in found)
    with pytest.raises(SpecError, match=r"has no split 'dev' \(its splits are train"):
        items_in(folder, REWRITE, split="dev")
    with pytest.raises(SpecError, match="--positives goes only with a corpus"):
        items_in(path, REWRITE, positives=True)
