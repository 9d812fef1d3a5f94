"""Shards: plain tar files that any reader takes, the same bytes every time."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tracemalloc
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from synth.audio.render import Layer, Rendering
from synth.base.errors import CorpusError, PlanError
from synth.base.units import to_decibels
from synth.captions.caption import Style
from synth.captions.contrast import Wording, contrast
from synth.captions.narrative import DenseCaption, Resolution
from synth.corpus.schema import PLAN, Sample, canonical_json, plan_text, to_table
from synth.corpus.shards import (
    AudioFormat,
    Measurement,
    ShardWriter,
    decode_audio,
    document,
    encode_audio,
    find_span,
    name_stems,
    read_member,
    refuse_large,
    serialise_document,
    writing,
)
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase
from synth.scene.activity import Acoustics, Activity, Stretch
from synth.scene.claim import claim_from_json
from synth.scene.scene import Concat, Event, Excerpt, Overlay
from synth.scene.timeline import timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes
from tests.kit.cases import cases
from tests.kit.tables import read_data

RATE = 16_000
CLIPS = {
    name: {"licence": "CC0-1.0", "attribution": f"maker of {name}"} for name in ("lib/a", "lib/b")
}
FORMATS = list(AudioFormat)


def sample(index: int, together: bool = False) -> Sample:
    a = Event("dog", Excerpt("lib/a", 0, 400, -3.0))
    b = Event("sea_waves", Excerpt("lib/b", 10, 300))
    scene = Overlay(a, b, 20) if together else Concat(a, b, 100)
    word = Connective.WHILE if together else Connective.AFTER
    wording = Wording(
        (Connective.BEFORE, Connective.AFTER, Connective.WHILE), Phrase.of_label, Style.NATURAL
    )
    captions = contrast(scene, word, wording, timeline(scene), Tolerance(audible=100))
    return Sample(
        id=f"demo-train-{index:08d}",
        index=index,
        group="train-0",
        split="train",
        shard="demo-train-000000.tar",
        recipe="triplets",
        scene=scene,
        activity=tuple(place.heard for place in timeline(scene).placements),
        caption=captions.caption,
        positives=captions.positives,
        negatives=captions.negatives,
        frames=700,
        excerpts=0,
        sample_rate=RATE,
    )


def rendering(seed: int, frames: int = 700) -> Rendering:
    rng = np.random.default_rng(seed)
    return Rendering(rng.integers(-32768, 32768, frames).astype(np.int16), -1.5, -1.0)


@given(st.text(), st.floats(-200, 50))
def test_a_row_is_written_as_the_standard_library_would(text: str, level: float) -> None:
    level = round(level, 1)
    loud = Acoustics(level, level, (level, -level, level), -level, text)
    heard = Activity((Stretch(2, 4),), (Stretch(0, 9),), 3, loud, (Stretch(1, 5),))
    dense = DenseCaption(Resolution.SCENE, 0, 9, text)
    row = replace(sample(0), activity=(heard, heard), dense=(dense,), group=text).row()
    assert plan_text(row) == canonical_json(row)
    assert to_table([row], PLAN).to_pylist() == [row]


ROWS = [sample(index, bool(index % 2)).row() for index in range(4)]


def write(path: Path, audio_format: AudioFormat) -> list[Measurement]:
    with writing(path, audio_format) as shard:
        return [
            shard.append(row, rendering(i), serialise_document(row, CLIPS))
            for i, row in enumerate(ROWS)
        ]


@pytest.mark.parametrize("audio_format", FORMATS)
@given(seed=st.integers(0, 99), frames=st.integers(1, 3000), rate=st.sampled_from([8000, 48000]))
def test_audio_is_stored_without_loss(
    audio_format: AudioFormat, seed: int, frames: int, rate: int
) -> None:
    pcm = rendering(seed, frames).pcm
    data = encode_audio(pcm, rate, audio_format)
    assert np.array_equal(decode_audio(data), pcm)
    info = soundfile.info(io.BytesIO(data))
    assert (info.samplerate, info.channels, info.frames) == (rate, 1, frames)
    assert info.format.lower() == audio_format.value
    assert encode_audio(pcm, rate, audio_format) == data


@cases("audio_format", FORMATS)
def test_stems_are_streamed(tmp_path: Path, audio_format: AudioFormat) -> None:
    frames, count = 20_000, 100
    noise = np.random.default_rng(0).normal(0, 0.1, (count, frames)).astype(np.float32)
    pcm = np.rint(noise.sum(axis=0, dtype=np.float64) * 1000).astype(np.int16)
    layers = tuple(Layer(0, audio) for audio in noise)
    made = Rendering(pcm, to_decibels(1000 / 32768), 0.0, layers)
    with writing(tmp_path / "s.tar", audio_format) as shard:
        tracemalloc.start()
        shard.append(ROWS[0], made, b"{}")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most < noise.nbytes / 2
    with tarfile.open(tmp_path / "s.tar") as tar:
        stems = tar.extractfile(name_stems(f"{ROWS[0]['id']}.{audio_format.value}"))
        assert stems is not None
        stored, _ = soundfile.read(io.BytesIO(stems.read()), dtype="int16")
    assert np.array_equal(stored.reshape(count, frames).sum(axis=0), pcm)


@cases(
    ("audio_format", "minutes", "sounds", "fits"),
    [
        (AudioFormat.WAV, 5, 149, True),
        (AudioFormat.WAV, 5, 150, False),
        (AudioFormat.FLAC, 5, 150, True),
    ],
)
def test_stems_that_no_wav_file_holds_are_refused(
    audio_format: AudioFormat, minutes: int, sounds: int, fits: bool
) -> None:
    with nullcontext() if fits else pytest.raises(PlanError, match="a WAV file has 4 at most"):
        refuse_large(audio_format, minutes * 60 * 48_000, sounds)


@cases("audio_format", FORMATS)
def test_members_are_adjacent_in_order_and_headers_bear_no_time_or_owner(
    tmp_path: Path, audio_format: AudioFormat
) -> None:
    path = tmp_path / "s.tar"
    measurements = write(path, audio_format)
    with tarfile.open(path) as tar:
        members = tar.getmembers()
        for number, place in enumerate(measurements):
            data = read_member(path, place.offset, place.size)
            stored = tar.extractfile(place.member)
            assert stored is not None
            assert data == stored.read()
            assert hashlib.sha256(data).hexdigest() == place.sha256
            assert np.array_equal(decode_audio(data), rendering(number).pcm)
            assert (place.gain_db, place.peak_db) == (-1.5, -1.0)
    names = [f"{row['id']}.{kind}" for row in ROWS for kind in (audio_format.value, "json")]
    assert [member.name for member in members] == names
    for member in members:
        assert (member.mtime, member.uid, member.gid) == (0, 0, 0)
        assert (member.uname, member.gname) == ("", "")
        assert member.isreg()
        assert member.pax_headers == {}
    assert path.read_bytes()[257:263] == b"ustar\x00"
    assert path.stat().st_size % 512 == 0
    write(tmp_path / "again.tar", audio_format)
    assert (tmp_path / "again.tar").read_bytes() == path.read_bytes()


@given(
    names=st.lists(st.text("ab-0", min_size=1, max_size=60), min_size=1, max_size=4),
    sizes=st.lists(st.integers(0, 1100), min_size=4, max_size=4),
)
def test_shards_are_what_tarfile_writes(names: list[str], sizes: list[int]) -> None:
    ours, theirs = io.BytesIO(), io.BytesIO()
    writer = ShardWriter(ours, AudioFormat.WAV, Path())
    with tarfile.open(fileobj=theirs, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for number, (name, size) in enumerate(zip(names, sizes, strict=False)):
            heard, text = rendering(number, 1 + size), bytes(size)
            writer.append({"id": name, "sample_rate": RATE}, heard, text)
            for suffix, data in (
                ("wav", encode_audio(heard.pcm, RATE, AudioFormat.WAV)),
                ("json", text),
            ):
                info = tarfile.TarInfo(f"{name}.{suffix}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    writer.finish()
    assert ours.getvalue() == theirs.getvalue()
    assert writer.sha256 == hashlib.sha256(theirs.getvalue()).hexdigest()


@cases("audio_format", FORMATS)
def test_spans_of_samples_lie_end_to_end(audio_format: AudioFormat, tmp_path: Path) -> None:
    path = tmp_path / "demo.tar"
    measured = write(path, audio_format)
    end = 0
    for row, found in zip(ROWS, measured, strict=True):
        start, size = end, len(serialise_document(row, CLIPS))
        begin, end = find_span(found.offset, found.size, size)
        assert begin == start
        with tarfile.open(fileobj=io.BytesIO(path.read_bytes()[begin:end])) as tar:
            assert [member.size for member in tar] == [found.size, size]
    assert not any(path.read_bytes()[end:])


def test_a_shard_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    def fail() -> None:
        with writing(tmp_path / "s.tar", AudioFormat.FLAC) as shard:
            shard.append(ROWS[0], rendering(0), b"{}")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []
    writer = ShardWriter(io.BytesIO(), AudioFormat.FLAC, tmp_path)
    with pytest.raises(ValueError, match="name is too long"):
        writer.append({"id": "a" * 200, "sample_rate": RATE}, rendering(0), b"{}")


def test_reading_a_missing_or_short_shard_is_a_corpus_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such shard"):
        read_member(tmp_path / "s.tar", 512, 10)
    (tmp_path / "s.tar").write_bytes(b"x" * 520)
    assert read_member(tmp_path / "s.tar", 512, 8) == b"x" * 8
    with pytest.raises(CorpusError, match="ends before byte 522"):
        read_member(tmp_path / "s.tar", 512, 10)


@cases("row", ROWS[:2])
def test_text_holds_true_captions_only_and_the_main_one_first(row: dict[str, Any]) -> None:
    found = json.loads(json.dumps(document(row, CLIPS)))
    heard = timeline(sample(0, row["index"] == 1).scene)
    claims = {said["text"]: said["claim"] for said in [*row["positives"], *row["negatives"]]}
    claims[row["caption"]] = row["claim"]
    assert found["text"][0] == row["caption"]
    for text in found["text"]:
        assert proves(heard, claim_from_json(json.loads(claims[text])), Tolerance(audible=100))
    assert found["negatives"]
    assert len(found["negative_kinds"]) == len(found["negatives"])
    for text in found["negatives"]:
        assert text not in found["text"]
        assert refutes(heard, claim_from_json(json.loads(claims[text])), Tolerance(audible=100))
    assert found["tag"] == ["dog", "sea_waves"]
    assert "relation" in found


def test_every_sample_has_the_same_fields() -> None:
    def types(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: types(inner) for key, inner in value.items()}
        return type(value).__name__

    shapes = [types(document(row, CLIPS)) for row in ROWS]
    assert all(shape == shapes[0] for shape in shapes)
    assert "NoneType" not in str(shapes[0])
    bare = document(ROWS[0] | {"dense": [], "labels": ["dog", "rain", "dog"]}, CLIPS)
    assert (bare["heard_40ms"], bare["tag"]) == ([], ["dog", "rain"])


def test_events_are_in_seconds_with_licence_and_credit() -> None:
    assert document(ROWS[0], CLIPS)["events"] == read_data("corpus/events.yaml")


def test_frames_of_40_ms_tell_where_each_sound_is_heard() -> None:
    dense = [{"resolution": "sound", "onset": 0, "offset": 400, "text": "a dog barks"}]
    row = ROWS[0] | {"dense": dense, "frames": 3000}
    row["activity"] = [
        Activity((Stretch(0, 640), Stretch(1280, 2000)), (Stretch(0, 2200),)).to_json(),
        Activity((), (Stretch(1900, 1930),)).to_json(),
    ]
    expected = [
        {
            "label": "dog",
            "text": "a dog barks",
            "clear": [[0, 1], [2, 3]],
            "faint": [[1, 2], [3, 4]],
        },
        {"label": "sea_waves", "text": "waves crash on the shore", "clear": [], "faint": [[2, 4]]},
    ]
    assert json.loads(json.dumps(document(row, CLIPS)))["heard_40ms"] == expected


def test_rows_fit_the_plan_schema_and_come_back() -> None:
    table = to_table(ROWS, PLAN)
    assert table.schema == PLAN
    assert table.to_pylist() == ROWS
    # Arrow filled in nulls, although no field may hold one.
    lacking = {key: value for key, value in ROWS[0].items() if key != "frames"}
    with pytest.raises(pa.ArrowInvalid, match="frames"):
        to_table([lacking], PLAN)
    with pytest.raises((pa.ArrowInvalid, pa.ArrowTypeError)):
        to_table([ROWS[0] | {"frames": "many"}], PLAN)
