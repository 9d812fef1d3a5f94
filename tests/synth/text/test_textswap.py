"""TextSwap: only contraries of one category, never a tag of the recording or what it implies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.rng import Randomness
from synth.labels.lexicon import Tag
from synth.sources.reading.tag_files import read_items, read_vocabulary
from synth.text.negation.negation import find_stated_tags
from synth.text.tags.tag_captions import describe
from synth.text.tags.tag_relations import (
    compare_names,
    explain_alike,
    explain_nearness,
    is_implied,
    is_vague,
)
from synth.text.tags.tags import TagVocabulary
from synth.text.textswap import SCHEMA, Dictionary, swap
from tests.kit.cases import cases
from tests.kit.tables import read_data

CASES = read_data("texts/swaps.yaml")

NAMES = {
    "genre": ("rock", "alternative rock", "punk", "hip hop", "classical", "jazz", "reggae"),
    "mood": ("happy", "joyful", "sad", "calm", "energetic"),
    "instrument": ("piano", "violin", "cello", "drums", "acoustic guitar", "electric guitar"),
    "era": ("80s", "90s"),
    "theme": ("summer", "party"),
}
WORDS = TagVocabulary.of(Tag(category, name) for category, names in NAMES.items() for name in names)
BOOK = Dictionary.of(WORDS)
TAGGED = st.lists(st.sampled_from(WORDS.tags), min_size=1, max_size=9, unique=True)


def tag(name: str) -> Tag:
    return next(each for each in WORDS.tags if each.name == name)


def reason(first: str, second: str, items: Collection[Collection[Tag]] = ()) -> str:
    own = tag(first)
    alternatives = WORDS.by_category[own.category]
    return Dictionary.of(WORDS, items).explain(own)[alternatives.index(tag(second))]


def names(name: str, *known: Tag) -> set[str]:
    """What is drawn for a tag, often enough for every alternative."""
    own, rng = tag(name), np.random.default_rng(0)
    drawn = (BOOK.draw(own, known, rng) for _ in range(500))
    return {each.name for each in drawn if each is not None}


def test_what_contradicts() -> None:
    for first, second, why in CASES["contrary"]:
        assert reason(first, second) == why, (first, second)


def explain_not_contrary(first: Tag, second: Tag) -> str:
    near = explain_nearness(first.name, second.name) if compare_names(first, second) else ""
    return near or explain_alike(first, second)


@cases(("kind", "first", "second", "why"), CASES["not_contrary"])
def test_what_does_not_contradict(kind: str, first: str, second: str, why: str) -> None:
    assert explain_not_contrary(Tag(kind, first), Tag(kind, second)) == why


def music(*names: str) -> list[Tag]:
    kinds = {"happy": "mood", "emotional": "mood", "film": "mood"}
    return [Tag(kinds.get(name, "genre"), name) for name in names]


def test_vague_tags_contradict_nothing_and_are_not_in_the_way() -> None:
    tags = music("contemporary", "groove", "contemporary jazz", "rock", "reggae", "classical")
    book = Dictionary.of(TagVocabulary.of(tags))
    assert {each for vague in tags[:2] for each in book.explain(vague)} == {"too vague"}
    found = book.find_contraries(music("contemporary", "rock"))
    # What is contemporary may well be classical.
    assert {each.name for each in found} == {"reggae"}
    assert not book.find_contraries(music("contemporary", "groove"))
    assert is_vague(tags[0])
    assert not is_vague(tags[2])


def test_a_theme_beside_a_mood_leaves_it_open() -> None:
    tags = [*music("happy", "emotional", "film"), Tag("mood", "sad")]
    book = Dictionary.of(TagVocabulary.of(tags))
    assert {each.name for each in book.find_contraries(tags[:3])} == {"sad"}


def test_tags_that_go_together_in_the_data_do_not_contradict() -> None:
    both = [(tag("rock"), tag("hip hop"))] * 3 + [(tag("rock"),)] * 7 + [(tag("hip hop"),)] * 7
    assert reason("rock", "hip hop", both) == "together on 30% of the rarer one's recordings"
    assert reason("rock", "classical", both) == ""


def test_near_names() -> None:
    for first, second, why in CASES["near"]:
        assert explain_nearness(first, second) == explain_nearness(second, first) == why


@given(TAGGED, st.integers(0, 99))
def test_a_swap_takes_one_keyword_a_category_and_never_an_own_or_implied_tag(
    tags: list[Tag], seed: int
) -> None:
    caption = describe(tags, (), seed).text
    found = swap(caption, tags, BOOK, Randomness(seed).at("swap", 0))
    taken = [old.category for old, _ in found.swaps]
    assert len(taken) == len(set(taken))
    assert bool(found.text) is bool(found.swaps)
    for old, new in found.swaps:
        assert old in tags
        assert old.category == new.category
        assert new not in tags
        assert not is_implied(new, tags)
        assert BOOK.are_contrary(old, new)
    if found.swaps:
        instead = dict(found.swaps)
        assert set(find_stated_tags(found.text, WORDS)) == {
            instead.get(each, each) for each in find_stated_tags(caption, WORDS)
        }
    assert found == swap(caption, tags, BOOK, Randomness(seed).at("swap", 0))


def test_an_alternative_contradicts_all_known_tags_of_the_category() -> None:
    known = [tag("rock"), tag("jazz")]
    assert names("rock", *known) == {"hip hop", "classical", "reggae"}
    assert "drums" not in names("piano"), "number is kept"


def book_of(category: str, *names: str) -> Dictionary:
    return Dictionary.of(TagVocabulary.of(Tag(category, name) for name in names))


@cases(("category", "tags", "texts"), CASES["swapped"])
def test_a_swap_keeps_the_grammar_and_leaves_parts_of_longer_terms_alone(
    category: str, tags: list[str], texts: dict[str, str]
) -> None:
    book, rng = book_of(category, *tags) if tags else BOOK, Randomness(0).at("x", 0)
    assert {caption: swap(caption, (), book, rng).text for caption in texts} == texts


def test_what_the_genre_makes_likely_is_no_alternative() -> None:
    book, rng = book_of("instrument", "acoustic guitar", "trumpet"), Randomness(0).at("x", 0)
    assert swap("A techno song with trumpet", (), book, rng).text.endswith("acoustic guitar")
    assert swap("A folk song with trumpet", (), book, rng).text == ""
    assert swap("A song with trumpet", [Tag("genre", "folk")], book, rng).text == ""


def naive_pairs(
    vocabulary: TagVocabulary, items: Collection[Collection[Tag]]
) -> list[tuple[str, str, str, str]]:
    """Every pair of a category, compared one by one."""
    pairs = []
    for first, second in product(vocabulary.tags, repeat=2):
        if first == second or first.category != second.category:
            continue
        both = sum({first, second} <= {*tags} for tags in items)
        rarer = min(sum(own in tags for tags in items) for own in (first, second))
        reason = explain_not_contrary(first, second)
        if not reason and both > 0.05 * rarer:
            reason = f"together on {both / rarer:.0%} of the rarer one's recordings"
        pairs.append((first.category, first.name, second.name, reason))
    return pairs


@cases("items", [[], [(tag("rock"), tag("hip hop"), tag("happy"), tag("sad"))]])
def test_it_is_written_as_naive_comparisons_tell(
    items: Collection[Collection[Tag]], tmp_path: Path
) -> None:
    odd = [Tag("genre", name) for name in ("???", "hip-hop", "Rock", "no wave", "contemporary")]
    words = TagVocabulary.of([*WORDS.tags, *odd, Tag("mood", "mournful dirge"), Tag("", "no sax")])
    pairs = naive_pairs(words, items)
    written = Dictionary.of(words, items).write(tmp_path / "book.parquet")
    rows = pq.read_table(tmp_path / "book.parquet")
    assert rows.schema.equals(SCHEMA)
    columns = ("category", "tag", "alternative", "reason")
    assert [tuple(row[name] for name in columns) for row in rows.to_pylist()] == pairs
    assert rows["allowed"].to_pylist() == [not reason for *_, reason in pairs]
    assert written.reasons == Counter(reason for *_, reason in pairs)
    assert written.tags == len({row[:2] for row in pairs if not row[3]})
    assert {reason for *_, reason in pairs} > {"both rock", "", "too vague", "no word in it"}


@pytest.mark.slow
def test_the_dictionary_of_the_real_msd_tags(
    shared_data: Callable[[str], Path], tmp_path: Path
) -> None:
    words = read_vocabulary(shared_data("LP-MusicCaps/msd_tags.json"))
    written = Dictionary.of(words).write(tmp_path / "book.parquet")
    assert written.reasons[""] > 90_000
    assert written.tags > 500


@pytest.mark.slow
def test_real_tracks_are_swapped_for_tags_they_do_not_have(
    shared_data: Callable[[str], Path],
) -> None:
    tracks = read_items(shared_data("MTG-Jamendo/autotagging-validation.tsv"))
    words = TagVocabulary.of(each for track in tracks for each in track.tags)
    book = Dictionary.of(words, (track.tags for track in tracks))
    made = 0
    for index, track in enumerate(tracks[::20]):
        found = swap(describe(track.tags).text, track.tags, book, Randomness(7).at("s", index))
        made += bool(found.text)
        assert not {new for _, new in found.swaps} & set(track.tags)
    assert made > 180
