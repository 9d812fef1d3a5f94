"""The soak itself, in small: two kills of a build without Prefect, and what it says of harm."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
import yaml

from benchmarks.soak.lanes import FLOW, Lane
from benchmarks.soak.rounds import Round, finished
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from tests.kit.builds import TINY, merged

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find processes"),
]


class Cheap(Lane):
    options = ("--no-prefect", "--workers", "0")
    early_s = 0.5


def test_killed_build_is_the_undisturbed_one_and_harm_is_told(tmp_path: Path) -> None:
    spec = merged(TINY, {"recipe": {"triplets": {"repeats": 1}}})
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(spec))
    build(Spec.model_validate(spec), tmp_path / "undisturbed", 0)
    told: list[str] = []
    until = time.monotonic() + 240
    each = Round(
        Cheap(tmp_path / "services"),
        FLOW,
        tmp_path / "tiny.yaml",
        tmp_path / "round",
        tmp_path / "undisturbed",
        2,
        random.Random(1),
        lambda: time.monotonic() > until,
        told.append,
        told.append,
    )
    found = each.run()
    assert (found.wrong, found.builds) == ([], 1)
    assert len(told) == found.kills == 2

    shards = sorted((tmp_path / "round/out/shards").rglob("*.tar"))
    shards[0].write_bytes(b"torn")
    next((tmp_path / "round/out/data_manifests").rglob("*.json")).with_name(
        ".a.tar.1-1.partial"
    ).touch()
    assert len(finished(tmp_path / "round/out")) == len(shards)
    each.look()
    each.compare()
    assert [len(found.lost), len(found.differing), len(found.temporary)] == [1, 2, 1]
