"""A corpus from a stranger: checked when it is opened, each fault told in one clear line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from browsing import edited, variant
from builds import TINY, merged, segue

from pipelines.build.build import build
from pipelines.checks.audit import audit
from pipelines.export.corpus import export_corpus
from pipelines.look.inspection import draw, rebuild
from pipelines.spec.spec import Spec
from pipelines.store.manifest import find_manifest
from synth.base.errors import CorpusError, SceneError
from synth.corpus.corpus import CORPUS_FILE, LATEST_FILE, SAMPLES_FILE, Corpus

Row = dict[str, Any]
Change = Callable[[Row], Row]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    root = tmp_path_factory.mktemp("opening")
    spec = merged(TINY, {"source": {"foley": {"classes": ["dog", "rain"], "takes": 5}}})
    build(Spec.model_validate(spec), root, worker_count=0)
    return Corpus.open(root / "data_manifests" / "tiny")


def third(change: Change) -> Change:
    """Changes the third sample alone."""
    return lambda row: row | change(row) if row["index"] == 2 else row


def nested(depth: int) -> str:
    return '{"sequence":[' * depth + '{"event":"dog"}' + "]}" * depth


OUTSIDE = "../../../outside"
SENTENCE = {"text": "a", "kind": "reorder", "connective": "", "generator": "rules"}
FAULTS: dict[str, tuple[Change, str]] = {
    "id": (lambda row: {"id": OUTSIDE, "member": f"{OUTSIDE}.flac"}, "id"),
    "absolute id": (lambda row: {"id": "/tmp/outside"}, "id"),
    "line break in id": (lambda row: {"id": "a\n", "member": "a\n.flac"}, "id"),
    "NUL in id": (lambda row: {"id": "a\0b"}, "id"),
    "long id": (lambda row: {"id": "a" * 300}, "id"),
    "member": (lambda row: {"member": f"x/{OUTSIDE}.flac"}, "member"),
    "kind of member": (lambda row: {"member": f"{row['id']}.exe"}, "member"),
    "shard": (lambda row: {"shard": f"{OUTSIDE}.tar"}, "shard"),
    "kind of shard": (lambda row: {"shard": "id_rsa"}, "shard"),
    "split": (lambda row: {"split": OUTSIDE}, "split"),
    "split that the corpus lacks": (lambda row: {"split": "val"}, "split"),
    "negative offset": (lambda row: {"offset": -1}, "offset"),
    "negative size": (lambda row: {"size": -5}, "size"),
    "huge size": (lambda row: {"size": 2**45}, "size"),
    "huge offset": (lambda row: {"offset": 2**63 - 1}, "offset"),
    "end beyond the shard": (lambda row: {"offset": 1 << 24}, "offset"),
    "frames": (lambda row: {"frames": -1}, "frames"),
    "rate": (lambda row: {"sample_rate": 0}, "sample_rate"),
    "deep scene": (lambda row: {"scene": nested(5000)}, "scene"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_row_that_cannot_be_is_refused_when_the_corpus_is_opened(
    corpus: Corpus, tmp_path: Path, name: str
) -> None:
    change, column = FAULTS[name]
    folder = variant(corpus, tmp_path / "version", edited(third(change)))
    for opening in (Corpus.open, find_manifest):
        with pytest.raises(CorpusError) as caught:
            opening(folder)
        assert f"{SAMPLES_FILE}: row 2" in caught.value.message
        assert f"{column} " in caught.value.message
        assert "expected" in caught.value.message
        assert caught.value.fix
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 600


def test_a_row_past_the_first_batch_is_told_by_its_number(corpus: Corpus, tmp_path: Path) -> None:
    folder = variant(
        corpus, tmp_path / "version", edited(lambda row: row | third(FAULTS["id"][0])(row))
    )
    table = pq.read_table(folder / SAMPLES_FILE)
    good = pq.read_table(corpus.folder / SAMPLES_FILE)
    many = pa.concat_tables([*[good] * 20, table])
    pq.write_table(many, folder / SAMPLES_FILE, row_group_size=100)
    with pytest.raises(CorpusError, match=f"row {20 * good.num_rows + 2} "):
        Corpus.open(folder)


@pytest.mark.parametrize("to", ["esc", "lhotse", "jams", "dcase"])
@pytest.mark.parametrize("name", ["id", "member", "shard", "split"])
def test_an_export_writes_nothing_outside_its_folder(
    corpus: Corpus, tmp_path: Path, name: str, to: str
) -> None:
    folder = variant(corpus, tmp_path / "version", edited(third(FAULTS[name][0])))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CorpusError, match="row 2"):
        export_corpus(Corpus.open(folder), to, tmp_path / "a" / "b" / "out")
    assert sorted(tmp_path.rglob("*")) == before


def test_inspect_saves_nothing_outside_its_folder(corpus: Corpus, tmp_path: Path) -> None:
    folder = variant(corpus, tmp_path / "version", edited(third(FAULTS["id"][0])))
    out = tmp_path / "a" / "b" / "c"
    out.mkdir(parents=True)

    def save() -> None:
        for row in draw(folder, 144):
            rebuild(Corpus.open(folder), row, out)

    with pytest.raises(CorpusError, match="row 2"):
        save()
    assert not list(tmp_path.rglob("*.wav"))


FACTS: dict[str, tuple[str, str]] = {
    "garbage": ("{garbage", "is no JSON"),
    "no text": ("\x00\x01", "is no JSON"),
    "a list": ("[1, 2]", "an object"),
    "nothing": ("{}", "lacks 'corpus'"),
    "deep": ("[" * 100_000, "is no JSON"),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_garbage_corpus_json_is_one_line(corpus: Corpus, tmp_path: Path, name: str) -> None:
    text, said = FACTS[name]
    folder = variant(corpus, tmp_path / "version", lambda table: table)
    (folder / CORPUS_FILE).write_text(text, encoding="utf-8")
    for opening in (Corpus.open, find_manifest, audit):
        with pytest.raises(CorpusError) as caught:
            opening(folder)
        assert CORPUS_FILE in caught.value.message
        assert said in caught.value.message
        assert caught.value.fix


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("corpus", "../x"),
        ("corpus", 7),
        ("version", "a/b"),
        ("splits", 7),
        ("splits", {"../x": {}}),
        ("sample_rate", "16000"),
        ("sample_rate", 0),
        ("shards", ["x"]),
        ("shards", "a\0b"),
        ("bank", None),
        ("digest", 3),
    ],
)
def test_a_fact_of_the_wrong_kind_is_named(
    corpus: Corpus, tmp_path: Path, key: str, value: Any
) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table)
    facts = dict(corpus.facts) | {key: value}
    (folder / CORPUS_FILE).write_text(json.dumps(facts), encoding="utf-8")
    with pytest.raises(CorpusError, match=f"corpus.json: {key} .*: expected"):
        Corpus.open(folder)


def test_a_missing_column_and_one_of_another_type_are_named(corpus: Corpus, tmp_path: Path) -> None:
    lacks = variant(corpus, tmp_path / "a", lambda table: table.drop_columns(["member"]))
    with pytest.raises(CorpusError, match=r"samples\.parquet: lacks the column 'member'"):
        Corpus.open(lacks)
    other = variant(
        corpus,
        tmp_path / "b",
        lambda table: table.set_column(
            table.schema.get_field_index("size"), "size", table["size"].cast(pa.string())
        ),
    )
    with pytest.raises(CorpusError, match=r"samples\.parquet: column 'size' .*: expected int64"):
        Corpus.open(other)


def test_a_missing_value_is_named(corpus: Corpus, tmp_path: Path) -> None:
    def change(table: pa.Table) -> pa.Table:
        ids = table["caption"].to_pylist()
        ids[2] = None
        return table.set_column(
            table.schema.get_field_index("caption"), "caption", pa.array(ids, pa.string())
        )

    with pytest.raises(CorpusError, match=r"row 2 .*: caption is missing: expected a value"):
        Corpus.open(variant(corpus, tmp_path / "v", change))


@pytest.mark.parametrize("text", ["../elsewhere", "/tmp", "a\0b", ""])
def test_latest_names_a_folder_beside_it(corpus: Corpus, tmp_path: Path, text: str) -> None:
    variant(corpus, tmp_path / "elsewhere", lambda table: table)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / LATEST_FILE).write_text(text, encoding="utf-8")
    for opening in (Corpus.open, find_manifest):
        with pytest.raises(CorpusError, match="latest: "):
            opening(tmp_path / "here")


def test_too_little_memory_is_one_line(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table)

    def starve(*_: Any, **__: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(pq, "ParquetFile", starve)
    with pytest.raises(CorpusError, match=r"samples\.parquet: .*memory"):
        Corpus.open(folder)


def test_a_plan_is_checked_too(corpus: Corpus, tmp_path: Path) -> None:
    folder = tmp_path / "version"
    folder.mkdir()
    table = pq.read_table(corpus.folder / "plan.parquet")
    pq.write_table(edited(third(FAULTS["split"][0]))(table), folder / "plan.parquet")
    with pytest.raises(CorpusError, match=r"plan\.parquet: row 2.*split"):
        find_manifest(folder)


@pytest.mark.parametrize(
    "text", [nested(5000), '{"not":' * 5000, '{"not":' * 600, "{garbage", "[1"]
)
def test_a_claim_that_cannot_be_read_is_one_line(corpus: Corpus, tmp_path: Path, text: str) -> None:
    text += "}" * text.count('{"not":')
    for column in ("claim", "negatives"):
        value = text if column == "claim" else [SENTENCE | {"claim": text}]
        change = third(lambda row, column=column, value=value: {column: value})  # type: ignore[misc]
        with pytest.raises(SceneError):
            audit(variant(corpus, tmp_path / column, edited(change)))


def test_audit_of_a_garbage_corpus_json_fails(corpus: Corpus, tmp_path: Path) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table)
    (folder / CORPUS_FILE).write_text(json.dumps([1]), encoding="utf-8")
    done = segue("audit", folder)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "fix:" in done.stderr
