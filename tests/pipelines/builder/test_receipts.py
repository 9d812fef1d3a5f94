"""What is damaged after it was certified is told by its receipt, and made again as it was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.builder.build import build
from pipelines.config.spec import Spec
from pipelines.look.inspection import verify, verify_manifests
from synth.base.errors import CorpusError
from synth.corpus.corpus import Corpus
from tests.kit.builds import TINY, flip, product

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


def test_damaged_sounds_are_decoded_again_before_they_are_rendered(
    tiny_corpus: Path, tmp_path: Path
) -> None:
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
