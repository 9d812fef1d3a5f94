"""NeMo's manifests, by its rules: one JSON object a line, paths beside the manifest, durations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import soundfile

from synth.corpus.corpus import Corpus


def test_manifest_lines_lead_to_audio_of_their_duration(
    exported: Callable[[Corpus, str], Path], corpus: Corpus
) -> None:
    folder = exported(corpus, "nemo")
    for split in corpus.splits:
        manifest = folder / f"{split}_manifest.jsonl"
        lines = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
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
