"""A version belongs to the first spec that writes it, whenever either build is killed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipelines.builder.build import build, plan_library
from pipelines.config.spec import Spec
from pipelines.versions.gc import collect_garbage
from pipelines.versions.history import promote_version
from synth.base.errors import CorpusError
from synth.base.progress import Silent
from tests.kit.builds import TINY, merged, product
from tests.kit.corpora import built
from tests.kit.forked import KilledError

Tiny = Callable[..., Spec]
SMALL = {"recipe": {"triplets": {"repeats": 1}}, "audio": {"format": "wav"}, "version": "v1"}


@contextmanager
def killed_after(renames: int, before: str = "") -> Iterator[None]:
    """Dies right after its K-th rename, or right before one to the file of a name."""
    real, done = Path.replace, 0

    def replace(path: Path, target: Path) -> Path:
        nonlocal done
        if done >= renames or (before and target.name == before):
            done = renames
            raise KilledError
        found = real(path, target)
        done += 1
        if done == renames:
            raise KilledError
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        yield


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, str]]:
    """What a build of either seed makes where nothing disturbs it."""
    return {
        seed: product(built(merged(TINY, SMALL | {"seed": seed}), tmp_path_factory))
        for seed in (7, 8)
    }


def first_renames(spec: Spec, out: Path) -> int:
    """How often a build renames, beginning from what is there."""
    count, real = 0, Path.replace

    def replace(path: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        return real(path, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        build(spec, out, 0)
    return count


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
        plan_library(eight, tmp_path, 0, Silent())
    assert build(seven, tmp_path, 0).rendered == 0
    assert product(tmp_path) == clean[7]


@pytest.mark.slow
def test_a_build_killed_anywhere_after_another_spec_ends_in_one_of_the_two_corpora(
    tiny: Tiny, tmp_path: Path, clean: dict[int, dict[str, str]]
) -> None:
    seven, eight = tiny(**SMALL, seed=7), tiny(**SMALL, seed=8)
    begun = tmp_path / "begun"
    plan_library(seven, begun, 0, Silent())
    total = first_renames(eight, shutil.copytree(begun, tmp_path / "counted"))
    refused = 0
    kills = range(2, total + 1, 5)  # `make soak SOAK=--between-writes` takes all of them
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
    before = product(tmp_path)
    with pytest.raises(CorpusError, match="'v1' was built from another spec"):
        plan_library(tiny(**SMALL, seed=8), tmp_path, 0, Silent())
    with pytest.raises(CorpusError, match="'v1' was built from another spec"):
        build(tiny(**SMALL, seed=8), tmp_path, 0)
    assert product(tmp_path) == before


def test_a_file_of_another_plan_is_not_taken_for_ones_own(
    tiny: Tiny, tmp_path: Path, clean: dict[int, dict[str, str]]
) -> None:
    for seed, out in ((7, tmp_path / "seven"), (8, tmp_path / "eight")):
        plan_library(tiny(**SMALL, seed=seed), out, 0, Silent())
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
