"""The pictures of README and docs, made anew by `make pictures` in the folder SEGUE_SCREENSHOTS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import soundfile
from PIL import Image

import segue
from pipelines.look.page import write_page
from pipelines.look.report.corpus import corpus_page
from tests.kit.browsing import served
from tests.kit.chromium import Reader
from tests.kit.corpora import manifests
from tests.pipelines.conftest import SCREENSHOTS

MOST_BYTES = 300_000
COLOURS = 256
SPEC = {
    "corpus": "street-scenes",
    "seed": 7,
    "source": {"foley": {"takes": 5}},
    "recipe": {
        "scenes": {
            "scenes": 160,
            "style": "natural",
            "expressions": ["(any + any + any) * weather", "(any + any) * (any + any)"],
        }
    },
    "splits": {"train": [1, 2, 3], "val": [4], "test": [5]},
}
DRAWN = """() => document.querySelector("[data-spectrogram]")?.dataset.state === "drawn" """
LOADED = "() => [...document.querySelectorAll('audio')].every((each) => each.readyState >= 1)"


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of four sounds a scene."""
    return manifests(SPEC, tmp_path_factory)


@pytest.fixture
def reader(browser: Any) -> Iterator[Reader]:
    found = Reader(browser, viewport={"width": 1360, "height": 1000}, color_scheme="light")
    yield found
    found.context.close()


def save(page: Any, name: str) -> None:
    path = Path(os.environ[SCREENSHOTS]) / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(BytesIO(page.screenshot())) as taken:
        taken.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    assert path.stat().st_size < MOST_BYTES


def test_browse(reader: Reader, scenes: Path) -> None:
    with served(scenes) as address:
        page = reader.open(address)
        page.wait_for_function(DRAWN)
        save(page, "browse")


def test_report(reader: Reader, scenes: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    write_page(corpus_page(scenes), out)
    page = reader.open(out.as_uri())
    page.wait_for_function(LOADED)
    page.set_viewport_size({"width": 1120, "height": 1760})
    save(page, "report")


def test_scene(reader: Reader, tmp_path: Path) -> None:
    scene = segue.scene("(dog + rain) * wind")
    page = tmp_path / "scene.html"
    page.write_text(
        f"<body style='font-family: sans-serif'>{scene._repr_html_()}", encoding="utf-8"
    )
    shown = reader.open(page.as_uri())
    shown.set_viewport_size({"width": 1000, "height": 760})
    save(shown, "scene")
    soundfile.write(Path(os.environ[SCREENSHOTS]) / "scene.mp3", *scene.render())
