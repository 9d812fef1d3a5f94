"""What a new spec has to know of the library that it is written for: its clips and its splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from synth.base.errors import SourceError
from synth.labels.lexicon import shipped_phrases
from synth.sources import HELD, Settings, Source, open_source
from synth.sources.reading.files import MISSING


@dataclass(frozen=True, slots=True)
class LibraryFacts:
    """What there is of a sound library. Where its audio is not collected, all that is listed.

    Args:
        clips: Those whose files are there.
        listed: Those of its index.
        splits: Its own splits, or folds, that have a clip; none where a clip is of no split.
    """

    clips: int
    listed: int
    splits: frozenset[str]
    labels: tuple[str, ...]

    @property
    def unlisted_labels(self) -> tuple[str, ...]:
        """Labels that the lexicon has no phrase for."""
        known = shipped_phrases()
        return tuple(label for label in self.labels if label not in known)


def find_innermost(name: str, given: Mapping[str, Any]) -> str:
    """The name of the source whose clips are used in the end.

    Args:
        name: Of the source that is chosen.
    """
    while HELD in given:
        ((name, given),) = given[HELD].items()
    return name


def inspect_library(source: Settings) -> LibraryFacts:
    """List a library, and see which files are there; none is opened."""
    opened = open_source(source)
    refs = list(opened.refs())
    here = (
        [ref for ref in refs if opened.stamp(ref) != MISSING]
        if isinstance(opened, Source)
        else refs
    )
    if not here:
        root = getattr(source, "root", opened.name)
        raise SourceError(
            f"{root}: none of its {len(refs):,} listed clips exists, such as {refs[0].location}"
            if refs
            else f"{root}: lists no clips",
            fix=f"also unpack its audio; `segue check {opened.name}:{root}` shows what is missing"
            if refs
            else "add sounds, or give another folder",
        )
    splits = frozenset(ref.split for ref in here)
    return LibraryFacts(
        clips=len(here),
        listed=len(refs),
        splits=splits if "" not in splits else frozenset(),
        labels=tuple(sorted({label for ref in here for label in ref.labels})),
    )
