"""Captions from tags: balanced, different, covering views; sentences a person would write."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.rng import Randomness
from synth.labels.lexicon import Tag
from synth.sources.reading.tag_files import parse_tag, read_items
from synth.text.tags.tag_captions import FRAMES, describe, draw_views
from synth.text.tags.tags import (
    TagForm,
    TagVocabulary,
    are_same_words,
    article,
    is_denial,
    phrase_tag,
)
from tests.kit.cases import cases
from tests.kit.tables import read_data

CASES = read_data("texts/tag_captions.yaml")

NAMES = {
    "genre": ("rock", "pop", "ambient", "hip hop", "R&B", "jazz", "electronic", "classical"),
    "mood": ("happy", "sad", "energetic", "calm", "epic", "dreamy"),
    "instrument": ("guitar", "drums", "orchestra", "piano", "ukulele"),
    "theme": ("summer", "party"),
    "era": ("80s", "90s"),
}
ALL = [Tag(category, name) for category, names in NAMES.items() for name in names]
SUBSETS = st.lists(st.sampled_from(ALL), min_size=1, unique=True)


def drawn(
    tags: Sequence[Tag], count: int = 10, per_category: int = 3, seed: int = 0
) -> list[tuple[Tag, ...]]:
    return draw_views(tags, count, per_category, Randomness(seed).at("views", 0))


def tag(name: str) -> Tag:
    return next((each for each in ALL if each.name == name), Tag("", name))


def sentence(*names: str, absent: Sequence[str] = (), frame: int = 0) -> str:
    return describe([tag(name) for name in names], [tag(name) for name in absent], frame).text


@given(SUBSETS, st.integers(1, 12), st.integers(1, 4), st.integers(0, 99))
def test_views_are_balanced_different_and_partial(
    tags: list[Tag], count: int, per_category: int, seed: int
) -> None:
    found = drawn(tags, count, per_category, seed)
    assert found == drawn(tags, count, per_category, seed)
    assert len(found) <= count
    assert len({frozenset(view) for view in found}) == len(found)
    sizes = Counter(each.category for each in tags)
    for view in found:
        assert set(view) <= set(tags)
        assert 0 < len(view) < len(tags) or len(tags) == 1
        shares = Counter(each.category for each in view)
        most = max(shares.values())
        assert most <= per_category
        assert all(shares[name] >= min(most - 1, size) for name, size in sizes.items())
    assert {each for view in drawn(tags, seed=seed) for each in view} == set(tags)
    assert drawn([]) == []


def test_sentences() -> None:
    for names, frame, text in CASES["sentences"]:
        assert sentence(*names, frame=frame) == text


def test_absence() -> None:
    for names, absent, text in CASES["absences"]:
        assert sentence(*names, absent=absent) == text


@given(SUBSETS, st.integers(0, FRAMES - 1))
def test_every_tag_is_said_once_and_the_grammar_is_sound(tags: list[Tag], frame: int) -> None:
    found = describe(tags, (), frame)
    assert set(found.present) == set(tags)
    for each in tags:
        assert (
            len(re.findall(rf"(?i)(?<!\w){re.escape(phrase_tag(each).words)}(?!\w)", found.text))
            == 1
        )
    assert found.text[0].isupper()
    assert found.text.endswith(".")
    assert "  " not in found.text
    for word, following in re.findall(r"(?i)\b(an?) (\S+)", found.text):
        assert word.lower() == article(following)


def test_a_tag_without_safe_words_is_left_out_and_told() -> None:
    found = describe([tag("rock"), Tag("other", "work")])
    assert found.text == "A rock track."
    assert found.unsaid == (Tag("other", "work"),)
    assert describe([Tag("other", "work")]).text == ""


def test_articles_go_by_sound() -> None:
    articles = CASES["articles"]
    assert {words: article(words) for words in articles} == articles


def test_tags_that_are_not_listed_go_by_category_or_last_word() -> None:
    nouns = CASES["nouns"]
    assert {name: phrase_tag(parse_tag(name)).noun for name in nouns} == nouns
    capitals = ("bollywood", "no vocals", "new orleans brass band music")
    assert [parse_tag(name).name for name in capitals] == [
        "Bollywood",
        "no vocals",
        "New Orleans brass band music",
    ]
    titles = ("Power Tool", "Wind Chime", "Hip Hop Music", "French horn")
    assert [phrase_tag(Tag("instrument", name)).words for name in titles] == [
        "power tool",
        "wind chime",
        "hip hop music",
        "French horn",
    ]
    assert phrase_tag(Tag("genre", "zydeco")).form is TagForm.ADJECTIVE
    assert phrase_tag(Tag("", "1970s")).form is TagForm.ERA
    assert phrase_tag(Tag("", "wake up call")).form is TagForm.NONE


@pytest.mark.slow
def test_all_real_tracks(shared_data: Callable[[str], Path]) -> None:
    tracks = read_items(shared_data("MTG-Jamendo/autotagging-validation.tsv"))
    randomness, count = Randomness(7), 0
    for index, track in enumerate(tracks[::30]):
        found = draw_views(track.tags, 10, 3, randomness.at("views", index))
        count += len(found)
        assert {each for view in found for each in view} == set(track.tags)
        whole = describe(track.tags, (), index)
        assert set(whole.present) == set(track.tags)
        assert all(describe(view, (), index).text for view in found)
    assert count > 2_000


# Tags in text: whole words, longest first, never overlapping; spelling variants.


WORDS = ("pop", "rock", "no", "wave", "hip", "hop", "soul", "new")
LISTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), max_size=8)
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


@given(LISTS, CAPTIONS)
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


@given(LISTS, CAPTIONS)
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


@cases(("caption", "names", "texts"), CASES["found"])
def test_tags_are_found_as_people_spell_them(
    caption: str, names: tuple[str, ...], texts: list[str]
) -> None:
    assert found(caption, *names) == texts


def test_a_vocabulary_is_sorted_and_holds_each_tag_once() -> None:
    rock, guitar = Tag("genre", "rock"), Tag("instrument", "guitar")
    found = TagVocabulary.of([guitar, rock, rock])
    assert found.tags == (rock, guitar)
    assert found.by_category == {"genre": (rock,), "instrument": (guitar,)}
