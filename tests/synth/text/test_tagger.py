"""The embedded tagger: its lexicon, its rules, and its score on hand-tagged captions."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, combinations
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.shipped import shipped_path
from synth.labels.lexicon import Phrase, are_confusable, families, other_families, shipped_phrases
from synth.labels.words import COMPOUND, tokenize
from synth.text.grammar import tagger as tagger_module
from synth.text.grammar.tagger import (
    POS,
    EmbeddedTagger,
    SpacyTagger,
    Tagger,
    best_tagger,
    inflect,
    is_past,
    lemma_of,
    possible_pos_tags,
    shipped_pos_tags,
    singular_of,
)
from synth.text.grammar.tokens import (
    FAMILIES,
    content_words,
    format_order,
    function_words,
    join,
    listed_words,
    share_family,
    to_sentence,
)
from synth.text.order.temporal import KEPT_TAGS
from tests.kit.cases import cases
from tests.kit.tables import read_data, read_rows

CASES = read_data("texts/tagger.yaml")


@pytest.fixture
def fresh_best() -> Iterator[None]:
    best_tagger.cache_clear()
    yield
    best_tagger.cache_clear()


def test_rules() -> None:
    tagger = EmbeddedTagger()
    for row in read_rows("texts/tagged.csv"):
        tags = tagger.tag(tokenize(row["caption"], COMPOUND))
        assert " ".join(tags) == row["tags"], row


def test_possible_tags() -> None:
    possible = {
        ",": (POS.PUNCT,),
        "3rd": (POS.NUM,),
        "goose's": (POS.NOUN,),
        "meowing": (POS.VERB,),
        "meows": (POS.NOUN, POS.VERB),
        "males": (POS.NOUN,),
        "idles": (POS.VERB,),
        "low-frequency": (POS.ADJ,),
        "remote-controlled": (POS.ADJ,),
        "fly-by": (POS.ADP,),
        "sing-along": (POS.VERB,),
        "zorbly": (POS.ADV,),
        "zorbing": (POS.VERB,),
        "zorb": (POS.NOUN, POS.VERB),
    }
    assert {word: possible_pos_tags(word) for word in possible} == possible
    words = list(shipped_pos_tags())
    assert words == sorted(words)
    assert all(word == word.lower() and tags for word, tags in shipped_pos_tags().items())


def test_forms() -> None:
    singular = CASES["singular"]
    assert {word: singular_of(word) for word in singular} == singular
    lemma = CASES["lemma"]
    assert {word: lemma_of(word) for word in lemma} == lemma
    forms = {"VBG": "mimicking", "VBZ": "mimics", "VBP": "mimic"}
    assert {tag: inflect("mimics", tag) for tag in forms} == forms
    assert (inflect("mimicking", "VBZ"), inflect("baas", "VBG")) == ("mimics", "baaing")
    past = CASES["past"]
    assert {word: is_past(word) for word in past} == past


def test_tokens_keep_their_places() -> None:
    tokens = tokenize("The goose's “clip-clop”, then L.A. rain.", COMPOUND)
    assert join(tokens) == "The goose's “clip-clop”, then L.A. rain."
    assert format_order(("as", *tokens[:2])) == "as 0 1"
    assert to_sentence((), ()) == ""
    assert to_sentence(("x",), tokens) == "X."


@given(st.text(max_size=60))
def test_every_token_is_tagged(text: str) -> None:
    tokens = tokenize(text, COMPOUND)
    assert len(EmbeddedTagger().tag(tokens)) == len(tokens)


def test_without_spacy_or_its_model_the_embedded_tagger_serves(
    monkeypatch: pytest.MonkeyPatch, fresh_best: None
) -> None:
    spacy_util = pytest.importorskip("spacy.util")
    monkeypatch.setattr(spacy_util, "is_package", lambda name: False)
    assert best_tagger().name == "embedded"
    best_tagger.cache_clear()
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setitem(sys.modules, "spacy.util", None)
    assert best_tagger().name == "embedded"


def test_with_the_model_spacy_serves(monkeypatch: pytest.MonkeyPatch, fresh_best: None) -> None:
    spacy = pytest.importorskip("spacy")
    monkeypatch.setattr(spacy.util, "is_package", lambda name: name == tagger_module.SPACY_MODEL)
    monkeypatch.setattr(spacy, "load", lambda name, exclude: _toy_pipeline(spacy))
    best = best_tagger()
    assert isinstance(best, SpacyTagger)
    assert isinstance(best, Tagger)
    assert best.name == "en_core_web_sm"
    assert best.tag(tokenize("Geese honk, zzz", COMPOUND)) == (POS.NOUN, POS.VERB, POS.PUNCT, POS.X)
    assert best.tag(()) == ()


def _toy_pipeline(spacy: SimpleNamespace) -> Callable[..., object]:
    """A blank pipeline that tags a few words, in place of a model that is no package."""
    pipeline = spacy.blank("en")
    known = {"Geese": "NOUN", "honk": "VERB", ",": "PUNCT", "zzz": "SPACE"}

    def tagged(doc: object) -> object:
        for token in doc:  # type: ignore[attr-defined]
            token.pos_ = known[token.text]
        return doc

    tagged.vocab = pipeline.vocab  # type: ignore[attr-defined]
    return tagged


def test_score_on_the_hand_tagged_captions(shared_data: Callable[[str], Path]) -> None:
    """Whether a word is kept, against a reader's decision, over words drawn from AudioCaps."""
    with (shared_data("AudioCaps") / "train.csv").open(encoding="utf-8", newline="") as file:
        captions = {row["audiocap_id"]: row["caption"] for row in csv.DictReader(file)}
    judged = read_rows("judged/nv_keep.csv")
    right = extra = missed = 0
    for row in judged:
        tokens = tokenize(captions[row["audiocap_id"]], COMPOUND)
        tags = EmbeddedTagger().tag(tokens)
        wanted = {int(index) for index in row["kept"].split()}
        kept = {
            token.word
            for token, tag in zip(tokens, tags, strict=True)
            if token.word is not None and tag in KEPT_TAGS
        }
        right, extra = right + len(kept & wanted), extra + len(kept - wanted)
        missed += len(wanted - kept)
    assert len(judged) >= 220
    assert 2 * right / (2 * right + extra + missed) >= 0.95


# Families of words: which sentences could tell of one sound.


ONE_SOUND = CASES["one_sound"]
TWO_SOUNDS = CASES["two_sounds"]
UNSAID = {"Noise", "Mechanisms"}
"""Labels whose clauses ("noise fills the air", "a machine runs") do not tell all they stand for."""


def test_names_of_one_sound_share_a_family() -> None:
    one_sound = [*ONE_SOUND, *((other.upper(), one) for one, other in ONE_SOUND)]
    assert [pair for pair in one_sound if not share_family(*pair)] == []
    two_sounds = [*TWO_SOUNDS, *((other, one) for one, other in TWO_SOUNDS)]
    assert [pair for pair in two_sounds if share_family(*pair)] == []


def test_a_word_that_is_not_listed_is_a_family_of_its_own() -> None:
    assert share_family("A theorbo", "Two theorbos")
    assert not share_family("A theorbo", "A sackbut")
    assert not share_family("", "")


def test_the_list_is_in_order_and_names_each_word_once() -> None:
    with shipped_path(FAMILIES).open(encoding="utf-8", newline="") as file:
        words = [row["word"] for row in csv.DictReader(file)]
    assert words == sorted(words)
    stems = Counter(stem for word in words for stem in content_words(word))
    assert [stem for stem, count in stems.items() if count > 1] == []
    assert all(len(content_words(word)) == 1 for word in words)


def test_family_paths_are_the_lexicons_or_those_of_people() -> None:
    labels = shipped_phrases()
    paths = chain.from_iterable((*families(label), *other_families(label)) for label in labels)
    known = {"/".join(parts[: i + 1]) for parts in (p.split("/") for p in paths) for i in range(3)}
    used = set(chain.from_iterable(listed_words().values()))
    own = {path for path in used - known if not path.startswith("people")}
    assert own == {"body/kiss", "body/spit"}
    for listed in listed_words().values():
        assert list(listed) == sorted(set(listed))
        assert not any(one != two and one.startswith(f"{two}/") for one in listed for two in listed)


def test_labels_that_could_name_one_sound_share_a_family_by_their_words() -> None:
    said = {label: Phrase.of_label(label).clause for label in shipped_phrases()}
    missed = [
        (first, second)
        for first, second in combinations(sorted(said.keys() - UNSAID), 2)
        if are_confusable(first, second) and not share_family(said[first], said[second])
    ]
    assert missed == []


@pytest.mark.slow
def test_the_frequent_words_of_audiocaps_are_all_listed(shared_data: Callable[[str], Path]) -> None:
    found: Counter[str] = Counter()
    for split in ("train", "val", "test"):
        path = shared_data("AudioCaps") / f"{split}.csv"
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                found.update(content_words(row["caption"]))
    listed = {stem for word in listed_words() for stem in content_words(word)}
    assert {stem for stem, count in found.items() if count >= 20} <= listed


# Content words: what two sentences must not share


@cases(("one", "other", "meet"), CASES["content_words"])
def test_forms_of_one_word_meet(one: str, other: str, meet: bool) -> None:
    assert bool(content_words(one) & content_words(other)) is meet


def test_function_words_carry_no_content() -> None:
    assert {"a", "the", "is", "of", "and"} <= function_words()
    assert content_words("A the IS of and") == frozenset()
    assert not {"dog", "rain"} & function_words()
