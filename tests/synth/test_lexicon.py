"""Phrases: shipped ones complete and clean, serviceable ones for all else."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.foley import CLASSES
from synth.lexicon import Phrase, shipped_phrases
from synth.sources.esc10 import ESC50_NAMES

ESC50_LIST = (
    "airplane breathing brushing_teeth can_opening car_horn cat chainsaw chirping_birds "
    "church_bells clapping clock_alarm clock_tick coughing cow crackling_fire crickets crow "
    "crying_baby dog door_wood_creaks door_wood_knock drinking_sipping engine fireworks footsteps "
    "frog glass_breaking hand_saw helicopter hen insects keyboard_typing laughing mouse_click pig "
    "pouring_water rain rooster sea_waves sheep siren sneezing snoring thunderstorm toilet_flush "
    "train vacuum_cleaner washing_machine water_drops wind"
)
ESC50 = ESC50_LIST.split()
ORDERING = re.compile(
    r"\b(before|after|then|followed|while|as|during|until|when|and|first|second|later)\b"
)


@pytest.mark.parametrize("label", sorted({*ESC50, *CLASSES, *ESC50_NAMES.values()}))
def test_every_label_of_the_shipped_sources_has_phrases(label: str) -> None:
    assert len(ESC50) == 50
    assert label in shipped_phrases()


def test_the_labels_of_the_real_esc50_are_covered(shared_data: Callable[[str], Path]) -> None:
    with (shared_data("ESC-50") / "meta" / "esc50.csv").open() as file:
        assert {row["category"] for row in csv.DictReader(file)} <= set(shipped_phrases())


@pytest.mark.parametrize("label", sorted(shipped_phrases()))
def test_shipped_phrases_are_lower_case_clean_and_hold_no_ordering_word(label: str) -> None:
    phrase = shipped_phrases()[label]
    assert phrase.plain == label.replace("_", " ")
    for form in (phrase.noun, phrase.clause, phrase.gerund):
        assert form == form.strip().lower()
        assert form[-1].isalpha()
        assert re.fullmatch(r"[a-z' -]+", form)
        assert not ORDERING.search(form), form


@pytest.mark.parametrize("form", ["plain", "noun", "clause", "gerund"])
def test_no_two_labels_sound_alike(form: str) -> None:
    counts = Counter(getattr(phrase, form) for phrase in shipped_phrases().values())
    assert max(counts.values()) == 1


def test_the_file_lists_each_label_once() -> None:
    text = files("data_manifests").joinpath("lexicons/phrases.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == len(shipped_phrases()) >= 50


@given(st.text(min_size=1, max_size=12).filter(lambda text: text.strip() != ""))
def test_any_label_can_be_said(label: str) -> None:
    phrase = Phrase.of_label(label)
    for form in (phrase.plain, phrase.noun, phrase.clause, phrase.gerund):
        assert form.strip()


@pytest.mark.parametrize(
    ("label", "noun"),
    [
        ("theremin", "the sound of theremin"),
        ("Whimper (dog)", "the sound of whimper (dog)"),
        ("Female speech, woman speaking", "the sound of female speech, woman speaking"),
        ("UFO_landing", "the sound of UFO landing"),
    ],
)
def test_a_label_that_is_not_listed_gets_a_serviceable_phrase(label: str, noun: str) -> None:
    phrase = Phrase.of_label(label)
    assert phrase == Phrase(label.replace("_", " "), noun, f"{noun} is heard", noun)


@pytest.mark.parametrize(
    ("caption", "inside"),
    [
        ("A dog barks.", "a dog barks"),
        ("A dog  barks\nloudly ...", "a dog barks loudly"),
        ("  Wind blows;", "wind blows"),
        ("TV plays in a room.", "TV plays in a room"),
        ("I hear a dog", "I hear a dog"),
        ("I'm talking", "I'm talking"),
        ("McDonald speaks", "McDonald speaks"),
        ("A TV plays", "a TV plays"),
        ("rain", "rain"),
        ("Öl brutzelt", "öl brutzelt"),
    ],
)
def test_a_caption_becomes_a_part_of_a_longer_one(caption: str, inside: str) -> None:
    phrase = Phrase.of_caption(caption)
    assert (phrase.noun, phrase.clause, phrase.gerund) == (inside,) * 3
    assert phrase.plain.casefold() == inside.casefold()
    assert not phrase.plain.endswith(".")


@pytest.mark.parametrize("mark", ["!", "?", ":", "?!", "."])
def test_no_final_mark_is_left_inside_a_sentence(mark: str) -> None:
    # "A dog barks! before rain falls": only full stops, commas and semicolons were taken off.
    assert Phrase.of_caption(f"A dog barks{mark}").clause == "a dog barks"
