"""A gate that a version failed binds every command; one flag overrides it, and is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.builder.build import build
from pipelines.builder.finalise import RECORD_FILE
from pipelines.config.spec import Spec
from synth.base.errors import CorpusError
from tests.kit.builds import segue_here


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


def test_a_refused_version_is_promoted_by_the_flag_alone_and_recorded(
    refused: tuple[Spec, Path], tmp_path: Path
) -> None:
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


def test_a_version_is_promoted_by_hand_as_to_go_back(
    refused: tuple[Spec, Path], tmp_path: Path
) -> None:
    versions = refused[1]
    (versions / "latest").write_text("bad\n")
    assert segue_here("promote", versions, "goo").returncode == 0
    assert (versions / "latest").read_text() == "good\n"
    assert "no versions begin with 'none'" in segue_here("promote", versions, "none").stderr
