"""The protocol of a sound library, and what it says of a clip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol, runtime_checkable

from synth.audio.dsp import Audio
from synth.base.choice import StrictModel
from synth.base.shipped import read_shipped_rows
from synth.base.units import Seconds
from synth.labels.lexicon import Tag, Treatment


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a published library comes from, and its licence in its own words."""

    title: str
    url: str
    licence: str
    reference: str = ""


@cache
def _shipped_origins() -> Mapping[str, Origin]:
    rows = read_shipped_rows("lexicons/tables/origins.csv")
    return {row.pop("source"): Origin(**row) for row in rows}


def find_origin(source: type) -> Origin | None:
    """Where the library of a source comes from, or that of a source that it extends."""
    names = (vars(kind).get("name", "") for kind in source.__mro__)
    listed = map(_shipped_origins().get, names)
    return getattr(source, "origin", None) or next(filter(None, listed), None)


@dataclass(frozen=True, slots=True)
class ClipRef:
    """What a library's own index says of one clip, before its audio is opened.

    Args:
        id: Unique in the corpus: `SOURCE/NAME`.
        location: Where the source finds it; for files the path below the root, for a stretch of
            one with the media fragment that `stretch` adds.
        labels: Sound-event labels.
        captions: Sentences that describe the whole clip.
        recording: The original recording that it was cut from; splits never divide one.
        licence: SPDX-like name.
        attribution: Whom to credit.
        split: The library's own split or fold, "" where it has none.
        tags: Tags of the whole recording.
        duration_s: As the library's index says, None where it does not.
        refusal: Why the clip cannot be used, where its index says so already; "" where it can.
    """

    id: str
    location: str
    labels: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    recording: str = ""
    licence: str = "unknown"
    attribution: str = ""
    split: str = ""
    tags: tuple[Tag, ...] = ()
    duration_s: Seconds | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Recording:
    """A decoded clip: mono samples at its own rate, and what the file said.

    Args:
        audio: Shape (frames,), the mean of the channels.
        sha256: Of the file's bytes (of these and the stretch; of the samples if there is no file).
        untreated: The sound by which it is known again, where `audio` was made of it.
        treatment: How it was.
    """

    audio: Audio
    rate: int
    channels: int
    sha256: str
    untreated: Audio | None = None
    treatment: Treatment | None = None


@runtime_checkable
class Source(Protocol):
    """A sound library. Instances are values that travel to workers.

    Sources that read no files (`reads_files`) are trusted: nothing they do is killed.
    """

    name: ClassVar[str]
    reads_files: ClassVar[bool]

    def refs(self) -> Iterator[ClipRef]:
        """Every clip the library lists, in a fixed order."""
        ...

    def stamp(self, ref: ClipRef) -> str:
        """A cheap text that changes when the clip's content may have changed."""
        ...

    def load(self, ref: ClipRef) -> Recording:
        """Decode one clip."""
        ...


@runtime_checkable
class Unheard(Protocol):
    """A library without recordings: it can be planned over, and not built."""

    name: ClassVar[str]

    def refs(self) -> Iterator[ClipRef]:
        """Every clip the library lists, in a fixed order."""
        ...

    def row(self, ref: ClipRef) -> dict[str, Any]:
        """The measured columns of `schema.CLIPS`, as they were drawn."""
        ...


class Settings(StrictModel):
    """Settings of a source, checked when the spec is read.

    Attributes:
        origin: Of a library that is not in the shipped table of origins.
    """

    origin: ClassVar[Origin | None] = None
    reads_files: ClassVar[bool] = True
