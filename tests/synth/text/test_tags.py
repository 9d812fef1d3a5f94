"""Tags in text: whole words, longest first, never overlapping; spelling variants."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from synth.labels.lexicon import Tag
from synth.text.tags.tags import TagVocabulary, are_same_words, is_denial
from tests.kit.cases import cases

WORDS = ("pop", "rock", "no", "wave", "hip", "hop", "soul", "new")
NAMES = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), max_size=8)
CAPTIONS = st.lists(st.sampled_from([*WORDS, "a", "song", ",", "."]), max_size=14).map(" ".join)


def vocabulary(*names: str) -> TagVocabulary:
    return TagVocabulary.of(Tag("genre", name) for name in names)


def found(caption: str, *names: str) -> list[str]:
    return [match.text for match in vocabulary(*names).find(caption)]


def naive(caption: str, names: list[str]) -> list[tuple[int, int]]:
    """Every tag in turn, the longest first; a stretch that is taken is taken."""
    spans: list[tuple[int, int]] = []
    for name in sorted(set(names), key=lambda name: (-len(name.replace(" ", "")), name)):
        pattern = r"\b" + r"\s+".join(name.split()) + r"\b"
        for match in re.finditer(f"(?=({pattern}))", caption):
            start, end = match.span(1)
            if all(end <= other[0] or start >= other[1] for other in spans):
                spans.append((start, end))
    return sorted(spans)


@given(NAMES, CAPTIONS)
def test_matches_never_overlap_and_are_the_words_of_their_tag(
    names: list[str], caption: str
) -> None:
    matches = vocabulary(*names).find(caption)
    assert all(one.end <= other.start for one, other in pairwise(matches))
    for match in matches:
        assert caption[match.start : match.end] == match.text
        assert are_same_words(match.tag.name, match.text)


@given(st.sets(st.sampled_from(WORDS), min_size=1), CAPTIONS)
def test_single_words_are_found_as_a_naive_search_finds_them(names: set[str], caption: str) -> None:
    spans = [(match.start, match.end) for match in vocabulary(*names).find(caption)]
    assert spans == naive(caption, list(names))


@given(NAMES, CAPTIONS)
def test_the_longest_tag_of_the_caption_is_among_the_matches(
    names: list[str], caption: str
) -> None:
    spans = naive(caption, [name for name in names if not is_denial(Tag("", name))])
    longest = max((caption[a:b].replace(" ", "") for a, b in spans), key=len, default="")
    matched = [match.text.replace(" ", "") for match in vocabulary(*names).find(caption)]
    assert len(longest) == max(map(len, matched), default=0)


def test_spellings_of_one_tag() -> None:
    wide = "\uff48\uff49\uff50 \uff48\uff4f\uff50"
    for text in ("hip hop", "hip-hop", "Hip  Hop", "hiphop", "HIP\u2011HOP", wide):
        assert found(f"some {text}, loud", "hip hop") == [text]
        assert found(f"some {text}, loud", "hip-hop") == [text]


FOUND: list[tuple[str, tuple[str, ...], list[str]]] = [
    ("a pop rock song, then rock", ("rock", "pop rock"), ["pop rock", "rock"]),
    ("new pop rock soul", ("new pop", "pop rock soul"), ["pop rock soul"]),
    ("a no wave band with no voice", ("no wave", "voice"), ["no wave", "voice"]),
    ("a song with 'guitars' and a voice", ("guitars",), ["guitars"]),
    ("pop. Rock", ("pop rock",), []),
    *(
        (text, ("rock",), [])
        for text in ("rocks", "rockabilly", "post-rock", "rock-inspired", "rock's", "bedrock", "")
    ),
    *(
        (f"with {text} here", (name,), [text])
        for text, name in (
            ("R&B", "rnb"),
            ("drum'n'bass", "drum and bass"),
            ("drum & bass", "drum and bass"),
            ("electric guitar", "electricguitar"),
            ("children's", "childrens"),
            ("l.a. punk", "l.a. punk"),
        )
    ),
]


@cases(("caption", "names", "texts"), FOUND)
def test_tags_are_found_as_people_spell_them(
    caption: str, names: tuple[str, ...], texts: list[str]
) -> None:
    assert found(caption, *names) == texts


def test_a_vocabulary_is_sorted_and_holds_each_tag_once() -> None:
    rock, guitar = Tag("genre", "rock"), Tag("instrument", "guitar")
    found = TagVocabulary.of([guitar, rock, rock])
    assert found.tags == (rock, guitar)
    assert found.by_category == {"genre": (rock,), "instrument": (guitar,)}
