"""The manifest of a corpus: its samples, or its plan where it is not rendered."""

from __future__ import annotations

from pathlib import Path

from pipelines.spec.file import read_spec
from synth.base.errors import CorpusError
from synth.corpus.corpus import (
    CLIPS_FILE,
    CORPUS_FILE,
    LATEST_FILE,
    PLAN_FILE,
    SAMPLES_FILE,
    check_version,
)
from synth.corpus.facts import follow_latest, suggest_corpus
from synth.corpus.receipt import check_receipt
from synth.corpus.schema import PLAN, SAMPLES
from synth.corpus.validation import check_clips, check_manifest
from synth.storage import local_place, url_of


def find_manifest(path: Path) -> Path:
    """`samples.parquet` of a finished corpus, or `plan.parquet` of one that is not rendered.

    Args:
        path: A manifest folder, the folder above it, or the Parquet file itself; or the URL of one.
            Of the version of a folder that is here the first letters are enough.
    """
    named, path = url_of(path) or str(path), _find_version(local_place(path))
    if path.suffix in (".yaml", ".yml") and path.is_file():
        raise CorpusError(
            f"{named}: this is a spec, not a corpus",
            fix=f"give its manifest folder, data_manifests/{read_spec(path).corpus}",
        )
    if path.is_file():
        return _check(path)
    folder = follow_latest(path / LATEST_FILE)
    if (folder / CORPUS_FILE).is_file():
        return _check(folder / SAMPLES_FILE)
    found = [folder / PLAN_FILE, *sorted(folder.glob(f"*/{PLAN_FILE}"))]
    plans = [each for each in found if each.is_file()]
    if len(plans) == 1:
        return _check(plans[0])
    names = ", ".join(each.parent.name for each in plans)
    raise CorpusError(
        f"{named}: {f'several plans here: {names}' if plans else 'no corpus and no plan here'}",
        fix="give one manifest folder, data_manifests/CORPUS/VERSION"
        if plans
        else suggest_corpus(
            Path(named), "give data_manifests/CORPUS of a build, or run `segue build SPEC`"
        ),
    )


def _check(manifest: Path) -> Path:
    """The same path, once the manifest is known to be what it can be: it may be a stranger's."""
    if manifest.name == SAMPLES_FILE and manifest.with_name(CORPUS_FILE).is_file():
        check_version(manifest.parent)
    else:
        check_receipt(manifest.parent, [manifest.name, CLIPS_FILE])
        check_manifest(manifest, SAMPLES if manifest.name == SAMPLES_FILE else PLAN)
        if manifest.with_name(CLIPS_FILE).exists():
            check_clips(manifest.with_name(CLIPS_FILE), manifest)
    return manifest


def _find_version(path: Path) -> Path:
    """The one version that a path's last name begins; the path itself where there is none."""
    if path.exists() or not path.parent.is_dir():
        return path
    found = sorted(
        each
        for each in path.parent.iterdir()
        if each.name.startswith(path.name)
        and any((each / file).is_file() for file in (CORPUS_FILE, PLAN_FILE))
    )
    if len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise CorpusError(
            f"{path}: several versions start with this: {names}", fix="give more letters"
        )
    return found[0] if found else path
