"""`segue audit --audio`: a sound corpus has no findings, and what is broken is found and named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.builder.build import plan_library
from pipelines.checks.audio import (
    AudioAudit,
    MeasuredSample,
    SamplePlan,
    audit_audio,
    bridge,
    compare_edges,
    find_runs,
)
from pipelines.config.spec import Spec
from synth.audio.dsp import ramp_cut
from synth.base.errors import CorpusError
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from synth.scene.activity import Stretch
from synth.scene.scene import Excerpt
from synth.scene.timeline import Placement, Timeline
from synth.truth.ear import Ear
from tests.kit.builds import UNCERTIFIED, merged, rewrite_rows, segue_here
from tests.kit.corpora import built as build_once
from tests.kit.corpora import manifests
from tests.kit.observers import Phases

Row = dict[str, Any]

RATE = 16_000
SPEC: dict[str, Any] = {
    "corpus": "heard",
    "seed": 5,
    "source": {"foley": {"takes": 2}},
    "recipe": {"scenes": {"scenes": 40, "max_event_s": 1.5}},
    "audio": {"sample_rate": RATE, "format": "wav"},
    "shards": {"samples": 16},
}
EAR = Ear()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a built corpus; not to be changed."""
    return build_once(SPEC, tmp_path_factory)


@pytest.fixture
def own(built: Path, tmp_path: Path) -> Path:
    """The manifest folder of a copy, with its shards and its bank."""
    copy = shutil.copytree(built, tmp_path / "own", ignore=UNCERTIFIED)
    return Corpus.open(copy / "data_manifests/heard").folder


def change_row(folder: Path, number: int, change: Callable[[Row], None]) -> Row:
    """Change one row of a manifest; gives the row."""
    rows = rewrite_rows(folder / "samples.parquet", lambda rows: change(rows[number]))
    return rows[number]  # type: ignore[no-any-return]


def checks(found: AudioAudit) -> set[tuple[str, str]]:
    return {(finding.sample, finding.check) for finding in found.findings}


# What is sound


def test_built_corpus_has_no_findings(built: Path) -> None:
    phases = Phases()
    found = audit_audio(built / "data_manifests/heard", 100, phases)
    assert found.findings == ()
    assert found.samples == 40
    assert (phases.ended, phases.total) == (["listen"], {"listen": 40})
    assert found.sounds >= 80
    assert found.sentences >= 120


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"audio": {"sample_rate": 22050, "format": "flac", "fade": "equal_power"}},
        {"audio": {"length": "padded 9 s"}},
        {"recipe": {"scenes": {"scenes": 20, "mixing": "sum", "crossfade": 0.0}}},
        {"recipe": {"scenes": {"scenes": 20, "mixing": "snr", "max_event_s": None}}},
        {"recipe": {"triplets": {"crossfade_s": 0.25, "max_event_s": 1.0, "repeats": 1}}},
    ],
    ids=["equal power", "padded", "sum", "snr", "triplets"],
)
def test_corpora_of_any_setting_have_no_findings(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any]
) -> None:
    folder = manifests(merged(SPEC, changes), tmp_path_factory)
    assert audit_audio(folder, 40).findings == ()


# What is broken


def test_flipped_frame_of_a_shard_is_named_with_its_time(own: Path) -> None:
    row = Corpus.open(own).samples().to_pylist()[4]
    (shard,) = own.parents[2].rglob(row["shard"])
    at = 1234
    with shard.open("r+b") as file:
        file.seek(row["offset"] + 44 + 2 * at)
        byte = file.read(2)[1]
        file.seek(row["offset"] + 44 + 2 * at + 1)
        file.write(bytes([byte ^ 0x20]))
    found = audit_audio(own, 40)
    (finding,) = found.findings
    assert (finding.sample, finding.check) == (row["id"], "samples")
    assert "8,19" in finding.said  # a bit is 8,192 steps
    assert f"{at / RATE:.4f} s" in finding.said
    assert "1 frames from" in finding.said


def test_shard_that_cannot_be_decoded_is_named(own: Path) -> None:
    row = Corpus.open(own).samples().to_pylist()[4]
    (shard,) = own.parents[2].rglob(row["shard"])
    with shard.open("r+b") as file:
        file.seek(row["offset"])
        file.write(b"nosound!")
    (finding,) = audit_audio(own, 40).findings
    assert (finding.sample, finding.check) == (row["id"], "samples")
    assert f"{row['shard']}: a sample has no audio" in finding.said


def louder(row: Row) -> None:
    scene = json.loads(row["scene"])
    event = scene
    while "event" not in event:
        event = (event.get("sequence") or event.get("overlay"))[0]
    event["gain_db"] += 1.0
    row["scene"] = json.dumps(scene)


def narrower(row: Row) -> None:
    (first, *_) = row["activity"][0]["faint"]
    early = [{"onset": first["onset"], "offset": first["onset"] + RATE // 20}]
    row["activity"][0] = row["activity"][0] | {"clear": early, "faint": early}


def truer(row: Row) -> None:
    row["negatives"][0]["claim"] = row["claim"]


@pytest.mark.parametrize(
    ("change", "check", "words"),
    [
        (
            lambda row: row.update(frames=row["frames"] + 1),
            "samples",
            "{frames:,} are planned",
        ),
        (lambda row: row.update(gain_db=row["gain_db"] - 0.1), "samples", "differs from the sum"),
        (louder, "samples", "{clip}"),
        (narrower, "faint", "not even faint in the plan, but heard (as recorded) from "),
        (truer, "captions", "{negative!r} passes for false"),
        (lambda row: row.update(claim='{"event": "Trumpet"}'), "captions", "passes for true"),
    ],
    ids=["length", "gain", "louder", "narrower", "truer", "false"],
)
def test_what_a_row_says_otherwise_than_its_audio_is_named(
    own: Path, change: Callable[[Row], None], check: str, words: str
) -> None:
    row = change_row(own, 4, change)
    found = audit_audio(own, 40)
    told = [each.said for each in found.findings if each.check == check]
    assert {each.sample for each in found.findings} == {row["id"]}
    facts = {"clip": row["clips"][0], "frames": row["frames"]}
    assert words.format(**facts, negative=row["negatives"][0]["text"]) in told[0]
    if change not in (louder, narrower):
        assert checks(found) == {(row["id"], check)}


def test_altered_clip_of_the_bank_is_named(own: Path) -> None:
    corpus = Corpus.open(own)
    rows = corpus.samples().to_pylist()
    clip = rows[4]["clips"][0]
    entry = corpus.bank.entries[clip]
    part = corpus.bank.folder / entry.part
    pcm = np.fromfile(part, dtype="<i2")
    half = pcm[entry.start : entry.start + entry.frames // 2]
    half[:] = half[::-1].copy()
    pcm.tofile(part)
    found = audit_audio(own, 40)
    users = {row["id"] for row in rows if clip in row["clips"]}
    assert rows[4]["id"] in {finding.sample for finding in found.findings} <= users
    assert any(clip in f.said for f in found.findings if f.check == "samples")


def test_activity_that_is_too_wide_is_named(own: Path) -> None:
    corpus = Corpus.open(own)
    rows = corpus.samples().to_pylist()
    number, event = next(
        (number, event)
        for number, row in enumerate(rows)
        for event, heard in enumerate(row["activity"])
        if any(
            later["onset"] - earlier["offset"] > 0.14 * RATE
            for earlier, later in zip(heard["faint"], heard["faint"][1:], strict=False)
        )
    )

    def widen(row: Row) -> None:
        heard = row["activity"][event]
        whole = [{"onset": heard["faint"][0]["onset"], "offset": heard["faint"][-1]["offset"]}]
        row["activity"][event] = heard | {"clear": whole, "faint": whole}

    row = change_row(own, number, widen)
    found = audit_audio(own, 40)
    assert checks(found) == {(row["id"], "clear")}
    first = found.findings[0].said
    assert f"sound {event + 1}, {row['labels'][event]!r} ({row['clips'][event]})" in first
    assert "clear in the plan, but hardly heard (as recorded) from " in first
    assert "dB below its loudest 50 ms" in first


def test_a_sound_that_begins_or_ends_with_a_click_is_named() -> None:
    frames = RATE
    tone = (0.3 * np.cos(np.arange(frames) * (2 * np.pi * 440 / RATE))).astype(np.float32)
    place = Placement("dog", 0, frames, Excerpt("lib/a", 0, frames))
    planned = SamplePlan(Timeline((place,), frames), frames, 0.0, RATE)
    ((check, said),) = compare_edges(planned, tone[np.newaxis])
    assert check == "jump"
    assert "'dog' (lib/a) begins or ends with a jump of 0.300" in said
    ramp_cut(tone, RATE, begins=True, ends=True)
    assert not list(compare_edges(planned, tone[np.newaxis]))


# What cannot be audited


def test_plan_is_a_clear_error(tmp_path: Path) -> None:
    _, places, _ = plan_library(Spec.model_validate(SPEC), tmp_path, 0, UNOBSERVED)
    with pytest.raises(CorpusError, match=r"a plan has no audio yet.*segue build"):
        audit_audio(places.manifests, 40)
    done = segue_here("audit", places.manifests, "--audio", "5")
    assert done.returncode == 1
    assert "a plan has no audio yet" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_bank_that_is_gone_is_a_clear_error_and_a_build_brings_it_back(own: Path) -> None:
    shutil.rmtree(own.parents[2] / "banks")
    with pytest.raises(CorpusError, match="no such clip bank") as caught:
        audit_audio(own, 40)
    assert f"segue rebuild {own}" in caught.value.fix
    assert segue_here("rebuild", own).returncode == 0
    assert audit_audio(own, 40).findings == ()


@pytest.mark.parametrize("value", [None, b"", b"{}", b"[]", b"\xff", b'{"clear_db": "25"}'])
def test_manifest_without_an_ear_is_a_clear_error(own: Path, value: bytes | None) -> None:
    path = own / "samples.parquet"
    table = pq.read_table(path)
    metadata = {k: v for k, v in table.schema.metadata.items() if k != b"ear"}
    if value is not None:
        metadata[b"ear"] = value
    pq.write_table(table.replace_schema_metadata(metadata), path)
    said = "does not define what is audible" if value is None else "levels and times of an ear"
    with pytest.raises(CorpusError, match=said) as caught:
        audit_audio(own, 40)
    assert caught.value.fix


# The command line


def test_command_tells_what_it_heard(built: Path) -> None:
    folder = built / "data_manifests/heard"
    done = segue_here("audit", folder, "--audio", "20", "--json")
    assert done.returncode == 0, done.stderr
    *progress, told = map(json.loads, done.stdout.splitlines())
    assert {line["progress"]: line["done"] for line in progress} == {"audit": 40, "listen": 20}
    assert (told["violations"], told["audio"]["findings"]) == (0, 0)
    assert told["audio"]["samples"] == 20
    assert told["audio"]["seconds_per_sample"] > 0
    shown = segue_here("audit", folder, "--audio", "20")
    assert "audio: 20 samples of " in shown.stdout
    assert "0 findings" in shown.stdout


def test_command_ends_with_status_1_where_something_is_found(own: Path) -> None:
    row = change_row(own, 0, lambda row: row.update(gain_db=row["gain_db"] - 0.1))
    done = segue_here("audit", own, "--audio", "40")
    assert done.returncode == 1
    assert f"{row['id']}: differs from the sum of its sounds" in " ".join(done.stdout.split())
    assert "1 finding" in done.stdout


# Measuring


@given(marked=st.lists(st.booleans(), min_size=1, max_size=40))
def test_runs_are_those_that_are_marked(marked: list[bool]) -> None:
    again = np.zeros(len(marked), dtype=np.bool_)
    for start, end in find_runs(np.array(marked)):
        assert start == 0 or not marked[start - 1]
        again[start:end] = True
    assert again.tolist() == marked


def test_short_pauses_are_bridged_between_sounds_only() -> None:
    marked = np.array([False, True, False, True, False, False, True, False])
    assert bridge(marked, 0.1).tolist() == [False, True, True, True, False, False, True, False]


@pytest.mark.parametrize("rate", [8000, 11_025, 22_050, 44_100])
@pytest.mark.parametrize("frames", [1, 1654, 44_100])
def test_blocks_cover_all_frames_and_none_is_empty(rate: int, frames: int) -> None:
    measured = MeasuredSample.of(np.ones((1, frames), dtype=np.float32), rate)
    assert (measured.edges[0], measured.edges[-1]) == (0, frames)
    assert (np.diff(measured.edges) > 0).all()
    np.testing.assert_allclose(measured.powers, 1)


def test_listener_hears_what_is_loud_enough_and_not_masked() -> None:
    rate, block = 8000, 400
    stems = np.zeros((2, 12 * block), dtype=np.float32)
    stems[0, block : 4 * block] = 0.1  # heard
    stems[0, 6 * block : 9 * block] = 0.1 * 10 ** (-26 / 20)  # too quiet for 25 dB
    stems[0, 10 * block : 12 * block] = 0.1  # masked
    stems[1, 10 * block : 12 * block] = 0.9
    measured = MeasuredSample.of(stems, rate)
    whole = [Stretch(0, 12 * block)] * 2
    first, second = measured.hear(EAR, whole)
    assert first.clear == first.faint == (Stretch(block, 4 * block),)
    assert second.clear == (Stretch(10 * block, 12 * block),)
    keener, _ = measured.hear(replace(EAR, leave_db=30.0), whole)
    assert keener.clear == (Stretch(block, 4 * block), Stretch(6 * block, 9 * block))


def test_listener_hears_no_blip_no_silence_and_nothing_beyond_a_sounds_end() -> None:
    rate, block = 8000, 400
    stems = np.zeros((1, 8 * block), dtype=np.float32)
    stems[0, block : 2 * block] = 0.1
    stems[0, 4 * block : 6 * block - 9] = 0.1
    extent = Stretch(block, 6 * block - 9)
    (heard,) = MeasuredSample.of(stems, rate).hear(EAR, [extent])
    assert heard.clear == (Stretch(4 * block, 6 * block - 9),)
    measured = MeasuredSample.of(np.zeros((1, 4000), dtype=np.float32), 8000)
    (heard,) = measured.hear(EAR, [Stretch(0, 4000)])
    assert heard.clear == ()
