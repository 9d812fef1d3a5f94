"""Ingest: every clip accounted for, whatever it does to the process that opens it."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pipelines.config.spec import Intake
from pipelines.engines.engine import engine
from pipelines.ingest.decoding import DecoderVerdict, DecoderWatch, measure_decoder_time
from pipelines.ingest.ingest import IngestedLibrary, ingest
from pipelines.ingest.parts import MAX_PART_CLIPS, chunk_refs
from synth.audio.bank import Bank
from synth.audio.dsp import ramp_cut, remove_rumble
from synth.base.errors import MachineError, SegueError, SourceError
from synth.base.progress import UNOBSERVED, Observer, Silent
from synth.base.rng import uniform_hash
from synth.sources import ClipRef, Source
from synth.sources.catalogue import Acceptance
from synth.sources.own.folder import FolderSource
from synth.sources.selection import SplitRule
from synth.truth.ear import Ear
from tests.kit.builds import segue_here
from tests.kit.hostile import RATE, Hostile, is_alive
from tests.kit.libraries import sound, write_csv
from tests.kit.started import MARK, marked
from tests.kit.waiting import PATIENCE_S, wait_for

LIMIT = Acceptance(decode_timeout_s=1.5, max_s=60)


def take(
    source: Source, out: Path, count: int = 0, observer: Observer = UNOBSERVED, **settings: Any
) -> IngestedLibrary:
    intake = Intake(source, RATE, **{"acceptance": LIMIT} | settings)
    with engine(count) as where:
        return ingest(intake, out, where, observer)


def reasons(library: IngestedLibrary) -> dict[str, str]:
    return {row["location"]: row["reason"] for row in library.quarantine}


def accepted(library: IngestedLibrary) -> list[str]:
    return [clip["location"] for clip in library.clips]


def test_a_clip_that_ends_its_decoder_is_blamed_alone(tmp_path: Path) -> None:
    deeds = ("fine", "aborts", "fine", "segfaults", "raises", "fine", "eats", "gone", "fine")
    library = take(Hostile(deeds, tmp_path), tmp_path / "banks")
    assert accepted(library) == ["0-fine", "2-fine", "5-fine", "8-fine"]
    assert reasons(library) == {
        "1-aborts": "crashes the decoder (SIGABRT)",
        "3-segfaults": "crashes the decoder (SIGSEGV)",
        "4-raises": "cannot be decoded: what it holds does not follow its format",
        "6-eats": "takes more memory to decode than a clip may (2.4 GiB)",
        "7-gone": "is not there",
    }


@pytest.mark.parametrize("deed", ["killed", "disk", "thread", "memory", "library"])
def test_what_the_machine_lacks_refuses_nothing(tmp_path: Path, deed: str) -> None:
    banks = tmp_path / "banks"
    with pytest.raises(MachineError, match=f"^1-{deed}: "):
        take(Hostile(("fine", deed, "fine"), tmp_path), banks)
    assert not list(banks.rglob("*.json"))


def test_unlucky_clips_are_kept_and_broken_sources_are_errors(tmp_path: Path) -> None:
    library = take(Hostile(("fine", "unlucky", "fine"), tmp_path), tmp_path / "banks")
    assert accepted(library) == ["0-fine", "1-unlucky", "2-fine"]
    assert not library.quarantine
    source = Hostile(("fine", "broken", "fine"), tmp_path)
    with pytest.raises(SourceError, match=r"the table cannot be read \(get it again\)"):
        take(source, tmp_path / "others")
    assert not multiprocessing.active_children()


def test_the_banks_samples_are_the_same_however_many_processes(tmp_path: Path) -> None:
    source = Hostile(("fine",) * 5 + ("gone",) + ("fine",) * 5, tmp_path)
    libraries = [take(source, tmp_path / str(count), count) for count in (0, 1, 3)]
    assert len({library.digest for library in libraries}) == 1
    files = [
        {path.name: path.read_bytes() for path in (tmp_path / str(count)).rglob("[pi]*-*")}
        for count in (0, 1, 3)
    ]
    assert files[0] == files[1] == files[2]
    bank = Bank.open(libraries[0].index)
    heard = bank.read("hostile/3-fine", 0, RATE, 1.0)
    noise = np.random.default_rng(3).uniform(-0.5, 0.5, RATE).astype(np.float32)
    played = remove_rumble(noise, RATE)
    ramp_cut(played, RATE, begins=True, ends=True)
    assert np.allclose(heard, played, atol=1e-4)


def test_clips_that_are_refused_or_beyond_a_limit_are_not_opened(tmp_path: Path) -> None:
    source = Hostile(("fine", "refused", "fine"), tmp_path)
    library = take(source, tmp_path / "banks")
    assert library.quarantine == [
        {
            "id": "hostile/1-refused",
            "location": "1-refused",
            "stage": "source",
            "reason": "its index says that it is gone",
        }
    ]
    assert source.opened() == ["0-fine", "2-fine"]
    (tmp_path / "opened").unlink()
    source = Hostile(("fine",) * 6, tmp_path)
    assert accepted(take(source, tmp_path / "others", limit=2)) == ["0-fine", "1-fine"]
    assert source.opened() == ["0-fine", "1-fine"]


@pytest.mark.slow
def test_a_file_more_or_less_re_reads_one_part(tmp_path: Path) -> None:
    def library(count: int, without: int = -1) -> Hostile:
        return Hostile(tuple("fine" if n != without else "refused" for n in range(count)), tmp_path)

    whole = library(400)
    take(whole, tmp_path / "banks")
    assert len(whole.opened()) == 400
    parts = len(list((tmp_path / "banks").rglob("part-*.pcm")))
    assert 4 <= parts <= 12
    (tmp_path / "opened").unlink()
    take(library(400, without=150), tmp_path / "banks")
    assert 1 <= len(whole.opened()) <= MAX_PART_CLIPS
    (tmp_path / "opened").unlink()
    take(whole, tmp_path / "banks")
    assert whole.opened() == []


def test_another_ear_opens_no_clip_again(tmp_path: Path) -> None:
    source = Hostile(("fine",) * 3, tmp_path)
    plain = take(source, tmp_path / "banks")
    whole = [{"onset": 0, "offset": row["frames"]} for row in plain.clips]
    assert [row["segments"] for row in plain.clips] == [[each] for each in whole]
    (tmp_path / "opened").unlink()
    picky = take(source, tmp_path / "banks", ear=Ear(clear_db=0.4, leave_db=0.4, blip_s=0))
    assert source.opened() == []
    assert plain.clips.row(0)["levels_db"] == picky.clips.row(0)["levels_db"]
    for row, before in zip(picky.clips, plain.clips, strict=True):
        assert row["segments"] != before["segments"]
        assert row["segments"]


def test_a_run_of_clips_without_an_end_is_cut(tmp_path: Path) -> None:
    ids = [f"x/{n}" for n in range(60_000)]
    endless = [ClipRef(i, i, ()) for i in ids if uniform_hash("part", i) * 64 >= 1]
    assert {len(chunk) for chunk in chunk_refs(endless[: 256 * 9])} == {256}
    sizes = [len(chunk) for chunk in chunk_refs(ClipRef(i, i, ()) for i in ids)]
    assert sum(sizes) == 60_000
    assert 56 < np.mean(sizes) < 72


def test_progress_is_told_clip_by_clip(tmp_path: Path) -> None:
    steps: list[int] = []

    class Counting(Silent):
        def advance(self, phase: str, units: int = 1, note: str = "") -> None:
            steps.append(units)

    take(Hostile(("fine",) * 5 + ("gone",), tmp_path), tmp_path / "banks", observer=Counting())
    assert steps == [1] * 6


def test_every_clip_is_accepted_or_quarantined_once(tmp_path: Path) -> None:
    root = tmp_path / "lib"
    for seed, (split, number) in enumerate(product("abc", range(3))):
        sound(root / split / f"{number}.wav", seed, frames=8000)
    shutil.copy(root / "a" / "0.wav", root / "b" / "copy.wav")
    rows = ["path,split,recording"]
    rows += [
        f"{s}/{n}.wav,{s},{'shared' if n == 2 else f'{s}{n}'}" for s in "abc" for n in range(3)
    ]
    rows += ["b/copy.wav,b,copy", "b/gone.wav,b,gone"]
    (root / "i.csv").write_text("\n".join(rows))
    library = take(
        FolderSource(root=root, index=Path("i.csv")),
        tmp_path / "banks",
        split_rules=(SplitRule("train", None, ("a",)), SplitRule("test", None, ("b",))),
    )
    ids = [row["id"] for row in (*library.clips, *library.quarantine)]
    assert len(ids) == len(set(ids)) == 11
    refused = reasons(library)
    assert sorted(refused) == ["a/0.wav", "a/2.wav", "b/2.wav", "b/copy.wav", "b/gone.wav"]
    conflict = "is one sound under two labels: a/0.wav (a) and b/copy.wav (b)"
    assert refused["a/0.wav"] == refused["b/copy.wav"] == conflict
    assert [c["location"] for c in library.clips if not c["split"]] == [f"c/{n}.wav" for n in "012"]


def test_copies_hand_on_what_is_said_of_them(tmp_path: Path) -> None:
    root = tmp_path / "lib"
    root.mkdir()
    noise = np.random.default_rng(0).integers(-(2**14), 2**14, RATE, dtype=np.int16)
    for name in ("0.au", "a.wav", "b.flac", "c.aiff"):
        soundfile.write(root / name, noise, RATE)
    shutil.copy(root / "a.wav", root / "d.wav")
    lines = ["path,caption,split", "a.wav,a hiss,x", "a.wav,noise,x", "b.flac,steam,x"]
    lines += ["c.aiff,air,y", "d.wav,wind,x", "0.au,far,outside"]
    (root / "index.csv").write_text("\n".join(lines))
    rules = (SplitRule("train", None, ("x",)), SplitRule("test", None, ("y",)))
    library = take(FolderSource(root=root), tmp_path / "banks", split_rules=rules)
    # Another file of the sound stays, but not in another split.
    said = {clip["location"]: clip["captions"] for clip in library.clips}
    assert said == {
        "0.au": ["far"],
        "a.wav": ["a hiss", "noise", "air", "wind"],
        "b.flac": ["steam"],
    }
    reason = "is the same sound as a.wav, which has its captions and tags, too"
    assert reasons(library) == {"c.aiff": reason, "d.wav": reason}


# The command line


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder of sounds: six that can be used, and some that cannot."""
    root = tmp_path / "lib"
    for seed, (label, number) in enumerate(product(("bell", "drum"), range(3))):
        sound(root / label / f"{number}.wav", seed, frames=8000)
    for number, share in enumerate((0.3, 0.6)):
        data = (root / "bell" / "0.wav").read_bytes()
        (root / "bell" / f"cut{number}.wav").write_bytes(data[: int(len(data) * share)])
    sound(root / "drum" / "wide.wav", 9, frames=4000, channels=8)
    soundfile.write(
        root / "drum" / "fine.wav", np.random.default_rng(1).normal(0, 0.1, 400_000), 192_000
    )
    (root / "drum" / "loud.wav").write_bytes((root / "drum" / "0.wav").read_bytes())
    return root


def test_clips_that_nothing_is_said_of_are_told(tmp_path: Path) -> None:
    # A table with empty captions passed without a word, and no recipe took its clips.
    for seed, name in enumerate(("a", "b")):
        sound(tmp_path / "mine" / f"{name}.wav", seed, frames=16_000)
    rows = (("a.wav", ""), ("b.wav", "a hiss"))
    write_csv(tmp_path / "mine" / "index.csv", ("path", "caption"), rows)
    shown = segue_here("ingest", f"folder:{tmp_path}/mine", "--out", tmp_path, "--workers", "0")
    assert "0 labels, 1 caption, " in shown.stdout
    assert "no label, caption or tag: 1 clip; no recipe can use them" in shown.stdout


def test_a_library_is_ingested_by_name_and_folder(mixed: Path, tmp_path: Path) -> None:
    given = (f"folder:{mixed}", "--out", tmp_path / "out")
    shown = segue_here("ingest", *given, "--workers", "1")
    assert shown.returncode == 0, shown.stderr
    assert "6 accepted + 5 quarantined + 0 outside of splits = 11 listed" in shown.stdout
    assert "2 quarantined: is truncated: its header promises 16,000 bytes, but " in shown.stdout
    assert "1 quarantined: has 8 channels; clips.max_channels is 2" in shown.stdout
    assert "1 quarantined: is sampled at 192,000 Hz; clips.max_rate is 96,000 Hz" in shown.stdout
    again = segue_here("ingest", *given, "--workers", "0", "--limit", "4", "--json")
    counts = json.loads(again.stdout.splitlines()[-1])
    assert (counts["listed"], counts["clips"], counts["quarantined"]) == (4, 3, 1)
    assert counts["splits"] == {"train": 3}
    assert sum(counts["reasons"].values()) == 1


def test_what_is_accepted_is_a_setting_of_the_spec(mixed: Path, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    clips = "clips: {max_channels: 8, max_rate: 192000, decode_timeout_s: 30, mislabelled: accept}"
    spec.write_text(f"corpus: mine\nsource: {{folder: {{root: lib}}}}\nrecipe: triplets\n{clips}\n")
    soundfile.write(
        mixed / "drum" / "flac.wav",
        np.random.default_rng(5).normal(0, 0.1, 8000),
        16_000,
        format="FLAC",
    )
    again = segue_here("ingest", spec, "--out", tmp_path / "out", "--workers", "0", "--json")
    counts = json.loads(again.stdout.splitlines()[-1])
    assert (counts["clips"], counts["quarantined"]) == (9, 3)


def test_a_table_without_audio_is_told(tmp_path: Path, shared_data: Callable[[str], Path]) -> None:
    root = shared_data("AudioCaps")
    shown = segue_here("ingest", f"audiocaps:{root}", "--out", tmp_path / "out", "--limit", "50")
    assert shown.returncode == 0, shown.stderr
    assert not (tmp_path / "out").exists()
    assert "lists 50 clips" in shown.stdout
    assert "(limited to the first 50 clips of the library)" in shown.stdout
    assert "there is no audio to build from" in shown.stdout


def test_neither_a_spec_nor_a_source_is_one_clear_error(tmp_path: Path) -> None:
    for text in ("nosuch:/data", "folder:"):
        failed = segue_here("ingest", text, "--out", tmp_path)
        assert failed.returncode == 1
        assert failed.stderr.startswith("error: ")
        assert "Traceback" not in failed.stderr


INGEST = """
import sys
from pathlib import Path
from tests.kit.hostile import Hostile
from pipelines.engines.engine import engine
from pipelines.ingest.ingest import ingest
from pipelines.config.spec import Intake
from synth.base.progress import UNOBSERVED
from synth.base.rng import uniform_hash
folder = Path(sys.argv[1])
intake = Intake(Hostile(("slow",) * 300, folder), 8000)
with engine(2) as where:
    ingest(intake, folder / "banks", where, UNOBSERVED)
"""


UNGUARDED = """
import sys
from pathlib import Path
from pipelines.engines.engine import engine
from pipelines.ingest.ingest import ingest
from pipelines.config.spec import Intake
from synth.base.progress import UNOBSERVED
from synth.sources.own.folder import FolderSource
folder = Path(sys.argv[1])
intake = Intake(FolderSource(root=folder), 8000)
with engine(0) as where:
    ingest(intake, folder / "banks", where, UNOBSERVED)
"""


@pytest.mark.slow
def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    (tmp_path / "dog").mkdir()
    soundfile.write(tmp_path / "dog" / "a.wav", np.sin(np.arange(8000)), 8000)
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    paths = os.pathsep.join(path for path in sys.path if path)
    ran = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to look for orphans")
@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_an_ended_ingest_goes_on_where_it_stopped(tmp_path: Path, name: str) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = os.environ | {"PYTHONPATH": paths, MARK: str(tmp_path)}
    command = [sys.executable, "-c", INGEST, str(tmp_path)]
    process = subprocess.Popen(
        command, start_new_session=True, env=environment, stderr=subprocess.DEVNULL
    )

    def receipts() -> list[Path]:
        return list((tmp_path / "banks").rglob("part-*.json"))

    assert wait_for(lambda: bool(receipts()))
    os.killpg(process.pid, getattr(signal, name))
    assert process.wait(timeout=PATIENCE_S) != 0
    assert wait_for(lambda: not marked(tmp_path))
    kept = sum(json.loads(path.read_text())["clips"] for path in receipts())
    source = Hostile(("slow",) * 300, tmp_path)
    (tmp_path / "opened").unlink()
    (tmp_path / "hurry").touch()
    assert len(take(source, tmp_path / "banks", acceptance=Acceptance()).clips) == 300
    assert 0 < len(source.opened()) == 300 - kept
    assert not list((tmp_path / "banks").rglob("*.partial"))


# A busy machine changes nothing: a clip is judged by the processor time that it takes.


def test_a_clip_that_had_to_wait_is_kept(tmp_path: Path) -> None:
    """It waited for its disk, or its decoder for a processor: 185 of 185 were refused once."""
    library = take(Hostile(("waits", "fine", "pauses", "fine"), tmp_path), tmp_path / "banks")
    assert not library.quarantine
    assert len(library.clips) == 4


def test_a_decoder_that_is_ready_has_nothing_left_to_import(tmp_path: Path) -> None:
    take(Hostile(("imports", "imports"), tmp_path), tmp_path / "banks")
    first, second = (
        set((tmp_path / f"{number}-imports.modules").read_text().split()) for number in (0, 1)
    )
    assert second <= first, f"the first clip paid for {len(second - first)} modules"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to look for orphans")
def test_a_clip_over_the_limit_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    source = Hostile(("fine", "burns", "fine", "delegates", "fine"), tmp_path)
    library = take(source, tmp_path / "banks")
    assert [clip["location"] for clip in library.clips] == ["0-fine", "2-fine", "4-fine"]
    assert {row["reason"] for row in library.quarantine} == {
        "takes more than 1.5 s of processor time to decode"
    }
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 4
    assert wait_for(lambda: not any(map(is_alive, pids)))
    assert not multiprocessing.active_children()


def test_a_stall_is_the_runs_and_no_clips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.ingest.decoder.STALL_S", 1.0)
    source = Hostile(("hangs", "fine"), tmp_path)
    with pytest.raises(SegueError, match=r"0-hangs: .* was idle for 1 s") as caught:
        take(source, tmp_path / "banks")
    assert "run the same command again" in caught.value.fix
    assert not multiprocessing.active_children()
    assert not list((tmp_path / "banks").rglob("part-*"))
    monkeypatch.undo()
    (tmp_path / "hurry").touch()
    assert len(take(source, tmp_path / "banks").clips) == 2


@pytest.mark.slow
def test_a_decoder_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.ingest.decoder.measure_decoder_time", lambda _: None)
    library = take(Hostile(("burns", "fine"), tmp_path), tmp_path / "banks")
    (refused,) = library.quarantine
    assert refused["reason"] == "takes more than 1.5 s of processor time to decode"


def test_work_is_judged_by_processor_time_or_by_looks_while_it_waits() -> None:
    watch = DecoderWatch(begun_s=10, limit_s=60, stall_s=300)
    assert {watch.judge(10 + work / 10) for work in range(600)} == {None}
    assert watch.judge(70.1) is DecoderVerdict.OVERTIME
    watch = DecoderWatch(begun_s=10, limit_s=60, stall_s=300)
    assert watch.judge(11) is None
    asleep = [watch.judge(11.0 + look / 10_000) for look in range(300)]  # it looks for its parent
    assert asleep == [None] * 299 + [DecoderVerdict.STALLED]
    starved = DecoderWatch(begun_s=10, limit_s=60, stall_s=300)
    assert {starved.judge(10 + look / 1000) for look in range(10_000)} == {None}
    watch = DecoderWatch(begun_s=10, limit_s=1, stall_s=3)
    assert [watch.judge(None) for _ in range(3)] == [None, None, DecoderVerdict.STALLED]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs process groups")
def test_the_time_of_what_a_decoder_starts_counts() -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"
    process = subprocess.Popen([sys.executable, "-c", program], process_group=0)
    try:
        assert wait_for(lambda: (measure_decoder_time(process.pid) or 0) > 1)
        assert measure_decoder_time(os.getpid() + 10**7) is None
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
