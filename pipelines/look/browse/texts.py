"""Text of the page: links, words found, numbers with their nouns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape

from pipelines.look.browse.filters import Filter


def make_link(place: str, wanted: Filter, page: int = 1, sample: str = "") -> str:
    """A link within the page that keeps the filter."""
    asked = wanted.to_params()
    if page > 1:
        asked["page"] = str(page)
    if sample:
        asked["sample"] = sample
    return f"{place}?{urlencode(asked)}" if asked else place


def add_sample(link: str, sample: str) -> str:
    """A link of `make_link` to a sample, whose id needs no escapes; for links in their dozens."""
    return f"{link}{'&' if '?' in link else '?'}sample={sample}"


def mark_words(text: str, words: str) -> Markup:
    """The text, escaped, with every occurrence of the words marked."""
    wanted = sorted(set(words.split()), key=len, reverse=True)
    if not wanted:
        return escape(text)
    found = re.split(f"({'|'.join(map(re.escape, wanted))})", text, flags=re.IGNORECASE)
    return Markup("").join(
        Markup("<mark>{}</mark>").format(piece) if at % 2 else escape(piece)
        for at, piece in enumerate(found)
    )


def find_words(row: Mapping[str, Any], words: str) -> tuple[str, str] | None:
    """The sentence beside the caption that holds the words, and whether it is true or false.

    Args:
        row: A summary, as `Manifest.find_page` gives it.
        words: What was searched for; none, or ones that the caption holds, give None.
    """
    wanted = words.lower().split()

    def holds(text: str) -> bool:
        return all(word in text.lower() for word in wanted)

    if not wanted or holds(row["caption"]):
        return None
    for kind, column in (("true", "true_texts"), ("false", "false_texts")):
        for text in row[column]:
            if holds(text):
                return kind, text
    return None
