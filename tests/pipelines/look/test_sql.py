"""SQL over a corpus's manifests: what it answers, what it refuses, and how that is told."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipelines.cli.app import present
from pipelines.cli.look.sql import sql_command
from pipelines.look.sql.database import Database, describe_tables
from synth.base.errors import CorpusError, SpecError
from synth.corpus.corpus import Corpus
from synth.scene.scene import from_json
from synth.scene.timeline import timeline
from tests.kit.tables import read_data

PAGE = Path(__file__).resolve().parents[3] / "docs" / "manifests.md"
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def ask(folder: Path, query: str | None, rows: int | None, out: Path | None, as_json: bool) -> None:
    """What `segue sql` prints."""
    present(sql_command)(corpus=folder, query=query, rows=rows, out=out, as_json=as_json)


@pytest.fixture(scope="module")
def folder(manifests: Path) -> Path:
    return manifests


@pytest.fixture(scope="module")
def database(folder: Path) -> Iterator[Database]:
    with Database.open(folder) as found:
        yield found


@pytest.fixture
def plan_only(folder: Path, tmp_path: Path) -> Path:
    """The manifests of a plan that was not rendered."""
    copy = tmp_path / "planned"
    copy.mkdir()
    for name in ("plan", "clips", "quarantine", "shards"):
        file = Corpus.open(folder).folder / f"{name}.parquet"
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def answered(database: Database, query: str) -> list[tuple[object, ...]]:
    with database.ask(query) as answer:
        return [tuple(row.values()) for row in answer.read_rows()[0]]


def refused(database: Database, query: str) -> SpecError:
    with pytest.raises(SpecError) as caught, database.ask(query) as answer:
        answer.read_rows()
    assert caught.value.fix
    return caught.value


def test_every_table_and_column_is_described_and_on_the_page(database: Database) -> None:
    assert [table.name for table in database.tables] == [table.name for table in describe_tables()]
    page = PAGE.read_text(encoding="utf-8")
    for table in database.tables:
        columns = database.list_columns(table)
        assert [column.name for column in columns] == list(table.columns)
        section = page.partition(f"### `{table.name}`\n\n{table.about}\n")[2].partition("\n#")[0]
        documented = re.findall(r"^\| `(\w+)` \| (\S+) \| (.+) \|$", section, re.MULTILINE)
        # Of a rendered sample the page lists what a planned one has not.
        repeated = describe_tables()[1].columns if table.name == "samples" else ()
        assert documented == [
            (each.name, each.outer_type, table.columns[each.name])
            for each in columns
            if each.name not in repeated
        ]


def test_manifests_hold_what_the_files_hold(database: Database, folder: Path) -> None:
    for name in ("samples", "plan", "clips", "quarantine", "shards"):
        file = pq.read_table(Corpus.open(folder).folder / f"{name}.parquet")
        assert answered(database, f"SELECT count(*) FROM {name}") == [(file.num_rows,)]


def test_events_are_those_of_the_timelines(database: Database, folder: Path) -> None:
    expected = [
        (row["id"], place, each.label, each.excerpt.clip, each.onset, each.offset)
        for row in Corpus.open(folder).samples().to_pylist()
        for place, each in enumerate(timeline(from_json(json.loads(row["scene"]))).placements, 1)
    ]
    columns = 'sample, place, label, clip, onset, "offset"'
    assert answered(database, f"SELECT {columns} FROM events ORDER BY sample, place") == sorted(
        expected
    )
    wrong = "SELECT count(*) FROM events WHERE abs(onset_s * 16000 - onset) > 1e-6"
    assert answered(database, wrong) == [(0,)]


def test_captions_are_all_sentences_with_their_roles(database: Database, folder: Path) -> None:
    row = Corpus.open(folder).samples().to_pylist()[5]
    expected = [("main", 1, row["caption"], "caption", row["relation"])]
    for role, column in (("negative", "negatives"), ("positive", "positives")):
        expected += [
            (role, place, each["text"], each["kind"], each["connective"])
            for place, each in enumerate(row[column], 1)
        ]
    assert len(expected) > 2
    query = (
        "SELECT role, place, text, kind, connective FROM captions "
        f"WHERE sample = '{row['id']}' ORDER BY role, place"
    )
    assert answered(database, query) == expected


def test_receipts_say_what_made_each_shard(database: Database, folder: Path) -> None:
    corpus = Corpus.open(folder)
    query = "SELECT shard, bytes, sha256, libraries['numpy'] FROM receipts ORDER BY shard"
    found = answered(database, query)
    assert len(found) == 12
    for shard, size, sha256, numpy in found:
        receipt = json.loads(corpus.receipt(str(shard)).read_bytes())
        assert (size, sha256) == (receipt["bytes"], receipt["sha256"])
        assert numpy == receipt["libraries"]["numpy"]


@pytest.mark.parametrize("query", EXAMPLES)
def test_the_examples_of_the_page_work(database: Database, query: str) -> None:
    with database.ask(query) as answer:
        rows, total = answer.read_rows()
    assert len(rows) == total
    if "ANTI JOIN" not in query:  # all clips of the tiny corpus may be heard
        assert total > 0


def test_what_is_heard_first_is_first_in_time(database: Database, folder: Path) -> None:
    first = Counter()
    for row in Corpus.open(folder).samples().to_pylist():
        one, other = sorted(
            timeline(from_json(json.loads(row["scene"]))).placements, key=lambda each: each.onset
        )
        if one.onset < other.onset:
            first[one.label] += 1
    (query,) = (query for query in EXAMPLES if "ANTI JOIN events o" in query)
    assert dict(answered(database, query)) == first
    assert 0 < first.total() < 144


def test_whatever_is_no_query_is_refused(database: Database, tmp_path: Path) -> None:
    statements = ["COPY plan TO '{}'", "COPY (SELECT 1) TO '{}' (FORMAT parquet)", "ATTACH '{}'"]
    statements += ["EXPORT DATABASE '{}'", "INSTALL httpfs", "LOAD httpfs", "", "-- nothing"]
    statements += ["SET enable_external_access = true", "CREATE TABLE mine AS SELECT 1"]
    statements += ["DROP VIEW plan", "PRAGMA database_list", "EXPLAIN ANALYZE SELECT 1"]
    for statement in (*statements, "SELECT 1; DROP VIEW plan"):
        refused(database, statement.format(tmp_path / "written"))
        assert list(tmp_path.iterdir()) == []
        assert answered(database, "SELECT count(*) FROM plan") == [(144,)], statement


def test_no_other_file_can_be_read(database: Database, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nopen-sesame\n")
    readers = ["read_csv", "read_text", "read_blob", "read_parquet", "read_json", "glob"]
    places = [f"{reader}('{secret}')" for reader in (*readers, "parquet_metadata", "sniff_csv")]
    places += [f"'{secret}'", "read_csv('https://example.org/a.csv')"]
    for place in (*places, f"query('COPY plan TO ''{secret}''')"):
        assert "open-sesame" not in str(refused(database, f"SELECT * FROM {place}"))
        assert secret.read_text() == "word\nopen-sesame\n"
    (tmp_path / "secret.json").write_text('{"open-sesame": 1}')
    for way in ("", "../../", "../../../../../../../../../../.."):  # by the views' own functions
        query = f"SELECT receipts_of('{way}{tmp_path / 'secret'}')"
        assert answered(database, query) == [([],)]


def test_a_receipt_that_leads_out_is_not_read(plan_only: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    told = {"split": "train", "samples": 1, "digest": "open-sesame", "bytes": 1, "sha256": "x"}
    secret.write_text(json.dumps({"shard": "x.tar", "libraries": {}} | told))
    link = plan_only / "receipts" / "x.tar.json"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(secret)
    try:
        with Database.open(plan_only) as opened:
            assert answered(opened, "SELECT receipts_of('x.tar')") == [([],)]
            assert answered(opened, "SELECT receipts_of('x' || chr(0) || '.tar')") == [([],)]
    finally:
        link.unlink()


def test_what_fails_is_told_with_the_nearest_names(database: Database) -> None:
    column = refused(database, "SELECT captin FROM plan")
    assert '"captin" not found' in column.message
    assert '"caption"' in column.fix
    table = refused(database, "SELECT * FROM plann")
    assert "plann does not exist" in table.message
    assert "did you mean plan?" in table.fix
    assert "LINE 1" in refused(database, "SELECT FROM WHERE").message
    assert "does not exist" in refused(database, "SELECT * FROM EXAMPLES").message
    failing = "SELECT CASE WHEN i = 9999 THEN error('so it ends') END FROM range(10000) t(i)"
    assert refused(database, failing).message == "query: so it ends"
    assert answered(database, "SELECT 1") == [(1,)]


def test_rows_are_counted_and_plain(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(folder, "SELECT id FROM plan ORDER BY id", 50, None, as_json=False)
    shown = capsys.readouterr().out
    assert shown.count("tiny-") == 50
    assert "50 of 144 rows, 94 more: --rows 0 prints all" in shown
    ask(folder, "SELECT id FROM plan", 0, None, as_json=False)
    whole = capsys.readouterr().out
    assert whole.count("tiny-") == 144
    assert "144 rows" in whole
    ask(folder, "SELECT * FROM samples ORDER BY id", 1, None, as_json=False)
    record = capsys.readouterr().out
    assert all(name in record for name in ("peak_db", "notation", "1 of 144 rows"))
    ask(folder, "SELECT 'a' || chr(27) || '[31mb' AS text", 0, None, as_json=False)
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert r"a\x1b[31mb" in shown


def test_json_is_one_line_with_all_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT sum(frames) AS n, sum(frames) AS n, 1 / 0 AS x, '\\x01'::BLOB AS b FROM plan"
    ask(folder, query, 0, None, as_json=True)
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line, parse_constant=pytest.fail)
    assert found["rows"] == [{"n": 144 * 32000, "n_1": 144 * 32000, "x": "inf", "b": "AQ=="}]
    types = " ".join(column["type"] for column in found["columns"])
    assert types == "HUGEINT HUGEINT DOUBLE BLOB"
    ask(folder, "SELECT id FROM plan", 2, None, as_json=True)
    some = json.loads(capsys.readouterr().out)
    assert (len(some["rows"]), some["total"]) == (2, 144)


def test_a_value_that_would_be_told_wrongly_is_refused(database: Database, tmp_path: Path) -> None:
    for value, told in read_data("look/refused_values.yaml"):
        query = f"SELECT {value} AS v"
        assert f"column 'v' {told}" in refused(database, query).message
        with pytest.raises(SpecError, match=told), database.ask(query) as answer:
            answer.write(tmp_path / "out.csv")
        assert not any(tmp_path.iterdir())
        assert answered(database, f'SELECT "v"::VARCHAR FROM ({query})')


def test_an_answer_is_written_whole(folder: Path, tmp_path: Path) -> None:
    ask(folder, "SELECT * FROM samples", 0, tmp_path / "all.parquet", as_json=True)
    written = pq.read_table(tmp_path / "all.parquet")
    assert written.to_pylist() == Corpus.open(folder).samples().to_pylist()
    ask(folder, "SELECT id, labels FROM plan", 0, tmp_path / "all.csv", as_json=True)
    lines = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text())))
    assert [json.loads(line["labels"]) for line in lines] == written["labels"].to_pylist()
    ask(folder, "SELECT id FROM plan WHERE false", 0, tmp_path / "none.parquet", as_json=True)
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0


def test_what_cannot_be_written_leaves_what_was_there(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    out.write_text("mine")
    with pytest.raises(SpecError, match="cast such a column"):
        ask(folder, "SELECT INTERVAL 1 DAY AS span", 0, out, as_json=False)
    with pytest.raises(SpecError, match="not here"):
        ask(folder, "SELECT error('not here') FROM plan", 0, out, as_json=False)
    with pytest.raises(SpecError, match="Parquet or CSV"):
        ask(folder, "SELECT 1", 0, tmp_path / "out.xlsx", as_json=False)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [
        ("out.parquet", "mine")
    ]


def test_no_file_of_a_corpus_is_written_over(folder: Path) -> None:
    corpus = Corpus.open(folder)
    for place in (corpus.folder, corpus.shards):
        before = (place / "samples.parquet").read_bytes()
        with pytest.raises(SpecError, match="among a corpus's files"):
            ask(folder, "SELECT 1 AS a", 0, place / "samples.parquet", as_json=False)
        assert (place / "samples.parquet").read_bytes() == before


def test_a_plan_lacks_samples_only(plan_only: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ask(plan_only, None, None, None, as_json=True)
    listed = json.loads(capsys.readouterr().out)
    assert list(listed) == [table.name for table in describe_tables() if table.name != "samples"]
    assert listed["plan"]["columns"][0]["about"] == "Key of the sample in its shard."
    with Database.open(plan_only) as database:
        assert answered(database, "SELECT count(*) FROM events") == [(288,)]
        assert answered(database, "SELECT count(*) FROM receipts") == [(0,)]
        refused(database, "SELECT * FROM samples")


def test_damaged_manifests_and_receipts_are_told(plan_only: Path) -> None:
    (plan_only / "receipts").mkdir()
    (plan_only / "receipts" / "tiny-train-000000.tar.json").write_text("{")
    with Database.open(plan_only) as database:
        assert answered(database, "SELECT count(*) FROM shards") == [(12,)]
        damaged = refused(database, "SELECT * FROM receipts")
    assert damaged.message.startswith(f"query: {plan_only}/receipts/tiny-train-000000.tar.json: ")
    (plan_only / "clips.parquet").write_text("no Parquet")
    with pytest.raises(CorpusError, match=r"clips\.parquet: damaged"):
        ask(plan_only, "SELECT 1", 0, None, as_json=False)


def test_a_corpus_at_a_url_is_asked_as_one_here(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    with Database.open(Path(f"file://{folder}")) as database:
        assert answered(database, "SELECT count(*), min(bytes) > 0 FROM receipts") == [(12, True)]


def test_a_query_comes_from_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("select 6 * 7 as n"))
    ask(folder, "-", 0, None, as_json=True)
    assert json.loads(capsys.readouterr().out)["rows"] == [{"n": 42}]
