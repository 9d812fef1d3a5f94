"""What a report's file holds, read as a browser would."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from itertools import pairwise

LOADS = frozenset({"src", "href", "srcset", "data", "poster", "action", "background", "xlink:href"})
"""Attributes that a browser may fetch."""

_VOID = frozenset({"meta", "br", "img", "link", "input", "hr"})
_LEAVES = ("script", "link", "iframe", "object", "embed", "base")


class Read(HTMLParser):
    """A page's elements, its text, and what it would fetch.

    Raises:
        AssertionError: If an element is not closed where it should be.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All that is written on it, by single spaces."""
        return " ".join(" ".join(self.words).split())

    def of(self, tag: str) -> list[dict[str, str]]:
        """The attributes of the elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def fetched(self) -> list[str]:
        """What a browser would fetch from elsewhere."""
        found = [tag for tag, _ in self.elements if tag in _LEAVES]
        for _, attributes in self.elements:
            found += [
                value
                for name, value in attributes.items()
                if name in LOADS and not value.startswith(("data:", "#"))
            ]
        return found


def check_page(html: str) -> Read:
    """The page, once it stands alone and can be used without seeing it.

    Raises:
        AssertionError: If it fetches anything, runs a script, or leaves something unnamed.
    """
    page = Read(html)
    assert page.fetched() == []
    assert not re.search(r"url\(|@import|javascript:", html)
    assert not [name for _, each in page.elements for name in each if name.startswith("on")]
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = [each["id"] for _, each in page.elements if "id" in each]
    assert len(ids) == len(set(ids))
    for _, each in page.elements:
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(each.get(name, "").split()) <= set(ids)
        if "href" in each:
            assert each["href"].removeprefix("#") in ids
    assert len(page.of("table")) == len(page.of("caption"))
    assert all("scope" in each for each in page.of("th"))
    for each in page.of("svg"):
        named = each.get("role") == "img" and {"aria-label", "aria-labelledby"} & set(each)
        assert named or each.get("aria-hidden") == "true"
    assert all(each.get("aria-label") for each in page.of("audio"))
    return page
