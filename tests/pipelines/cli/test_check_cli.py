"""`segue check`: a library on disk against its index, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result

from pipelines.cli.make.check import check_command
from pipelines.cli.make.ingest import ingest_command
from synth.base.errors import SegueError, SourceError, SpecError
from synth.sources.music.fma import Fma
from synth.sources.music.mtg_jamendo import MtgJamendo
from tests.kit.builds import invoke
from tests.kit.libraries import sound, write_csv


def check(*arguments: object) -> Result:
    return invoke(check_command, *arguments)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    root = tmp_path / "ESC-50"
    columns = ("filename", "fold", "target", "category", "esc10", "src_file", "take")
    names = [f"1-{number}-A-0.wav" for number in range(12)]
    rows = [(name, 1, 0, "dog", True, number, "A") for number, name in enumerate(names)]
    write_csv(root / "meta" / "esc50.csv", columns, rows)
    for seed, name in enumerate(names):
        sound(root / "audio" / name, seed)
    return root


def test_a_whole_library_is_said_to_be_whole_and_what_is_missing_is_named(library: Path) -> None:
    done = check(f"esc50:{library}")
    assert done.exit_code == 0, done.exception
    assert "12 files listed, 0 missing; 0 checksums compared, 0 differ" in done.stdout
    (library / "audio" / "1-7-A-0.wav").unlink()
    sound(library / "audio" / "mine.wav")
    done = check(f"esc50:{library}")
    assert done.exit_code == 1
    assert "1 missing" in done.stdout
    assert "  missing: audio/1-7-A-0.wav" in done.stdout
    assert "  unlisted: audio/mine.wav" in done.stdout
    for path in (library / "audio").iterdir():
        path.unlink()
    done = check(f"esc50:{library}")
    assert done.stdout.count("  missing: audio/") == 10
    assert "  and 2 more" in done.stdout


def test_an_index_is_written_once_and_tells_what_has_changed(library: Path, tmp_path: Path) -> None:
    index = tmp_path / "index.json"
    assert "13 files written" in check(f"esc50:{library}", "--write", index).stdout
    written = check(f"esc50:{library}", "--write", tmp_path / "i.json", "--json")
    assert json.loads(written.stdout.splitlines()[-1])["files"] == 13
    again = check(f"esc50:{library}", "--write", index)
    assert isinstance(again.exception, SourceError)
    assert again.exception.fix
    whole = check(f"esc50:{library}", "--index", index)
    assert whole.exit_code == 0, whole.exception
    assert "13 checksums compared, 0 differ" in whole.stdout
    sound(library / "audio" / "1-3-A-0.wav", seed=99)
    changed = check(f"esc50:{library}", "--index", index, "--json")
    assert changed.exit_code == 1
    line = changed.stdout.splitlines()[-1]
    found = json.loads(line)
    assert (found["changed"], found["missing"], found["clips"]) == (1, 0, 12)
    assert found["examples"]["changed"] == ["audio/1-3-A-0.wav"]


def test_a_source_without_files_is_told(tmp_path: Path) -> None:
    done = check("foley")
    assert isinstance(done.exception, SourceError)
    assert "has no files" in done.exception.message
    for words in (["folder:" + str(tmp_path / "none"), "--write", str(tmp_path / "i.json")],):
        assert isinstance(check(*words).exception, SourceError)
    (tmp_path / "empty").mkdir()
    empty = check(f"folder:{tmp_path / 'empty'}", "--write", tmp_path / "i.json")
    assert isinstance(empty.exception, SourceError)
    assert not (tmp_path / "i.json").exists()


def test_tables_without_audio_are_no_list_of_missing_files(tmp_path: Path) -> None:
    columns = ("audiocap_id", "youtube_id", "start_time", "caption")
    write_csv(tmp_path / "train.csv", columns, [(1, "-a", 30, "A dog barks")])
    done = check(f"audiocaps:{tmp_path}")
    assert done.exit_code == 0, done.exception
    assert "no audio here: 1 clips are listed" in done.stdout
    told = check(f"audiocaps:{tmp_path}", "--json").stdout.splitlines()[-1]
    assert json.loads(told)["has_audio"] is False
    (tmp_path / "audio").mkdir()
    assert check(f"audiocaps:{tmp_path}").exit_code == 1


def test_one_file_of_rows_is_a_library_too(tmp_path: Path) -> None:
    pq.write_table(pa.table({"audio": [b"x"]}), tmp_path / "a.parquet")
    done = check(f"parquet:{tmp_path / 'a.parquet'}")
    assert done.exit_code == 0, done.exception
    assert "1 files listed" in done.stdout


def test_the_index_of_a_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound(tmp_path / "mine" / "dog" / "a.wav")
    write_csv(tmp_path / "mine" / "index.csv", ("path", "label"), [("dog/a.wav", "dog")])
    monkeypatch.chdir(tmp_path)
    done = check("folder:mine")
    assert "index: index.csv\n1 files listed, 0 missing" in done.stdout
    given = ["folder:mine", "--set", "index=index.csv", "--workers", "0"]
    assert "index: index.csv" in invoke(ingest_command, *given).stdout
    folder = invoke(ingest_command, "mine").exception
    assert isinstance(folder, SpecError)
    assert "folder:mine" in folder.fix


def fma(root: Path) -> Path:
    header = (
        ",set,set,track,track,track,track,track,track,artist\n"
        ",split,subset,title,license,duration,genres,genres_all,tags,name\ntrack_id,,,,,,,,,\n"
    )
    (root / "fma_metadata").mkdir(parents=True)
    (root / "fma_metadata" / "tracks.csv").write_text(
        header + "2,training,medium,Food,CC0,30,[],[],[],Me\n"
    )
    (root / "fma_metadata" / "genres.csv").write_text("genre_id,title\n1,Rock\n")
    return root


def test_settings_and_published_checksums_are_heeded(tmp_path: Path) -> None:
    root = fma(tmp_path / "root")
    for audio in (root / "fma_medium", tmp_path / "disk" / "fma_medium"):
        sound(audio / "000" / "000002.mp3", frames=16_000)
        (audio / "checksums").write_text(f"{'0' * 40}  000/000002.mp3\n")
        done = check(f"fma:{root}", "--set", "subset=medium", "--set", f"audio={audio}")
        assert done.exit_code == 1
        assert "1 files listed, 0 missing; 1 checksums compared, 1 differ" in done.stdout
    assert "1 differ" in check(f"fma:{root}", "--set", "subset=medium").stdout
    for wrong in ("subset", "sub=1", "subset=tiny"):
        refused = check(f"fma:{root}", "--set", wrong)
        assert isinstance(refused.exception, SpecError)
        assert refused.exception.fix


def test_checksums_and_locations_are_the_same_paths(tmp_path: Path) -> None:
    root = fma(tmp_path / "root")
    inside, outside = root / "sounds", tmp_path / "disk"
    for audio in (inside, outside):
        sound(audio / "000" / "000002.mp3", frames=16_000)
        sound(audio / "07" / "7.low.mp3", frames=16_000)
        (audio / "checksums").write_text(f"{'0' * 40}  000/000002.mp3\n")
    row = "track_0000007\ta\tb\t07/7.mp3\t60.0\tgenre---rock\n"
    (root / "autotagging.tsv").write_text(row)
    (root / "data" / "download").mkdir(parents=True)
    sums = root / "data" / "download" / "raw_30s_audio-low_sha256_tracks.txt"
    sums.write_text(f"{'0' * 64} 07/7.low.mp3\n")
    for folder in (Path("sounds"), outside, Path("../disk")):
        for source in (
            Fma(root=root, audio=folder, subset="medium"),
            MtgJamendo(root=root, audio=folder),
        ):
            assert set(source.checksums()) == {ref.location for ref in source.refs()}


def test_options_of_another_subject_are_refused(tiny_corpus: Path, tmp_path: Path) -> None:
    folder = tiny_corpus / "data_manifests" / "tiny"
    for words, told in (
        (("--index", tmp_path), "--index: this machine is checked"),
        ((folder, "--write", tmp_path / "index"), "--write: a corpus is checked"),
        ((folder, "--endpoint", "http://x"), "--endpoint: a corpus is checked"),
        (("foley:", "--samples", "2"), "--samples: a library is checked"),
        ((tmp_path / "none",), "no finished corpus here"),
        ((folder / "none",), "no finished corpus here"),
    ):
        with pytest.raises(SegueError, match=told):
            raise check(*words).exception or AssertionError("nothing was raised")
    assert not (tmp_path / "index").exists()
    facts = json.loads(check(folder, "--json").stdout.splitlines()[-1])
    assert (facts["ok"], facts["corpus"]) == (True, "tiny")
