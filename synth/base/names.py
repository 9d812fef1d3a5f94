"""Names that are misspelt: what was meant, or what there is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that a misspelt one is most like; upper and lower case do not count.

    Args:
        name: As it was spelt.
        known: As they are spelt.
        likeness: Least that the two must have, 0 to 1: `difflib.SequenceMatcher.ratio`.

    Returns:
        None where none is near.
    """
    spelt = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.strip().casefold(), spelt, 1, likeness)
    return spelt[near[0]] if near else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """The fix for a name that is none of the known ones.

    Returns:
        `did you mean 'esc50'?`, or all that there are where none is near.
    """
    names = tuple(known)
    near = nearest(name, names)
    return f"did you mean {near!r}?" if near else list_known(names)


def list_known(names: Sequence[str]) -> str:
    """`there is a`, `there are a, b`."""
    return f"there {'is' if len(names) == 1 else 'are'} {', '.join(names)}"
