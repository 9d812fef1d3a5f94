"""A corpus from a stranger: checked when it is opened, each fault told in one clear line."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.builder.build import build
from pipelines.checks.audit import audit
from pipelines.config.spec import Spec
from pipelines.export import export_corpus
from pipelines.look.inspection import verify
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
from synth.export.folder import Folder, Writer
from tests.kit.browsing import edited, served, variant
from tests.kit.builds import TINY, UNCERTIFIED, merged, segue_here
from tests.kit.cases import cases
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


@pytest.fixture
def folder(corpus: Corpus, tmp_path: Path) -> Path:
    """A copy of its manifests, that may be changed."""
    return variant(corpus, tmp_path / "version", lambda table: table)


def check_refusal(folder: Path, said: str) -> None:
    """See that whoever opens a corpus is told what is wrong, in one line and with a fix."""
    for opening in (Corpus.open, find_manifest):
        with pytest.raises(CorpusError, match=said) as caught:
            opening(folder)
        assert caught.value.fix
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 600


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(path)), path)


def loosen(field: pa.Field) -> pa.Field:
    """The same field, in which any value may be missing."""
    kind = field.type
    if pa.types.is_list(kind):
        kind = pa.list_(loosen(kind.value_field))
    elif pa.types.is_struct(kind):
        kind = pa.struct([loosen(each) for each in kind])
    return pa.field(field.name, kind)


def put(column: str, value: Any, at: int = 2) -> Callable[[pa.Table], pa.Table]:
    """Gives a row another value."""

    def change(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        rows[at][column] = value
        return pa.Table.from_pylist(rows, schema=pa.schema(map(loosen, table.schema)))

    return change


def put_segments(*stretches: tuple[int, int]) -> Callable[[pa.Table], pa.Table]:
    """Gives the second clip of a catalogue other segments."""
    return put("segments", [{"onset": on, "offset": off} for on, off in stretches], at=1)


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


@cases("name", FAULTS)
def test_a_row_that_cannot_be_is_refused_when_the_corpus_is_opened(
    corpus: Corpus, tmp_path: Path, name: str
) -> None:
    change, column = FAULTS[name]
    folder = variant(corpus, tmp_path / "version", edited(third(change)))
    check_refusal(folder, f"{SAMPLES_FILE}: row 2.*{column} .*expected")


@cases("name", ["../out.txt", "/tmp/out.txt", "a/../../out.txt"])
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
        check_refusal(folder, f"row {second} .*{names[other]}.*id is also that of row {first}")

    def mix(table: pa.Table) -> pa.Table:
        return table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))

    folder = variant(corpus, tmp_path / "mixed", mix)
    assert Corpus.open(folder).samples().num_rows == corpus.samples().num_rows
    # A row past the first batch is told by its number.
    bad = pq.read_table(
        variant(corpus, tmp_path / "bad", edited(third(FAULTS["id"][0]))) / SAMPLES_FILE
    )
    good = pq.read_table(corpus.folder / SAMPLES_FILE)
    pq.write_table(pa.concat_tables([*[good] * 20, bad]), folder / SAMPLES_FILE, row_group_size=100)
    with pytest.raises(CorpusError, match=f"row {20 * good.num_rows + 2} "):
        Corpus.open(folder)


def copy(corpus: Corpus, folder: Path) -> Path:
    """A copy of its manifests, with its receipts, that finds its shards."""
    shutil.copytree(corpus.folder, folder, ignore=UNCERTIFIED)
    told = dict(corpus.facts) | {"shards": str(corpus.shards)}
    (folder / CORPUS_FILE).write_text(json.dumps(told), encoding="utf-8")
    return folder


@cases(
    ("text", "said"),
    [
        ("{garbage", "is not JSON"),
        ("\x00\x01", "is not JSON"),
        ("[1, 2]", "an object"),
        ("{}", "lacks 'corpus'"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_garbage_corpus_json_is_one_line(
    corpus: Corpus, tmp_path: Path, text: str, said: str
) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table)
    (folder / CORPUS_FILE).write_text(text, encoding="utf-8")
    check_refusal(folder, f"{CORPUS_FILE}.*{said}")
    with pytest.raises(CorpusError, match=said):
        audit(folder)


BAD_SPLITS = (("../x", {}), ("train", 5), ("train", {"samples": "x"}), ("train", {"samples": 1}))
WRONG_FACTS: dict[str, tuple[Any, ...]] = {
    "corpus": ("../x", 7),
    "version": ("a/b",),
    "splits": (7, *({name: told} for name, told in BAD_SPLITS)),
    "sample_rate": ("16000", 0, 768_001),
    "shards": (["x"], "a\0b", "a" * 300),
    "bank": (None, "a/" * 5000),
    "digest": (3,),
    "peak_db": (float("nan"), 10**400, 1),
    "licences": ([], None, {"a": "x"}),
    "licence": (5,),
    "algorithms": ([1], {"plan": None}),
    "libraries": (5, [{"numpy": 2}]),
    "hours": (float("inf"),),
    "format_version": ("2", 4),
}


def test_a_fact_of_the_wrong_kind_is_named(corpus: Corpus, folder: Path) -> None:
    for key, values in WRONG_FACTS.items():
        for value in values:
            facts = dict(corpus.facts) | {key: value}
            (folder / CORPUS_FILE).write_text(json.dumps(facts), encoding="utf-8")
            with pytest.raises(CorpusError, match=f"corpus.json: {key} .*: expected"):
                Corpus.open(folder)


@cases(
    ("facts", "said"),
    [
        (lambda _: {"sample_rate": 8000}, "sample_rate is 16000: expected 8000 Hz"),
        (
            lambda splits: {"splits": {name: told | {"samples": 1} for name, told in splits}},
            "has .* samples: expected",
        ),
    ],
)
def test_facts_that_the_samples_contradict_are_refused(
    corpus: Corpus, tmp_path: Path, facts: Any, said: str
) -> None:
    told = facts(corpus.facts["splits"].items())
    check_refusal(variant(corpus, tmp_path / "version", lambda table: table, **told), said)


def add_ids(table: pa.Table) -> pa.Table:
    return table.append_column("id", table["id"])


def tell_size_as_text(table: pa.Table) -> pa.Table:
    at = table.schema.get_field_index("size")
    return table.set_column(at, "size", table["size"].cast(pa.string()))


def overflow_places(table: pa.Table) -> pa.Table:
    """Places of 32 bits, whose sum needs more."""
    for name in ("offset", "size"):
        values = [(1 << 31) - 1 if at == 2 else 1 for at in range(table.num_rows)]
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, pa.array(values, pa.int32()))
    return table


def say_audible(value: str) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.replace_schema_metadata({AUDIBLE: value})


READ = SENTENCE | {"claim": "{}"}
NO_VALUE = r"row 2 .*: {} is missing: expected a value"


WRONG_TABLES: list[tuple[str, Callable[[pa.Table], pa.Table], str]] = [
    (CLIPS_FILE, lambda rows: rows.slice(1), "lacks clip .*: its licence is unknown"),
    (CLIPS_FILE, lambda rows: pa.concat_tables([rows, rows[:1]]), "also that of row 0"),
    (CLIPS_FILE, put("sample_rate", 0, 1), "row 1 .*sample_rate is 0"),
    (CLIPS_FILE, put("licence", None, 1), "row 1 .*licence is missing"),
    (CLIPS_FILE, put_segments((5, 5)), "row 1 .*segments is .*none of them empty"),
    (CLIPS_FILE, put_segments((-1, 5)), "row 1 .*segments is .*apart and in order"),
    (CLIPS_FILE, put_segments((50, 60), (10, 20)), "segments is .*apart and in order"),
    (CLIPS_FILE, put_segments((10, 20), (20, 30)), "segments is .*apart and in order"),
    (CLIPS_FILE, put_segments((10, 20), (30, 1 << 40)), "segments is .*within the file"),
    (CLIPS_FILE, add_ids, "has the column 'id' twice"),
    (SAMPLES_FILE, add_ids, "has the column 'id' twice"),
    (SAMPLES_FILE, put("clips", []), "row 2: clips is empty"),
    (SAMPLES_FILE, lambda rows: rows.drop_columns(["member"]), "lacks the column 'member'"),
    (SAMPLES_FILE, tell_size_as_text, "column 'size' .*: expected int64"),
    (SAMPLES_FILE, lambda rows: rows.slice(0, 0), "has no rows"),
    (SAMPLES_FILE, overflow_places, "row 2 .*: offset is 2147483647: expected 2147483647 "),
    *(
        (SAMPLES_FILE, say_audible(value), "audible_frames of its metadata is")
        for value in ("x", "", "-1", "1.5", "9" * 5000)
    ),
    *(
        (SAMPLES_FILE, put(column, value), NO_VALUE.format(column))
        for column, value in (
            ("caption", None),
            ("positives", None),
            ("negatives", [None]),
            ("negatives", [SENTENCE | {"claim": None}]),
            ("positives", [READ, READ | {"text": None}]),
            ("labels", None),
            ("clips", ["a", None]),
        )
    ),
]


@cases(("file", "change", "said"), WRONG_TABLES)
def test_a_table_that_cannot_be_is_refused(
    corpus: Corpus, tmp_path: Path, file: str, change: Callable[[pa.Table], pa.Table], said: str
) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table)
    rewrite(folder / file, change)
    check_refusal(folder, f"{file}: .*{said}")


def test_segments_that_lie_apart_are_good(folder: Path) -> None:
    for stretches in ([], [(0, 1)], [(10, 20), (30, 40)]):
        rewrite(folder / CLIPS_FILE, put_segments(*stretches))
        Corpus.open(folder)


@cases("key", ["shards", "bank"])
def test_a_link_to_itself_is_one_line(corpus: Corpus, tmp_path: Path, key: str) -> None:
    folder = variant(corpus, tmp_path / "version", lambda table: table, **{key: "loop"})
    (folder / "loop").symlink_to("loop")
    with pytest.raises(CorpusError, match=r"corpus\.json: damaged"):
        Corpus.open(folder)


def test_a_shard_that_the_list_of_shards_lacks_is_told(corpus: Corpus, folder: Path) -> None:
    table = pq.read_table(corpus.folder / "shards.parquet")
    pq.write_table(table, folder / "shards.parquet")
    Corpus.open(folder)
    pq.write_table(table.slice(1), folder / "shards.parquet")
    with pytest.raises(CorpusError, match=r"shards\.parquet: says .* has 0 samples"):
        Corpus.open(folder)


@pytest.mark.slow
def test_a_corpus_of_before_there_were_segments_is_read_by_all(
    corpus: Corpus, tmp_path: Path
) -> None:
    version = copy(corpus, tmp_path / "old")
    rewrite(version / CLIPS_FILE, lambda table: table.drop_columns(["levels_dba", "segments"]))
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


def test_a_manifest_that_is_a_pipe_is_not_read(folder: Path) -> None:
    for file in (SAMPLES_FILE, CLIPS_FILE):
        (folder / file).rename(folder / "kept")
        os.mkfifo(folder / file)
        with pytest.raises(CorpusError, match=f"{file}: is not a regular file"):
            Corpus.open(folder)
        (folder / file).unlink()
        (folder / "kept").rename(folder / file)


@cases("text", ["../elsewhere", "/tmp", "a\0b", ""])
def test_latest_names_a_folder_beside_it(corpus: Corpus, tmp_path: Path, text: str) -> None:
    variant(corpus, tmp_path / "elsewhere", lambda table: table)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / LATEST_FILE).write_text(text, encoding="utf-8")
    check_refusal(tmp_path / "here", "latest: ")


def test_too_little_memory_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:

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


@cases("text", [nested(5000), '{"not":' * 5000, '{"not":' * 600, "{garbage", "[1"])
def test_a_claim_that_cannot_be_read_is_one_line(corpus: Corpus, tmp_path: Path, text: str) -> None:
    text += "}" * text.count('{"not":')
    for column in ("claim", "negatives"):
        value = text if column == "claim" else [SENTENCE | {"claim": text}]
        change = third(lambda row, column=column, value=value: {column: value})  # type: ignore[misc]
        with pytest.raises(SceneError):
            audit(variant(corpus, tmp_path / column, edited(change)))


RECEIPT = {"shard": "a.tar", "split": "train", "samples": 1, "digest": "", "bytes": 1} | {
    "libraries": {},
    "measurements": "",
}


@cases(
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
    folder = copy(corpus, tmp_path / "version")
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
    corpus: Corpus, folder: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("open-sesame")
    (folder / ATTRIBUTION_FILE).symlink_to(secret)
    with pytest.raises(CorpusError, match=r"ATTRIBUTION\.csv: is a link that leads out"):
        export_corpus(Corpus.open(folder), "jams", tmp_path / "out")
    texts = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(b"open-sesame" in text for text in texts)


def test_a_shard_that_is_no_regular_file_is_not_read(corpus: Corpus, tmp_path: Path) -> None:
    shards = tmp_path / "shards"
    shutil.copytree(corpus.shards, shards)
    folder = copy(
        replace(corpus, facts=corpus.facts | {"shards": str(shards)}), tmp_path / "version"
    )
    for make in (lambda path: path.symlink_to("/dev/zero"), os.mkfifo):
        for path in shards.rglob("*.tar"):
            path.unlink()
            make(path)
            with pytest.raises(CorpusError, match="is not a regular file"):
                read_member(path, 512, 10)
        with pytest.raises(CorpusError, match="is not a regular file"):
            Corpus.open(folder)
