"""The record of a built test set, from which it is scored."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from pipelines.frozen.description import Backwards
from pipelines.store.places import locate_versions
from synth.base.atomic import write_text
from synth.base.doors import read_regular
from synth.base.errors import CorpusError

ROOT: Final = Path("out/bench")
"""Where sets are built unless another folder is given."""
RECORDS: Final = "sets"


class TextScore(BaseModel):
    """How well a classifier that only reads tells true captions from false ones; chance is 1/2.

    Args:
        value: Balanced accuracy.
        low: Lower end of its 95 % interval.
        high: Upper end.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    value: float
    low: float
    high: float


class BuiltSet(BaseModel):
    """A set as it was built.

    Args:
        name: Of the set.
        source: Name of its source.
        corpus: Name of its corpus.
        task: What it tests, in a word.
        asks: The question that a model must answer.
        edits: Kinds of false captions that are scored.
        backwards: What playing the sounds backwards does to the answers.
        digest: Of the whole set.
        published: Whether that is the published digest.
        samples: How many there are.
        text_only: What text alone scores.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    source: str
    corpus: str
    task: str
    asks: str
    edits: tuple[str, ...]
    backwards: Backwards
    digest: str
    published: bool
    samples: int
    text_only: TextScore


def write_record(built: BuiltSet, root: Path) -> None:
    """Write the record of a set; equal sets give equal bytes."""
    write_text(root / RECORDS / f"{built.corpus}.json", built.model_dump_json(indent=1) + "\n")


def read_records(root: Path) -> tuple[BuiltSet, ...]:
    """The sets that are built in a folder, by name."""
    found = sorted((root / RECORDS).glob("*.json"))
    if not found:
        raise CorpusError(
            f"{root}: no test set is built here",
            fix="`segue bench build order-v1 --source foley` builds one",
        )
    return tuple(map(_read, found))


def locate_corpus(built: BuiltSet, root: Path) -> Path:
    """The manifest folder of a set's corpus, above its versions."""
    return locate_versions(root, built.corpus)


def _read(path: Path) -> BuiltSet:
    try:
        return BuiltSet.model_validate_json(read_regular(path))
    except ValidationError as error:
        raise CorpusError(
            f"{path}: is no record of a test set", fix="remove it, and build the set again"
        ) from error
