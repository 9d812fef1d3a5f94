"""The report of a build: one file that tells what inspect tells, and lets samples be heard."""

from __future__ import annotations

import base64
import io
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.builder.build import plan_library
from pipelines.cli.look.inspect import inspect_command
from pipelines.cli.look.report import report_command
from pipelines.config.spec import Spec
from pipelines.look.inspection import count_shares, describe, draw
from pipelines.look.page import Page, histogram, plot, write_page
from pipelines.look.report.corpus import FULL, corpus_page, playable
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, QUARANTINE_FILE, REMOVED_FILE, Corpus
from synth.corpus.facts import Facts
from synth.corpus.schema import CLIPS, QUARANTINE, to_table
from tests.kit.browsing import edited, variant
from tests.kit.builds import segue_here
from tests.kit.chromium import Reader
from tests.kit.pages import check_page

HOSTILE = "</h3><script>alert(1)</script> \"quoted\" & <b onclick='x'>"
LOADED = "() => [...document.querySelectorAll('audio')].every((each) => each.readyState >= 1)"


@pytest.fixture(scope="module")
def page(corpus: Corpus) -> Page:
    return corpus_page(corpus.folder)


def numbers(value: Any) -> Iterator[str]:
    """Every number below a value, as inspect prints it."""
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, int | float):
        yield f"{value:,}"


def altered(corpus: Corpus, folder: Path, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> Path:
    """A corpus with other rows, as large a manifest as a report reads."""
    made = variant(corpus, folder, edited(edit))
    shutil.copy(corpus.folder / QUARANTINE_FILE, made / QUARANTINE_FILE)
    return made


def test_it_tells_every_number_that_inspect_tells(corpus: Corpus, page: Page) -> None:
    told = check_page(page.html).text
    facts = describe(corpus.folder)
    words = set(told.split())
    for number in numbers({"clips": facts["clips"], "counts": facts["counts"]}):
        assert {number, f"{number}."} & words, number
    assert f"{facts['with a negative']:.1%}" in told
    assert f"= {facts['clips']['listed']:,} clips listed" in told
    for text in (
        *facts["labels"]["rarest"],
        facts["corpus"],
        facts["version"],
        facts["recipe"],
        corpus.facts["digest"],
    ):
        assert text in told
    assert "no violations" in told
    assert "claims is proven" in told
    assert all(version in told for version in corpus.facts["libraries"][0].values())
    assert "crossfade_s: 0.25" in told
    assert page.facts["violations"] == 0
    assert page.name == f"{facts['corpus']}-{facts['version']}-corpus"


def test_ten_samples_can_be_heard_at_their_whole_length(corpus: Corpus, page: Page) -> None:
    rows = draw(corpus.folder, 10)
    read = check_page(page.html)
    sounds = read.of("audio")
    assert [each["aria-label"] for each in sounds] == [row["caption"] for row in rows]
    for row, sound in zip(rows, sounds, strict=True):
        kind, _, data = sound["src"].partition(";base64,")
        assert kind == "data:audio/mpeg"
        heard, rate = soundfile.read(io.BytesIO(base64.b64decode(data)))
        assert (len(heard), rate) == (row["frames"], row["sample_rate"])
        stored = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"]) / 2**15
        assert np.corrcoef(heard, stored)[0, 1] > 0.9
        for said in (*row["positives"], *row["negatives"]):
            assert said["text"] in read.text
        assert row["notation"] in read.text
    drawn = [each["aria-label"] for each in read.of("svg") if "timeline" in each.get("class", "")]
    assert len(drawn) == len(rows)
    assert rows[0]["labels"][0] in drawn[0]


def test_the_same_corpus_gives_the_same_bytes(corpus: Corpus, page: Page) -> None:
    assert corpus_page(corpus.folder).html == page.html
    assert len(page.html) < 5_000_000


def test_text_of_the_corpus_cannot_become_markup(corpus: Corpus, tmp_path: Path) -> None:
    def spoil(row: dict[str, Any]) -> dict[str, Any]:
        negatives = [each | {"text": HOSTILE, "kind": HOSTILE} for each in row["negatives"]]
        changes = {"caption": HOSTILE, "relation": HOSTILE, "negatives": negatives}
        return row | changes | {"labels": [HOSTILE, *row["labels"][1:]]}

    made = altered(corpus, tmp_path / "tiny" / "hostile", spoil)
    html = corpus_page(made, samples=2).html
    assert " ".join(HOSTILE.split()) in check_page(html).text
    assert "<script" not in html
    assert "<b " not in html


def test_violations_are_counted_and_shown(corpus: Corpus, tmp_path: Path) -> None:
    def prove(row: dict[str, Any]) -> dict[str, Any]:
        first, *others = row["negatives"]
        return row | {"negatives": [first | {"claim": row["claim"]}, *others]}

    made = altered(corpus, tmp_path / "tiny" / "wrong", prove)
    found = corpus_page(made, samples=1)
    told = check_page(found.html).text
    rows = corpus.samples().num_rows
    assert found.facts["violations"] == rows
    assert f"{rows:,} are wrong" in told
    assert "The first ten violations" in told
    assert "the timeline does not refute it" in told
    assert "claims is proven" not in told


def test_a_plan_is_reported_without_audio(tiny: Callable[..., Spec], tmp_path: Path) -> None:
    plan_library(tiny(), tmp_path, 0, UNOBSERVED)
    found = corpus_page(tmp_path / "data_manifests" / "tiny", samples=3)
    read = check_page(found.html)
    assert (found.facts["shown"], found.facts["heard"]) == (3, 0)
    assert read.of("audio") == []
    assert "planned, not rendered" in read.text


def test_removed_shards_are_told_of(corpus: Corpus, tmp_path: Path) -> None:
    made = altered(corpus, tmp_path / "tiny" / "gone", lambda row: row)
    (made / REMOVED_FILE).write_text("{}")
    found = corpus_page(made, samples=2)
    assert found.facts["heard"] == 0
    assert "`segue gc` removed the shards" in check_page(found.html).text


def test_sounds_without_room_are_left_out(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.look.report.corpus.MOST_BYTES", 12_000)
    found = corpus_page(corpus.folder, samples=4)
    assert 0 < found.facts["heard"] < 4
    assert check_page(found.html).text.count(FULL) == 4 - found.facts["heard"]


def test_a_rate_that_mp3_does_not_know_is_resampled() -> None:
    for rate, played in ((10_000, 11_025), (96_000, 48_000)):
        tone = (8000 * np.sin(np.arange(rate) * 2 * np.pi * 300 / rate)).astype(np.int16)
        data = base64.b64decode(playable(tone, rate).partition(",")[2])
        heard, found = soundfile.read(io.BytesIO(data))
        assert (found, len(heard)) == (played, pytest.approx(played, abs=2))


def test_the_command_writes_it_and_ends_with_json(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tiny.html"
    told = report_command(corpus.folder.parent, out, samples=0, observer=UNOBSERVED).facts
    assert told["report"] == str(out)
    assert told["bytes"] == out.stat().st_size
    assert (told["corpus"], told["shown"], told["violations"]) == ("tiny", 0, 0)
    check_page(out.read_text(encoding="utf-8"))
    report_command(corpus.folder, out, samples=1, observer=UNOBSERVED)
    assert out.read_text(encoding="utf-8").count("<audio") == 1


def test_only_a_report_is_replaced(page: Page, tmp_path: Path) -> None:
    notes = tmp_path / "notes.html"
    notes.write_text("<p>mine</p>")
    for out in (notes, tmp_path, Path("s3://bucket/report.html")):
        with pytest.raises(SpecError, match="--out"):
            write_page(page, out)
    assert notes.read_text() == "<p>mine</p>"


def test_what_is_something_else_is_one_clear_error(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "sounds").mkdir()
    failed = segue_here("report", tmp_path / "sounds", "--json")
    assert failed.returncode == 1
    error, fix = failed.stderr.splitlines()
    assert error == f"error: {tmp_path}/sounds: neither a corpus nor a training run"
    assert "data_manifests/CORPUS" in fix
    with pytest.raises(SpecError, match="neither a corpus nor a training run"):
        report_command(tmp_path / "nowhere", observer=UNOBSERVED)
    with pytest.raises(CorpusError, match="lacks the column 'index'"):
        corpus_page(corpus.folder / CLIPS_FILE)


def test_histograms_count_every_value_once() -> None:
    values = np.asarray([0.1, 0.3, 0.3, 2.9, 7.0])
    found = histogram("length", "s", values)
    over = histogram("peak", "dBFS", np.asarray([-14.9, -2.0, -1.0, -1.0 + 1e-12]))
    assert (sum(each.count for each in over.bins), over.bins[-1].high) == (4, -1.0)
    assert sum(each.count for each in found.bins) == len(values)
    assert [each.count for each in found.bins] == [3, 1, 1]
    for each in found.bins:
        assert ((values >= each.low - 1e-9) & (values <= each.high)).sum() == each.count
    assert histogram("length", "s", np.full(3, 0.7)).bins == ()
    assert "all 0.7 s" in histogram("length", "s", np.full(3, 0.7)).summary


def test_long_curves_keep_their_peaks() -> None:
    points = [(step, 0.0) for step in range(1, 50_001)]
    points[31_234] = (31_235, 9.0)
    drawn = plot("loss", {"training": points}, 50_000)
    places = [tuple(map(float, each.split(","))) for each in drawn.curves[0][1].split()]
    assert len(places) < 4_000
    top = min(places, key=lambda place: place[1])
    highest = {tick.text: tick.place for tick in drawn.values}["8"]
    assert top[1] < highest


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_and_plays_it(
    scheme: str, browser: Any, page: Page, corpus: Corpus, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    write_page(page, out)
    reader = Reader(browser, viewport={"width": 1280, "height": 1440}, color_scheme=scheme)
    shown = reader.open(out.as_uri())
    shown.wait_for_function(LOADED)
    lengths = shown.evaluate("[...document.querySelectorAll('audio')].map((each) => each.duration)")
    assert len(lengths) == 10
    wanted = [row["frames"] / row["sample_rate"] for row in draw(corpus.folder, 10)]
    assert lengths == pytest.approx(wanted, abs=0.1)
    reader.close()


def test_a_spec_that_leads_out_is_not_shown(corpus: Corpus, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("open-sesame")
    folder = altered(corpus, tmp_path / "version", lambda row: row)
    (folder / "spec.yaml").unlink(missing_ok=True)
    (folder / "spec.yaml").symlink_to(secret)
    with pytest.raises(CorpusError, match=r"spec\.yaml: is a link that leads out"):
        corpus_page(folder)


def test_a_corpus_that_says_only_what_it_must_has_a_report(corpus: Corpus, tmp_path: Path) -> None:
    folder = altered(corpus, tmp_path / "version", lambda row: row)
    told = json.loads((folder / "corpus.json").read_text())
    for key, field in Facts.model_fields.items():
        if not field.is_required():
            told.pop(key, None)
    (folder / "corpus.json").write_text(json.dumps(told))
    check_page(corpus_page(folder).html)


# What `inspect` counts.


def test_what_is_no_whole_manifest_is_one_clear_error(corpus: Corpus, tmp_path: Path) -> None:
    clips = corpus.folder / CLIPS_FILE
    for ask in (describe, lambda path: draw(path, 1)):
        with pytest.raises(CorpusError, match=r"clips\.parquet: lacks the column 'index'"):
            ask(clips)
    notes = tmp_path / "notes.txt"
    notes.write_text("no corpus")
    with pytest.raises(CorpusError, match=r"notes\.txt: damaged"):
        describe(notes)
    alone = tmp_path / "plan.parquet"
    alone.write_bytes((corpus.folder / "plan.parquet").read_bytes())
    with pytest.raises(CorpusError, match=r"clips\.parquet: missing"):
        describe(alone)


def test_shares_are_of_all_values_the_most_frequent_first() -> None:
    assert count_shares(Counter(["b", "a", "b", ""])) == {
        "b": {"count": 2, "percent": 50.0},
        "a": {"count": 1, "percent": 25.0},
        "(none)": {"count": 1, "percent": 25.0},
    }


def test_every_clip_is_counted_once_and_rare_labels_stand_out(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tiny" / "lossy"
    folder.mkdir(parents=True)
    (folder / PLAN_FILE).write_bytes((corpus.folder / PLAN_FILE).read_bytes())
    clips = pq.read_table(corpus.folder / CLIPS_FILE).to_pylist()
    before = describe(corpus.folder)["clips"]
    used = before["used"]
    assert before["listed"] == len(clips)
    clips += [clips[0] | {"id": name, "labels": ["hound"], "split": "test"} for name in "ab"]
    refused = [
        {"id": name, "location": name, "stage": stage, "reason": "is too short"}
        for name, stage in (("a", "recipe triplets"), ("unread", "ingest"))
    ]
    pq.write_table(to_table(clips, CLIPS), folder / CLIPS_FILE)
    pq.write_table(to_table(refused, QUARANTINE), folder / QUARANTINE_FILE)
    assert describe(folder)["clips"] == {
        "listed": len(clips) + 1,
        "used": used,
        "not drawn": before["not drawn"] + 1,
        "refused": 2,
        "refused by": {"recipe triplets": 1, "ingest": 1},
    }
    inspect_command(folder, samples=0).show()
    told = capsys.readouterr().out
    assert (
        f"{used} heard + {before['not drawn'] + 1} not drawn + 2 quarantined "
        f"(1 by recipe triplets, 1 by ingest) = {len(clips) + 1} clips listed"
    ) in told
    (line,) = [line for line in told.splitlines() if "│ hound" in line]
    assert line.count("none") == 1
    assert "note: split train has no clip of: hound (1 of 5 labels)" in told
