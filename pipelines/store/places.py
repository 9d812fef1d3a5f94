"""Where the files of a corpus lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipelines.store.store import JOURNAL, MARKS, SHARDS, Store, locate_versions
from synth.base.errors import CorpusError, SpecError
from synth.corpus.corpus import (
    CLIPS_FILE,
    CORPUS_FILE,
    LATEST_FILE,
    PLAN_FILE,
    SAMPLES_FILE,
    check_version,
)
from synth.corpus.facts import follow_latest, suggest_corpus
from synth.corpus.kinds import PathKind, expect
from synth.corpus.receipt import check_receipt
from synth.corpus.schema import PLAN, SAMPLES
from synth.corpus.validation import check_clips, check_manifest
from synth.storage import local_place, url_of

RECEIPTS: Final = "receipts"


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a version."""

    store: Store
    corpus: str
    version: str

    @property
    def out(self) -> Path:
        """Root of everything a build writes."""
        return self.store.root

    @property
    def versions(self) -> Path:
        """Holds one manifest folder a version, and the `latest` pointer."""
        return locate_versions(self.out, self.corpus)

    @property
    def manifests(self) -> Path:
        """The version's manifests."""
        return self.versions / self.version

    @property
    def receipts(self) -> Path:
        """One receipt and one table of measurements a shard."""
        return self.manifests / RECEIPTS

    @property
    def shards(self) -> Path:
        """The version's shards, one folder a split."""
        return self.out / SHARDS / self.corpus / self.version

    @property
    def journal(self) -> Path:
        """What every run of this build did."""
        return self.manifests / JOURNAL

    def shard_path(self, split: str, name: str) -> Path:
        """One shard."""
        return self.shards / split / name

    def format_path(self, path: Path) -> str:
        """A path below `out` as the user knows it."""
        return self.store.format_path(path)

    def receipt_path(self, name: str) -> Path:
        """The receipt of a shard, by the shard's name."""
        return self.receipts / f"{name}.json"

    def measurements_path(self, name: str) -> Path:
        """The measurements of a shard's samples."""
        return self.receipts / f"{name}.parquet"

    def locate_sibling(self, version: str) -> Places:
        """The same corpus's other version."""
        return Places(self.store, self.corpus, version)


# The file that a tool writes, checked before any work starts.


def check_output(out: Path, *inputs: Path | None) -> None:
    """Refuse an output that is no Parquet file by its name, or that is one of the inputs."""
    if out.suffix != ".parquet":
        raise SpecError(
            f"--out {out}: the result is a Parquet file", fix=f"name it {out.stem}.parquet"
        )
    if any(path is not None and path.resolve() == out.resolve() for path in inputs):
        raise SpecError(f"--out {out}: is the input file", fix="write to another file")


# The manifest of a corpus: its samples, or its plan where it is not rendered.


def find_manifest(path: Path) -> Path:
    """`samples.parquet` of a finished corpus, or `plan.parquet` of one that is not rendered.

    Args:
        path: A manifest folder, the folder above it, or the Parquet file itself; or the URL of one.
            Of the version of a folder that is here the first letters are enough.
    """
    expect(path, PathKind.CORPUS, PathKind.OTHER)
    named, path = url_of(path) or str(path), _find_version(local_place(path))
    if path.is_file():
        return _check(path)
    folder = follow_latest(path / LATEST_FILE)
    if (folder / CORPUS_FILE).is_file():
        return _check(folder / SAMPLES_FILE)
    plans = [folder / PLAN_FILE, *sorted(folder.glob(f"*/{PLAN_FILE}"))]
    plans = [plan for plan in plans if plan.is_file()]
    if len(plans) == 1:
        return _check(plans[0])
    names = ", ".join(plan.parent.name for plan in plans)
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
    versions = sorted(
        folder
        for folder in path.parent.iterdir()
        if folder.name.startswith(path.name) and any((folder / file).is_file() for file in MARKS)
    )
    if len(versions) > 1:
        names = ", ".join(version.name for version in versions)
        raise CorpusError(
            f"{path}: several versions start with this: {names}", fix="give more letters"
        )
    return versions[0] if versions else path
