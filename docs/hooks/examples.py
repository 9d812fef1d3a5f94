"""Examples to see and hear, built with the site from embedded sounds.

`<!-- example: NAME GROUP -->` shows one group of the corpus that `docs/examples/NAME.yaml` makes.
"""

from __future__ import annotations

import html
import json
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import DictLoader, Environment
from mkdocs.structure.files import File, Files

from pipelines.builder.build import build
from pipelines.config.file import read_spec
from pipelines.look.browse.drawing import draw
from synth.corpus.corpus import Corpus
from synth.corpus.schema import read_timeline
from synth.corpus.shards import read_member
from synth.scene.scene import from_json

SPECS = Path(__file__).resolve().parents[1] / "examples"
MARKER = re.compile(r"<!-- example: ([\w-]+) ([\w-]+) -->")
FOLDER = "sounds"


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Build the corpora, and add the sounds that the pages play."""
    markers = {
        found
        for page in files.documentation_pages()
        for found in MARKER.findall(page.content_string)
    }
    for name in sorted({name for name, _ in markers}):
        for row, sound in _samples(name):
            if (name, row["group"]) in markers:
                uri = f"{FOLDER}/{row['id']}.flac"
                files.append(File.generated(config, uri, content=sound))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Show a group in the place of each marker."""
    up = "../" * page.url.count("/")
    return MARKER.sub(lambda found: shown(found[1], found[2], up), markdown)


def shown(name: str, group: str, up: str = "") -> str:
    """The samples of a group in HTML; `up` leads from the page to the site's root.

    Raises:
        KeyError: If the corpus has no such group.
    """
    rows = [row for row, _ in _samples(name) if row["group"] == group]
    if not rows:
        raise KeyError(f"docs/examples/{name}.yaml makes no group {group}")
    colours: dict[str, int] = {}
    return "\n\n".join(_sample(row, up, colours) for row in rows)


@cache
def _samples(name: str) -> list[tuple[dict[str, Any], bytes]]:
    """The rows of the split `train`, each with its audio as the shard holds it."""
    with TemporaryDirectory() as folder:
        made = build(read_spec(SPECS / f"{name}.yaml"), Path(folder), worker_count=0)
        corpus = Corpus.open(Path(made.paths["manifests"]))
        return [(row, _audio(corpus, row)) for row in corpus.samples("train").to_pylist()]


def _audio(corpus: Corpus, row: dict[str, Any]) -> bytes:
    shard = corpus.shard("train", row["shard"])
    return read_member(shard, row["offset"], row["size"], corpus.receipt(row["shard"]))


def _sample(row: dict[str, Any], up: str, colours: dict[str, int]) -> str:
    """One sample; each label has the colour that it has in the others of the group."""
    scene = from_json(json.loads(row["scene"]))
    drawing = draw(scene, row["frames"], row["sample_rate"], colours, read_timeline(row))
    colours.update(drawing.colours)
    picture = " ".join(_timeline().module.timeline(drawing).split())
    caption = html.escape(row["caption"])
    texts = [("true", each, "") for each in row["positives"]]
    texts += [("false", each, f" <small>{each['kind']}</small>") for each in row["negatives"]]
    listed = "".join(
        f'<li class="{truth}"><b>{truth}</b> {html.escape(each["text"])}{kind}</li>'
        for truth, each, kind in texts
    )
    return (
        f'<div class="sample"><p class="caption">{caption}</p>'
        f"<p><code>{html.escape(row['notation'])}</code></p>{picture}"
        f'<audio controls preload="none" aria-label="{caption}" '
        f'src="{up}{FOLDER}/{row["id"]}.flac"></audio><ul>{listed}</ul></div>'
    )


@cache
def _timeline() -> Any:
    source = files("pipelines").joinpath("look/browse/templates/_timeline.html").read_text("utf-8")
    environment = Environment(loader=DictLoader({"timeline": source}), autoescape=True)
    return environment.get_template("timeline")
