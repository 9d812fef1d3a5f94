"""A corpus from a stranger: checked when it is opened, each fault told in one clear line."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from browsing import edited, served, variant
from builds import TINY, UNCERTIFIED, merged, segue_here

from pipelines.builder.build import build
from pipelines.checks.audit import audit
from pipelines.config.spec import Spec
from pipelines.export import export_corpus
from pipelines.look.browse.drawing import _place_ticks
from pipelines.look.inspection import draw, rebuild, verify
from pipelines.store.places import find_manifest
from synth.base.errors import CorpusError, SceneError
from synth.corpus.corpus import (
    ATTRIBUTION_FILE,
    CLIPS_FILE,
    CORPUS_FILE,
    LATEST_FILE,
    SAMPLES_FILE,
    Corpus,
)
from synth.corpus.schema import AUDIBLE
from synth.corpus.shards import read_member
from synth.export import FORMATS
from synth.export.folder import Folder, Writer
from train.config.run import AudioMode
from train.data.split import SplitData

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
SENTENCE = {"text": "a", "kind": "reorder", "connective": "", "generator": "rules", "against": ""}
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
    "endless frames": (lambda row: {"frames": 1 << 62}, "frames"),
    "more than a day": (lambda row: {"frames": 86_400 * row["sample_rate"] + 1}, "frames"),
    "high rate": (lambda row: {"sample_rate": 768_001}, "sample_rate"),
    "id of 151 bytes": (lambda row: {"id": "a" * 151}, "id"),
    "a rate of its own": (lambda row: {"sample_rate": 8_000}, "sample_rate"),
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


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("name", ["id", "member", "shard", "split"])
def test_an_export_writes_nothing_outside_its_folder(
    corpus: Corpus, tmp_path: Path, name: str, to: str
) -> None:
    folder = variant(corpus, tmp_path / "version", edited(third(FAULTS[name][0])))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(CorpusError, match="row 2"):
        export_corpus(Corpus.open(folder), to, tmp_path / "a" / "b" / "out")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", "a/../../out.txt"])
def test_a_format_cannot_write_outside_of_the_export(tmp_path: Path, name: str) -> None:
    out = tmp_path / "export"
    with pytest.raises(CorpusError, match="expected a name below"):
        Writer(Folder(out)).write(name, b"data")
    assert not list(tmp_path.rglob("out.txt"))
    out.mkdir(exist_ok=True)
    (tmp_path / "away").mkdir()
    (out / "audio").symlink_to(tmp_path / "away")
    with pytest.raises(CorpusError, match="expected a name below"):
        Writer(Folder(out)).write("audio/out.txt", b"data")
    assert not list(tmp_path.rglob("out.txt"))


def test_an_id_that_occurs_twice_is_told_with_both_rows(corpus: Corpus, tmp_path: Path) -> None:
    names = corpus.samples(columns=["id"]).column("id").to_pylist()
    for at, (row, other) in enumerate([(3, 2), (17, 2), (2, 20)]):

        def change(each: Row, row: int = row, other: int = other) -> Row:
            return each | {"id": names[other]} if each["index"] == row else each

        folder = variant(corpus, tmp_path / str(at), edited(change))
        first, second = sorted((row, other))
        told = f"row {second} .*{names[other]}.*id is also that of row {first}"
        for opening in (Corpus.open, find_manifest):
            with pytest.raises(CorpusError, match=told):
                opening(folder)


def test_places_of_32_bits_are_added_without_overflow(corpus: Corpus, tmp_path: Path) -> None:
    def change(table: pa.Table) -> pa.Table:
        for name in ("offset", "size"):
            values = [(1 << 31) - 1 if at == 2 else 1 for at in range(table.num_rows)]
            at = table.schema.get_field_index(name)
            table = table.set_column(at, name, pa.array(values, pa.int32()))
        return table

    with pytest.raises(CorpusError, match=r"row 2 .*: offset is 2147483647: expected 2147483647 "):
        Corpus.open(variant(corpus, tmp_path / "version", change))


def test_a_timeline_of_any_length_has_few_marks() -> None:
    for seconds in (0.1, 599.0, 6000.0, 6001.0, 86_400.0, float(1 << 62)):
        assert 2 <= len(_place_ticks(seconds)) <= 11


def test_ids_in_any_order_are_good(corpus: Corpus, tmp_path: Path) -> None:
    def mix(table: pa.Table) -> pa.Table:
        return table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))

    folder = variant(corpus, tmp_path / "version", mix)
    assert Corpus.open(folder).samples().num_rows == corpus.samples().num_rows


def test_a_manifest_without_rows_is_one_line(corpus: Corpus, tmp_path: Path) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table.slice(0, 0))
    with pytest.raises(CorpusError, match=r"samples\.parquet: has no rows"):
        Corpus.open(folder)


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
    "garbage": ("{garbage", "is not JSON"),
    "no text": ("\x00\x01", "is not JSON"),
    "a list": ("[1, 2]", "an object"),
    "nothing": ("{}", "lacks 'corpus'"),
    "deep": ("[" * 100_000, "is not JSON"),
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
        ("shards", "a" * 300),
        ("bank", "a/" * 5000),
        ("sample_rate", 768_001),
        ("peak_db", float("nan")),
        ("peak_db", 10**400),
        ("peak_db", 1),
        ("splits", {"train": 5}),
        ("splits", {"train": {"samples": "x"}}),
        ("splits", {"train": {"samples": 1}}),
        ("licences", []),
        ("licences", None),
        ("licences", {"a": "x"}),
        ("licence", 5),
        ("algorithms", [1]),
        ("algorithms", {"plan": None}),
        ("libraries", 5),
        ("libraries", [{"numpy": 2}]),
        ("hours", float("inf")),
        ("format_version", "2"),
        ("format_version", 3),
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


def set_clips(column: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    """Gives the second clip another value."""

    def change(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        rows[1][column] = value
        return pa.Table.from_pylist(rows, schema=pa.schema(map(loosen, table.schema)))

    return change


def make_wrong_counts(corpus: Corpus) -> dict[str, Any]:
    return {split: counts | {"samples": 1} for split, counts in corpus.facts["splits"].items()}


@pytest.mark.parametrize(
    ("file", "change", "facts", "said"),
    [
        (CLIPS_FILE, lambda rows: rows.slice(1), {}, "lacks clip .*: its licence is unknown"),
        (CLIPS_FILE, lambda rows: pa.concat_tables([rows, rows[:1]]), {}, "also that of row 0"),
        (CLIPS_FILE, set_clips("sample_rate", 0), {}, "row 1 .*sample_rate is 0"),
        (CLIPS_FILE, set_clips("licence", None), {}, "row 1 .*licence is missing"),
        (SAMPLES_FILE, edited(third(lambda row: {"clips": []})), {}, "row 2: clips is empty"),
        (CORPUS_FILE, None, {"sample_rate": 8000}, "sample_rate is 16000: expected 8000 Hz"),
        (CORPUS_FILE, None, {"splits": make_wrong_counts}, "has .* samples: expected"),
    ],
)
def test_what_contradicts_itself_is_refused(
    corpus: Corpus, tmp_path: Path, file: str, change: Any, facts: Any, said: str
) -> None:
    told = {key: value(corpus) if callable(value) else value for key, value in facts.items()}
    folder = variant(corpus, tmp_path / "version", lambda table: table, **told)
    if change is not None:
        pq.write_table(change(pq.read_table(folder / file)), folder / file)
    for opening in (Corpus.open, find_manifest):
        with pytest.raises(CorpusError, match=said):
            opening(folder)


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


def test_a_column_that_is_there_twice_is_named(corpus: Corpus, tmp_path: Path) -> None:
    for file in (SAMPLES_FILE, CLIPS_FILE):
        folder = variant(corpus, tmp_path / file, lambda table: table)
        table = pq.read_table(folder / file)
        pq.write_table(table.append_column("id", table["id"]), folder / file)
        with pytest.raises(CorpusError, match=f"{file}: has the column 'id' twice"):
            Corpus.open(folder)


@pytest.mark.parametrize("value", ["x", "", "-1", "1.5", "9" * 5000])
def test_an_audible_overlap_that_is_no_number_is_named(
    corpus: Corpus, tmp_path: Path, value: str
) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table)
    table = pq.read_table(folder / SAMPLES_FILE)
    pq.write_table(table.replace_schema_metadata({AUDIBLE: value}), folder / SAMPLES_FILE)
    for opening in (Corpus.open, find_manifest):
        with pytest.raises(CorpusError, match="audible_frames of its metadata is") as caught:
            opening(folder)
        assert len(str(caught.value)) < 600


@pytest.mark.parametrize("key", ["shards", "bank"])
def test_a_link_to_itself_is_one_line(corpus: Corpus, tmp_path: Path, key: str) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table, **{key: "loop"})
    (folder / "loop").symlink_to("loop")
    with pytest.raises(CorpusError, match=r"corpus\.json: damaged"):
        Corpus.open(folder)


def test_a_shard_that_the_list_of_shards_lacks_is_told(corpus: Corpus, tmp_path: Path) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table)
    table = pq.read_table(corpus.folder / "shards.parquet")
    pq.write_table(table, folder / "shards.parquet")
    Corpus.open(folder)
    pq.write_table(table.slice(1), folder / "shards.parquet")
    with pytest.raises(CorpusError, match=r"shards\.parquet: says .* has 0 samples"):
        Corpus.open(folder)


def write_segments(folder: Path, *second: tuple[int, int]) -> None:
    """Give the second clip of a catalogue other segments."""
    table = pq.read_table(folder / CLIPS_FILE)
    at = table.schema.get_field_index("segments")
    found = table["segments"].to_pylist()
    found[1] = [{"onset": onset, "offset": offset} for onset, offset in second]
    column = pa.array(found, table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), column), folder / CLIPS_FILE)


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([(5, 5)], "none of them empty"),
        ([(-1, 5)], "apart and in order"),
        ([(50, 60), (10, 20)], "apart and in order"),
        ([(10, 20), (20, 30)], "apart and in order"),
        ([(10, 20), (30, 1 << 40)], "within the file"),
    ],
)
def test_segments_that_cannot_be_are_named(
    corpus: Corpus, tmp_path: Path, segments: list[tuple[int, int]], expected: str
) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table)
    write_segments(folder, *segments)
    with pytest.raises(CorpusError, match=rf"clips\.parquet: row 1 .*segments is .*{expected}"):
        Corpus.open(folder)
    for good in ([], [(0, 1)], [(10, 20), (30, 40)]):
        write_segments(folder, *good)
        Corpus.open(folder)


def test_a_corpus_of_before_there_were_segments_is_read_by_all(
    corpus: Corpus, tmp_path: Path
) -> None:
    version = tmp_path / "old"
    shutil.copytree(corpus.folder, version, ignore=UNCERTIFIED)
    table = pq.read_table(version / CLIPS_FILE).drop_columns(["levels_dba", "segments"])
    pq.write_table(table, version / CLIPS_FILE)
    facts = {**corpus.facts, "shards": str(corpus.shards)}
    (version / CORPUS_FILE).write_text(json.dumps(facts), encoding="utf-8")
    old = Corpus.open(version)
    data = SplitData(old, "train", AudioMode.SHARDS)
    assert len(data.sounds(data.rows([0, 1]))) == 2
    assert data.find_clips()
    for name in ("hf", "questions"):
        export_corpus(old, name, tmp_path / name)
    with served(version) as address, urlopen(f"{address}/results") as answer:
        assert answer.status == 200
    for arguments in (
        ("audit", version),
        ("inspect", version),
        ("sql", version, "SELECT count(levels_db) FROM clips"),
        ("diff", version, corpus.folder),
        ("report", version, "--out", tmp_path / "report.html"),
    ):
        done = segue_here(*arguments)
        assert done.returncode == 0, done.stderr


def test_a_manifest_that_is_a_pipe_is_not_read(corpus: Corpus, tmp_path: Path) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table)
    for file in (SAMPLES_FILE, CLIPS_FILE):
        (folder / file).rename(folder / "kept")
        os.mkfifo(folder / file)
        with pytest.raises(CorpusError, match=f"{file}: is not a regular file"):
            Corpus.open(folder)
        (folder / file).unlink()
        (folder / "kept").rename(folder / file)


def test_a_missing_value_is_named(corpus: Corpus, tmp_path: Path) -> None:
    def change(table: pa.Table) -> pa.Table:
        ids = table["caption"].to_pylist()
        ids[2] = None
        return table.set_column(
            table.schema.get_field_index("caption"), "caption", pa.array(ids, pa.string())
        )

    with pytest.raises(CorpusError, match=r"row 2 .*: caption is missing: expected a value"):
        Corpus.open(variant(corpus, tmp_path / "v", change))


NOTHING = SENTENCE | {"claim": None}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("positives", None),
        ("negatives", [None]),
        ("negatives", [NOTHING]),
        ("positives", [SENTENCE | {"claim": "{}"}, SENTENCE | {"claim": "{}", "text": None}]),
        ("labels", None),
        ("clips", ["a", None]),
    ],
)
def test_a_missing_value_in_a_list_is_named(
    corpus: Corpus, tmp_path: Path, column: str, value: Any
) -> None:
    loose = pa.schema([loosen(field) for field in corpus.samples().schema])

    def change(table: pa.Table) -> pa.Table:
        rows = [third(lambda _: {column: value})(row) for row in table.to_pylist()]
        return pa.Table.from_pylist(rows, schema=loose)

    folder = variant(corpus, tmp_path / "version", change)
    with pytest.raises(CorpusError, match=f"row 2 .*: {column} is missing: expected a value"):
        Corpus.open(folder)


def loosen(field: pa.Field) -> pa.Field:
    """The same field, in which any value may be missing."""
    kind = field.type
    if pa.types.is_list(kind):
        kind = pa.list_(loosen(kind.value_field))
    elif pa.types.is_struct(kind):
        kind = pa.struct([loosen(each) for each in kind])
    return pa.field(field.name, kind)


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


RECEIPT = {
    "shard": "a.tar", "split": "train", "samples": 1, "digest": "", "bytes": 1, "libraries": {}
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{garbage", "damaged: "),
        ("\xff", "damaged: "),
        ("[1, 2]", "fields of a receipt"),
        ("{}", "fields of a receipt"),
        ("[" * 100_000, "nested deeper"),
        (json.dumps(RECEIPT | {"sha256": ["x"]}), "sha256 is .*expected str"),
        (None, "missing: expected the receipt"),
    ],
)
def test_a_garbage_receipt_is_one_line(
    corpus: Corpus, tmp_path: Path, text: str | None, said: str
) -> None:
    folder = tmp_path / "version"
    shutil.copytree(corpus.folder, folder, ignore=UNCERTIFIED)
    told = dict(corpus.facts) | {"shards": str(corpus.shards)}
    (folder / CORPUS_FILE).write_text(json.dumps(told), encoding="utf-8")
    opened = Corpus.open(folder)
    path = sorted((folder / "receipts").glob("*.json"))[0]
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="latin-1")
    with pytest.raises(CorpusError, match=f"{path.name}: .*{said}"):
        verify(opened, [])


def test_a_member_that_says_it_is_huge_is_not_read(corpus: Corpus, tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shutil.copytree(corpus.shards, shards)
    for path in shards.rglob("*.tar"):
        data = bytearray(path.read_bytes())
        header = tarfile.TarInfo.frombuf(bytes(data[:512]), "utf-8", "strict")
        header.size = 1 << 40
        data[:512] = header.tobuf(tarfile.GNU_FORMAT)
        path.write_bytes(data)
    folder = variant(corpus, tmp_path / "version", lambda table: table, shards=str(shards))
    with pytest.raises(CorpusError, match=r"damaged: .*bytes: expected \d+ at most"):
        export_corpus(Corpus.open(folder), "jams", tmp_path / "out")


def test_a_ledger_that_is_a_link_out_of_the_corpus_is_not_published(
    corpus: Corpus, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("open-sesame")
    folder = variant(corpus, tmp_path / "version", lambda table: table)
    (folder / ATTRIBUTION_FILE).symlink_to(secret)
    with pytest.raises(CorpusError, match=r"ATTRIBUTION\.csv: is a link that leads out"):
        export_corpus(Corpus.open(folder), "jams", tmp_path / "out")
    texts = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(b"open-sesame" in text for text in texts)


def test_a_shard_that_is_no_regular_file_is_not_read(corpus: Corpus, tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shutil.copytree(corpus.shards, shards)
    for path in shards.rglob("*.tar"):
        path.unlink()
        path.symlink_to("/dev/zero")
    folder = tmp_path / "version"
    shutil.copytree(corpus.folder, folder, ignore=UNCERTIFIED)
    told = dict(corpus.facts) | {"shards": str(shards)}
    (folder / CORPUS_FILE).write_text(json.dumps(told), encoding="utf-8")
    for path in shards.rglob("*.tar"):
        with pytest.raises(CorpusError, match="is not a regular file"):
            read_member(path, 512, 10)
    with pytest.raises(CorpusError, match="is not a regular file"):
        Corpus.open(folder)
    for path in shards.rglob("*.tar"):
        path.unlink()
        os.mkfifo(path)
    with pytest.raises(CorpusError, match="is not a regular file"):
        Corpus.open(folder)
