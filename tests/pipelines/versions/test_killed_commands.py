"""What the soak between writes found: what a command leaves that is killed at the worst time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.builder.build import build
from pipelines.config.spec import Spec
from pipelines.versions.gc import collect_garbage
from pipelines.versions.history import promote_version

Tiny = Callable[..., Spec]
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
