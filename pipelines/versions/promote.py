"""`segue versions --promote`: point `latest` to a version by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipelines.build.promotion import RECORD_FILE, promote
from pipelines.store.stage import hold_corpus
from pipelines.versions.shelf import VersionShelf, open_writable_shelf
from synth.base.errors import CorpusError
from synth.corpus.corpus import CORPUS_FILE
from synth.corpus.receipt import VersionReceipt


def promote_version(path: Path, name: str, override: bool) -> str:
    """Point `latest` of a corpus to one of its finished versions.

    Args:
        path: Manifest folder of the corpus, or its URL.
        name: The version's name, or letters that only its name begins with.
        override: Promote it although it failed a gate; its record says so.

    Returns:
        The version's name.
    """
    shelf = open_writable_shelf(path)
    with hold_corpus(shelf.out, shelf.corpus) as mirror:
        version = _find(shelf, name)
        places = replace(shelf.locate(version), mirror=mirror)
        if shelf.copies is not None and shelf.holds(places.manifests / RECORD_FILE):
            shelf.fetch(places.manifests / RECORD_FILE)
        if (receipt := VersionReceipt.read(places.manifests)) is not None:
            receipt.check()
        promote(places, override)
    return version


def _find(shelf: VersionShelf, name: str) -> str:
    found = [each for each in shelf.names if each.startswith(name)]
    if name in found:
        found = [name]
    if len(found) != 1:
        raise CorpusError(
            f"{shelf.format_path(shelf.folder)}: {len(found)} versions begin with {name!r}",
            fix=f"the versions are {', '.join(shelf.names)}",
        )
    if not shelf.holds(shelf.locate(found[0]).manifests / CORPUS_FILE):
        raise CorpusError(
            f"{shelf.format_path(shelf.locate(found[0]).manifests)}: not finished",
            fix="run its `segue build` again first",
        )
    return found[0]
