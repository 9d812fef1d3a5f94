"""Reproducing a version: the same bytes, or every difference by its name and nothing changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

import pipelines.versions.rebuild
from pipelines.builder.build import build
from pipelines.builder.plan import ShardPlan
from pipelines.builder.render import RenderJob, render_shard
from pipelines.cli.make.rebuild import find_version, read_request
from pipelines.config.spec import Spec
from pipelines.engines.cluster import library_versions
from pipelines.store.lease import sole_writer
from pipelines.store.places import Places
from pipelines.store.store import Store
from pipelines.versions.gc import collect_garbage
from pipelines.versions.rebuild import rebuild
from synth.base.errors import CorpusError, SegueError
from synth.corpus.corpus import Corpus
from synth.corpus.receipt import RECEIPT_FILE
from tests.kit.builds import TINY, flip, merged, product, segue_here, unchanged
from tests.kit.libraries import bells_and_drums

Tiny = Callable[..., Spec]
SHARDS = 6


CHANGES: dict[str, object] = {"recipe": {"triplets": {"repeats": 1}}}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version `old`, and a newer one that shares no shard with it; not to be changed."""
    out = tmp_path_factory.mktemp("base")
    for version, seed in (("old", 7), ("new", 8)):
        changes = CHANGES | {"version": version, "seed": seed}
        build(Spec.model_validate(merged(TINY, changes)), out, 0)
    return out


@pytest.fixture
def old(base: Path, tmp_path: Path) -> Places:
    """A copy of the older version, and of the newer beside it."""
    shutil.copytree(base, tmp_path / "out")
    return Places(Store(tmp_path / "out"), "tiny", "old")


@pytest.fixture
def spec(tiny: Tiny) -> Tiny:
    """The older version's spec, with changes."""
    return lambda **changes: tiny(**merged(CHANGES, changes))


@pytest.fixture
def filed_spec(tiny: Tiny, tmp_path: Path) -> Tiny:
    """A corpus of eight files, in two shards; with changes."""
    own: dict[str, object] = {
        "version": "old",
        "source": {"folder": {"root": str(tmp_path / "library"), "licence": "CC0-1.0"}},
        "recipe": {"triplets": {"repeats": 4}},
        "splits": {"train": 1.0},
    }
    return lambda **changes: tiny(**merged(own, changes))


@pytest.fixture
def filed(filed_spec: Tiny, tmp_path: Path) -> Places:
    """That corpus."""
    bells_and_drums(tmp_path / "library")
    build(filed_spec(), tmp_path / "out", 0)
    return Places(Store(tmp_path / "out"), "tiny", "old")


def remove(places: Places) -> dict[str, str]:
    """Let gc remove the version's shards.

    Returns:
        The product as it was before.
    """
    before = product(places.out)
    collect_garbage(places.versions, keep=1)
    assert not places.shards.exists()
    return before


def differs(places: Places, given: Spec | None = None) -> list[str]:
    """What reproducing finds to differ; it must leave everything as it was."""
    with unchanged(places.out):
        found = rebuild(places, given, 0)
    assert found.differences
    return list(found.differences.lines())


def patch(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))
    for folder in path.parents[:2]:
        (folder / RECEIPT_FILE).unlink(missing_ok=True)


def test_a_removed_version_is_made_again_and_a_whole_one_only_verified(old: Places) -> None:
    before = remove(old)
    found = rebuild(old, None, 0)
    assert not found.differences
    assert (found.shards, found.rendered, found.linked) == (SHARDS, SHARDS, 0)
    assert product(old.out) == before
    assert Corpus.open(old.versions).version == "new"
    folders = (old.manifests, old.shards)
    before = {path: path.stat().st_mtime_ns for each in folders for path in each.rglob("*.*")}
    found = rebuild(old, None, 0)
    assert (found.rendered, found.linked, bool(found.differences)) == (0, 0, False)
    after = {path: path.stat().st_mtime_ns for each in folders for path in each.rglob("*.*")}
    assert after == before


def test_shards_that_another_version_holds_are_linked(old: Places, spec: Tiny) -> None:
    build(spec(version="twin"), old.out, 0)
    before = product(old.out)
    collect_garbage(old.versions, keep=1)
    found = rebuild(old, None, 0)
    assert (found.rendered, found.linked) == (0, SHARDS)
    left = product(old.out)
    assert {path: left[path] for path in before if "/old/" in path} == {
        path: digest for path, digest in before.items() if "/old/" in path
    }


def test_manifests_alone_are_enough(old: Places, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(old.manifests, elsewhere / "data_manifests" / "tiny" / "old")
    found = rebuild(Places(Store(elsewhere), "tiny", "old"), None, 0)
    assert found.rendered == SHARDS
    there = product(elsewhere)
    assert there == {path: value for path, value in product(old.out).items() if path in there}
    assert {path for path in product(old.out) if "/old/" in path} == there.keys()


def test_the_same_sounds_elsewhere_will_do(filed: Places, filed_spec: Tiny, tmp_path: Path) -> None:
    before = product(filed.out)
    shutil.rmtree(filed.shards)
    shutil.rmtree(filed.out / "banks")
    shutil.copytree(tmp_path / "library", tmp_path / "moved", copy_function=shutil.copyfile)
    shutil.rmtree(tmp_path / "library")
    assert "library" in differs(filed)[0]
    moved = filed_spec(source={"folder": {"root": str(tmp_path / "moved")}})
    assert not rebuild(filed, moved, 0).differences
    assert product(filed.out) == before
    # The bank that the manifest names is there again, though the files' times are others.
    corpus = Corpus.open(filed.manifests)
    row = corpus.samples().slice(0, 1).to_pylist()[0]
    stored = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
    assert (stored == corpus.virtual_pcm(row)).all()


def test_changed_missing_and_new_clips_are_named(filed: Places, tmp_path: Path) -> None:
    library = tmp_path / "library"
    clips = pq.read_table(filed.manifests / "clips.parquet").to_pylist()
    hashes = {row["id"]: row["sha256"][:12] for row in clips}
    other = np.random.default_rng(99).uniform(-0.25, 0.25, 16_000)
    soundfile.write(library / "bell" / "0.wav", other, 16_000)
    (library / "bell" / "1.wav").unlink()
    (library / "drum" / "2.wav").write_bytes(b"RIFF no audio")
    bells_and_drums(library, [7])
    lines = differs(filed)
    names = {name.removeprefix("folder/"): name for name in hashes}
    missing, refused, changed, *new = lines
    assert missing.startswith(f"missing clip {_like(names, 'bell/1')}: bell/1.wav")
    assert refused.startswith(f"missing clip {_like(names, 'drum/2')}: it is refused now: ")
    wanted = _like(names, "bell/0")
    assert changed.startswith(f"changed clip {wanted}: SHA-256 {hashes[wanted]} there, ")
    assert [line.rsplit(": ", 1)[1] for line in new] == ["bell/7.wav", "drum/7.wav"]
    assert all(line.startswith("new clip ") for line in new)


def _like(names: dict[str, str], stem: str) -> str:
    return next(full for name, full in names.items() if stem in name)


def test_of_many_clips_ten_are_named_and_all_counted(filed: Places, tmp_path: Path) -> None:
    bells_and_drums(tmp_path / "library", range(10, 18))
    found = rebuild(filed, None, 0)
    lines = list(found.differences.lines())
    assert len(lines) == 11
    assert lines[-1] == "new clip: 6 more"
    told = found.to_json()
    assert told["reproduced"] is False
    assert told["differences"]["new clips"]["count"] == 16
    assert len(told["differences"]["new clips"]["first"]) == 10


def test_a_changed_setting_is_named(old: Places, spec: Tiny) -> None:
    only_here = 'setting licences: nothing there, ["CC0"] in the spec given'
    assert differs(old, spec(licences=["CC0"])) == [only_here]
    given = spec(seed=9, audio={"peak_db": -3.0}, recipe={"triplets": {"repeats": 5}})
    assert differs(old, given) == [
        "setting seed: 7 there, 9 in the spec given",
        "setting recipe.triplets.repeats: 1 there, 5 in the spec given",
        "setting audio.peak_db: -1.0 there, -3.0 in the spec given",
    ]


def test_a_library_of_another_version_is_named(old: Places) -> None:
    remove(old)
    first, *_ = sorted(old.receipts.glob("*.json"))
    patch(first, lambda receipt: receipt["libraries"].update(libsndfile="1.0.31"))  # type: ignore[attr-defined]
    here = library_versions()["libsndfile"]
    assert differs(old) == [f"library libsndfile: 1.0.31 there (1 of 6 shards), {here} here"]


def test_algorithms_of_other_versions_are_named(old: Places) -> None:
    names = ("ingest", "plan", "render", "format", "words")
    corpus = old.manifests / "corpus.json"
    here = json.loads(corpus.read_text())["algorithms"]
    patch(corpus, lambda facts: facts["algorithms"].update(dict.fromkeys(names, "0")))  # type: ignore[attr-defined]
    told = [f"algorithm {name}: 0 there, {str(here[name])[:12]} here" for name in names]
    assert sorted(differs(old)) == sorted(told)


def test_a_version_that_does_not_say_its_algorithms_is_judged_by_its_digest(old: Places) -> None:
    corpus = old.manifests / "corpus.json"
    patch(corpus, lambda facts: facts.pop("algorithms"))
    before = product(old.out)
    assert not rebuild(old, None, 0).differences
    digest = json.loads(corpus.read_text())["digest"]
    patch(corpus, lambda facts: facts.update(digest="0" * 64))
    assert differs(old) == [
        "Segue itself: corpus.json does not say which algorithms made this version "
        f"(build digest {'0' * 12} there, {digest[:12]} here)"
    ]
    assert product(old.out).keys() == before.keys()


def test_a_damaged_shard_is_named_and_left(old: Places) -> None:
    victim = sorted(old.shards.rglob("*.tar"))[0]
    flip(victim)
    assert differs(old) == [
        f"shard {victim.name}: the file differs from its receipt; delete {victim} to rebuild it"
    ]
    victim.unlink()
    assert rebuild(old, None, 0).rendered == 1


def test_damaged_tables_are_refused_and_damaged_sounds_decoded_again(old: Places) -> None:
    before = remove(old)
    part = next((old.out / "banks").rglob("part-*.pcm"))
    for path, error in ((old.manifests / "clips.parquet", "clips.parquet: "), (part, "")):
        whole = path.read_bytes()
        flip(path)
        if error:
            with pytest.raises(CorpusError, match=error):
                rebuild(old, None, 0)
            path.write_bytes(whole)
    assert rebuild(old, None, 0).rendered == SHARDS
    assert product(old.out) == before


def test_a_shard_that_comes_out_otherwise_does_not_move_in(old: Places) -> None:
    remove(old)
    first, *_ = sorted(old.receipts.glob("*.json"))
    patch(first, lambda receipt: receipt.update(sha256="0" * 64))
    (line,) = differs(old)
    assert line.startswith(f"shard {first.stem}: rendered to SHA-256 ")
    assert "its receipt says 000000000000" in line
    assert not old.shards.exists()


def test_a_lost_receipt_is_named(old: Places) -> None:
    first, *_ = sorted(old.receipts.glob("*.json"))
    first.unlink()
    assert differs(old) == [f"shard {first.stem}: no receipt, so its content is unknown"]


@pytest.mark.parametrize("then", ["reproduce", "gc"])
def test_a_killed_reproduction_goes_on_or_is_cleared(
    old: Places, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    whole = remove(old)
    removed = product(old.out)
    made: list[str] = []

    def dying(job: RenderJob, shard: ShardPlan) -> None:
        if made:
            raise KeyboardInterrupt
        render_shard(job, shard)
        made.append(shard.shard)

    with monkeypatch.context() as patch:
        patch.setattr(pipelines.versions.rebuild, "render_shard", dying)
        with pytest.raises(KeyboardInterrupt):
            rebuild(old, None, 0)
    assert not old.shards.exists()
    assert product(old.out) != removed
    if then == "gc":
        collect_garbage(old.versions, keep=1)
        assert product(old.out) == removed
    else:
        assert rebuild(old, None, 0).rendered == SHARDS - 1
        assert product(old.out) == whole


def test_a_running_build_blocks_reproducing(old: Places) -> None:
    with (
        sole_writer(old.versions),
        pytest.raises(CorpusError, match="another process is building"),
    ):
        rebuild(old, None, 0)


def test_the_command_builds_and_reproduces(tiny_file: Callable[..., Path], tmp_path: Path) -> None:
    arguments = ["build", tiny_file(), "--version", "1.0", "--workers", "0", "--json"]
    root = ["--out", tmp_path]
    built = segue_here(*arguments, *root, "--no-prefect")
    assert json.loads(built.stdout.splitlines()[-1])["version"] == "1.0"
    before = product(tmp_path)
    shutil.rmtree(tmp_path / "shards")
    again = json.loads(segue_here(*arguments, *root).stdout.splitlines()[-1])
    assert (again["reproduced"], again["rendered"]) == (True, 12)
    assert product(tmp_path) == before
    folder = tmp_path / "data_manifests" / "tiny"
    shown = segue_here("rebuild", folder, "--workers", "0")
    assert shown.returncode == 0, shown.stderr
    assert "all 12 shards match their receipts" in shown.stdout
    changed = segue_here("build", tiny_file(seed=8), "--version", "1.0", "--workers", "0", *root)
    assert changed.returncode == 1
    assert "setting seed: 7 there, 8 in the spec given" in changed.stdout
    assert product(tmp_path) == before


def test_arguments_that_contradict_each_other_are_refused(
    tiny_file: Callable[..., Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    folder = tiny_corpus / "data_manifests" / "tiny"
    version = Corpus.open(folder).version
    named = tiny_file(version="2").rename(tmp_path / "named.yaml")
    cases: list[tuple[Path, str | None, Path, str]] = [
        (named, "1", tmp_path, "version: 2, but --version says 1"),
        (tiny_file(), "latest", tmp_path, "--version latest: version: 'latest' is the name"),
        (folder, "9", Path(), "no finished version 9"),
        (folder / version, "9", Path(), f"is version {version}, but --version says 9"),
        (folder, None, tmp_path, "but --out says"),
        (tmp_path, None, Path(), "no versions of a corpus here"),
    ]
    for path, name, out, message in cases:
        with pytest.raises(SegueError, match=message):
            (find_version if path.is_dir() else read_request)(path, name, out)


def test_a_version_is_asked_for(tiny_file: Callable[..., Path], tiny_corpus: Path) -> None:
    folder = tiny_corpus / "data_manifests" / "tiny"
    version = Corpus.open(folder).version
    places = Places(Store(tiny_corpus.resolve()), "tiny", version)
    root = tiny_corpus.resolve()
    assert find_version(folder, None) == places
    assert find_version(folder, version, tiny_corpus) == places
    assert find_version(folder / version, None) == places
    _, built, there = read_request(tiny_file(), version, tiny_corpus)
    assert (built, there.resolve()) == (places, root)
    new, none, _ = read_request(tiny_file(), "1.0", tiny_corpus)
    assert (new.version, none) == ("1.0", None)


def set_bank(old: Places, bank: str) -> None:
    patch(old.manifests / "corpus.json", lambda facts: facts.update(bank=bank))


def edit_listing(old: Places, column: str, value: int) -> None:
    path = old.manifests / "shards.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index(column)
    column_type = table.schema.field(at).type
    values = pa.array([value] * table.num_rows, column_type)
    pq.write_table(table.set_column(at, table.schema.field(at), values), path)
    (old.manifests / RECEIPT_FILE).unlink()


def replace(path: Path, target: Path | str | None) -> None:
    """Put a link in the place of a file or folder, or a pipe where there is no target."""
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    os.mkfifo(path) if target is None else path.symlink_to(target)


STRANGE: dict[str, tuple[Callable[[Places, Path], None], str]] = {
    "absolute bank": (lambda old, away: set_bank(old, f"{away}/x"), "bank is .*below"),
    "bank above": (lambda old, away: set_bank(old, "../../../../away/x"), "bank is .*below"),
    "row beyond": (lambda old, away: edit_listing(old, "row", 1 << 60), "expected 12 rows from"),
    "group beyond": (lambda old, away: edit_listing(old, "row_group", 9), "of row group 9"),
    "shard": (lambda old, away: replace(next(old.shards.glob("*/*.tar")), None), "regular file"),
    "receipt": (lambda old, away: replace(next(old.receipts.iterdir()), "/dev/zero"), "regular"),
    "journal": (lambda old, away: replace(old.journal, away / "new"), "leads out"),
    "lock": (lambda old, away: replace(old.versions / ".lock", away / "note"), "leads out"),
    "banks": (lambda old, away: replace(old.out / "banks", away), "leads out"),
    "split": (lambda old, away: replace(old.shards / "test", away), "leads out"),
    "shards": (lambda old, away: replace(old.out / "shards", away), "leads out"),
    "other version": (lambda old, away: replace(old.versions / "new", away), "leads out"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_nothing_outside_of_the_root_is_written(old: Places, tmp_path: Path, name: str) -> None:
    away = tmp_path / "away"
    away.mkdir()
    (away / "note").write_text("mine")
    change, said = STRANGE[name]
    change(old, away)
    with pytest.raises(CorpusError, match=said):
        rebuild(old, None, 0)
    if "leads out" in said:
        with pytest.raises(CorpusError, match=said):
            collect_garbage(old.versions, keep=1)
    assert [path.name for path in away.iterdir()] == ["note"]
    assert (away / "note").read_text() == "mine"
