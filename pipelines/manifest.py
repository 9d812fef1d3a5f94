"""The manifest of a corpus: its samples, or its plan where it is not rendered."""

from __future__ import annotations

from pathlib import Path

from synth.corpus import CORPUS_FILE, LATEST_FILE, PLAN_FILE, SAMPLES_FILE
from synth.errors import CorpusError
from synth.storage import local_place, url_of


def find_manifest(path: Path) -> Path:
    """`samples.parquet` of a finished corpus, or `plan.parquet` of one that is not rendered.

    Args:
        path: A manifest folder, the folder above it, or the Parquet file itself; or the URL of one.

    Raises:
        CorpusError: If there is neither, or the folder above holds several plans.
        StorageError: If the URL cannot be read.
    """
    named, path = url_of(path) or str(path), local_place(path)
    if path.is_file():
        return path
    pointer = path / LATEST_FILE
    folder = path / pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else path
    if (folder / CORPUS_FILE).is_file():
        return folder / SAMPLES_FILE
    found = [folder / PLAN_FILE, *sorted(folder.glob(f"*/{PLAN_FILE}"))]
    plans = [each for each in found if each.is_file()]
    if len(plans) == 1:
        return plans[0]
    raise CorpusError(
        f"{named}: {'several plans' if plans else 'no corpus and no plan'} here",
        mend="give one manifest folder, data_manifests/CORPUS/VERSION",
    )
