"""Negated captions: what is denied, how it reads, and when there is none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from synth.base.rng import Randomness
from synth.base.shipped import read_shipped_rows
from synth.labels.lexicon import Tag
from synth.sources.reading.tag_files import parse_tag, read_captions, read_vocabulary
from synth.text.negation.mending import Wordings, mend
from synth.text.negation.negation import Negation, can_be_denied, find_stated_tags, negate
from synth.text.negation.negators import (
    Negated,
    NegationExtent,
    NegationOutcome,
    NegationReason,
    Negators,
    add_denial,
    shipped_negators,
)
from synth.text.tags.tag_captions import describe
from synth.text.tags.tags import TagVocabulary, phrase_tag
from synth.text.textswap import Dictionary, swap
from tests.kit.cases import cases
from tests.kit.tables import read_data, read_rows

CASES = read_data("texts/negation.yaml")

PAPER = "A rock tune with guitar and bass"
TAGS = {
    "genre": ("rock", "pop", "pop rock", "jazz", "no wave", "instrumental", "electronic"),
    "mood": ("happy", "mellow", "upbeat", "sad"),
    "instrument": ("guitar", "bass", "drums", "piano", "orchestra"),
    "theme": ("summer",),
    "other": ("work",),
}
WORDS = TagVocabulary.of(Tag(category, name) for category, names in TAGS.items() for name in names)
TAGGED = st.lists(st.sampled_from(WORDS.tags), min_size=1, max_size=9, unique=True)
STYLES = st.booleans()
SEEDS = st.integers(0, 500)
EVERY = 4
"""Of the real captions one in so many is read here; the command line's test reads them all."""
NOT_MADE = {
    NegationReason.NO_TAG,
    NegationReason.UNSAYABLE,
    NegationReason.UNSURE,
    NegationReason.IMPLIED,
    NegationReason.ONE_TAG,
    NegationReason.GRAMMAR,
}
NOT_ONLY = Negators(plain=("not",), quality=("not",), thing=("without",))


def made(
    caption: str,
    mode: NegationExtent,
    natural: bool = False,
    seed: int = 0,
    negators: Negators = NOT_ONLY,
) -> Negated:
    rng = Randomness(seed).at("test", 0)
    return negate(caption, mode, Negation(WORDS, natural, negators), rng)


def text(caption: str, mode: NegationExtent = NegationExtent.FULL, seed: int = 0) -> str:
    found = made(caption, mode, natural=True, seed=seed)
    assert found.outcome is NegationOutcome.NEGATED
    return found.text


def names(tags: tuple[Tag, ...]) -> list[str]:
    return [tag.name for tag in tags]


def test_the_papers_negated_captions() -> None:
    full = made(PAPER, NegationExtent.FULL)
    assert full.text == "A not rock tune with not guitar and not bass"
    assert names(full.denied) == ["rock", "guitar", "bass"]
    drawn: set[str] = set()
    for seed in range(30):
        half = made(PAPER, NegationExtent.HALF, seed=seed)
        assert (len(half.denied), len(half.kept)) == (2, 1)
        assert half.text.count("not ") == 2
        shipped = made(PAPER, NegationExtent.FULL, seed=seed, negators=shipped_negators())
        drawn |= set(shipped.text.split())
    assert {"not", "no", "without"} <= drawn
    assert made("An electronic song", NegationExtent.FULL).text == "A not electronic song"
    assert made("Rock with drums", NegationExtent.FULL).text == "Not rock with not drums"


@given(TAGGED, SEEDS)
def test_plain_half_negates_half_rounded_up_and_full_all(tags: list[Tag], seed: int) -> None:
    caption = describe(tags).text
    stated = find_stated_tags(caption, WORDS)
    for mode, count in (
        (NegationExtent.HALF, -(-len(stated) // 2)),
        (NegationExtent.FULL, len(stated)),
    ):
        found = made(caption, mode, seed=seed)
        if not stated:
            assert found.outcome is NegationOutcome.NONE
        elif found.reason not in {NegationReason.MISREAD, NegationReason.IMPLIED}:
            assert len(found.denied) == count
            assert set(found.denied) | set(found.kept) == set(stated)
            assert found.text.count("not ") == count + caption.count("not ")


@given(TAGGED, SEEDS)
def test_natural_text_denies_what_it_says_it_denies(tags: list[Tag], seed: int) -> None:
    caption = describe(tags, (), seed).text
    stated = find_stated_tags(caption, WORDS)
    for mode, count in (
        (NegationExtent.HALF, -(-len(stated) // 2)),
        (NegationExtent.FULL, len(stated)),
    ):
        found = made(caption, mode, natural=True, seed=seed)
        if found.outcome is NegationOutcome.NONE:
            assert found.reason in NOT_MADE
            continue
        assert 1 <= len(found.denied) <= count
        assert mode is NegationExtent.HALF or len(found.denied) == count
        assert bool(found.kept) is (mode is NegationExtent.HALF)
        assert set(find_stated_tags(found.text, WORDS)) == set(found.kept)
        named = {match.tag for match in WORDS.find(found.text)}
        assert set(found.denied) <= named


@given(TAGGED, SEEDS, STYLES)
def test_insert_denies_one_tag_that_is_not_there(tags: list[Tag], seed: int, natural: bool) -> None:
    caption = describe(tags).text
    present = {match.tag for match in WORDS.find(caption)}
    found = made(caption, NegationExtent.INSERT, natural, seed)
    assert found == made(caption, NegationExtent.INSERT, natural, seed)
    if found.outcome is NegationOutcome.NONE:
        assert found.reason == NegationReason.NO_OTHER_TAG
        return
    (absent,) = found.denied
    assert absent not in present
    assert sorted(match.tag for match in WORDS.find(found.text)) == sorted([*present, absent])
    if natural:
        assert set(find_stated_tags(found.text, WORDS)) == set(find_stated_tags(caption, WORDS))


def test_inserts_stand_in_many_places_but_never_inside_a_tag() -> None:
    texts = [
        made("A pop rock tune with guitar", NegationExtent.INSERT, seed=seed).text.split()
        for seed in range(200)
    ]
    assert {text.index("not") for text in texts if "not" in text} == {1, 3, 4, 5, 6}


def test_an_insert_never_touches_what_the_recording_has() -> None:
    rng = Randomness(3)
    how = Negation(TagVocabulary.of([Tag("genre", "jazz"), Tag("genre", "rock")]), natural=True)
    for known in (Tag("genre", "jazz"), Tag("genre", "acid jazz")):
        for index in range(20):
            found = negate("A song", NegationExtent.INSERT, how, rng.at("x", index), [known])
            assert names(found.denied) == ["rock"]


def test_an_insert_does_not_deny_a_word_of_the_caption() -> None:
    how = _music("guitar", "rock")
    for caption in ("guitars everywhere", "A rock band", "rocking pop rocks"):
        found = negated(caption, NegationExtent.INSERT, how)
        assert not set(names(found.denied)) & {stem.rstrip("s") for stem in caption.split()}


def test_grammar_is_mended() -> None:
    texts = CASES["mended"]
    assert {caption: text(caption) for caption in texts} == texts


def test_half_of_a_list_is_put_last() -> None:
    results = {
        text("A tune with guitar, bass and drums", NegationExtent.HALF, seed) for seed in range(40)
    }
    assert results == {
        "A tune with drums but no guitar or bass",
        "A tune with bass but no guitar or drums",
        "A tune with guitar but no bass or drums",
    }


LISTS = {
    "violin, bass, no drums": (
        {"with bass but without violin or drums", "with violin but without bass or drums"},
        "with drums but without violin or bass",
    ),
    "punchy kick, fruity male vocal": (
        {
            "with a punchy kick but without a fruity male vocal",
            "with a fruity male vocal but without a punchy kick",
        },
        "without a punchy kick or a fruity male vocal",
    ),
    "rap, low quality": (set(), "that is not rap music"),
    "French horn": (set(), "without French horn"),
}


@cases("caption", LISTS)
def test_a_list_of_tags_is_told_in_a_sentence_and_a_half_of_it_keeps_something(
    caption: str,
) -> None:
    how = _music(*(part.removeprefix("no ") for part in caption.split(", ")))
    halves, full = LISTS[caption]
    sentence = re.compile(r"(?:This is a|A) (?:track|piece|tune) (.*)\.")
    for extent, texts in ((NegationExtent.HALF, halves), (NegationExtent.FULL, {full})):
        denied = [negated(caption, extent, how, seed) for seed in range(20)]
        assert {part for each in denied for part in sentence.findall(each.text)} == texts
        reasons = {NegationReason.ONE_TAG, NegationReason.UNSAYABLE}
        assert texts or {each.reason for each in denied} <= reasons


def test_tags_that_deny_are_not_denied() -> None:
    how = _music("no percussion", "without drums", "flute", "not loud")
    for caption in ("A pop song.", "no percussion, pop", "A song with no percussion."):
        assert names(negated(caption, NegationExtent.INSERT, how).denied) == ["flute"]
        assert not negated(caption, NegationExtent.FULL, how).text


def test_what_is_denied_already_is_not_denied_again() -> None:
    for caption in (
        "A song without drums",
        "It has no drums, guitar or bass",
        "Not a rock song",
        "It isn't rock",
        "A song devoid of guitar and bass.",
    ):
        assert made(caption, NegationExtent.FULL).reason == NegationReason.ALL_DENIED, caption
    half = "A rock song without drums"
    assert made(half, NegationExtent.FULL).text == "A not rock song without drums"
    assert made(half, NegationExtent.FULL, natural=True).kept == ()
    stated = {
        "no drums but a loud guitar": ["guitar"],
        "not only rock but also pop": ["rock", "pop"],
        "a no wave guitar": ["no wave", "guitar"],
    }
    assert {caption: names(find_stated_tags(caption, WORDS)) for caption in stated} == stated


def test_a_negator_that_would_make_another_tag_is_not_used() -> None:
    words = TagVocabulary.of([Tag("genre", "no wave"), Tag("theme", "wave")])
    how = Negation(words, negators=Negators(("no", "not"), ("not",), ("without",)))
    for index in range(10):
        found = negate("a wave song", NegationExtent.FULL, how, Randomness(1).at("x", index))
        assert found.text == "a not wave song"
    only_no = Negation(words, negators=Negators(("no",), ("not",), ("without",)))
    found = negate("a wave song", NegationExtent.FULL, only_no, Randomness(1).at("x", 0))
    assert found.reason == NegationReason.MISREAD


@cases("natural", [False, True])
def test_real_captions(shared_data: Callable[[str], Path], natural: bool) -> None:
    words = read_vocabulary(shared_data("LP-MusicCaps/msd_tags.json"))
    captions = read_captions(shared_data("LP-MusicCaps/caption_writing.json"))
    how, randomness = Negation(words, natural), Randomness(7)
    outcomes: Counter[str] = Counter()
    for index, item in list(enumerate(captions))[::EVERY]:
        found = negate(item.caption, NegationExtent.FULL, how, randomness.at("full", index))
        outcomes[found.outcome] += 1
        stated = find_stated_tags(item.caption, words)
        assert bool(found.text) is (found.outcome is not NegationOutcome.NONE)
        if found.text and natural:
            assert set(found.denied) <= set(stated)
            assert not find_stated_tags(found.text, words)
        elif found.text:
            assert set(found.denied) == set(stated)
    assert len(captions) == 2_839
    assert sum(outcomes.values()) == -(-2_839 // EVERY)
    assert outcomes[NegationOutcome.NEGATED] >= (8 if natural else 2_780) / EVERY


def _music(*names: str) -> Negation:
    return Negation(TagVocabulary.of(map(parse_tag, names)), natural=True, negators=NOT_ONLY)


def negated(caption: str, mode: NegationExtent, how: Negation, seed: int = 0) -> Negated:
    return negate(caption, mode, how, Randomness(seed).at("x", 0))


def test_what_a_kept_tag_implies_is_not_denied() -> None:
    for kept, implied in CASES["implied"]:
        how = _music(kept, implied, "sad", "flute")
        caption = describe([parse_tag(kept), parse_tag(implied), parse_tag("flute")]).text
        for seed in range(20):
            denied = names(negated(caption, NegationExtent.HALF, how, seed).denied)
            assert implied not in denied or kept in denied
    both = negated("A happy, fun song", NegationExtent.HALF, _music("happy", "fun"))
    assert both.reason == NegationReason.IMPLIED


def test_two_tags_that_stay_may_say_what_is_denied() -> None:
    tags = ("pop", "rock", "pop rock", "piano")
    caption = "A pop, rock and pop rock track with piano."
    for seed in range(20):
        found = negated(caption, NegationExtent.HALF, _music(*tags, "flute"), seed)
        assert "pop rock" not in names(found.denied) or {"pop", "rock"} & {*names(found.denied)}


def test_what_the_caption_says_in_words_that_are_no_tags_does_not_stay_beside_a_denial() -> None:
    for caption in ("A calming, mellow song.", "A catchy and mellow song."):
        assert negated(caption, NegationExtent.FULL, _music("mellow")).reason == "grammar"


HALF, FULL, INSERT = NegationExtent.HALF, NegationExtent.FULL, NegationExtent.INSERT


def test_denials_are_english_or_captions_left_alone_with_the_reason() -> None:
    for row in read_rows("texts/negations.csv"):
        how = _music(*row["tags"].split(";"))
        left = negated(row["caption"], NegationExtent(row["extent"]), how)
        assert (left.text, left.reason) == (row["text"], row["reason"]), row
        assert (left.outcome is NegationOutcome.NONE) is (left.text == "")
        if row["reason"] == NegationReason.UNSURE:
            swapped = swap(
                row["caption"], (), Dictionary.of(how.vocabulary), np.random.default_rng(0)
            )
            assert swapped.text == ""


def test_a_denial_is_put_behind_the_caption() -> None:
    for caption in ("A mix from the expert DJ!", "Best of the UK.", "Rock. It ends."):
        assert negated(caption, INSERT, _music("violin")).text.startswith(f"{caption} ")
    assert negated("A happy song.", INSERT, _music("sad")).text.startswith("A happy song")


def test_things_decades_and_themes_are_not_denied_in_one_list() -> None:
    caption = "A song with piano and a love theme."
    assert "no piano or love theme" not in negated(caption, FULL, _music("piano", "love")).text
    sentence = describe((), [parse_tag(name) for name in ("00s", "intimate", "worship")])
    assert sentence.text == "A track that is not intimate or from the 2000s, and not worship music."


def test_what_stays_is_a_list_still() -> None:
    names = ("emotional", "energetic", "blues", "sad", "melodic", "Latin", "pop", "rock", "jazz")
    vocabulary = TagVocabulary.of(map(parse_tag, (*names, "70s")))
    for caption, denied, mended in CASES["lists"]:
        matches = vocabulary.find(caption)
        ours = [match for match in matches if match.tag.name == denied]
        assert mend(caption, matches, ours, Wordings("not", "without"))[0] == mended


def test_every_listed_tag_that_can_be_denied_has_a_sentence() -> None:
    rng = np.random.default_rng(0)
    for row in read_shipped_rows("lexicons/tag_categories.csv"):
        tag = Tag("", row["tag"])
        if can_be_denied(tag):
            denial = add_denial("A song plays.", tag, shipped_negators(), rng)
            assert phrase_tag(tag).words in denial
            assert "{" not in denial
