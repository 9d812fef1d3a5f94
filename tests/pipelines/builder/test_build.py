"""The contracts of a build: determinism, receipts, resume, immutable versions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from hypothesis import example, given
from hypothesis import strategies as st

from pipelines.builder import render
from pipelines.builder.build import Summary, build
from pipelines.builder.plan import SHARDS_FILE, ShardPlan
from pipelines.builder.render import TOGETHER, ShardReceipt, _runs, read_receipt, reuse
from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from pipelines.look.inspection import verify, verify_manifests
from pipelines.store.lease import sole_writer
from pipelines.store.places import Places
from pipelines.store.store import Store
from synth.base.errors import CorpusError, PlanError
from synth.base.hashing import file_sha256
from synth.corpus.corpus import Corpus
from synth.corpus.schema import canonical_json, read_timeline
from tests.kit.builds import TINY, flip, ingested, product, segue, segue_here
from tests.kit.libraries import bells_and_drums, sound, write_csv
from tests.kit.tables import read_data
from tests.kit.waiting import PATIENCE_S

Tiny = Callable[..., Spec]


def shard_paths(out: Path) -> list[Path]:
    return sorted((out / "shards").rglob("*.tar"))


def journal(summary: Summary) -> list[dict[str, object]]:
    path = Path(summary.paths["manifests"]) / "journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_any_workers_make_the_same_bytes(tiny: Tiny, tiny_corpus: Path, tmp_path: Path) -> None:
    summary = build(tiny(), tmp_path, 2)
    assert product(tmp_path) == product(tiny_corpus)
    # 12 ordered pairs, 2 rounds, 3 members a group, 2 splits; 4 groups fill a shard of 12.
    assert (summary.samples, summary.shards) == (144, 12)
    assert (summary.rendered, summary.skipped) == (12, 0)
    assert summary.hours == pytest.approx(144 * 2 / 3600, abs=1e-4)


def test_second_build_renders_and_writes_nothing(tiny: Tiny, out: Path) -> None:
    first = build(tiny(), out, 0)
    manifests = Path(first.paths["manifests"])
    files = [*manifests.rglob("*"), *shard_paths(out)]
    before = [path.stat().st_mtime_ns for path in files]
    for spec in (tiny(), read_spec(manifests / "spec.yaml")):
        again = build(spec, out, 0)
        assert (again.version, again.rendered, again.skipped) == (first.version, 0, 12)
        assert [path.stat().st_mtime_ns for path in files] == before


def test_only_a_damaged_shard_is_rendered_again(tiny: Tiny, out: Path) -> None:
    whole, victim = product(out), shard_paths(out)[3]
    receipt = next(out.rglob(f"receipts/{victim.name}.json"))
    told, sound = receipt.read_text(), victim.read_bytes()
    damages: dict[str, Callable[[], object]] = {
        "delete": victim.unlink,
        "truncate": lambda: victim.write_bytes(sound[:1000]),
        "no receipt": receipt.unlink,
        "wrong receipt": lambda: receipt.write_text(told.replace('"digest":"', '"digest":"0')),
        **{text: partial(receipt.write_text, text) for text in ("", "{}", "[]", "null")},
    }
    for name, damage in damages.items():
        damage()
        summary = build(tiny(), out, 0)
        assert (summary.rendered, summary.skipped) == (1, 11), name
        assert journal(summary)[-1]["shard"] == victim.name
        assert product(out) == whole, name


def test_a_changed_spec_links_what_stays(tiny: Tiny, tiny_corpus: Path, tmp_path: Path) -> None:
    once = build(tiny(recipe={"triplets": {"repeats": 1}}), tmp_path, 0)
    twice = build(tiny(), tmp_path, 0)
    version = twice.version
    assert once.version != version
    # The first round of each split is the same; the second is new.
    assert (twice.rendered, twice.skipped) == (6, 6)
    assert Path(once.paths["shards"]).is_dir()
    mine = {path: digest for path, digest in product(tmp_path).items() if version in path}
    theirs = {path: digest for path, digest in product(tiny_corpus).items() if version in path}
    assert mine == theirs


def test_what_changes_the_sound_renders_all_shards_and_is_the_latest(tiny: Tiny, out: Path) -> None:
    versions = [build(tiny(), out, 0).version]
    for change in (
        {"audio": {"format": "wav"}},
        {"audio": {"peak_db": -20.0}},
        {"audio": {"fade": "equal_power"}},
        {"seed": 8},
        {"source": {"foley": {"seed": 1}}},
    ):
        summary = build(tiny(**change), out, 0)
        assert summary.rendered == summary.shards, change
        versions.append(Corpus.open(out / "data_manifests/tiny").version)
    assert len(set(versions)) == 6
    build(tiny(), out, 0)
    assert Corpus.open(out / "data_manifests/tiny").version == versions[0]


@pytest.mark.parametrize(
    ("rate", "audio_format"),
    [(16_000, "wav"), (32_000, "flac"), (44_100, "flac"), (44_100, "wav"), (48_000, "flac")],
)
def test_virtual_samples_are_bit_identical_at_every_rate_and_format_wherever_they_lie(
    corpus_of: Callable[..., Corpus], rate: int, audio_format: str
) -> None:
    corpus = corpus_of(
        source={"foley": {"classes": ["dog", "rain"], "takes": 5}},
        recipe={"triplets": {"repeats": 1}},
        audio={"sample_rate": rate, "format": audio_format},
    )  # built elsewhere, and moved
    for row in corpus.samples().to_pylist():
        stored = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        assert len(stored) == row["frames"] == 2 * rate
        assert (stored == corpus.virtual_pcm(row)).all()


def test_samples_are_as_long_as_the_spec_has_them(corpus_of: Callable[..., Corpus]) -> None:
    natural = corpus_of(audio={"length": "natural"}).samples().to_pylist()
    # Two excerpts of 1 s at most, joined with 0.25 s at most, or laid over each other.
    assert 28_000 <= max(row["frames"] for row in natural) <= 32_000
    assert all(row["frames"] == read_timeline(row).frames for row in natural)
    padded = corpus_of(audio={"length": "padded 1.5 s"}).samples().to_pylist()
    assert {row["frames"] for row in padded} >= {28_000, 24_000}
    assert all(row["frames"] == max(read_timeline(row).frames, 24_000) for row in padded)


def test_groups_and_recordings_are_never_divided(corpus_of: Callable[..., Corpus]) -> None:
    shards_of: dict[str, set[str]] = {}
    for row in corpus_of(shards={"samples": 4}).samples().to_pylist():
        shards_of.setdefault(row["group"], set()).add(row["shard"])
    assert all(len(shards) == 1 for shards in shards_of.values())
    corpus = corpus_of(seed=8, splits={"train": 0.6, "val": 0.2, "test": 0.2})
    clips = pq.read_table(corpus.folder / "clips.parquet").to_pylist()
    recording = {clip["id"]: clip["recording"] for clip in clips}
    heard: dict[str, set[str]] = {}
    for row in corpus.samples().to_pylist():
        for clip in row["clips"]:
            heard.setdefault(recording[clip], set()).add(row["split"])
    assert all(len(splits) == 1 for splits in heard.values())


def test_an_empty_split_is_explained_by_its_own_clips(tiny: Tiny, tmp_path: Path) -> None:
    # It named a clip of another split, and counted those of all.
    rows = []
    for seed, (name, split, caption, seconds) in enumerate(
        (("a", "train", "", 4), ("b", "train", "a hiss", 4), ("c", "test", "a hum", 1))
    ):
        sound(tmp_path / f"{name}.wav", seed, frames=16_000 * seconds)
        rows.append((f"{name}.wav", split, caption))
    write_csv(tmp_path / "index.csv", ("path", "split", "caption"), rows)
    source = {"folder": {"root": str(tmp_path), "index": str(tmp_path / "index.csv")}}
    splits = {"train": ["train"], "test": ["test"]}
    spec = tiny(source=source, splits=splits, recipe={"acba": {}}, audio={"length": "natural"})
    with pytest.raises(
        PlanError, match=r"split test \(1 clip was refused; folder/c.wav: is too short"
    ):
        build(spec, tmp_path / "out", 0)


def test_what_leaves_too_little_is_told(tiny: Tiny, tmp_path: Path) -> None:
    for classes, changes, message, fix in read_data("spec/shortages.yaml"):
        source = {"foley": {"classes": classes, "takes": 2}}
        with pytest.raises(PlanError, match=message) as caught:
            build(tiny(**{"source": source, "splits": {"train": 1.0}} | changes), tmp_path, 0)
        assert re.fullmatch(fix, caught.value.fix)


@pytest.mark.slow
def test_of_two_builds_of_one_corpus_at_once_the_second_is_refused(
    tiny_file: Callable[..., Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    out = ingested(tiny_corpus, tmp_path)
    arguments = ["build", tiny_file(), "--out", out, "--workers", "1", "--no-prefect"]
    with sole_writer(out / "data_manifests" / "tiny"):
        refused = segue(*arguments)
    assert refused.returncode == 1
    assert "another process is building this corpus" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert segue_here(*arguments).returncode == 0
    assert product(out) == product(tiny_corpus)


@pytest.mark.slow
def test_two_corpora_of_one_library_at_once_decode_it_once(
    tiny_file: Callable[..., Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    specs = [shutil.copy(tiny_file(corpus=name), tmp_path / name) for name in ("tiny", "other")]
    command = [sys.executable, "-m", "pipelines.cli", "build", "--no-prefect", "--workers", "1"]
    builds = [
        subprocess.Popen([*command, spec, "--out", tmp_path / "o"], stdout=subprocess.DEVNULL)
        for spec in specs
    ]
    assert [build.wait(timeout=PATIENCE_S) for build in builds] == [0, 0]
    built, alone = product(tmp_path / "o"), product(tiny_corpus)
    assert {path: built[path] for path in built if "/tiny/" in path} == alone
    assert len(list((tmp_path / "o" / "banks").rglob("index-*.parquet"))) == 1


def test_a_changed_licence_reaches_the_shards(tiny: Tiny, tmp_path: Path) -> None:
    for licence in ("CC0-1.0", "CC-BY-4.0"):
        source = bells_and_drums(tmp_path / "lib", licence=licence)
        summary = build(tiny(source=source, splits={"train": 1.0}), tmp_path / "out", 0)
        assert summary.rendered == summary.shards
        shard = next(Path(summary.paths["shards"]).rglob("*.tar"))
        assert licence.encode() in shard.read_bytes()


def test_no_split_is_left_out_without_a_word(tiny: Tiny, tmp_path: Path) -> None:
    for change, fix in (
        ({"splits": {"train": [1, 2], "test": [9]}}, r"source's own splits \(1, 2, 3, 4, 5\)"),
        ({"splits": {"train": 0.98, "val": 0.01, "test": 0.01}}, r"`splits: \{train: 0\.\d"),
        ({"recipe": {"triplets": {"repeats": {"train": 1}}}}, "the same splits in both"),
        ({"recipe": {"triplets": {"repeats": {"train": 1, "test": 1, "val": 1}}}}, "in both"),
    ):
        with pytest.raises(PlanError, match="split") as caught:
            build(tiny(**change), tmp_path, 0)
        assert re.search(fix, caught.value.fix)


def test_a_damaged_twin_is_not_linked(tiny: Tiny, tmp_path: Path) -> None:
    build(tiny(recipe={"triplets": {"repeats": 1}}), tmp_path, 0)
    flip(shard_paths(tmp_path)[0])
    summary = build(tiny(), tmp_path, 0)
    assert (summary.rendered, summary.skipped) == (7, 5)


def test_a_changed_file_of_the_same_size_and_time_is_seen(tiny: Tiny, tmp_path: Path) -> None:
    source = bells_and_drums(tmp_path / "lib")
    first = build(tiny(source=source, splits={"train": 1.0}), tmp_path / "out", 0)
    path = tmp_path / "lib" / "bell" / "0.wav"
    status = path.stat()
    soundfile.write(path, np.random.default_rng(9).uniform(-0.5, 0.5, 16_000), 16_000)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    second = build(tiny(source=source, splits={"train": 1.0}), tmp_path / "out", 0)
    assert second.version != first.version


def test_lost_manifests_and_parts_of_the_bank_are_made_again(tiny: Tiny, out: Path) -> None:
    whole = product(out)
    for path in (out / "data_manifests").rglob("*.json"):
        path.unlink()
    build(tiny(), out, 0)
    assert product(out) == whole
    for name in ("part-*.pcm", "part-*.parquet", "part-*.json", "index-*"):
        for path in (out / "banks").rglob(name):
            path.unlink()
        shard_paths(out)[0].unlink()
        assert build(tiny(), out, 0).rendered == 1, name
        assert product(out) == whole, name


def test_a_clip_that_is_audible_for_too_short_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    root = tmp_path / "lib"
    source = bells_and_drums(root)
    audio = np.random.default_rng(1).uniform(-0.5, 0.5, 16_000)
    audio[800:-800] *= 10 ** (-45 / 20)
    soundfile.write(root / "bell" / "clicks.wav", audio, 16_000)
    settings = {"source": source, "splits": {"train": 1.0}}
    summary = build(tiny(**settings), tmp_path / "out", 0)
    folder = Path(summary.paths["manifests"])
    (refused,) = pq.read_table(folder / "quarantine.parquet").to_pylist()
    assert refused["location"] == "bell/clicks.wav"
    assert refused["stage"] == "recipe triplets"
    assert refused["reason"] == (
        "is audible for at most 0.050 s at a time; truth.blip_s is 0.1 s "
        "(see also clear_db, leave_db)"
    )
    clips = {row["location"]: row for row in pq.read_table(folder / "clips.parquet").to_pylist()}
    assert clips["bell/clicks.wav"]["segments"] == []
    assert all(row["segments"] for name, row in clips.items() if name != "bell/clicks.wav")
    other = build(tiny(**settings, truth={"blip_s": 0.05}), tmp_path / "out", 0)
    assert other.quarantined == 0
    assert other.version != summary.version


def test_every_file_of_a_library_is_accounted_for(tiny: Tiny, tmp_path: Path) -> None:
    root = tmp_path / "lib"
    source = bells_and_drums(root)
    (root / "bell" / "notes.txt").write_text("not audio")
    (root / "bell" / "sound.wma").write_bytes(b"no decoder for this")
    shutil.copy(root / "bell" / "0.wav", root / "loose.wav")
    (root / "church bell").symlink_to(root / "bell")
    summary = build(tiny(source=source, splits={"train": 1.0}), tmp_path / "out", 0)
    refused = pq.read_table(Path(summary.paths["manifests"]) / "quarantine.parquet").to_pylist()
    reasons = {row["location"]: row["reason"] for row in refused}
    linked = {name for name in reasons if name.startswith("church bell/")}
    assert set(reasons) - linked == {"bell/notes.txt", "bell/sound.wma", "loose.wav"}
    # What a linked folder holds a second time is told file by file.
    assert {name.removeprefix("church bell/") for name in linked} == {
        path.name for path in (root / "bell").iterdir()
    }
    assert all("same sound" in reasons[name] for name in linked if name.endswith(".wav"))


# What is damaged after it was certified is told by its receipt, and made again as it was.


MANIFESTS = ("plan", "clips", "shards", "quarantine", "samples")


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 7)


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


HARM: tuple[Callable[[Path], None], ...] = (flip, cut, Path.unlink, replace_by_pipe)


def test_a_build_makes_damaged_manifests_again(tiny_corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_corpus, tmp_path / "out")
    expected = product(tiny_corpus)
    (folder,) = (path.parent for path in (tmp_path / "out").rglob("corpus.json"))
    receipt = min(folder.glob("receipts/*.json"))
    files = [folder / f"{name}.parquet" for name in MANIFESTS]
    files += [folder / name for name in ("corpus.json", "receipt.json", "ATTRIBUTION.csv")]
    files += [receipt, receipt.with_suffix(".parquet")]
    for number, path in enumerate(files):
        harm = flip if path.name == "receipt.json" else HARM[number % len(HARM)]
        harm(path)
        if path.name not in ("receipt.json", "corpus.json"):
            with pytest.raises(CorpusError, match=path.name):
                verify_manifests(folder)
        build(Spec.model_validate(TINY), tmp_path / "out", 0)
        assert product(tmp_path / "out") == expected, path.name


def test_damaged_sounds_are_decoded_again(tiny_corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(tiny_corpus, out)
    parts = sorted(out.glob("banks/*/part-*"))
    for ending in (".pcm", ".parquet", ".json"):
        path = next(part for part in parts if part.suffix == ending)
        before = path.read_bytes()
        flip(path)
        if ending != ".parquet":
            corpus = Corpus.open(next(out.rglob("corpus.json")).parent)
            with pytest.raises(CorpusError, match=path.stem):
                verify(corpus, [])
        next(out.rglob("*.tar")).unlink()
        build(Spec.model_validate(TINY), out, 0)
        assert path.read_bytes() == before
        assert product(out) == product(tiny_corpus)


# Shards of other versions are found, and which samples are held in memory together.


VERSIONS = 12
SHARDS = 9


def plan_of(version: int) -> list[ShardPlan]:
    """Shards of a version, the first of which is the same as in the version before."""
    return [
        ShardPlan(f"{k}.tar", "train", 1, 0, f"{version - 1 if k == 0 else version}/{k}")
        for k in range(SHARDS)
    ]


def fill(places: Places, shards: list[ShardPlan]) -> None:
    places.receipts.mkdir(parents=True)
    rows = [asdict(shard) for shard in shards]
    pq.write_table(pa.Table.from_pylist(rows), places.manifests / SHARDS_FILE)
    for shard in shards:
        path = places.shard_path(shard.split, shard.shard)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(shard.digest.encode())
        places.measurements_path(shard.shard).touch()
        size = path.stat().st_size
        receipt = ShardReceipt(
            shard.shard,
            "train",
            1,
            shard.digest,
            size,
            file_sha256(path),
            {"numpy": "2"},
            file_sha256(places.measurements_path(shard.shard)),
        )
        places.receipt_path(shard.shard).write_text(canonical_json(asdict(receipt)))


def test_only_receipts_that_fit_are_taken_from_other_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in range(VERSIONS):
        fill(Places(Store(tmp_path), "tiny", f"v{version}"), plan_of(10 * version))
    (tmp_path / "data_manifests" / "tiny" / "unplanned").mkdir()
    damaged = tmp_path / "data_manifests" / "tiny" / "damaged"
    damaged.mkdir()
    (damaged / SHARDS_FILE).write_bytes(b"PAR1")
    opened: Counter[str] = Counter()
    read = render.read_columns

    def count(places: Places, shard: str) -> ShardReceipt | None:
        opened[f"receipts of {places.version}"] += 1
        return read_receipt(places, shard)

    def count_tables(path: Path, columns: list[str]) -> pa.Table:
        opened[f"{path.parent.name}/{path.name}"] += 1
        return read(path, columns)

    monkeypatch.setattr(render, "read_receipt", count)
    monkeypatch.setattr(render, "read_columns", count_tables)
    new = Places(Store(tmp_path), "tiny", "new")
    shards = [*plan_of(999)[:-1], plan_of(50)[-1]]
    assert reuse(new, shards) == shards[:-1]
    assert read_receipt(new, shards[-1].shard) == read_receipt(
        Places(Store(tmp_path), "tiny", "v5"), shards[-1].shard
    )
    assert opened.pop("receipts of v5") <= 2
    assert not [name for name in opened if name.startswith("receipts")]
    tables = {f"v{version}/{SHARDS_FILE}": 1 for version in range(VERSIONS)}
    useless = {f"{name}/{SHARDS_FILE}": 1 for name in ("damaged", "unplanned")}
    assert opened == tables | useless


@given(st.lists(st.integers(1, 2 * TOGETHER), max_size=40))
@example([TOGETHER, 1])
@example([1, TOGETHER])
@example([])
def test_a_run_holds_no_more_than_fits_or_one_sample(frames: list[int]) -> None:
    runs = list(_runs(frames))
    assert [k for run in runs for k in run] == list(range(len(frames)))
    for run in runs:
        assert len(run) == 1 or sum(frames[k] for k in run) <= TOGETHER
    for run, following in pairwise(runs):
        assert sum(frames[k] for k in run) + frames[following[0]] > TOGETHER
