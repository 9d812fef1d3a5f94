"""`segue text probe`: files in, Parquet out, counts, and one clear line for every fault."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from pipelines.cli.texts.probe import probe_command
from synth.base.errors import SourceError, SpecError
from tests.kit.builds import invoke

ROWS = [
    {"audiocap_id": "7", "caption": "A goose honks then a gate shuts"},
    {"audiocap_id": "8", "caption": "A goose honks, after that a gate shuts"},
    {"audiocap_id": "9", "caption": ""},
    {"audiocap_id": "10", "caption": "Thunder before rain"},
]


def _run(*arguments: str | Path) -> Result:
    return invoke(probe_command, *arguments)


def _csv(folder: Path, rows: list[dict[str, str]] = ROWS) -> Path:
    lines = [",".join(rows[0])] + [",".join(f'"{cell}"' for cell in row.values()) for row in rows]
    path = folder / "captions.csv"
    path.write_text("\n".join(lines), encoding="utf-8-sig")
    return path


def _made(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


def test_every_row_is_written(tmp_path: Path) -> None:
    out = tmp_path / "new" / "swapped.parquet"
    done = _run("clause-swap", _csv(tmp_path), "--out", out)
    assert done.exit_code == 0, done.output
    table = pq.read_table(out)
    assert table.schema.metadata[b"tagger"] == b"embedded"
    first, second, third, fourth = table.to_pylist()
    assert first == {
        "id": "7",
        "column": "caption",
        "caption": ROWS[0]["caption"],
        "outcome": "made",
        "reason": None,
        "text": "A gate shuts then a goose honks",
        "connective": "then",
        "steps": ["clauses swapped"],
        "order": "4 5 6 3 0 1 2",
    }
    assert (second["outcome"], second["reason"], second["text"]) == ("left out", "adverbial", "")
    assert third["reason"] == "empty"
    assert fourth["text"] == "Rain before thunder"
    assert "2 of 4 captions" in done.output
    assert "adverbial" in done.output
    assert [path.name for path in out.parent.iterdir()] == ["swapped.parquet"]


def test_json_ends_with_one_object(tmp_path: Path) -> None:
    out = tmp_path / "bat.parquet"
    done = _run("bat", _csv(tmp_path), "--out", out, "--no-balanced", "--json")
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts == {
        "tool": "bat",
        "tagger": "embedded",
        "seed": 0,
        "captions": 4,
        "made": 1,
        "outcomes": {"no connective": 1, "adverbial": 1, "empty": 1, "made": 1},
        "out": str(out),
    }


def test_every_tool_reads_every_kind_of_file(tmp_path: Path) -> None:
    out, paths = tmp_path / "out.parquet", [_csv(tmp_path)]
    paths += [tmp_path / f"captions.{kind}" for kind in ("parquet", "json", "jsonl")]
    pq.write_table(pa.Table.from_pylist(ROWS), paths[1])
    paths[2].write_text(json.dumps(ROWS))
    paths[3].write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")
    tools = ("nv", "clause-swap", "before-after", "as-then", "pte", "bat", "as-then-set")
    for tool, path in zip(tools, cycle(paths)):
        done = _run(tool, path, "--out", out, "--json")
        assert done.exit_code == 0, done.output
        assert [row["id"] for row in _made(out)] == ["7", "8", "9", "10"]


def test_several_columns_of_captions(tmp_path: Path) -> None:
    """As in Clotho: five captions a file."""
    path = tmp_path / "clotho.json"
    path.write_text(json.dumps([{"file": "a.wav", "one": "Rain then hail", "two": None, "n": 3}]))
    out = tmp_path / "out.parquet"
    columns = ("--column", "one", "--column", "two", "--column", "n")
    done = _run("pte", path, "--out", out, *columns, "--id-column", "file")
    assert done.exit_code == 0, done.output
    assert [(row["id"], row["column"], row["reason"]) for row in _made(out)] == [
        ("a.wav", "one", None),
        ("a.wav", "two", "empty"),
        ("a.wav", "n", "no connective"),
    ]


def test_faulty_files_are_told_in_one_line(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    for name, content, error in (
        ("nowhere.csv", None, SourceError),
        ("captions.txt", b"captions", SourceError),
        ("empty.csv", b"", SourceError),
        ("header.csv", b"audiocap_id,caption\n", SourceError),
        ("latin.csv", b"audiocap_id,caption\n1,caf\xe9\n", SourceError),
        ("broken.json", b"[{]", SourceError),
        ("words.json", b'["rain"]', SourceError),
        ("half.json", b'[{"audiocap_id": 1, "caption": "Rain \\ud800 hail"}]', SourceError),
        ("object.json", b'{"caption": "rain"}', SourceError),
        ("broken.parquet", b"PAR0", SourceError),
        ("other.csv", b"audiocap_id,text\n1,rain\n", SpecError),
        ("noid.csv", b"file,caption\n1,rain\n", SpecError),
    ):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        failed = _run("pte", path, "--out", out)
        assert isinstance(failed.exception, error), name
        assert failed.exception.message.startswith(str(path))
        assert "\n" not in failed.exception.message
        assert failed.exception.fix
        assert not out.exists()


def test_what_cannot_be_done_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = _run("pte", _csv(tmp_path), "--out", tmp_path / "out.parquet", "--column", "text")
    assert isinstance(failed.exception, SpecError)
    assert failed.exception.fix == "give --column one of: audiocap_id, caption"
    from synth.text.grammar.tagger import EmbeddedTagger

    monkeypatch.setattr("synth.text.grammar.tagger.best_tagger", EmbeddedTagger)
    out = tmp_path / "out.parquet"
    failed = _run("nv", _csv(tmp_path), "--out", out, "--tagger", "spacy")
    assert isinstance(failed.exception, SpecError)
    assert "en_core_web_sm" in failed.exception.fix
    assert _run("nv", _csv(tmp_path), "--out", out, "--tagger", "embedded").exit_code == 0
    failed = _run("bat", _csv(tmp_path), "--out", tmp_path / "out.parquet", "--size", "4")
    assert isinstance(failed.exception, SpecError)
    assert _run("rhyme", _csv(tmp_path), "--out", tmp_path / "out.parquet").exit_code == 2
