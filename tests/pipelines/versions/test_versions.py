"""Versions of a corpus, and garbage collection: shards go, manifests stay, nothing else is hurt."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.builder.build import build
from pipelines.builder.finalise import RECORD_FILE
from pipelines.checks.audit import audit
from pipelines.cli.look.versions import versions_command
from pipelines.config.spec import Spec
from pipelines.look.inspection import describe
from pipelines.store.lease import sole_writer
from pipelines.store.places import Places
from pipelines.store.store import Store
from pipelines.versions import gc
from pipelines.versions.gc import collect_garbage
from pipelines.versions.history import VersionState, open_versions
from pipelines.versions.rebuild import rebuild
from synth.base.errors import CorpusError
from synth.base.locks import wait_for_lock
from synth.base.progress import Observer
from synth.corpus.corpus import Corpus
from tests.kit.builds import TINY, invoke, merged, product, segue_here, unchanged
from tests.kit.waiting import PATIENCE_S

Tiny = Callable[..., Spec]
NAMES = ("one", "two", "three")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three versions: `two` shares six shards with `one`, `three` none; not to be changed."""
    out = tmp_path_factory.mktemp("three")
    repeats = {"one": 1, "two": 2, "three": 1}
    for name in NAMES:
        changes = {
            "version": name,
            "recipe": {"triplets": {"repeats": repeats[name]}},
            "seed": 8 if name == "three" else 7,
        }
        build(Spec.model_validate(merged(TINY, changes)), out, 0)
    return out


@pytest.fixture
def out(three: Path, tmp_path: Path) -> Path:
    """A copy of it, hard links and times as they were."""
    copied = tmp_path / "out"
    twins: dict[int, Path] = {}
    for path in sorted(three.rglob("*")):
        target = copied / path.relative_to(three)
        if path.is_dir():
            target.mkdir(parents=True)
        elif twin := twins.get(path.stat().st_ino):
            os.link(twin, target)
        else:
            shutil.copy2(path, target)
            twins[path.stat().st_ino] = target
    return copied


def manifests(out: Path) -> Path:
    return out / "data_manifests" / "tiny"


def tars(out: Path, version: str) -> int:
    return len(list((out / "shards" / "tiny" / version).rglob("*.tar")))


def on_disk(*folders: Path) -> int:
    files = (path.stat() for folder in folders for path in folder.rglob("*") if path.is_file())
    return sum({status.st_ino: status.st_size for status in files}.values())


def markers(out: Path) -> int:
    return sum(path.stat().st_size for path in manifests(out).glob("*/removed.json"))


def states(out: Path) -> dict[str, VersionState]:
    return {version.name: version.state for version in open_versions(manifests(out))}


def test_versions_are_listed_oldest_first_with_what_is_left_of_them(out: Path) -> None:
    collect_garbage(manifests(out), keep=2)
    found = open_versions(manifests(out))
    assert [version.name for version in found] == list(NAMES)
    assert [(each.samples, each.present, each.shards) for each in found] == [
        (72, 0, 6),
        (144, 12, 12),
        (72, 6, 6),
    ]
    assert [each.state for each in found] == [
        VersionState.MANIFESTS_ONLY,
        VersionState.RENDERED,
        VersionState.RENDERED,
    ]
    assert [each.latest for each in found] == [False, False, True]
    digest = Corpus.open(manifests(out) / "one").facts["digest"]
    assert found[0].to_json()["digest"] == digest


def test_listings_cut_nothing_and_count_hard_links_once(out: Path) -> None:
    shown = invoke(versions_command, manifests(out), env={"COLUMNS": "30"}).stdout
    assert "rendered, latest" in shown
    assert "…" not in shown
    shown = json.loads(segue_here("versions", manifests(out), "--json").stdout)
    folders = [root / name for root in (manifests(out), out / "shards" / "tiny") for name in NAMES]
    assert shown["bytes"] == on_disk(*folders)
    for name, version in zip(NAMES, shown["versions"], strict=True):
        own = (manifests(out) / name, out / "shards" / "tiny" / name)
        assert (version["version"], version["bytes"]) == (name, on_disk(*own))
    assert sum(version["bytes"] for version in shown["versions"]) > shown["bytes"]


def test_gc_keeps_the_newest_and_frees_what_it_says(out: Path) -> None:
    before, shards = on_disk(out), out / "shards" / "tiny"
    foreseen = collect_garbage(manifests(out), keep=1, dry_run=True)
    assert on_disk(out) == before
    assert [tars(out, name) for name in NAMES] == [6, 12, 6]
    sweep = collect_garbage(manifests(out), keep=1)
    assert sweep == foreseen
    assert sweep.kept == ("three",)
    assert [removal.name for removal in sweep.versions] == ["one", "two"]
    assert [tars(out, name) for name in NAMES] == [0, 0, 6]
    assert not (shards / "one").exists()
    assert before - (on_disk(out) - markers(out)) == sweep.freed > 0
    assert json.loads((manifests(out) / "one" / "removed.json").read_text()) == {
        "removed_by": "segue gc",
        "version": "one",
        "made_again_by": "segue rebuild data_manifests/tiny/one",
    }
    for keep in (1, 2):  # removed versions do not count as kept
        assert collect_garbage(manifests(out), keep=keep).versions == ()
    assert [tars(out, name) for name in NAMES] == [0, 0, 6]


def test_shards_that_another_version_holds_free_nothing(out: Path) -> None:
    before = on_disk(out)
    sweep = collect_garbage(manifests(out), keep=2)
    tar_bytes = sum(path.stat().st_size for path in (out / "shards" / "tiny").rglob("*.tar"))
    assert [removal.name for removal in sweep.versions] == ["one"]
    assert before - (on_disk(out) - markers(out)) == sweep.freed < tar_bytes / 10
    assert tars(out, "two") == 12
    Corpus.open(manifests(out) / "two").stored_pcm(*_first(out, "two"))


def _first(out: Path, version: str) -> tuple[str, str, int, int]:
    row = Corpus.open(manifests(out) / version).samples().slice(0, 1).to_pylist()[0]
    return row["split"], row["shard"], row["offset"], row["size"]


def test_manifests_of_a_removed_version_stay_queryable(out: Path) -> None:
    kept = product(out)
    collect_garbage(manifests(out), keep=1)
    for name in ("one", "two"):
        folder = manifests(out) / name
        corpus = Corpus.open(folder)
        assert corpus.samples("train").num_rows > 0
        assert audit(folder).violations == ()
        assert describe(folder)["version"] == name
        row = corpus.samples().slice(0, 1).to_pylist()[0]
        assert len(corpus.virtual_pcm(row)) == row["frames"]
        with pytest.raises(
            CorpusError, match=rf"segue gc. removed the shards .* {name} \(.segue rebuild"
        ):
            corpus.stored_pcm(*_first(out, name))
    left = product(out)
    assert {path: left[path] for path in kept if "data_manifests" in path} == {
        path: digest for path, digest in kept.items() if "data_manifests" in path
    }


def test_latest_stays_however_old(out: Path) -> None:
    (manifests(out) / "latest").write_text("one\n")
    sweep = collect_garbage(manifests(out), keep=1)
    assert sweep.kept == ("one", "three")
    assert Corpus.open(manifests(out)).version == "one"


@pytest.mark.parametrize("newer", [False, True])
def test_an_unfinished_version_goes_if_a_finished_one_is_newer(out: Path, newer: bool) -> None:
    (manifests(out) / "two" / "corpus.json").unlink()
    if newer:
        os.utime(manifests(out) / "two" / "plan.parquet", (2**31, 2**31))
    collect_garbage(manifests(out), keep=2)
    assert states(out)["two"] is VersionState.UNFINISHED
    assert [tars(out, name) for name in NAMES] == [6, 12 if newer else 0, 6]
    assert not (manifests(out) / "two" / "removed.json").exists()
    assert (manifests(out) / "two" / "plan.parquet").is_file()


def test_what_no_build_wrote_stays_and_is_told(out: Path) -> None:
    note = out / "shards" / "tiny" / "one" / "train" / "notes.txt"
    note.write_text("mine")
    sweep = collect_garbage(manifests(out), keep=1)
    assert sweep.foreign == (str(note),)
    assert note.read_text() == "mine"
    assert tars(out, "one") == 0


def test_what_stops_gc_stops_it_before_anything_goes(out: Path) -> None:
    (out / "shards" / "tiny" / "one").rename(out / "elsewhere")
    (out / "shards" / "tiny" / "one").symlink_to(out / "elsewhere")
    with unchanged(out), pytest.raises(CorpusError, match="a link to another folder"):
        collect_garbage(manifests(out), keep=1)
    with unchanged(out), sole_writer(manifests(out)):
        refused = segue_here("gc", manifests(out), "--keep", "1")
        assert refused.returncode == 1
        assert "another process is building this corpus" in refused.stderr


def test_a_damaged_manifest_stops_gc_before_anything_goes(out: Path) -> None:
    path = manifests(out) / "two" / "corpus.json"
    facts = json.loads(path.read_text())
    for key, value, said in (
        ("", None, "is not JSON"),
        ("bank", 3, "bank is 3: expected a path"),
        ("digest", ["a"], "digest is .*: expected text"),
        ("splits", {"train": {"samples": 1}}, "splits is .*: expected .* samples and shards"),
        ("splits", {"../train": {"samples": 1, "shards": 1}}, "splits is .*: expected an object"),
    ):
        path.write_text(json.dumps(facts | {key: value}) if key else "{")
        with unchanged(out), pytest.raises(CorpusError, match=rf"two/corpus\.json: {said}"):
            collect_garbage(manifests(out), keep=1)


KILLED = """
import os, signal, sys
from pathlib import Path
import pipelines.versions.gc, pipelines.versions.gc

left = [int(sys.argv[2])]
unlink = Path.unlink

def dying(self, missing_ok=False):
    if self.suffix == ".tar":
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
    unlink(self, missing_ok)

Path.unlink = dying
pipelines.versions.gc.collect_garbage(Path(sys.argv[1]), keep=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("removed", [0, 4, 9])
def test_gc_that_was_killed_is_finished_by_the_next(out: Path, removed: int) -> None:
    arguments = [sys.executable, "-c", KILLED, str(manifests(out)), str(removed)]
    died = subprocess.run(arguments, capture_output=True, check=False, timeout=PATIENCE_S)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert sum(tars(out, name) for name in ("one", "two")) == 18 - removed
    for name in NAMES:
        assert Corpus.open(manifests(out) / name).version == name
    collect_garbage(manifests(out), keep=1)
    assert [tars(out, name) for name in NAMES] == [0, 0, 6]
    assert states(out) == {
        "one": VersionState.MANIFESTS_ONLY,
        "two": VersionState.MANIFESTS_ONLY,
        "three": VersionState.RENDERED,
    }
    assert sorted(path.name for path in (out / "shards" / "tiny").iterdir()) == ["three"]


def test_a_version_that_was_reproduced_is_rendered_to_gc(tiny: Tiny, out: Path) -> None:
    collect_garbage(manifests(out), keep=1)
    rebuild(Places(Store(out), "tiny", "one"), None, 0)
    assert states(out)["one"] is VersionState.RENDERED
    assert not (manifests(out) / "one" / "removed.json").exists()
    assert collect_garbage(manifests(out), keep=2).kept == ("one", "three")


def test_a_plain_build_of_a_removed_version_is_refused_with_the_fix(tiny: Tiny, out: Path) -> None:
    spec = tiny(version="one", recipe={"triplets": {"repeats": 1}})
    collect_garbage(manifests(out), keep=1)
    told = f"one: `segue gc` removed the shards.*`segue rebuild {manifests(out) / 'one'}` rebuilds"
    with unchanged(out), pytest.raises(CorpusError, match=told):
        build(spec, out, 0)
    rebuild(Places(Store(out), "tiny", "one"), None, 0)
    summary = build(spec, out, 0)
    assert (summary.rendered, summary.skipped) == (0, 6)


def test_a_lost_shard_is_made_again_by_its_own_libraries(tiny: Tiny, out: Path) -> None:
    spec = tiny(version="three", seed=8, recipe={"triplets": {"repeats": 1}})
    before = product(out)
    lost = sorted((out / "shards" / "tiny" / "three").rglob("*.tar"))[0]
    lost.unlink()
    assert build(spec, out, 0).rendered == 1
    assert product(out) == before
    lost.unlink()
    receipt = manifests(out) / "three" / "receipts" / f"{lost.name}.json"
    told = json.loads(receipt.read_text())
    told["libraries"]["libsndfile"] = "1.0.31"
    receipt.write_text(json.dumps(told))
    (manifests(out) / "three" / "receipt.json").unlink()
    with pytest.raises(CorpusError, match=r"1 of 6 shards .* library libsndfile: 1\.0\.31 there"):
        build(spec, out, 0)
    assert not lost.exists()


def banks(out: Path) -> set[str]:
    return {path.name for path in (out / "banks").rglob("*.p*")}


def test_banks_keep_what_kept_versions_are_made_of(tiny: Tiny, out: Path) -> None:
    needed = banks(out)
    small = {"recipe": {"triplets": {"repeats": 1}}}
    build(tiny(version="four", source={"foley": {"takes": 6}}, **small), out, 0)
    build(tiny(corpus="other", source={"foley": {"seed": 3}}, **small), out, 0)
    both = banks(out)
    build(tiny(version="five", **small), out, 0)
    assert collect_garbage(manifests(out), keep=2).banks == ()
    before = on_disk(out) - markers(out)
    sweep = collect_garbage(manifests(out), keep=1, banks=True)
    assert sweep.kept == ("five",)
    assert [removal.name for removal in sweep.banks] == ["banks/foley-16000"]
    assert before - (on_disk(out) - markers(out)) == sweep.freed
    assert needed <= banks(out) < both
    for folder in (manifests(out), out / "data_manifests" / "other"):
        corpus = Corpus.open(folder)
        row = corpus.samples().slice(0, 1).to_pylist()[0]
        stored = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        assert (stored == corpus.virtual_pcm(row)).all()


def test_a_damaged_index_of_a_bank_stops_gc_before_anything_goes(out: Path) -> None:
    facts = json.loads((manifests(out) / "three" / "corpus.json").read_text())
    index = (manifests(out) / "three" / facts["bank"]).resolve()
    table = pq.read_table(index)
    at = table.schema.get_field_index("part")
    for part, said in (
        ("../../shards/x.pcm", "row 0: part is .*: expected part-NAME.pcm"),
        (7, "row 0: part is '7': expected"),
        (None, "damaged: .*'part' with null values"),
    ):
        pq.write_table(table.set_column(at, "part", pa.array([part] * len(table))), index)
        before = product(out), banks(out)
        with pytest.raises(CorpusError, match=rf"{index.name}: {said}") as told:
            collect_garbage(manifests(out), keep=1, banks=True)
        assert "\n" not in str(told.value)
        assert (product(out), banks(out)) == before


def test_a_build_of_another_corpus_blocks_the_banks_removal(tiny: Tiny, out: Path) -> None:
    other = build(tiny(corpus="other"), out, 0)
    with sole_writer(Path(other.paths["manifests"]).parent):
        told = "other: another process is building"
        with unchanged(out), pytest.raises(CorpusError, match=told):
            collect_garbage(manifests(out), keep=1, banks=True)
        collect_garbage(manifests(out), keep=1)


def test_a_bank_begun_meanwhile_stays(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the banks that are there when files are chosen, it holds some alone."""
    begun = out / "banks" / "begun-16000" / "part-1.pcm"
    held: list[Path] = []

    def begin(lock: Path, observer: Observer) -> AbstractContextManager[None]:
        held.append(lock.parent)
        return wait_for_lock(lock, observer)

    hold_corpus = Store.hold_corpus

    def hold(store: Store, corpus: str) -> AbstractContextManager[Store]:
        begun.parent.mkdir(parents=True, exist_ok=True)
        begun.write_bytes(bytes(9))
        return hold_corpus(store, corpus)

    monkeypatch.setattr(Store, "hold_corpus", hold)
    sweep = collect_garbage(manifests(out), keep=3, banks=True)
    assert begun.is_file()
    assert sweep.banks == ()
    monkeypatch.undo()
    monkeypatch.setattr(gc, "wait_for_lock", begin)
    sweep = collect_garbage(manifests(out), keep=3, banks=True)
    assert [removal.name for removal in sweep.banks] == ["banks/begun-16000"]
    assert begun.parent in held
    assert not begun.exists()


def test_gc_on_the_command_line(out: Path) -> None:
    assert segue_here("gc", manifests(out)).returncode == 2, "it asks how many to keep"
    foreseen = json.loads(
        segue_here("gc", manifests(out), "--keep", "1", "--dry-run", "--json").stdout
    )
    done = json.loads(
        segue_here("gc", manifests(out), "--keep", "1", "--json").stdout.splitlines()[-1]
    )
    assert {**foreseen, "dry_run": False} == done
    assert (done["corpus"], done["kept"]) == ("tiny", ["three"])
    assert [each["name"] for each in done["versions"]] == ["one", "two"]
    assert done["freed"] == sum(each["freed"] for each in done["versions"])
    told = segue_here("versions", manifests(out)).stdout
    assert "manifests only" in told
    assert "rendered, latest" in told


def test_a_folder_that_is_no_corpus_is_a_clear_error(out: Path) -> None:
    for path, fix in ((manifests(out) / "one", "one version"), (out, "give data_manifests")):
        with pytest.raises(CorpusError, match="no versions of a corpus here") as raised:
            collect_garbage(path, keep=1)
        assert fix in raised.value.fix
    assert segue_here("versions", out).returncode == 1


# A gate that a version failed binds every command; one flag overrides it, and is recorded.


@pytest.fixture
def refused(tiny: Callable[..., Spec], tmp_path: Path) -> tuple[Spec, Path]:
    """A corpus whose `latest` is `good`, and `bad` that a night refused; the spec of `bad`."""
    build(tiny(version="good"), tmp_path, 0)
    spec = tiny(version="bad", seed=8)
    build(spec, tmp_path, 0)
    versions = tmp_path / "data_manifests" / "tiny"
    (versions / "latest").write_text("good\n")
    record = {"passed": False, "gates": [{"name": "samples", "passed": False}], "metrics": {}}
    (versions / "bad" / RECORD_FILE).write_text(json.dumps(record))
    return spec, versions


def test_only_the_flag_promotes_a_refused_one(refused: tuple[Spec, Path], tmp_path: Path) -> None:
    spec, versions = refused
    with pytest.raises(CorpusError, match="not promoted: it failed the gates samples") as error:
        build(spec, tmp_path, 0)
    assert "--override-gates" in error.value.fix
    assert (versions / "latest").read_text() == "good\n"
    spec, versions = refused
    plain = segue_here("promote", versions, "bad")
    assert plain.returncode == 1
    assert "it failed the gates samples" in plain.stderr
    assert (versions / "latest").read_text() == "good\n"
    done = segue_here("promote", versions, "bad", "--override-gates")
    assert done.returncode == 0, done.stderr
    assert (versions / "latest").read_text() == "bad\n"
    assert json.loads((versions / "bad" / RECORD_FILE).read_text())["overridden"] is True
    build(spec, tmp_path, 0)


def test_an_older_version_is_promoted(refused: tuple[Spec, Path], tmp_path: Path) -> None:
    versions = refused[1]
    (versions / "latest").write_text("bad\n")
    assert segue_here("promote", versions, "goo").returncode == 0
    assert (versions / "latest").read_text() == "good\n"
    assert "no versions begin with 'none'" in segue_here("promote", versions, "none").stderr
