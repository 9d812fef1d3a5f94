"""Names that are misspelt: what was meant, or what there is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str]) -> str:
    """The mend for a name that is none of the known ones; upper and lower case do not count.

    Returns:
        `did you mean 'esc50'?`, or all that there are where none is near.
    """
    names = tuple(known)
    spelt = {each.casefold(): each for each in names}
    near = difflib.get_close_matches(name.casefold(), spelt, 1)
    return f"did you mean {spelt[near[0]]!r}?" if near else f"there are {', '.join(names)}"
