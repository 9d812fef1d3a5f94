"""audiocraft's manifests and sidecars, by the rules of its loaders."""

from __future__ import annotations

import json
from pathlib import Path

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
from tests.kit.export_corpora import Exported


@pytest.fixture
def folder(exported: Exported, corpus: Corpus) -> Path:
    return exported(corpus, "audiocraft")


def test_a_line_and_a_sidecar_tell_each_file(folder: Path, corpus: Corpus) -> None:
    for split in corpus.splits:
        lines = (folder / split / "data.jsonl").read_text(encoding="utf-8").splitlines()
        rows = corpus.samples(split).to_pylist()
        assert len(lines) == len([*(folder / "audio" / split).glob("*.json")])
        for line, row in zip(map(json.loads, lines), rows, strict=True):
            audio, rate = soundfile.read(folder / line["path"], dtype="float32")
            assert line == {
                "path": f"audio/{split}/{row['id']}.flac",
                "duration": len(audio) / rate,
                "sample_rate": rate,
                "amplitude": float(np.abs(audio).max()),
                "weight": None,
                "info_path": None,
            }
            told = json.loads((folder / line["path"]).with_suffix(".json").read_text("utf-8"))
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


def test_each_stretch_in_which_a_sound_is_heard_is_a_prompt(folder: Path, corpus: Corpus) -> None:
    for row in corpus.samples().to_pylist():
        path = folder / "audio" / row["split"] / f"{row['id']}.json"
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
