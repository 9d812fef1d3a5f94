"""`segue export`, and shards and exports read by the libraries that people read them with."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import datasets
import lhotse
import mlcroissant
import numpy as np
import pytest
import soundfile
import webdataset
from etils import epath
from huggingface_hub import DatasetCard

from pipelines.cli.make.export import export_command
from pipelines.export import export_corpus
from pipelines.store.lease import sole_writer
from synth.base.errors import CorpusError, SegueError, SpecError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from synth.export import FORMATS
from synth.export.folder import KEPT
from synth.export.items import list_shards
from synth.sources.sounds.esc50 import Esc50
from tests.kit.builds import flip, segue_here
from tests.kit.export_corpora import built, export_once
from tests.kit.observers import Phases
from tests.kit.started import count_receipts, interrupt, kill, marked, start_segue
from tests.kit.waiting import wait_for


def content(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def times(folder: Path) -> dict[str, int]:
    found = {}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # renamed meanwhile, by what is being watched
            if path.name not in (".lock", "export.json") and path.is_file():
                found[str(path.relative_to(folder))] = path.stat().st_mtime_ns
    return found


# tests/peers has the one that is written by a package of its own.
each_format = pytest.mark.parametrize("name", [name for name in FORMATS if name != "lance"])


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A corpus of pairs before and after an edit."""
    changes = {
        "recipe": {"edits": {"pairs": {"train": 4, "test": 2}}},
        "audio": {"length": "exact 6 s"},
    }
    return built(tmp_path_factory, changes)


@pytest.fixture
def suitable(name: str, corpus: Corpus, edited: Corpus) -> Corpus:
    """A corpus that a format takes."""
    return edited if name.startswith("edits") else corpus


@each_format
def test_a_second_run_writes_nothing(suitable: Corpus, tmp_path: Path, name: str) -> None:
    first = export_corpus(suitable, name, tmp_path / "out")
    before = times(tmp_path / "out")
    second = export_corpus(suitable, name, tmp_path / "out")
    parts = len(list_shards(suitable))
    assert (first.written, first.skipped) == (parts, 0)
    assert (second.written, second.skipped) == (0, parts)
    assert times(tmp_path / "out") == before


@pytest.mark.slow
def test_the_same_bytes_at_any_number_of_workers(
    corpus: Corpus, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in ("lhotse", "shar", "hf", "laion"):
        export_corpus(corpus, name, tmp_path / name, worker_count=2)
        assert content(tmp_path / name) == content(export_once(tmp_path_factory)(corpus, name))


HERE = ("--workers", "0", "--json")


def test_command_ends_with_one_json_line(manifests: Path, tmp_path: Path) -> None:
    done = segue_here("export", manifests, "--to", "nemo", "--out", tmp_path / "out", *HERE)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    last = json.loads(done.stdout.splitlines()[-1])
    keys = {"format", "samples", "parts", "written", "skipped", "seconds", "paths", "counts"}
    assert set(last) == keys
    assert (last["format"], last["samples"], last["parts"]) == ("nemo", 144, 12)
    assert Path(last["paths"]["readme"]).is_file()


def test_splits_can_be_chosen(corpus: Corpus, tmp_path: Path) -> None:
    made = export_corpus(corpus, "nemo", tmp_path, splits=["test"])
    assert (made.samples, made.parts) == (72, 6)
    assert (tmp_path / "test_manifest.jsonl").is_file()
    assert not (tmp_path / "train_manifest.jsonl").exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to look for orphans")
def test_a_killed_export_is_resumed(corpus: Corpus, manifests: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("export", manifests, "--to", "jams", "--out", out, "--workers", "2")
    process = start_segue(*words, mark=out)
    assert wait_for(lambda: count_receipts(out) >= 2)
    kill(process)
    assert wait_for(lambda: not marked(out)), "its workers live on"
    kept = count_receipts(out)
    (out / "audio/train/.tiny.flac.1-1.partial").write_bytes(b"torn")
    again = export_corpus(corpus, "jams", out)
    assert again.skipped == kept >= 2
    assert again.written == 12 - kept
    export_corpus(corpus, "jams", tmp_path / "undisturbed")
    assert content(out) == content(tmp_path / "undisturbed")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
def test_interrupt_ends_cleanly_and_says_how_to_go_on(manifests: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start_segue("export", manifests, "--to", "jams", "--out", out, "--workers", "1")
    assert wait_for(lambda: count_receipts(out) >= 1)
    ended = r"^stopped; run the same command again: \d+ of 12 parts are done$"
    assert re.search(ended, interrupt(process), re.M)


def test_a_lost_file_is_written_again(corpus: Corpus, tmp_path: Path) -> None:
    first, second = Phases(), Phases()
    export_corpus(corpus, "dcase", tmp_path, observer=first)
    before = content(tmp_path)
    next((tmp_path / "audio" / "train").iterdir()).unlink()
    (tmp_path / "metadata" / "train.tsv").write_text("torn")
    again = export_corpus(corpus, "dcase", tmp_path, observer=second)
    assert again.written == 1
    assert (first.total, first.before, first.ended) == ({"export": 12}, {"export": 0}, ["export"])
    assert (second.total, second.before, second.ended) == (
        {"export": 12},
        {"export": 11},
        ["export"],
    )
    assert content(tmp_path) == before


def test_foreign_folders_and_other_exports_are_left_alone(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SpecError, match="contains files that are not part of an export"):
        export_corpus(corpus, "hf", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    out = tmp_path / "out"
    export_corpus(corpus, "nemo", out)
    before = content(out)
    with pytest.raises(SpecError, match="contains another export: format nemo instead of dcase"):
        export_corpus(corpus, "dcase", out)
    with pytest.raises(SpecError, match=r"splits train\+test instead of test"):
        export_corpus(corpus, "nemo", out, splits=["test"])
    assert content(out) == before


@pytest.mark.slow
def test_one_writer_at_a_time(corpus: Corpus, tmp_path: Path) -> None:
    with sole_writer(tmp_path / "out" / KEPT):
        code = (
            "import sys; from pathlib import Path;"
            "from pipelines.export import export_corpus;"
            "from synth.corpus.corpus import Corpus;"
            "export_corpus(Corpus.open(Path(sys.argv[1])), 'hf', Path(sys.argv[2]))"
        )
        second = subprocess.run(
            [sys.executable, "-c", code, str(corpus.folder), str(tmp_path / "out")],
            capture_output=True,
            text=True,
            check=False,
        )
    assert "another process is writing this export" in second.stderr


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_shard_is_a_clear_error(tiny_corpus: Path, tmp_path: Path, workers: int) -> None:
    shutil.copytree(tiny_corpus, tmp_path / "copy")
    corpus = Corpus.open(tmp_path / "copy" / "data_manifests" / "tiny")
    shard = sorted((corpus.shards / "test").glob("*.tar"))[2]
    flip(shard, 5000)
    with pytest.raises(CorpusError, match=rf"{shard.name}: damaged") as failed:
        export_corpus(corpus, "nemo", tmp_path / "out", worker_count=workers)
    assert "build" in failed.value.fix
    assert not (tmp_path / "out" / "test_manifest.jsonl").exists()


def test_unknown_format_names_those_there_are(manifests: Path, tmp_path: Path) -> None:
    failed = segue_here("export", manifests, "--to", "mp3", "--out", tmp_path / "out")
    assert failed.returncode == 1
    assert failed.stderr.startswith("error: --to mp3: no such format")
    assert f"{', '.join(FORMATS)}, transformers" in failed.stderr


def test_the_command_can_be_told_to_write_long_samples(manifests: Path, tmp_path: Path) -> None:
    """Only `laion` refuses them, so only there is anything allowed."""
    export_command(
        manifests,
        "laion",
        tmp_path / "out",
        split=["test"],
        allow_long=True,
        workers=0,
        observer=UNOBSERVED,
    )
    assert (tmp_path / "out" / "tiny" / "test" / "sizes.json").is_file()
    with pytest.raises(SpecError, match="--allow-long is for --to laion, not for nemo"):
        export_command(
            manifests, "nemo", tmp_path / "nemo", allow_long=True, workers=0, observer=UNOBSERVED
        )


def test_a_run_is_no_corpus_and_a_corpus_no_run(manifests: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    run.mkdir()
    (run / "model.pt").write_bytes(b"")
    with pytest.raises(SpecError, match="is a training run, not a corpus"):
        export_command(run, "hf", out, observer=UNOBSERVED)
    with pytest.raises(SpecError, match="is a corpus, not a training run"):
        export_command(manifests, "transformers", out, observer=UNOBSERVED)
    with pytest.raises(SpecError, match="no splits and workers"):
        export_command(run, "transformers", out, given={"--split"}, observer=UNOBSERVED)
    with pytest.raises(SegueError, match="no trained model here"):
        export_command(tmp_path, "transformers", out, observer=UNOBSERVED)
    assert not out.exists()


def test_an_exported_corpus_says_what_it_needs_and_is_no_corpus(
    manifests: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export_command(manifests, "hf", tmp_path / "out", workers=0, observer=UNOBSERVED).show()
    assert "note: decoding its sounds needs datasets and torchcodec" in capsys.readouterr().out
    with pytest.raises(SpecError, match="is an export of a corpus, not a corpus"):
        export_command(tmp_path / "out", "esc", tmp_path / "esc", observer=UNOBSERVED)


@each_format
def test_every_export_credits_the_clips_and_names_the_licence_of_their_mixes(
    suitable: Corpus, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    """The table counted all clips of the library, and audio was copied out with no credit."""
    folder = export_once(tmp_path_factory)(suitable, name)
    ledger = (folder / "ATTRIBUTION.csv").read_bytes()
    assert ledger == (suitable.shards / "ATTRIBUTION.csv").read_bytes()
    read_me = (folder / "README.md").read_text()
    assert "can be under CC0-1.0" in read_me
    assert f"| CC0-1.0 | {suitable.facts['licences']['CC0-1.0']} |" in read_me
    assert ("license: cc0-1.0" in read_me) == (name in ("hf", "edits-hf"))


def test_an_esc_export_takes_no_credit_of_esc50(corpus: Corpus, tmp_path: Path) -> None:
    export_corpus(corpus, "esc", tmp_path / "out")
    for ref in Esc50(root=tmp_path / "out").refs():
        assert (ref.licence, ref.attribution) == ("unknown", "")
        assert ref.recording.startswith("esc50/")


def test_check_compares_an_export_with_its_receipts(manifests: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    export_command(manifests, "dcase", out, split=["test"], workers=0, observer=UNOBSERVED)
    done = segue_here("check", out, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["ok"], facts["format"], facts["corpus"]) == (True, "dcase", "tiny")
    shards = {row["shard"] for row in Corpus.open(manifests).samples("test").to_pylist()}
    assert facts["checks"]["parts with a receipt"] == len(shards)
    assert "an export is checked" in segue_here("check", out, "--samples", "2").stderr
    audio = next(out.rglob("*.tsv"))
    data = audio.read_bytes()
    for change, told in ((audio.unlink, "missing"), (lambda: audio.write_bytes(data[:9]), "9 by")):
        change()
        failed = segue_here("check", out)
        assert failed.returncode == 1
        assert f"{audio}: " in failed.stderr
        assert told in failed.stderr
    (out / KEPT / "finished.json").unlink()
    audio.write_bytes(data)
    assert "is not finished" in segue_here("check", out).stderr


# Every sample is read by lhotse with the PCM of its shard.


def pcm_hash(pcm: Any) -> str:
    assert pcm.dtype == np.int16
    return hashlib.sha256(np.ascontiguousarray(pcm)).hexdigest()


def read_cuts(cuts: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for cut in cuts:
        steps = cut.load_audio()[0] * 32768
        pcm = steps.astype(np.int16)
        assert np.array_equal(pcm, steps)  # nothing was lost
        yield cut.id, pcm_hash(pcm)


def read_by_lhotse(corpus: Corpus, out: Path, split: str) -> Iterator[tuple[str, str]]:
    export_corpus(corpus, "lhotse", out, [split])
    cuts = lhotse.CutSet.from_jsonl_lazy(out / f"{corpus.name}_cuts_{split}.jsonl.gz")
    return read_cuts(cuts.with_recording_path_prefix(out))


def read_by_lhotse_shar(corpus: Corpus, out: Path, split: str) -> Iterator[tuple[str, str]]:
    export_corpus(corpus, "shar", out, [split])
    return read_cuts(lhotse.CutSet.from_shar(in_dir=out / split))


@pytest.mark.parametrize("read", [read_by_lhotse, read_by_lhotse_shar])
def test_every_sample_is_read_with_the_pcm_of_its_shard(
    corpus: Corpus,
    tmp_path: Path,
    read: Callable[[Corpus, Path, str], Iterator[tuple[str, str]]],
) -> None:
    for split in corpus.splits:
        found = list(read(corpus, tmp_path / split, split))
        assert found == [
            (
                row["id"],
                pcm_hash(corpus.stored_pcm(split, row["shard"], row["offset"], row["size"])),
            )
            for row in corpus.samples(split).to_pylist()
        ]


# Shards and manifests read by the libraries that people read them with.


def shard_urls(corpus: Corpus, split: str) -> list[str]:
    return [str(path) for path in sorted((corpus.shards / split).glob("*.tar"))]


def test_webdataset_reads_every_sample_in_plan_order(corpus: Corpus) -> None:
    samples = list(webdataset.WebDataset(shard_urls(corpus, "train"), shardshuffle=False))
    rows = corpus.samples("train").to_pylist()
    assert [sample["__key__"] for sample in samples] == [row["id"] for row in rows]
    for sample, row in zip(samples, rows, strict=True):
        document = json.loads(sample["json"])
        pcm, rate = soundfile.read(io.BytesIO(sample["flac"]), dtype="int16")
        assert (len(pcm), rate) == (row["frames"], row["sample_rate"])
        assert document["text"][0] == row["caption"]
        assert document["negatives"] == [negative["text"] for negative in row["negatives"]]
        assert np.array_equal(pcm, corpus.virtual_pcm(row))


def test_load_dataset_reads_the_shards(corpus: Corpus, tmp_path: Path) -> None:
    first = json.loads(
        next(iter(webdataset.WebDataset(shard_urls(corpus, "train")[:1], shardshuffle=False)))[
            "json"
        ]
    )
    found = datasets.load_dataset(
        "webdataset",
        data_files={split: shard_urls(corpus, split) for split in corpus.splits},
        features=datasets.Features(
            {
                "__key__": datasets.Value("string"),
                "__url__": datasets.Value("string"),
                "flac": datasets.Value("binary"),
                "json": _features(first),
            }
        ),
        cache_dir=str(tmp_path),
    )
    assert {split: len(found[split]) for split in found} == {
        split: corpus.samples(split).num_rows for split in corpus.splits
    }
    sample = found["train"][0]
    pcm, _ = soundfile.read(io.BytesIO(sample["flac"]), dtype="int16")
    assert len(pcm) == sample["json"]["frames"]
    assert sample["json"]["text"][0] == corpus.samples("train").to_pylist()[0]["caption"]


def _features(value: object) -> object:
    """Hugging Face features of a JSON value."""
    match value:
        case dict():
            return {key: _features(item) for key, item in value.items()}
        case list():
            return (
                datasets.List(_features(value[0]))
                if value
                else datasets.List(datasets.Value("string"))
            )
        case str():
            return datasets.Value("string")
        case int():
            return datasets.Value("int64")
        case _:
            return datasets.Value("float64")


def test_load_dataset_reads_the_manifest(corpus: Corpus, tmp_path: Path) -> None:
    found = datasets.load_dataset(
        "parquet",
        data_files=str(corpus.folder / "samples.parquet"),
        split="train",
        cache_dir=str(tmp_path),
    )
    rows = corpus.samples().to_pylist()
    assert len(found) == len(rows)
    assert found[0]["caption"] == rows[0]["caption"]
    assert found[0]["negatives"][0]["text"] == rows[0]["negatives"][0]["text"]


def test_fields_sizes_and_keys_are_what_loaders_take(corpus: Corpus) -> None:
    fields = set()
    for split in corpus.splits:
        for sample in webdataset.WebDataset(shard_urls(corpus, split), shardshuffle=False):
            document = json.loads(sample["json"])
            fields.add((tuple(document), tuple(document["events"][0])))
            assert not set(document["text"]) & set(document["negatives"])
    assert len(fields) == 1
    # LAION-CLAP's and open_clip's loaders take their epoch's length from sizes.json.
    for split in corpus.splits:
        sizes = json.loads((corpus.shards / split / "sizes.json").read_text())
        for name, size in sizes.items():
            url = str(corpus.shards / split / name)
            assert size == sum(1 for _ in webdataset.WebDataset(url, shardshuffle=False))
        assert set(sizes) == {Path(url).name for url in shard_urls(corpus, split)}
    keys = [row["id"] for row in corpus.samples(columns=["id"]).to_pylist()]
    assert len(set(keys)) == len(keys)
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for key in keys)


def test_mlcroissant_accepts_the_description_and_reads_by_it(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It keeps what it extracts by file name alone, for all corpora of this machine.
    monkeypatch.setattr(
        "mlcroissant._src.operation_graph.operations.extract.EXTRACT_PATH", epath.Path(tmp_path)
    )
    found = mlcroissant.Dataset(jsonld=str(corpus.shards / "croissant.json"))
    assert not found.metadata.issues.errors
    # Equal corpora have equal files, so nothing says when one was made.
    expected = ("datePublished", "citeAs")
    warnings = found.metadata.issues.warnings
    assert all(any(name in each for name in expected) for each in warnings)
    rows = {row["id"]: row for row in corpus.samples().to_pylist()}
    samples = list(found.records("samples"))
    assert [sample["samples/id"].decode() for sample in samples] == list(rows)
    for sample in samples:
        row = rows[sample["samples/id"].decode()]
        assert sample["samples/caption"].decode() == row["caption"]
        assert [label.decode() for label in sample["samples/labels"]] == row["labels"]
        assert sample["samples/frames"] == row["frames"]
    sounds = {record["audio/id"].decode(): record for record in found.records("audio")}
    assert set(sounds) == set(rows)
    for name, record in sounds.items():
        pcm, rate = soundfile.read(io.BytesIO(record["audio/audio"]), dtype="int16")
        assert (len(pcm), rate) == (rows[name]["frames"], rows[name]["sample_rate"])


def test_the_description_has_checksums_and_the_hub_takes_the_card(corpus: Corpus) -> None:
    described = json.loads((corpus.shards / "croissant.json").read_text())["distribution"]
    files = [each for each in described if each["@type"] == "cr:FileObject"]
    assert {file["contentUrl"] for file in files} == {
        path.relative_to(corpus.shards).as_posix()
        for path in [*corpus.shards.rglob("*.tar"), corpus.shards / "samples.parquet"]
    }
    for file in files:
        data = (corpus.shards / file["contentUrl"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == file["sha256"]
    card = DatasetCard.load(corpus.shards / "README.md")
    assert card.data.license == "cc0-1.0"
    assert card.data.language == ["en"]
    assert card.data.size_categories == ["n<1K"]
    assert card.data.configs[0]["data_files"][0]["split"] == "train"
