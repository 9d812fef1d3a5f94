"""What a frozen test set is: a spec without its source, and how its samples are scored."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError

from pipelines.config.file import parse_spec
from pipelines.config.spec import Spec
from pipelines.store.store import locate_versions
from synth.base.atomic import write_text
from synth.base.choice import StrictModel
from synth.base.doors import read_regular
from synth.base.errors import CorpusError, SpecError, suggestion
from synth.base.yaml_file import YamlFile, explain_errors, read_yaml
from synth.sources import Settings

SHIPPED: Final = Path(__file__).resolve().parent / "shipped"
PUBLISHED: Final = "published"
SPLIT: Final = "test"
_NAME: Final = re.compile(r"[a-z0-9-]+-v[1-9][0-9]*")
_FIX: Final = "docs/bench.md shows a description"


class Backwards(StrEnum):
    """What playing the sounds backwards does to the answers."""

    FLIPS = "flips"
    """The other caption is true now: a model that hears what is asked falls below chance."""
    KEEPS = "keeps"
    """The same caption is still true: a model that hears what is asked stays above chance."""


class FrozenSource(StrictModel):
    """A source that a set is defined over.

    Args:
        settings: Of the source, all but where it lies.
        test: The library's own splits whose clips are used, or their share.
        clips: How many clips the whole library lists in those splits; a digest over a part of it is
            not published.
    """

    settings: dict[str, Any] = Field(default_factory=dict)
    test: float | list[str | int]
    clips: int | None = None


class SetQuestion(StrictModel):
    """What a set asks of a model.

    Args:
        task: What it tests, in a word.
        asks: The question that a model must answer, in a sentence.
        edits: Kinds of false captions that are scored, as the manifest calls them; of a composed
            set the kinds of changes.
        backwards: What playing the sounds backwards does to the answers.
        composed: Whether a sound with an instruction is asked for another sound, both of which come
            from recipe `edits`.
        windows: Whether models answer when a sound is heard: what they predict is scored by `segue
            eval`, not by `segue bench run`.
    """

    task: str = Field(min_length=1)
    asks: str = Field(min_length=1)
    edits: tuple[str, ...] = Field(min_length=1)
    backwards: Backwards
    composed: bool = False
    windows: bool = False


class Description(SetQuestion):
    """A frozen test set.

    Args:
        spec: A spec without `corpus`, `source` and `splits`.
        sources: The sources that it is defined over, by name.
    """

    spec: dict[str, Any]
    sources: dict[str, FrozenSource] = Field(min_length=1)


class FrozenSet(StrictModel):
    """A description with its name.

    Args:
        name: As in `order-v3`; the version changes with whatever changes the set.
    """

    name: str
    path: Path
    description: Description

    def corpus(self, source: str) -> str:
        """The name of its corpus over a source."""
        return f"{self.name}-{source.replace('_', '-')}"

    def digest_file(self, source: str, folder: Path | None = None) -> Path:
        """Where its published digest over a source lies, by default beside the description."""
        return (folder or self.path.parent / PUBLISHED) / f"{self.corpus(source)}.json"

    def make_spec(self, source: Settings) -> Spec:
        """Its spec over a source.

        Args:
            source: Says where the library lies; its other settings are those of the description.
        """
        sources = self.description.sources
        name = str(source.name)  # type: ignore[attr-defined]
        if name not in sources:
            raise SpecError(
                f"{self.name} is not defined over {name}",
                fix=f"give one of {', '.join(sources)}; docs/bench.md says how to add a source",
            )
        settings = source.model_dump(mode="json", exclude_defaults=True)
        if changed := sorted(settings.keys() & sources[name].settings.keys()):
            raise SpecError(
                f"{self.name} sets {', '.join(changed)} of {name} itself", fix="leave them out"
            )
        values = self.description.spec | {
            "corpus": self.corpus(name),
            "source": {name: sources[name].settings | settings},
            "splits": {SPLIT: sources[name].test},
        }
        return parse_spec(YamlFile(str(self.path), values), self.path.parent)


_OLD_COMMITS: Final = {"v1": "d77aaa4d", "v2": "c35bae43", "v3": "f26cc880"}
"""The last that builds an earlier version of the sets, byte for byte."""


def open_set(name: str) -> FrozenSet:
    """A set that ships, by its name, or any other by the path of its description."""
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        path = SHIPPED / f"{name}.yaml"
        task, _, version = name.rpartition("-")
        newer = [other for other in shipped_names() if other.rpartition("-")[0] == task]
        if version in _OLD_COMMITS and newer and name not in newer:
            raise SpecError(
                f"{name} was published with an older Segue",
                fix=f"build it with that one (git checkout {_OLD_COMMITS[version]}), or take "
                f"{newer[0]}",
            )
        if not path.is_file():
            raise SpecError(f"no test set {name!r}", fix=suggestion(name, shipped_names()))
    file = read_yaml(path)
    if not _NAME.fullmatch(path.stem):
        raise SpecError(
            f"{path}: expected a file named like its set: NAME-vN, lowercase",
            fix="as in order-v3.yaml",
        )
    try:
        description = Description.model_validate(file.value)
    except ValidationError as error:
        raise explain_errors(error, file, Description, _FIX) from error
    return FrozenSet(name=path.stem, path=path.resolve(), description=description)


def shipped_names() -> tuple[str, ...]:
    """The sets that ship, by name."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.yaml")))


def shipped_sets() -> Iterator[FrozenSet]:
    """The sets that ship."""
    return map(open_set, shipped_names())


# The record of a built test set, from which it is scored.


RECORDS: Final = "sets"


class BaselineScore(StrictModel):
    """How well a classifier that does not listen tells true captions from false ones.

    Args:
        value: Share that it tells right; chance is 1/2.
    """

    value: float
    low: float
    high: float


class BuiltSet(SetQuestion):
    """A set as it was built.

    Args:
        published: Whether that is the published digest.
        trivial: What features of the audio score that know no sound; None where too few groups
            tell, or a record of before does not.
        baselines: What instruction and target of a composed set score alone, by what is looked at.
    """

    name: str
    source: str
    corpus: str
    digest: str
    published: bool
    samples: int
    text_only: BaselineScore
    trivial: BaselineScore | None = None
    baselines: dict[str, BaselineScore] = Field(default_factory=dict)


def write_record(built: BuiltSet, root: Path) -> None:
    """Write the record of a set; equal sets give equal bytes."""
    write_text(root / RECORDS / f"{built.corpus}.json", built.model_dump_json(indent=1) + "\n")


def read_records(root: Path) -> tuple[BuiltSet, ...]:
    """The sets that are built in a folder, by name."""
    paths = sorted((root / RECORDS).glob("*.json"))
    if not paths:
        raise CorpusError(
            f"{root}: no test set is built here",
            fix="`segue bench build order-v3 --source foley` builds one",
        )
    return tuple(map(_read, paths))


def locate_corpus(built: BuiltSet, root: Path) -> Path:
    """The manifest folder of a set's corpus, above its versions."""
    return locate_versions(root, built.corpus)


def _read(path: Path) -> BuiltSet:
    try:
        return BuiltSet.model_validate_json(read_regular(path))
    except ValidationError as error:
        raise CorpusError(
            f"{path}: is not a record of a test set", fix="remove it, and build the set again"
        ) from error
