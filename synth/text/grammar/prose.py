"""Whether a text is running text: what holds markup, addresses or file names is not edited."""

from __future__ import annotations

import re
from typing import Final

_MARKUP: Final = re.compile(
    r"(?ix) &\#?\w+; | https?: | www\. | \w@\w | \w+\.(?:com|org|net|wav|mp3|flac|ogg|aiff?)\b"
    r"| [<>{}\[\]|\\_=~^*#@\ufffd] | // | ->"
)
_NO_ONE_SENTENCE: Final = re.compile(r"[.!?…]+[\"”')]*\s+\S|[:;()/\"“”]|\s[-–—]+\s|\d+[.,]\d")  # noqa: RUF001
_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def has_markup(text: str) -> bool:
    """Whether a text holds entities, addresses, file names or signs that no sentence has."""
    return _MARKUP.search(text) is not None


def is_one_sentence(text: str) -> bool:
    """Whether a text is one sentence, or a fragment of one, in plain words.

    Not so: two sentences, a title in capitals, brackets, quotations, slashes, colons and dashes.
    """
    if has_markup(text) or _NO_ONE_SENTENCE.search(text.strip()):
        return False
    words = _WORD.findall(text)
    capitals = sum(word[0].isupper() for word in words[1:])
    return text.isupper() or 2 * capitals <= len(words)
