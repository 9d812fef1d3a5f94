"""Digests of a test set: what they are computed on, and what differs where two are not equal.

The digest of a set is of what a model hears and reads, in the plan's order: of each sample its id,
group, captions, clips, length and PCM. How Segue writes a scene or a claim down does not enter it,
nor do file names, encoded bytes, worker counts and the time of the build.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from pydantic import ValidationError

from pipelines.engines.cluster import library_versions
from pipelines.frozen.description import SPLIT
from synth.base.atomic import write_text
from synth.base.choice import StrictModel
from synth.base.doors import read_regular
from synth.base.errors import CorpusError
from synth.base.progress import Observer
from synth.base.rng import digest, digest_all
from synth.corpus.corpus import PLAN_FILE, Corpus
from synth.corpus.schema import canonical_json

COLUMNS: Final = ("id", "group", "caption", "positives", "negatives", "clips", "frames")
"""What the digest takes of a row of the plan."""
_CAPTION: Final = ("text", "kind", "against")
SHOWN: Final = 5
_LETTERS: Final = 16


class ClipsOfLabel(StrictModel):
    """The clips of one label that a set draws from.

    Args:
        digest: Of their ids and files.
    """

    count: int
    digest: str


class PublishedSet(StrictModel):
    """What is published of a set over one source.

    Args:
        plan: Of the rows of its plan.
        clips: By label, the clips that it draws from; empty for a source that reads no files.
    """

    digest: str
    plan: str
    samples: int
    clips: dict[str, ClipsOfLabel]
    algorithms: dict[str, int | str]
    libraries: dict[str, str]

    def write(self, path: Path) -> None:
        """Write it; a digest that is published never changes."""
        published = read_published(path)
        if published is not None and published.digest != self.digest:
            raise CorpusError(
                f"{path}: already publishes another digest, {published.digest[:_LETTERS]}",
                fix="a published set never changes: give the changed set the next version",
            )
        write_text(path, self.model_dump_json(indent=1) + "\n")


def read_published(path: Path) -> PublishedSet | None:
    """What is published in a file; None where there is no such file."""
    try:
        return PublishedSet.model_validate_json(read_regular(path))
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise CorpusError(f"{path}: is damaged", fix="install Segue again") from error


def digest_corpus(corpus: Corpus, observer: Observer, questions: Iterable[Any] = ()) -> str:
    """Digest of a built set: of what is told of each sample, and of its PCM in the shard.

    Args:
        questions: What a model is asked beside captions, as JSON values.
    """
    columns = [*COLUMNS, "shard", "offset", "size"]
    rows = corpus.samples(SPLIT, columns=columns).to_pylist()
    observer.start("digest", len(rows), "samples")
    parts = []
    for row in rows:
        pcm = corpus.stored_pcm(SPLIT, row["shard"], row["offset"], row["size"])
        parts += [_tell(row), hashlib.sha256(pcm.astype("<i2").tobytes()).hexdigest()]
        observer.advance("digest")
    observer.finish("digest")
    return digest_all([*parts, *map(canonical_json, questions)])


def digest_plan(folder: Path) -> str:
    """Digest of the plan of a set, rendered or not: the same without PCM."""
    rows = pq.read_table(folder / PLAN_FILE, columns=list(COLUMNS)).to_pylist()
    return digest_all(map(_tell, rows))


def _tell(row: Mapping[str, Any]) -> str:
    """What the digest takes of a row, as text."""
    captions = {
        name: [{key: caption[key] for key in _CAPTION} for caption in row[name]]
        for name in ("positives", "negatives")
    }
    return canonical_json({name: row[name] for name in COLUMNS} | captions)


def digest_clips(clips: Iterable[Mapping[str, Any]]) -> dict[str, ClipsOfLabel]:
    """The clips of the test split by their first label, each by its id and the SHA-256 of its file.

    Args:
        clips: Rows of `schema.CLIPS`.
    """
    by_label: dict[str, list[str]] = defaultdict(list)
    for row in clips:
        if row["split"] == SPLIT:
            by_label[(row["labels"] or ("",))[0]].append(f"{row['id']} {row['sha256']}")
    return {
        label: ClipsOfLabel(count=len(files), digest=digest(*sorted(files))[:_LETTERS])
        for label, files in sorted(by_label.items())
    }


def library_changes(published: PublishedSet) -> Sequence[str]:
    """Packages of other versions than those that made a set, as pip takes them."""
    versions = library_versions()
    return [
        f"{name}=={version}"
        for name, version in published.libraries.items()
        if versions.get(name) != version
    ]


def clip_changes(published: PublishedSet, clips: Mapping[str, ClipsOfLabel]) -> Sequence[str]:
    """Labels whose clips are not those that a set was published over."""
    none = ClipsOfLabel(count=0, digest="")
    changes = []
    for label in sorted(published.clips.keys() | clips.keys()):
        old, new = published.clips.get(label, none), clips.get(label, none)
        if old.count != new.count:
            changes.append(f"{label}: {new.count} of {old.count} clips")
        elif old != new:
            changes.append(f"{label}: other files")
    return changes
