"""The words that relate two sounds in time, in captions that are written and that are read."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Connective(StrEnum):
    """A word that relates two sounds."""

    BEFORE = "before"
    AFTER = "after"
    THEN = "then"
    FOLLOWED_BY = "followed by"
    WHILE = "while"
    AS = "as"
    WITH = "with"
    AT_ONCE = "at the same time"

    @property
    def is_order(self) -> bool:
        """Whether it tells an order, rather than simultaneity."""
        return self not in SIMULTANEOUS


SIMULTANEOUS: Final = (Connective.WHILE, Connective.AS, Connective.WITH, Connective.AT_ONCE)
ORDER: Final = tuple(word for word in Connective if word not in SIMULTANEOUS)
