"""Tags: words that hold of a whole recording, each in a category such as genre or mood."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Tag:
    """A tag of a recording.

    Args:
        category: What it tells of: "genre", "mood", "instrument", "" where the library says not.
        name: The word or words as they stand in a caption.
    """

    category: str
    name: str
