"""Miniatures of sound libraries, and what every source keeps to."""

from __future__ import annotations

import csv
import json
import pickle
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from numpy.typing import NDArray

from synth.base.errors import SourceError
from synth.sources import ClipRef, Settings, Source, open_source, source_class
from tests.kit.tables import DATA

RATE = 16_000


def sound(path: Path, seed: int = 0, frames: int = 1600, channels: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    audio = np.random.default_rng(seed).uniform(-0.5, 0.5, (frames, channels))
    soundfile.write(path, audio, RATE)
    return path


def bells_and_drums(
    root: Path, takes: Iterable[int] = range(4), licence: str = "CC0-1.0"
) -> dict[str, Any]:
    """A library of sounds of a second under two labels, and the source that reads it."""
    for number, label in enumerate(("bell", "drum")):
        for take in takes:
            sound(root / label / f"{take}.wav", seed=10 * take + number, frames=RATE)
    return {"folder": {"root": str(root), "licence": licence}}


def write_foley(root: Path, names: Mapping[str, str], takes: int) -> Path:
    """Sounds of `foley` as a library of folders, each class under a name of its own."""
    source = open_source(
        source_class("foley").model_validate({"takes": takes, "classes": [*names]})
    )
    assert isinstance(source, Source)
    for ref in source.refs():
        path = root / names[ref.labels[0]] / f"{ref.id.replace('/', '-')}.wav"
        path.parent.mkdir(exist_ok=True)
        recording = source.load(ref)
        soundfile.write(path, np.asarray(recording.audio), recording.rate)
    return root


def write_csv(
    path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]], encoding: str = "utf-8"
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def write_parquet(path: Path, *rows: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path)


def make_source(name: str, root: Path, **settings: Any) -> Any:
    return source_class(name)(root=root, **settings)  # type: ignore[call-arg]


def miniature(
    name: str, root: Path, folders: Iterable[str] = (), without: Iterable[str] = (), **settings: Any
) -> Any:
    """A source over a copy of a library below tests/data/libraries, and folders for its audio.

    What lies there as `NAME.parquet.json` is made a Parquet file.
    """
    ignore = shutil.ignore_patterns(*without)
    shutil.copytree(DATA / "libraries" / name, root, ignore=ignore, dirs_exist_ok=True)
    for path in root.rglob("*.parquet.json"):
        write_parquet(path.with_suffix(""), *json.loads(path.read_text(encoding="utf-8")))
        path.unlink()
    for folder in folders:
        (root / folder).mkdir(exist_ok=True)
    return make_source(name.removesuffix("_json"), root, **settings)


def check(source: Settings) -> list[ClipRef]:
    """What every source keeps to: a value that travels, and a fixed list of different ids."""
    refs = list(source.refs())
    assert isinstance(source, Source)
    assert list(pickle.loads(pickle.dumps(source)).refs()) == refs
    assert len({ref.id for ref in refs}) == len(refs)
    assert all(ref.id.startswith(f"{source.name}/") for ref in refs)
    assert all(ref.recording and ref.licence for ref in refs)
    return refs


def refused(source: Any, told: str = "", *names: str) -> SourceError:
    """The error of a source that cannot be listed: one line that names a place, and a fix."""
    with pytest.raises(SourceError, match=told or None) as caught:
        list(source.refs())
    assert caught.value.fix
    assert "\n" not in caught.value.message
    assert all(name in caught.value.message for name in names)
    return caught.value


def assert_told_apart(train: NDArray[np.float64], test: NDArray[np.float64], least: float) -> None:
    """Takes held out are nearest to the middle of their own class, by class, take and feature."""
    centroids = train.mean(axis=1)
    spread = np.sqrt(((train - centroids[:, None]) ** 2).mean(axis=(0, 1)))
    distance = (((test[:, :, None] - centroids) / spread) ** 2).sum(axis=-1)
    right = distance.argmin(axis=-1) == np.arange(len(train))[:, None]
    assert right.mean() >= least
    assert right.any(axis=1).all()
