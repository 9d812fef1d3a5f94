"""Pins of whole corpora and of a training run: a refactor must leave them as they are.

What is pinned is content, not encoded bytes: the rows of each Parquet file, and the JSON and PCM of
each shard member. Floats are rounded to six digits, so that another CPU or another release of a
compression library does not fail the test. Change a pin only together with `PLAN_VERSION`,
`RENDER_VERSION`, `INGEST_VERSION` or `FORMAT_VERSION`.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.builder.build import build
from pipelines.builder.documents import META
from pipelines.config.spec import Spec
from synth.base.progress import UNOBSERVED
from tests.kit.builds import merged
from tests.kit.runs import lines
from tests.kit.tables import read_data
from train.config.loss import HardNegatives
from train.config.model import AudioConfig, HeadConfig, ModelConfig
from train.config.run import Stage, TrainConfig
from train.engine.loop import train

BASE: dict[str, Any] = {
    "version": "v1",
    "seed": 7,
    "source": {"foley": {"classes": ["dog", "rain", "siren", "wind"], "takes": 3}},
    "audio": {"sample_rate": 16000},
    "splits": {"train": [1, 2], "test": [3]},
    "shards": {"samples": 8},
}
CORPORA: dict[str, tuple[dict[str, Any], str]] = read_data("corpus/pins.yaml")
LOSSES = [3.14761, 3.4312, 3.12212, 2.46262, 2.86935, 2.60903]
MACHINE = (
    "libraries",
    "python",
    "platform",
    "sha256",
    "bytes",
    "digest",
    "spec_digest",
    "bank",
    "words",
)
"""Fields that name libraries, encoded bytes, or a digest of these."""


def build_pinned(name: str, out: Path) -> Path:
    """Build one of the corpora; gives the folder that holds shards and manifests."""
    build(Spec.model_validate(merged(BASE | {"corpus": name}, CORPORA[name][0])), out, 0)
    return out


def plain(value: Any) -> Any:
    """The value with floats at six digits, as JSON takes it."""
    match value:
        case float():
            return f"{value:.6g}" if math.isfinite(value) else str(value)
        case dict():
            return {key: plain(each) for key, each in value.items() if key not in MACHINE}
        case list() | tuple():
            return [plain(each) for each in value]
        case bytes():
            return hashlib.sha256(value).hexdigest()
        case _:
            return value if isinstance(value, int | str | None) else str(value)


def contents(path: Path) -> Any:
    """What a file of a build says."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.name == "receipt.json":  # hashes of encoded bytes
        return None
    if path.suffix == ".json":
        values = json.loads(path.read_text(encoding="utf-8"))
        return {name: values[name] for name in values if name != "measurements"}
    if path.suffix != ".tar":
        return path.read_text(encoding="utf-8") if path.suffix in (".yaml", ".csv") else None
    found = []
    with tarfile.open(path) as shard:
        for member in shard:
            data = shard.extractfile(member).read()  # type: ignore[union-attr]
            if member.name.endswith(".json"):
                found.append([member.name, json.loads(data)])
            else:
                audio, rate = soundfile.read(io.BytesIO(data), dtype="int16")
                found.append([member.name, rate, audio.tobytes()])
    return found


def digest_of(out: Path) -> str:
    """Digest of the shards and manifests below a folder; `.nv-meta` tells nothing of its own."""
    sha = hashlib.sha256()
    for folder in ("shards", "data_manifests"):
        for path in sorted((out / folder).rglob("*")):
            pinned = path.is_file() and path.parent.name != META
            found = contents(path) if pinned else None
            if found is not None:
                told = [str(path.relative_to(out)), plain(found)]
                sha.update(json.dumps(told, sort_keys=True).encode())
    return sha.hexdigest()[:16]


@pytest.mark.parametrize("name", CORPORA)
def test_a_corpus_of_each_recipe_is_pinned(name: str, tmp_path: Path) -> None:
    assert digest_of(build_pinned(name, tmp_path)) == CORPORA[name][1]


def test_a_training_run_is_pinned(tmp_path: Path) -> None:
    """The loss of every step, within what another CPU's arithmetic may change."""
    out = build_pinned("triplets", tmp_path)
    config = TrainConfig(
        corpus=out / "data_manifests" / "triplets",
        out=tmp_path / "run",
        model=ModelConfig(dim=16, head=HeadConfig(), audio=AudioConfig(width=8, mels=16)),
        stages=(Stage(steps=3), Stage(steps=3, loss=HardNegatives())),
        batch=6,
        keep_groups=True,
        tensorboard=False,
        log_every=1,
    )
    train(config, UNOBSERVED)
    found = [line["loss"] for line in lines(tmp_path / "run") if "loss" in line]
    assert found == pytest.approx(LOSSES, rel=1e-3)
