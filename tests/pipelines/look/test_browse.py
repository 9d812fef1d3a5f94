"""The browse page's answers: pages, filters, audio by range, refusals, errors told clearly."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from html import unescape
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from pipelines.cli.look.browse import browse_command
from pipelines.look.browse.app import PAGE_SIZE, BrowsedCorpus, create_app
from pipelines.look.browse.guard import BusyError, Hosts, Workers, WorkKind
from pipelines.look.browse.query import NONE, Filter, Manifest
from synth.base.atomic import write_bytes
from synth.base.errors import CorpusError, SegueError
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, SAMPLES_FILE, Corpus
from tests.kit.browsing import edited, variant
from tests.kit.waiting import PATIENCE_S

Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows(corpus: Corpus) -> list[Row]:
    return corpus.samples().to_pylist()  # type: ignore[no-any-return]


@contextmanager
def opened(place: Path) -> Iterator[TestClient]:
    """A corpus, open for requests."""
    library = BrowsedCorpus.open(place)
    app = create_app(library, Hosts.of("127.0.0.1"))
    yield TestClient(app, "http://127.0.0.1:8765", headers={"Accept": "text/html"})
    library.manifest.close()


@pytest.fixture
def client() -> Iterator[Callable[[Path], TestClient]]:
    with ExitStack() as stack:
        yield lambda place: stack.enter_context(opened(place))


@pytest.fixture(scope="module")
def page(corpus: Corpus) -> Iterator[TestClient]:
    """Asks for pages of the tiny corpus."""
    with opened(corpus.folder) as found:
        yield found


@pytest.fixture(scope="module")
def manifest(corpus: Corpus) -> Iterator[Manifest]:
    found = Manifest(corpus.folder / SAMPLES_FILE)
    yield found
    found.close()


def ids(text: str) -> list[str]:
    return re.findall(r'data-sample="([^"]+)"', text)


def test_the_pages_show_every_sample_once_in_plan_order(page: TestClient, rows: list[Row]) -> None:
    pages = -(-len(rows) // PAGE_SIZE)
    assert pages > 1
    shown = [page.get("/results", params={"page": at + 1}).text for at in range(pages)]
    assert [name for text in shown for name in ids(text)] == [row["id"] for row in rows]
    beyond = page.get("/results", params={"page": 10**8}).text
    assert ids(beyond) == ids(shown[-1])
    assert ids(page.get("/results", params={"page": "²"}).text) == ids(shown[0])


def test_a_word_beside_the_caption_is_shown(page: TestClient, rows: list[Row]) -> None:
    row = next(row for row in rows if row["relation"] == "before")
    wanted = next(each["text"] for each in row["negatives"] if " while " in each["text"])
    text = page.get("/results", params={"text": wanted}).text
    found = text.partition(f'data-sample="{row["id"]}"')[2].partition("</a>")[0]
    hit = found.partition('class="hit">')[2].partition("</span>")[0]
    assert re.sub("</?mark>", "", hit) == f"false: {wanted}"


def test_audio_that_cannot_be_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    for number, change in enumerate(({"size": 2**45}, {"member": "x.exe"})):
        edit = edited(lambda row, change=change: row | change)  # type: ignore[misc]
        with pytest.raises(CorpusError, match=r"row 0 .*expected"):
            BrowsedCorpus.open(variant(corpus, tmp_path / str(number), edit))


def test_long_and_slow_searches_are_stopped(
    page: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text, place in product(("a" * 5000, "a " * 200), ("/", "/results")):
        answer = page.get(place, params={"text": text})
        assert answer.status_code == 400
        assert "are too many" in answer.text
    monkeypatch.setattr("pipelines.look.browse.query.SEARCH_S", 1e-9)
    endless = "SELECT range AS place FROM range(1000000000000) WHERE random() > 2"
    monkeypatch.setattr("pipelines.look.browse.query.build_query", lambda *_: (endless, {}))
    answer = page.get("/results", params={"text": "something slow"})
    assert answer.status_code == 408
    assert "took longer" in answer.text


def test_a_search_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.look.browse.guard.WAIT_S", 0.01)
    ready = threading.Event()

    async def crowd() -> list[Any]:
        run = Workers().run
        waiting = [
            asyncio.ensure_future(run(WorkKind.SEARCH, partial(ready.wait, PATIENCE_S)))
            for _ in range(3)
        ]
        await asyncio.sleep(0)
        with pytest.raises(BusyError, match="did not start"):
            await run(WorkKind.SEARCH, ready.is_set)
        assert not await run(WorkKind.PAGE, ready.is_set)
        ready.set()
        await asyncio.gather(*waiting)
        return [await run(WorkKind.SEARCH, ready.is_set) for _ in range(4)]

    assert asyncio.run(crowd()) == [True] * 4


def test_a_page_that_was_shown_is_not_made_again(
    corpus: Corpus, client: Callable[[Path], TestClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = client(corpus.folder)
    places = ("/", "/results?page=2", f"/samples/{corpus.samples().column('id')[3].as_py()}")
    shown = [asked.get(place) for place in places]
    assert len({answer.headers["etag"] for answer in shown}) == len(places)

    def refuse(*_: Any) -> Any:
        raise AssertionError("this was asked before")

    for name in ("find_page", "find_sample", "find_siblings"):
        monkeypatch.setattr(Manifest, name, refuse)
    for place, first in zip(places, shown, strict=True):
        again = asked.get(place)
        assert (again.status_code, again.content) == (200, first.content)
        known = asked.get(place, headers={"If-None-Match": first.headers["etag"]})
        assert (known.status_code, known.content) == (304, b"")


@pytest.mark.parametrize("name", ["a" * 201, "a" * 50_000, "no such name", "a\n", "-a"])
@pytest.mark.parametrize("place", ["/?sample={}", "/results?sample={}", "/samples/{}", "/audio/{}"])
def test_what_cannot_be_an_id_is_not_looked_for(
    page: TestClient, monkeypatch: pytest.MonkeyPatch, name: str, place: str
) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("this is looked for")

    monkeypatch.setattr(Manifest, "find_sample", refuse)
    answer = page.get(place.format(quote(name)))
    assert answer.status_code == 404
    assert len(answer.content) < 10_000


def test_a_manifest_that_was_replaced_is_told_and_not_mixed(
    corpus: Corpus,
    client: Callable[[Path], TestClient],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = variant(corpus, tmp_path / "twice", edited(lambda row: row))
    manifest = next(folder.rglob(SAMPLES_FILE))
    data = manifest.read_bytes()
    name = corpus.samples()["id"][0].as_py()
    places = ("/", "/results", f"/samples/{name}", f"/audio/{name}")
    asked, other = client(folder), client(folder)
    assert asked.get("/").status_code == 200
    write_bytes(manifest, data)
    for place in places:
        answer = asked.get(place)
        assert answer.status_code == 503
        assert "the corpus was rebuilt" in answer.text
        assert "start" in answer.text
    assert other.get("/").status_code == 503
    last = client(folder)
    find = Manifest.find_page

    def replace(self: Manifest, *given: Any) -> Any:
        write_bytes(manifest, data)
        return find(self, *given)

    monkeypatch.setattr(Manifest, "find_page", replace)
    assert last.get("/results").status_code == 503


def words_of(row: Row) -> list[str]:
    sentences = [row["caption"], *(each["text"] for each in (*row["positives"], *row["negatives"]))]
    return [each.lower() for each in (*sentences, row["notation"], row["id"])]


FILTERS: list[tuple[Filter, Callable[[Row], bool]]] = [
    (Filter(split="test"), lambda row: row["split"] == "test"),
    (Filter(label="rain"), lambda row: "rain" in row["labels"]),
    (Filter(relation="while"), lambda row: row["relation"] == "while"),
    (Filter(relation=NONE), lambda row: row["relation"] == ""),
    (Filter(kind="reorder"), lambda row: any(n["kind"] == "reorder" for n in row["negatives"])),
    (
        Filter(text="DOG while"),
        lambda row: any("dog" in text and "while" in text for text in words_of(row)),
    ),
    (
        Filter(text="siren", relation="before", split="train"),
        lambda row: (
            any("siren" in text for text in words_of(row))
            and (row["relation"], row["split"]) == ("before", "train")
        ),
    ),
    (Filter(label="whale"), lambda row: False),
    (Filter(licence="unheard of"), lambda row: False),
]


@pytest.mark.parametrize(
    ("wanted", "fits"), FILTERS, ids=[str(wanted.to_params()) for wanted, _ in FILTERS]
)
def test_a_filter_finds_what_fits_and_nothing_else(
    manifest: Manifest, rows: list[Row], wanted: Filter, fits: Callable[[Row], bool]
) -> None:
    expected = [row["id"] for row in rows if fits(row)]
    found = manifest.find_page(wanted, 1, 10_000)
    assert [row["id"] for row in found.rows] == expected
    assert found.total == len(expected)
    halves = [manifest.find_page(wanted, at, max(1, -(-len(expected) // 2))).rows for at in (1, 2)]
    if len(expected) > 1:
        assert [row["id"] for half in halves for row in half] == expected


def test_a_licence_is_that_of_the_mix(corpus: Corpus, tmp_path: Path) -> None:
    folder = variant(corpus, tmp_path / "mixed", lambda table: table)
    clips = pq.read_table(folder / CLIPS_FILE)
    told = {
        row["id"]: "CC-BY-NC-4.0" if "dog" in row["labels"] else "CC0-1.0"
        for row in clips.to_pylist()
    }
    edit = edited(lambda row: row | {"licence": told[row["id"]]})
    pq.write_table(edit(clips), folder / CLIPS_FILE)
    manifest = Manifest(folder / SAMPLES_FILE)
    for licence in ("CC-BY-NC-4.0", "CC0-1.0"):
        expected = [
            row["id"]
            for row in corpus.samples().to_pylist()
            if ("dog" in row["labels"]) == (licence == "CC-BY-NC-4.0")
        ]
        found = manifest.find_page(Filter(licence=licence), 1, 10_000)
        assert [row["id"] for row in found.rows] == expected
        assert (licence, len(expected)) in manifest.facets.licence
    manifest.close()


def test_what_is_searched_for_is_never_a_query(page: TestClient) -> None:
    names = ("text", "label", "relation", "split", "licence", "kind")
    for text in ("' OR 1=1 --", '"; DROP VIEW samples; --', "%", "$id", "\\"):
        answers = [page.get("/results", params={name: text}) for name in names]
        assert [(answer.status_code, ids(answer.text)) for answer in answers] == [(200, [])] * 6


def test_facets_count_the_samples(manifest: Manifest, rows: list[Row]) -> None:
    facets = manifest.facets
    assert dict(facets.split) == {
        split: sum(row["split"] == split for row in rows) for split in ("train", "test")
    }
    assert dict(facets.label)["rain"] == sum("rain" in row["labels"] for row in rows)
    assert dict(facets.kind)["reorder"] == sum(
        any(each["kind"] == "reorder" for each in row["negatives"]) for row in rows
    )
    assert sum(count for _, count in facets.licence) == len(rows)


def audio_in_shard(corpus: Corpus, row: Row) -> bytes:
    with tarfile.open(corpus.shard(row["split"], row["shard"])) as tar:
        member = tar.extractfile(row["member"])
        return member.read()


def test_audio_is_the_bytes_of_the_shard(page: TestClient, corpus: Corpus, rows: list[Row]) -> None:
    for row in rows[:: len(rows) // 4]:
        answer = page.get(f"/audio/{row['id']}")
        assert answer.content == audio_in_shard(corpus, row)
        assert answer.headers["content-type"] == "audio/flac"
        assert answer.headers["accept-ranges"] == "bytes"


def test_a_range_is_exact(page: TestClient, corpus: Corpus, rows: list[Row]) -> None:
    whole, place = audio_in_shard(corpus, rows[3]), f"/audio/{rows[3]['id']}"
    for asked, part in (
        ("bytes=0-", slice(0, None)),
        ("bytes=0-0", slice(0, 1)),
        ("bytes=100-299", slice(100, 300)),
        ("bytes=100-99999999", slice(100, None)),
        ("bytes=-50", slice(-50, None)),
        ("bytes=-99999999", slice(0, None)),
    ):
        start, end, _ = part.indices(len(whole))
        answer = page.get(place, headers={"Range": asked})
        assert (answer.status_code, answer.content) == (206, whole[part]), asked
        assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(whole)}"
    outside = page.get(place, headers={"Range": f"bytes={len(whole)}-"})
    assert (outside.status_code, outside.content) == (416, b"")
    assert outside.headers["content-range"] == f"bytes */{len(whole)}"
    others = ["bytes=5-2", "bytes=-", "rows=0-1", "bytes=0-1,5-6", "bytes=a-b", "bytes=٣-"]
    known, one = page.get(place).headers["etag"], {"Range": "bytes=0-1"}
    for given, status in (
        *(({"Range": other.encode()}, 200) for other in (*others, f"bytes={'9' * 5000}-")),
        (one | {"If-Range": '"other"'}, 200),
        (one | {"If-Range": known}, 206),
        ({"If-None-Match": known}, 304),
    ):
        answer = page.get(place, headers=given)
        assert answer.status_code == status
        assert status != 200 or answer.content == whole


def test_a_page_shows_all_sentences_and_siblings(page: TestClient, rows: list[Row]) -> None:
    for row in rows[:12]:
        text = unescape(page.get(f"/samples/{row['id']}").text)
        assert text.count("data-reason") == len(row["negatives"]) > 0
        assert "proven true" in text
        assert "not proven" not in text
        for sentence in (*row["positives"], *row["negatives"]):
            assert sentence["text"] in text
        shown = re.findall(r'<span class="span">([^<]+)</span> ([^<]+)</li>', text)
        assert [words for _, words in shown] == [each["text"] for each in row["dense"]]
        assert all(re.fullmatch(r"\d\.\d-\d\.\d s", span) for span, _ in shown)
        group = [each["id"] for each in rows if each["group"] == row["group"]]
        assert [row["id"], *re.findall(r'data-open="([^"]+)"', text)] == sorted(
            group, key=lambda name: name != row["id"]
        )


def test_a_sentence_that_is_not_what_it_is_said_to_be_is_marked(
    corpus: Corpus, client: Callable[[Path], TestClient], tmp_path: Path
) -> None:
    def exchange(row: Row) -> Row:
        true = {"text": row["caption"], "claim": row["claim"], "kind": "reorder"}
        return row | {"negatives": [true | {"connective": "", "generator": "test", "against": ""}]}

    asked = client(variant(corpus, tmp_path / "wrong", edited(exchange)))
    row = corpus.samples().slice(0, 1).to_pylist()[0]
    text = asked.get(f"/samples/{row['id']}").text
    assert "the timeline does not refute it" in text
    assert "data-reason" not in text


SCRIPT = "<script>alert(1)</script>\" onload='x' {{ 7 * 7 }} &amp;"


def test_what_the_data_says_is_text_and_never_markup(
    corpus: Corpus, client: Callable[[Path], TestClient], tmp_path: Path
) -> None:
    def hostile(row: Row) -> Row:
        captions = [{**each, "text": SCRIPT, "kind": SCRIPT} for each in row["negatives"]]
        scene = row["scene"].replace('"rain"', json.dumps(SCRIPT))
        labels = [SCRIPT if label == "rain" else label for label in row["labels"]]
        changed = {"caption": SCRIPT, "notation": SCRIPT, "group": SCRIPT, "generator": SCRIPT}
        return row | changed | {"negatives": captions, "scene": scene, "labels": labels}

    asked = client(variant(corpus, tmp_path / "hostile", edited(hostile)))
    row = corpus.samples().to_pylist()[0]
    for place in ("/", f"/?text={SCRIPT[:8]}", f"/samples/{row['id']}", "/results?text=alert"):
        text = asked.get(place).text
        assert "<script>alert" not in text
        assert "onload='x'" not in text
        assert "{{ 7 * 7 }}" in unescape(text)
    refused = asked.get("/samples/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert "<script>alert" not in refused.text


def test_only_requests_that_name_this_server_are_answered(
    page: TestClient, rows: list[Row]
) -> None:
    own = ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"]
    others = ["evil.example:8765", "127.0.0.1.evil.example", "127.0.0.1@evil.example"]
    others += ["192.168.1.7:8765", "[", ""]
    places = ("/results", f"/audio/{rows[0]['id']}", "/static/main.js")
    for host, place in product((*own, *others), places):
        answer = page.get(place, headers={"Host": host})
        assert answer.status_code == (200 if host in own else 421), host
    # On a network an address is a name.
    hosts = Hosts.of("0.0.0.0")
    assert hosts.allow("192.168.1.7:8765")
    assert hosts.allow(f"{socket.gethostname()}:8765")
    assert not hosts.allow("evil.example:8765")


def test_every_answer_keeps_other_origins_out(page: TestClient, rows: list[Row]) -> None:
    for place in ("/", "/static/main.js", f"/audio/{rows[0]['id']}", "/nowhere"):
        headers = page.get(place).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    text = page.get("/").text
    assert not re.search(r"<script(?! type=\"module\" src=\"/static/)", text)
    assert not re.search(r"\s(?:style|on\w+)=", text)


def test_what_is_not_there_is_refused(page: TestClient, rows: list[Row]) -> None:
    places = ("/", "/results", f"/samples/{rows[0]['id']}", f"/audio/{rows[0]['id']}")
    for method, place in product(("POST", "PUT", "DELETE", "PATCH", "OPTIONS"), places):
        assert page.request(method, place).status_code == 405
    for name in ("../app.py", "%2e%2e/app.py", "%2e%2e%2fapp.py"):
        assert page.get(f"/static/{name}").status_code == 404
    for place in ("/samples/nobody", "/audio/nobody", "/?sample=nobody"):
        answer = page.get(place)
        assert answer.status_code == 404
        assert "there is no sample" in answer.text


def with_shards_of_its_own(corpus: Corpus, folder: Path) -> tuple[Path, Path]:
    """A copy whose shards may be damaged, and the first of them."""
    shards = folder / "shards"
    shutil.copytree(corpus.shards, shards)
    place = variant(corpus, folder / "manifests", lambda table: table, shards=str(shards))
    first = corpus.samples().slice(0, 1).to_pylist()[0]
    return place, shards / first["split"] / first["shard"]


def test_a_damaged_shard_is_a_clear_page(
    corpus: Corpus, rows: list[Row], client: Callable[[Path], TestClient], tmp_path: Path
) -> None:
    place, shard = with_shards_of_its_own(corpus, tmp_path / "copy")
    asked = client(place)
    row, other = rows[0], rows[1]
    data = bytearray(shard.read_bytes())
    data[row["offset"] + 100] ^= 1
    shard.write_bytes(data)
    answer = asked.get(f"/audio/{row['id']}")
    assert answer.status_code == 500
    text = unescape(answer.text)
    assert f"{shard}: damaged: {row['member']}" in text
    assert "build again" in text
    told = asked.get(f"/audio/{row['id']}", headers={"Accept": "application/json"})
    assert f"{shard}: damaged" in told.json()["error"]
    assert asked.get(f"/audio/{other['id']}").status_code == 200
    assert asked.get(f"/samples/{row['id']}").status_code == 200
    shard.write_bytes(data[: other["offset"] + 10])
    with pytest.raises(CorpusError, match="to lie within"):
        BrowsedCorpus.open(place)
    short = asked.get(f"/audio/{rows[2]['id']}")
    assert short.status_code == 500
    assert "ends before byte" in short.text
    shard.unlink()
    gone = asked.get(f"/audio/{rows[2]['id']}")
    assert gone.status_code == 500
    assert "no such shard" in gone.text


def test_a_damaged_manifest_is_told_when_it_is_opened(corpus: Corpus, tmp_path: Path) -> None:
    folder = variant(corpus, tmp_path / "damaged", lambda table: table)
    path = folder / SAMPLES_FILE
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * (len(whole) // 2) + whole[4 + len(whole) // 2 :])
    with pytest.raises(CorpusError, match=r"samples\.parquet: damaged"):
        BrowsedCorpus.open(folder)
    path.write_bytes(whole[:100])
    with pytest.raises(CorpusError, match=r"samples\.parquet: damaged"):
        BrowsedCorpus.open(folder)
    pq.write_table(pq.read_table(corpus.folder / SAMPLES_FILE).drop(["scene"]), path)
    with pytest.raises(CorpusError, match="lacks the column 'scene'"):
        BrowsedCorpus.open(folder)


def test_a_row_that_holds_no_scene_is_a_clear_page(
    corpus: Corpus, rows: list[Row], client: Callable[[Path], TestClient], tmp_path: Path
) -> None:
    for at, wrong in enumerate(({"scene": "{"}, {"scene": "[]"}, {"claim": '{"all": 1}'})):
        change = edited(lambda row, wrong=wrong: row | wrong)  # type: ignore[misc]
        asked = client(variant(corpus, tmp_path / f"wrong-{at}", change))
        answer = asked.get(f"/samples/{rows[0]['id']}")
        assert answer.status_code == 500
        assert rows[0]["id"] in answer.text
        assert asked.get("/results").status_code == 200


def test_a_plan_is_shown_without_audio(
    corpus: Corpus, rows: list[Row], client: Callable[[Path], TestClient], tmp_path: Path
) -> None:
    folder = tmp_path / "plan [1]*"
    folder.mkdir()
    for name in (PLAN_FILE, CLIPS_FILE):
        shutil.copy(corpus.folder / name, folder / name)
    asked = client(folder)
    text = asked.get("/").text
    assert "Planned, and not rendered" in text
    assert "<audio" not in text
    assert asked.get(f"/audio/{rows[0]['id']}").status_code == 404


def test_a_corpus_at_a_url_is_read_through_the_cache(
    corpus: Corpus,
    rows: list[Row],
    tiny_corpus: Path,
    client: Callable[[Path], TestClient],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    asked = client(Path(f"file://{tiny_corpus}/data_manifests/tiny"))
    assert ids(asked.get("/").text) == [row["id"] for row in rows[:PAGE_SIZE]]
    answer = asked.get(f"/audio/{rows[5]['id']}", headers={"Range": "bytes=10-19"})
    assert answer.content == audio_in_shard(corpus, rows[5])[10:20]
    assert list((tmp_path / "cache").rglob("*.tar"))


def test_a_taken_port_and_a_missing_corpus_are_clear_errors(corpus: Corpus, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SegueError, match=f"cannot listen on http://127.0.0.1:{port}/"):
            browse_command(corpus.folder, port=port, tell=print)
    with pytest.raises(CorpusError, match="no corpus"):
        browse_command(tmp_path, tell=print)


@pytest.mark.slow
def test_the_command_serves_until_ctrl_c_and_warns_on_a_network(corpus: Corpus) -> None:
    arguments = [str(corpus.folder), "--host", "0.0.0.0", "--port", "0", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", "browse", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NO_COLOR": "1"},
    ) as process:
        told = json.loads(process.stdout.readline())
        with urllib.request.urlopen(f"{told['url']}results", timeout=PATIENCE_S) as answer:
            assert len(ids(answer.read().decode())) == PAGE_SIZE
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    assert "warning: anyone who can reach 0.0.0.0 over the network" in errors
    assert "Traceback" not in errors
