"""Manifests and sidecars: lhotse's and its Shar, NeMo's and audiocraft's, as their readers do."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pipelines.checks.exported import audit_export
from pipelines.export import export_corpus
from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from synth.corpus.schema import read_timeline
from synth.export.items import list_shards
from synth.labels.lexicon import Phrase
from tests.kit.chats import read_lines
from tests.kit.export_corpora import Exported

# Manifests


@pytest.fixture
def folder(exported: Exported, corpus: Corpus) -> Path:
    return exported(corpus, "lhotse")


@pytest.fixture
def shar(exported: Exported, corpus: Corpus) -> Path:
    return exported(corpus, "shar")


@pytest.fixture
def lhotse() -> Any:
    return pytest.importorskip("lhotse")


def test_cuts_load_and_validate_with_their_audio(lhotse: Any, folder: Path, corpus: Corpus) -> None:
    from lhotse.qa import validate
    from lhotse.recipes.utils import read_manifests_if_cached

    lazy = lhotse.CutSet.from_jsonl_lazy(folder / "tiny_cuts_train.jsonl.gz")
    cuts = list(lazy.with_recording_path_prefix(folder))
    rows = corpus.samples("train").to_pylist()
    assert [cut.id for cut in cuts] == [row["id"] for row in rows]
    for cut, row in zip(cuts[:6], rows, strict=False):
        validate(cut, read_data=True)
        audio = cut.load_audio()
        pcm = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        assert np.array_equal(audio, pcm[np.newaxis].astype(np.float32) / 32768)
        assert cut.custom["caption"] == row["caption"]
        assert not set(cut.custom["captions"]) & set(cut.custom["negatives"])
    listed = read_manifests_if_cached(corpus.splits, folder, prefix=corpus.name)
    assert {split: len(listed[split]["recordings"]) for split in listed} == {
        split: corpus.samples(split).num_rows for split in corpus.splits
    }


def test_every_stretch_of_a_sound_is_a_supervision_in_its_place(
    lhotse: Any, folder: Path, corpus: Corpus
) -> None:
    found = lhotse.load_manifest(folder / "tiny_supervisions_train.jsonl.gz")
    recordings = lhotse.load_manifest(folder / "tiny_recordings_train.jsonl.gz")
    lhotse.validate_recordings_and_supervisions(recordings, found)
    sounds: dict[str, list[tuple[str, float]]] = {}
    dense: dict[str, list[tuple[str, str, float]]] = {}
    for each in found:
        if "dense" in each.custom:
            its = dense.setdefault(each.recording_id, [])
            its.append((each.custom["dense"], each.text, each.start))
        else:
            its = sounds.setdefault(each.recording_id, [])
            its.append((each.custom["audio_event"], each.start))
    for row in corpus.samples("train").to_pylist():
        assert sounds[row["id"]] == [
            (place.label, stretch.onset / row["sample_rate"])
            for place in read_timeline(row).placements
            for stretch in place.heard.labelled
        ]
        assert dense[row["id"]] == [
            (told["resolution"], told["text"], told["onset"] / row["sample_rate"])
            for told in row["dense"]
        ]


# Shar


def test_cuts_of_shar_load_and_validate_with_their_audio(
    lhotse: Any, shar: Path, corpus: Corpus
) -> None:
    from lhotse.qa import validate

    for split in corpus.splits:
        cuts = lhotse.CutSet.from_shar(in_dir=shar / split)
        rows = corpus.samples(split).to_pylist()
        assert len(rows) > 12
        for cut, row in zip(cuts, rows, strict=True):
            validate(cut, read_data=True)
            pcm = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
            assert cut.id == row["id"]
            assert np.array_equal(cut.load_audio()[0], pcm.astype(np.float32) / 32768)


def test_audio_is_stored_as_the_shards_store_it(shar: Path, corpus: Corpus) -> None:
    rows = {row["member"]: row for row in corpus.samples().to_pylist()}
    found = {}
    for path in shar.glob("*/recording.*.tar"):
        with tarfile.open(path) as tar:
            for member in tar:
                data = tar.extractfile(member).read()  # type: ignore[union-attr]
                found[member.name] = hashlib.sha256(data).hexdigest()
    assert {name: found[name] for name in rows} == {
        name: row["sha256"] for name, row in rows.items()
    }


def test_cuts_tell_what_those_of_the_other_layout_do(
    shar: Path, exported: Exported, corpus: Corpus
) -> None:
    """Captions, sounds and dense captions do not depend on where the audio lies."""
    other = exported(corpus, "lhotse")
    for split in corpus.splits:
        own = [
            json.loads(line)
            for path in sorted((shar / split).glob("cuts.*.jsonl.gz"))
            for line in gzip.decompress(path.read_bytes()).splitlines()
        ]
        cuts = gzip.decompress((other / f"tiny_cuts_{split}.jsonl.gz").read_bytes())
        assert len(own) == corpus.samples(split).num_rows
        for mine, line in zip(own, cuts.splitlines(), strict=True):
            theirs = json.loads(line)
            assert mine.pop("recording")["sources"] != theirs.pop("recording")["sources"]
            assert mine == theirs


def test_nothing_but_data_lies_beside_the_cuts(shar: Path, folder: Path, corpus: Corpus) -> None:
    """Lhotse takes the first word of any file's name there for a field."""
    for split in corpus.splits:
        shards = corpus.facts["splits"][split]["shards"]
        assert sorted(path.name for path in (shar / split).iterdir()) == sorted(
            name
            for number in range(shards)
            for name in (f"cuts.{number:06d}.jsonl.gz", f"recording.{number:06d}.tar")
        )
    # Their headers hold no time.
    for path in (shar / "test" / "cuts.000000.jsonl.gz", folder / "tiny_cuts_test.jsonl.gz"):
        assert path.read_bytes()[4:8] == bytes(4)


# NeMo: one JSON object a line, paths beside the manifest, durations


def test_manifest_lines_lead_to_audio_of_their_duration(exported: Exported, corpus: Corpus) -> None:
    folder = exported(corpus, "nemo")
    for split in corpus.splits:
        manifest = folder / f"{split}_manifest.jsonl"
        lines = read_lines(manifest)
        rows = corpus.samples(split).to_pylist()
        assert [line["text"] for line in lines] == [row["caption"] for row in rows]
        for line in lines[:10]:
            audio = manifest.parent / line["audio_filepath"]
            info = soundfile.info(audio)
            assert line["duration"] == pytest.approx(info.frames / info.samplerate)
            assert line["offset"] == 0.0
            assert not set(line["captions"]) & set(line["negatives"])
            last = max(event["onset"] + event["duration"] for event in line["events"])
            assert last <= line["duration"] + 1e-9
            assert list(line["dense"]) == ["stretch", "sound", "scene"]
            assert re.match(r"0\.\d-\d\.\d s [a-z]", line["dense"]["scene"])


# audiocraft's manifests and sidecars, by the rules of its loaders.


@pytest.fixture
def audiocraft(exported: Exported, corpus: Corpus) -> Path:
    return exported(corpus, "audiocraft")


def test_a_line_and_a_sidecar_tell_each_file(audiocraft: Path, corpus: Corpus) -> None:
    for split in corpus.splits:
        lines = (audiocraft / split / "data.jsonl").read_text(encoding="utf-8").splitlines()
        rows = corpus.samples(split).to_pylist()
        assert len(lines) == len([*(audiocraft / "audio" / split).glob("*.json")])
        for line, row in zip(map(json.loads, lines), rows, strict=True):
            audio, rate = soundfile.read(audiocraft / line["path"], dtype="float32")
            assert line == {
                "path": f"audio/{split}/{row['id']}.flac",
                "duration": len(audio) / rate,
                "sample_rate": rate,
                "amplitude": float(np.abs(audio).max()),
                "weight": None,
                "info_path": None,
            }
            told = json.loads((audiocraft / line["path"]).with_suffix(".json").read_text("utf-8"))
            assert told["description"] == row["caption"]
            assert told["descriptions"][0] == row["caption"]
            false = {negative["text"] for negative in row["negatives"]}
            assert not {told["description"], *told["descriptions"]} & false


def test_paths_can_be_absolute(corpus: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for written in (len(list_shards(corpus)), 0):
        assert export_corpus(corpus, "audiocraft", out, absolute=True).written == written
    for split in corpus.splits:
        for line in (out / split / "data.jsonl").read_text(encoding="utf-8").splitlines():
            path = Path(json.loads(line)["path"])
            assert path.is_relative_to(out)
            assert path.is_file()
    assert not audit_export(corpus.folder, out).faults
    for name, absolute, said in (("audiocraft", False, "another export"), ("hf", True, "leave")):
        with pytest.raises(SpecError) as caught:
            export_corpus(corpus, name, out, absolute=absolute)
        assert said in f"{caught.value.message} {caught.value.fix}"


def test_each_stretch_in_which_a_sound_is_heard_is_a_prompt(
    audiocraft: Path, corpus: Corpus
) -> None:
    for row in corpus.samples().to_pylist():
        path = audiocraft / "audio" / row["split"] / f"{row['id']}.json"
        prompts = json.loads(path.read_text(encoding="utf-8"))["timed_prompts"]
        rate = row["sample_rate"]
        expected = {
            (Phrase.of_label(place.label).clause, stretch.onset / rate, stretch.offset / rate)
            for place in read_timeline(row).placements
            for stretch in place.heard.labelled
        }
        told = [(prompt["text"], prompt["onset_s"], prompt["offset_s"]) for prompt in prompts]
        assert {*told} == expected
        onsets = [onset for _, onset, _ in told]
        assert onsets == sorted(onsets)
