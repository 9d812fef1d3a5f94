"""Versions at a store: listed, collected and reproduced as in a folder, by one at a time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.builder.build import build, plan_library
from pipelines.cli.make.rebuild import find_version, read_request
from pipelines.config.spec import Spec
from pipelines.engines.engine import engine
from pipelines.ingest.ingest import ingest
from pipelines.store.lease import take_lease
from pipelines.store.places import Places
from pipelines.store.stage import StagedStore, choose_stage, open_store, store_at
from pipelines.versions.gc import collect_garbage
from pipelines.versions.history import VersionState, open_versions, promote_version
from pipelines.versions.rebuild import rebuild
from synth.base.errors import CorpusError, SegueError, SpecError
from synth.base.progress import UNOBSERVED, Silent
from synth.corpus.corpus import Corpus
from synth.storage import Remote, StorageError
from tests.kit.builds import TINY, ask_segue, merged, product, unchanged
from tests.kit.corpora import built
from tests.kit.forked import KilledError

Tiny = Callable[..., Spec]
NEWER = "newer"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tiny_corpus: Path, tmp_path: Path) -> Path:
    """What a store holds: a version, and the same shards as a newer one, which is the latest."""
    root = tmp_path / "store"
    shutil.copytree(tiny_corpus, root)
    corpus = root / "data_manifests" / "tiny"
    old = Corpus.open(corpus).version
    for place in (corpus, root / "shards" / "tiny"):
        shutil.copytree(place / old, place / NEWER)
    facts = corpus / old / "corpus.json"
    renamed = facts.read_text().replace(f"shards/tiny/{old}", f"shards/tiny/{NEWER}")
    (corpus / NEWER / "corpus.json").write_text(renamed)
    os.utime(facts, (1e9, 1e9))
    (corpus / "latest").write_text(f"{NEWER}\n")
    return root


@pytest.fixture
def old(tiny_corpus: Path) -> str:
    return Corpus.open(tiny_corpus / "data_manifests" / "tiny").version


@pytest.fixture
def url(folder: Path) -> str:
    return f"file://{folder}/data_manifests/tiny"


def root(folder: Path) -> Path:
    return Path(f"file://{folder}")


def tars(folder: Path, version: str) -> int:
    return len(list((folder / "shards" / "tiny" / version).rglob("*.tar")))


def kept(cache: Path) -> list[Path]:
    """Shards that the stage keeps."""
    return [path for path in (cache / "stages").rglob("*.tar") if path.is_file()]


def test_gc_at_a_store_frees_what_it_said(folder: Path, url: str, old: str) -> None:
    note = folder / "shards" / "tiny" / old / "notes.txt"
    note.write_text("mine")
    before = product(folder)
    foreseen = collect_garbage(Path(url), keep=1, dry_run=True)
    assert product(folder) == before
    sweep = collect_garbage(Path(url), keep=1)
    assert sweep == foreseen
    assert sweep.foreign == (f"file://{note}",)
    assert (sweep.kept, [removal.name for removal in sweep.versions]) == ((NEWER,), [old])
    left = product(folder)
    marker = f"data_manifests/tiny/{old}/removed.json"
    assert json.loads((folder / marker).read_text())["version"] == old
    gone = {path for path in before if path.startswith(f"shards/tiny/{old}/")}
    gone.remove(note.relative_to(folder).as_posix())
    assert left.keys() == before.keys() - gone | {marker}
    assert all(left[path] == before[path] for path in left.keys() - {marker})
    there, here = open_versions(Path(url)), open_versions(folder / "data_manifests" / "tiny")
    listed = [(each.state, each.latest) for each in there]
    assert listed == [(VersionState.MANIFESTS_ONLY, False), (VersionState.RENDERED, True)]
    assert [each.to_json() | {"finished": None} for each in there] == [
        each.to_json() | {"finished": None} for each in here
    ]
    with pytest.raises(CorpusError, match=r"segue gc. removed") as told:
        Corpus.open(Path(f"{url}/{old}")).stored_pcm("train", "tiny-train-000000.tar", 0, 1)
    assert f"`segue rebuild {url}/{old}`" in told.value.fix


def test_a_building_machine_blocks_gc_and_reproducing_at_a_store(
    folder: Path, url: str, old: str
) -> None:
    lease = take_lease(Remote(f"file://{folder}"), "data_manifests/tiny/.lease", "another machine")
    with unchanged(folder), pytest.raises(CorpusError, match="is building this corpus"):
        collect_garbage(Path(url), keep=1)
    with unchanged(folder), pytest.raises(CorpusError, match="is building this corpus"):
        rebuild(Places(open_store(root(folder)), "tiny", old), None, 0)
    lease.release()


def test_banks_go_only_while_nobody_writes(folder: Path, url: str, tmp_path: Path) -> None:
    bank = folder / "banks" / "foley-16000"
    needed = {path.name for path in bank.glob("*.p*")}
    (bank / "part-of-another-time.pcm").write_bytes(bytes(99))
    remote = Remote(f"file://{folder}")
    lease = take_lease(remote, "data_manifests/begun/.lease", "another machine")
    with pytest.raises(CorpusError, match=r"data_manifests/begun: .* is building this corpus"):
        collect_garbage(Path(url), keep=2, banks=True)
    lease.release()
    lease = take_lease(remote, "banks/.lease", "another machine")
    with (
        pytest.raises(CorpusError, match=r"banks: .* is removing files of these banks"),
        open_store(root(folder)).hold_for_writing("new"),
    ):
        pass
    lease.release()
    sweep = collect_garbage(Path(url), keep=2, banks=True)
    assert [(each.name, each.freed) for each in sweep.banks] == [("banks/foley-16000", 99)]
    assert {path.name for path in bank.glob("*.p*")} == needed
    assert not list(folder.rglob(".lease/*"))


def test_a_bank_that_another_machine_fills_at_a_store_is_not_emptied(
    folder: Path, url: str, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`segue ingest` by itself holds no corpus."""
    intake = replace(tiny().intake, rate=8_000)
    refused: list[str] = []

    class Other(Silent):
        """Another machine collects while this one fills the bank."""

        def advance(self, phase: str, units: int = 1, note: str = "") -> None:
            with monkeypatch.context() as there:
                there.setenv("SEGUE_CACHE", str(tmp_path / "another machine"))
                with pytest.raises(CorpusError, match=r"banks/foley-8000: .* is filling this bank"):
                    collect_garbage(Path(url), keep=2, banks=True)
            refused.append(phase)

    bank = folder / "banks" / "foley-8000"
    with engine(0) as where:
        library = ingest(intake, choose_stage(root(folder)) / "banks", where, Other())
    assert refused
    assert (bank / library.index.name).is_file()
    assert list(bank.glob("part-*.pcm"))
    assert not [path for path in folder.rglob(".lease*/*") if path.is_file()]
    lease = take_lease(Remote(f"file://{folder}"), "banks/.lease", "another machine")
    with (
        engine(0) as where,
        pytest.raises(CorpusError, match=r"banks: .* is removing files of these banks"),
    ):
        ingest(intake, choose_stage(root(folder)) / "banks", where, UNOBSERVED)
    lease.release()
    collect_garbage(Path(url), keep=2, banks=True)
    assert not list(bank.glob("part-*"))


def test_a_version_is_made_again_at_a_store(folder: Path, url: str, old: str, cache: Path) -> None:
    before = product(folder)
    collect_garbage(Path(url), keep=1)
    shutil.rmtree(folder / "shards" / "tiny" / NEWER)  # so that every shard must be rendered
    shutil.rmtree(cache)  # a machine that was never here
    places = find_version(Path(url), old)
    assert places == Places(store_at(places.out), "tiny", old)
    found = rebuild(places, None, 0)
    assert not found.differences
    assert (found.rendered, found.linked) == (12, 0)
    assert found.paths["shards"] == f"file://{folder}/shards/tiny/{old}"
    left = product(folder)
    assert left == {
        path: value for path, value in before.items() if "shards/tiny/newer" not in path
    }
    assert not kept(cache)


def test_the_store_copies_what_it_holds(folder: Path, url: str, old: str, cache: Path) -> None:
    before = product(folder)
    collect_garbage(Path(url), keep=1)
    assert ask_segue("rebuild", url, old, "--workers", "0")["linked"] == 12
    assert product(folder) == before
    again = rebuild(Places(open_store(root(folder)), "tiny", old), None, 0)
    assert (again.rendered, again.linked, bool(again.differences)) == (0, 0, False)
    assert product(folder) == before
    assert not kept(cache)


def test_a_build_sees_what_another_machine_removed(
    folder: Path, url: str, old: str, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build(tiny(), root(folder), 0).rendered == 0
    (folder / "data_manifests" / "tiny" / "latest").write_text(f"{NEWER}\n")
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "another machine"))
    collect_garbage(Path(url), keep=1)
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    with pytest.raises(CorpusError, match=rf"file://.*/{old}: `segue gc` removed the shards"):
        build(tiny(), root(folder), 0)
    with pytest.raises(CorpusError, match=r"segue gc. removed"):
        build(tiny(version=old), root(folder), 0)
    assert tars(folder, old) == 0


def test_a_version_at_a_store_is_asked_for_by_its_url_or_with_out(
    folder: Path, url: str, old: str, tiny_file: Callable[..., Path], tmp_path: Path
) -> None:
    _, built, out = read_request(tiny_file(), old, root(folder))
    assert built == Places(store_at(out), "tiny", old)
    assert read_request(tiny_file(), "1.0", root(folder))[1] is None
    with pytest.raises(SegueError, match=f"{url}: no finished version 9"):
        find_version(Path(url), "9", Path())
    with pytest.raises(SegueError, match="but --out says"):
        find_version(Path(url), None, tmp_path)
    staged = find_version(Path(url), None, stage=tmp_path / "stage")
    assert (staged.out, staged.version) == (tmp_path / "stage", NEWER)


def test_no_stage_is_made_of_what_is_no_corpus(tmp_path: Path, cache: Path) -> None:
    for place in (f"file://{tmp_path}/data_manifests/none", f"file://{tmp_path}"):
        with pytest.raises(CorpusError, match="no versions of a corpus here"):
            collect_garbage(Path(place), keep=1)
    assert not (cache / "stages").exists()


def test_a_store_of_one_process_is_refused_to_others_before_any_work(
    tiny: Tiny, tiny_file: Callable[..., Path], tmp_path: Path, cache: Path
) -> None:
    url = f"memory:/{tmp_path}"
    with pytest.raises(SpecError, match=r"process, so workers cannot see it.*0 workers"):
        build(tiny(), Path(url), 2)
    assert not list(cache.rglob("*.pcm")), "no clip was read"
    with pytest.raises(StorageError, match="wrote nothing there"):
        Corpus.open(Path(f"memory:/{tmp_path}/nothing"))
    with pytest.raises(SpecError, match="ends with this command"):
        read_request(tiny_file(), None, Path("memory://x"))


def test_the_stage_of_another_process_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = choose_stage(f"memory:/{tmp_path}", tmp_path / "stage")
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with pytest.raises(StorageError, match=r"lives in process \d+ only, and this is another"):
        store_at(out)
    assert choose_stage(f"memory:/{tmp_path}", tmp_path / "stage") == out
    assert isinstance(store_at(out), StagedStore), "it began anew"


# A version belongs to the first spec that writes it, whenever either build is killed.


SMALL = {"recipe": {"triplets": {"repeats": 1}}, "audio": {"format": "wav"}, "version": "v1"}


@contextmanager
def killed_after(renames: int, before: str = "") -> Iterator[list[Path]]:
    """Dies right after its K-th rename, or right before one to the file of a name.

    Yields:
        What has been renamed.
    """
    real, done = Path.replace, list[Path]()

    def replace(path: Path, target: Path) -> Path:
        if len(done) >= renames or target.name == before:
            raise KilledError
        done.append(real(path, target))
        if len(done) == renames:
            raise KilledError
        return done[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        yield done


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, str]]:
    """What a build of either seed makes where nothing disturbs it."""
    return {
        seed: product(built(merged(TINY, SMALL | {"seed": seed}), tmp_path_factory))
        for seed in (7, 8)
    }


def test_another_spec_leaves_a_begun_version_as_it_is(
    tiny: Tiny, tmp_path: Path, clean: dict[int, dict[str, str]]
) -> None:
    seven, eight = tiny(**SMALL, seed=7), tiny(**SMALL, seed=8)
    with pytest.raises(KilledError), killed_after(10**6, before="corpus.json"):
        build(seven, tmp_path, 0)
    with pytest.raises(CorpusError, match="version 'v1' was started with another spec") as refused:
        build(eight, tmp_path, 0)
    assert "another `version`" in refused.value.fix
    with pytest.raises(CorpusError, match="was started with another spec"):
        plan_library(eight, tmp_path, 0, UNOBSERVED)
    assert build(seven, tmp_path, 0).rendered == 0
    assert product(tmp_path) == clean[7]


@pytest.mark.slow
def test_a_build_killed_anywhere_after_another_spec_ends_in_one_of_the_two_corpora(
    tiny: Tiny, tmp_path: Path, clean: dict[int, dict[str, str]]
) -> None:
    seven, eight = tiny(**SMALL, seed=7), tiny(**SMALL, seed=8)
    begun = tmp_path / "begun"
    plan_library(seven, begun, 0, UNOBSERVED)
    with killed_after(10**6) as renamed:
        build(eight, shutil.copytree(begun, tmp_path / "counted"), 0)
    refused = 0
    kills = range(2, len(renamed) + 1, 5)  # `make soak SOAK=--between-writes` takes all of them
    for kill in kills:
        out = shutil.copytree(begun, tmp_path / str(kill))
        with pytest.raises(KilledError), killed_after(kill):
            build(eight, out, 0)
        try:
            build(seven, out, 0)
        except CorpusError:
            refused += 1
            build(eight, out, 0)
            assert product(out) == clean[8]
        else:
            assert product(out) == clean[7]
        shutil.rmtree(out)
    assert 0 < refused < len(kills)


def test_a_plan_of_a_finished_version_stays_its_own(tiny: Tiny, tmp_path: Path) -> None:
    build(tiny(**SMALL, seed=7), tmp_path, 0)
    told = "'v1' was built from another spec"
    with unchanged(tmp_path), pytest.raises(CorpusError, match=told):
        plan_library(tiny(**SMALL, seed=8), tmp_path, 0, UNOBSERVED)
    with unchanged(tmp_path), pytest.raises(CorpusError, match=told):
        build(tiny(**SMALL, seed=8), tmp_path, 0)


def test_a_file_of_another_plan_is_not_taken_for_ones_own(
    tiny: Tiny, tmp_path: Path, clean: dict[int, dict[str, str]]
) -> None:
    for seed, out in ((7, tmp_path / "seven"), (8, tmp_path / "eight")):
        plan_library(tiny(**SMALL, seed=seed), out, 0, UNOBSERVED)
    clips = Path("data_manifests/tiny/v1/clips.parquet")
    shutil.copyfile(tmp_path / "eight" / clips, tmp_path / "seven" / clips)
    build(tiny(**SMALL, seed=7), tmp_path / "seven", 0)
    assert product(tmp_path / "seven") == clean[7]


def test_the_receipt_of_a_lost_shard_outlives_a_killed_repair(tiny: Tiny, tmp_path: Path) -> None:
    """Of a finished version it alone says what the shard was."""
    spec = tiny(**SMALL, seed=7)
    build(spec, tmp_path, 0)
    before = product(tmp_path)
    lost = next((tmp_path / "shards").rglob("*.tar"))
    lost.unlink()
    with pytest.raises(KilledError), killed_after(10**6, before=lost.name):
        build(spec, tmp_path, 0)
    assert (tmp_path / "data_manifests/tiny/v1/receipts" / f"{lost.name}.json").is_file()
    build(spec, tmp_path, 0)
    assert product(tmp_path) == before


# What the soak between writes found: what a command leaves that is killed at the worst time.


VERSIONS = Path("data_manifests/tiny")


def leave_partial(folder: Path, name: str) -> Path:
    path = folder / f".{name}.machine-1-1.partial"
    path.write_text("half")
    return path


def test_what_killed_writers_left_beside_versions_and_shards_goes(out: Path, tiny: Tiny) -> None:
    version = (out / VERSIONS / "latest").read_text().strip()
    latest = leave_partial(out / VERSIONS, "latest")
    record = leave_partial(out / VERSIONS / version, "nightly.json")
    promote_version(out / VERSIONS, version, override=False)
    assert not latest.exists()
    assert not record.exists()
    card = leave_partial(out / "shards/tiny" / version, "README.md")
    build(tiny(), out, 0)
    assert not card.exists()


def test_gc_takes_the_receipts_of_an_unfinished_version_before_its_shards(
    out: Path, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tiny(version="begun", seed=8), out, 0)
    begun = out / VERSIONS / "begun"
    (begun / "corpus.json").unlink()
    newest = (out / VERSIONS / "latest").read_text().strip()
    build(tiny(version="newer", seed=9), out, 0)
    assert newest == "begun"
    receipts, shards = begun / "receipts", out / "shards/tiny/begun"
    real = Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".tar" and path.is_relative_to(shards):
            assert not (receipts / f"{path.name}.json").exists(), "it is certified yet"
        real(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    collect_garbage(out / VERSIONS, keep=1)
    assert not shards.exists()
    assert not list(receipts.glob("*.json"))
    assert (begun / "plan.parquet").is_file()
