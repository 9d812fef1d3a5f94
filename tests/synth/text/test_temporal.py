"""Clause swap, before <-> after, as <-> then, nouns and verbs: rules, reasons and laws."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from synth.labels.lexicon import Phrase
from synth.text.grammar.tagger import EmbeddedTagger
from synth.text.order.clause_swap import TOOLS, Probe, swap_clauses
from synth.text.order.connectives import OrderStep, SwapReason
from synth.text.order.temporal import (
    Unjoinable,
    keep_nouns_and_verbs,
    say_caption,
    swap_as_then,
    swap_before_after,
)

# Run apart, for speed: this suite checks every call's types.
COUNT = """
import csv, json, sys
from synth.text.order.clause_swap import Probe, ProbeCaption, probe
with open(sys.argv[1], encoding="utf-8", newline="") as file:
    read = [ProbeCaption(row["audiocap_id"], row["caption"]) for row in csv.DictReader(file)]
captions = read[::16]
counts = {}
for tool in ("nv", "clause-swap", "before-after", "as-then"):
    answers = probe(Probe(tool), captions)
    counts[tool] = [len(answers), sum(each.outcome.made for each in answers)]
print(json.dumps(counts))
"""
TOOL_KINDS = (Probe.NV, Probe.CLAUSE_SWAP, Probe.BEFORE_AFTER, Probe.AS_THEN)


MADE = {
    (swap_clauses, (OrderStep.SWAPPED,)): {
        "A goose honks then a gate shuts": "A gate shuts then a goose honks",
        "A goose honks, then a gate shuts.": "A gate shuts, then a goose honks.",
        "A goose honks, and then a gate shuts": "A gate shuts, and then a goose honks",
        "A goose honks then suddenly a gate shuts": "A gate shuts then suddenly a goose honks",
        "A loud splash then silence": "Silence then a loud splash",
        "A goose honks before a gate shuts": "A gate shuts before a goose honks",
        "A goose honks just before a gate shuts": "A gate shuts just before a goose honks",
        "crying goose before sea waves": "sea waves before crying goose",
        "A goose honks after a gong": "A gong after a goose honks",
        "A gong rings, after which a goose honks": "A goose honks, after which a gong rings",
        "After a gong rings, a goose honks": "After a goose honks, a gong rings",
        "Thunder followed by a goose honking": "A goose honking followed by thunder",
        "Thunder, quickly followed by rain": "Rain, quickly followed by thunder",
        "Thunder then followed by rain": "Rain then followed by thunder",
        "GEESE HONK THEN GATES SHUT": "GATES SHUT THEN GEESE HONK",
        "English speech then a gong": "A gong then English speech",
        "A goose honks as rain falls then a gate shuts": (
            "A gate shuts then a goose honks as rain falls"
        ),
        "A nurse singing then tapping noises": "Tapping noises then a nurse singing",
        "A sewing machine running then a gong": "A gong then a sewing machine running",
        "A thud is followed by a gong": "A gong is followed by a thud",
        "A bell being rung then a gong being struck": "A gong being struck then a bell being rung",
        "A gate is opened and shut after a gong": "A gong after a gate is opened and shut",
        "Geese are honking before a gate shuts": "A gate shuts before geese honk",
        "A gong is being struck before rain falls": "Rain falls before a gong is struck",
        "Before geese are honking, a gate shuts": "Before a gate shuts, geese are honking",
        "Before a gate shuts, geese are honking": "Before geese honk, a gate shuts",
        "Rain falls then a gong continuously rings": "A gong continuously rings then rain falls",
        "A trash can lid falls, and then geese honk": "Geese honk, and then a trash can lid falls",
    },
    (swap_clauses, (OrderStep.SWAPPED, OrderStep.GERUND)): {
        "Geese honk quickly, followed by rain": "Rain, followed by geese honking quickly",
        "A goose honks followed by thunder": "Thunder followed by a goose honking",
        "A goose is honking followed by thunder": "Thunder followed by a goose honking",
        "A gong is struck followed by thunder": "Thunder followed by a gong being struck",
        "A man mimics geese followed by thunder": "Thunder followed by a man mimicking geese",
    },
    (swap_clauses, (OrderStep.SWAPPED, OrderStep.CARRIED)): {
        "A nurse sings then suddenly laughs": "A nurse laughs then suddenly sings",
        "A nurse sneezes then laughs": "A nurse laughs then sneezes",
        "A nurse singing then laughing": "A nurse laughing then singing",
        "A nurse singing before laughing": "A nurse laughing before singing",
        "Someone is ripping plastic and then making noise with beads.": (
            "Someone is making noise with beads and then ripping plastic."
        ),
        "Water is being poured and then stirred": "Water is being stirred and then poured",
        "A bell being polished and then struck": "A bell being struck and then polished",
    },
    (swap_clauses, (OrderStep.SWAPPED, OrderStep.CARRIED, OrderStep.GERUND, OrderStep.FINITE)): {
        "A nurse softly sings before laughing": "A nurse laughs before softly singing",
        "Two nurses sing and dance before laughing": "Two nurses laugh before singing and dancing",
    },
    (swap_clauses, (OrderStep.SWAPPED, OrderStep.AGREED)): {
        "A thud is followed by two gongs": "Two gongs are followed by a thud",
        "Gongs are followed by a soft thud": "A soft thud is followed by gongs",
        "A thud is followed by a couple of gongs": "A couple of gongs are followed by a thud",
    },
    (swap_before_after, (OrderStep.REPLACED,)): {
        "A goose honks before a gate shuts": "A goose honks after a gate shuts",
        "A goose honks shortly after a gate shuts": "A goose honks shortly before a gate shuts",
        "A goose honks before flying off": "A goose honks after flying off",
        "After a gong rings, geese honk": "Before a gong rings, geese honk",
        "Sneezing after some sniffling": "Sneezing before some sniffling",
        "GEESE HONK AFTER A GONG": "GEESE HONK BEFORE A GONG",
        "Geese  honk after\ta gong ,": "Geese  honk before\ta gong ,",
    },
    (swap_as_then, (OrderStep.REPLACED,)): {
        "A goose honks as a gate shuts": "A goose honks then a gate shuts",
        "A goose honks, as a gate shuts.": "A goose honks, then a gate shuts.",
        "A gong rings as, a gate shuts": "A gong rings then a gate shuts",
        "Geese honking as people are chatting": "Geese honking, then people are chatting",
        "A spray can hisses as geese honk": "A spray can hisses then geese honk",
        "As rain falls, a goose honks": "Rain falls, then a goose honks",
        "A goose honks then a gate shuts": "A goose honks as a gate shuts",
        "A goose honks, and then a gate shuts": "A goose honks as a gate shuts",
    },
    (swap_as_then, (OrderStep.REPLACED, OrderStep.GERUND)): {
        "A goose honking as a gate shuts": "A goose honking then a gate shutting"
    },
    (swap_as_then, (OrderStep.REPLACED, OrderStep.FINITE)): {
        "Thunder then water running": "Thunder as water runs",
        "Thunder then geese honking": "Thunder as geese honk",
        "Thunder then a lamb baaing": "Thunder as a lamb baas",
    },
    (keep_nouns_and_verbs, (OrderStep.KEPT,)): {
        "A siren is present": "siren",
        "An engine running idle": "engine running",
        "A young nurse is singing loudly": "nurse singing",
        "Running water followed by muffled speech": "Running water followed speech",
        "Someone has closed two doors": "closed doors",
        "The goose's wings flap 3 times.": "goose's wings flap times",
        "Trash can lid falling on pavement": "Trash can lid falling pavement",
        "A lighter is flicked three times": "lighter flicked times",
        "A tram is being driven": "tram driven",
        "Geese can be heard": "Geese heard",
    },
}
"""By tool and its steps, captions with the text that is made of them."""
TIMES_AND_PLACES = {
    "Recorded before sunrise on a quiet street.": SwapReason.NOT_A_CLAUSE,
    "A man recorded before a bang": SwapReason.NOT_A_CLAUSE,
    "Dawn chorus recorded before the trams": SwapReason.NO_SOUND,
    "Rain on a tin roof after a storm in July.": SwapReason.NO_SOUND,
    "Waves breaking before the harbour wall at low tide.": SwapReason.NO_SOUND,
    "Whistle blowing before a tunnel": SwapReason.NO_SOUND,
    "A choir singing before the concert": SwapReason.NO_SOUND,
    "A crowd shouting after lunch": SwapReason.NO_SOUND,
    "Coins poured into a jar after shaking it": SwapReason.PRONOUN,
}
LEFT_OUT = {
    swap_clauses: {
        "A goose honks then hisses loudly": SwapReason.SHARED_SUBJECT,
        "Engines hum in the background continuously and then a gong rings": SwapReason.LASTS,
        "A gong rings after rain falls throughout": SwapReason.LASTS,
        "A gate is opened and then shut": SwapReason.ONE_EVENT,
        "A gate is opened and then shuts": SwapReason.ONE_EVENT,
        "The gate creaks open and then bangs shut": SwapReason.NOT_A_CLAUSE,
        "A rocket is launched and then explodes": SwapReason.VERB_FORM,
        "A goose honks and then pops": SwapReason.SHARED_SUBJECT,
        "A balloon is being rubbed and then pops": SwapReason.SHARED_SUBJECT,
        "A nurse is talking then clicking noises": SwapReason.SHARED_SUBJECT,
        "A man speaking then becoming distorted through a horn": SwapReason.ONE_EVENT,
        "A goose honks then a nurse says something to her": SwapReason.PRONOUN,
        "A goose honks and then a duck joins in": SwapReason.REFERS_BACK,
        "A goose honks before the sound fades": SwapReason.REFERS_BACK,
        "A nurse laughs and tap a box then a gong rings": SwapReason.NOT_A_CLAUSE,
        "": SwapReason.EMPTY,
        " ... ": SwapReason.EMPTY,
        "A goose honks": SwapReason.NO_CONNECTIVE,
        "A goose honks as rain falls": SwapReason.NO_CONNECTIVE,
        "Thunder followed by rain then hail": SwapReason.SEVERAL_CONNECTIVES,
        "A goose honks then a gate shuts then rain falls": SwapReason.SEVERAL_CONNECTIVES,
        "Geese honk one after another": SwapReason.FIXED_PHRASE,
        "Geese honk one after the other": SwapReason.FIXED_PHRASE,
        "Gongs ring time after time": SwapReason.FIXED_PHRASE,
        "A goose honks now and then": SwapReason.DANGLING,
        "A goose honks now and then in the rain": SwapReason.FIXED_PHRASE,
        "A goose honks after that": SwapReason.ADVERBIAL,
        "A goose honks after a while": SwapReason.ADVERBIAL,
        "A goose has until then honked": SwapReason.ADVERBIAL,
        "A goose honks shortly after": SwapReason.DANGLING,
        "A goose honks and a gate shuts shortly after, in the rain": SwapReason.DANGLING,
        "A goose honks then": SwapReason.DANGLING,
        "Then a goose honks": SwapReason.DANGLING,
        "Followed by a goose": SwapReason.DANGLING,
        "A goose honks before": SwapReason.DANGLING,
        "After a gong a goose honks": SwapReason.FRONTED,
        "A gong rings, after the thud": SwapReason.NO_SOUND,
        "A gong rings, after the thud a goose honks": SwapReason.NOT_A_CLAUSE,
        "Rain falls, geese honk, then a gate shuts": SwapReason.SEVERAL_PARTS,
        "Thunder followed by rain, hail and snow": SwapReason.SEVERAL_PARTS,
        "A nurse sings and a goose honks then laughs": SwapReason.SHARED_SUBJECT,
        "A nurse sings then laughs as rain falls": SwapReason.SEVERAL_CONNECTIVES,
        "A goose honks followed by closing a gate": SwapReason.SHARED_SUBJECT,
        "A goose honks then it hisses": SwapReason.PRONOUN,
        "A goose honks then its wings flap": SwapReason.PRONOUN,
        "Geese honk and then one hisses": SwapReason.PRONOUN,
        "A goose honks then honks again": SwapReason.REFERS_BACK,
        "A goose honks then another goose hisses": SwapReason.REFERS_BACK,
        "A goose call followed by ducks responding": SwapReason.REFERS_BACK,
        "A nurse sings then the goose continues to honk": SwapReason.REFERS_BACK,
        "A goose honks then a louder honk": SwapReason.REFERS_BACK,
        "A goose tries to hiss and then does": SwapReason.REFERS_BACK,
        "A goose honks then finally a gate shuts": SwapReason.ORDER_WORD,
        "Starting with a honk then a thud": SwapReason.ORDER_WORD,
        "A goose honks and at the same time followed by thunder": SwapReason.ORDER_WORD,
        "A lever moving then clunking": SwapReason.SHARED_SUBJECT,
        "A nurse singing then closing doors": SwapReason.SHARED_SUBJECT,
        "A nurse singing then starts laughing": SwapReason.SHARED_SUBJECT,
        "A nurse singing then turns away": SwapReason.NO_SOUND,
        "A kettle whistles then turns off": SwapReason.NO_SOUND,
        "A lamb bleats then stops bleating": SwapReason.ONE_EVENT,
        "A gate shuts then flushed down a pipe": SwapReason.NOT_A_CLAUSE,
        "Geese honk then a gong at the end": SwapReason.ORDER_WORD,
        "A wind gusts blowing followed by thunder": SwapReason.VERB_FORM,
        "A goose honks and then in the distance": SwapReason.NOT_A_CLAUSE,
        "Thunder followed by a goose honks": SwapReason.NOT_A_CLAUSE,
        "A goose honks and followed by thunder": SwapReason.NOT_A_CLAUSE,
        "A goose is loud followed by thunder": SwapReason.VERB_FORM,
        "Wind blows causing leaves to rustle and sway followed by a gong": SwapReason.VERB_FORM,
        "Geese can honk followed by thunder": SwapReason.NOT_A_CLAUSE,
        "A thud is followed by geese and a gong": SwapReason.VERB_FORM,
        "A nurse is singing then laughs": SwapReason.VERB_FORM,
        "A nurse sings as geese honk and hiss followed by thunder": SwapReason.VERB_FORM,
    },
    swap_before_after: {
        **TIMES_AND_PLACES,
        "": SwapReason.EMPTY,
        "A goose honks": SwapReason.NO_CONNECTIVE,
        "Geese honk before rain and after thunder": SwapReason.SEVERAL_CONNECTIVES,
        "Geese honk one after another": SwapReason.FIXED_PHRASE,
        "Louder than before": SwapReason.FIXED_PHRASE,
        "A gong rings, after that geese honk": SwapReason.ADVERBIAL,
        "Geese honk after a few seconds": SwapReason.ADVERBIAL,
        "A gong and geese right after": SwapReason.DANGLING,
        "A gong and geese shortly after with rain": SwapReason.DANGLING,
        "Before geese honk a gong rings": SwapReason.FRONTED,
        "A goose honks before speaks": SwapReason.NOT_A_CLAUSE,
        "Geese honk before a gong at the end": SwapReason.ORDER_WORD,
        "A gong rings, after which geese honk": SwapReason.NOT_A_CLAUSE,
        "A gong then thunder before geese honk": SwapReason.SEVERAL_CONNECTIVES,
        "Ducks quack constantly before a gong rings": SwapReason.LASTS,
        "A goose honks after it lands": SwapReason.PRONOUN,
        "A gong rings before geese honk again": SwapReason.REFERS_BACK,
        "A drill buzzes before turning off": SwapReason.ONE_EVENT,
        "A loud flush after using the sink": SwapReason.SHARED_SUBJECT,
    },
    swap_as_then: {
        "": SwapReason.EMPTY,
        "Thunder followed by rain": SwapReason.NO_CONNECTIVE,
        "Geese honk as rain falls then a gate shuts": SwapReason.SEVERAL_CONNECTIVES,
        "Geese honk while rain falls then a gate shuts": SwapReason.SEVERAL_CONNECTIVES,
        "Geese honk as rain falls before a gate shuts": SwapReason.SEVERAL_CONNECTIVES,
        "Geese honk as well as hiss": SwapReason.FIXED_PHRASE,
        "Geese honk as soon as rain falls": SwapReason.FIXED_PHRASE,
        "Geese honk as if rain fell": SwapReason.FIXED_PHRASE,
        "Geese honk as though rain fell": SwapReason.FIXED_PHRASE,
        "Sounds such as geese": SwapReason.FIXED_PHRASE,
        "The same as geese": SwapReason.FIXED_PHRASE,
        "Geese as loud as thunder": SwapReason.FIXED_PHRASE,
        "Geese honk just as rain falls": SwapReason.ADVERBIAL,
        "A gong rings which then fades": SwapReason.ADVERBIAL,
        "Geese honk as": SwapReason.DANGLING,
        "Geese honk as a drill buzzes the whole time": SwapReason.LASTS,
        "Some clicks then two gongs ringing and a faint hum": SwapReason.VERB_FORM,
        "Music then a series of sounds of glass breaking": SwapReason.VERB_FORM,
        "Geese honk, then": SwapReason.DANGLING,
        "As rain falls geese honk": SwapReason.FRONTED,
        "Rain falls, geese honk, then a gate shuts": SwapReason.SEVERAL_PARTS,
        "A nurse sings then laughs": SwapReason.SHARED_SUBJECT,
        "A nurse singing then laughing": SwapReason.SHARED_SUBJECT,
        "As it falls, geese honk": SwapReason.PRONOUN,
        "A nurse sings then finally a gate shuts": SwapReason.ORDER_WORD,
        "A gate shuts then thunder crackle": SwapReason.NOT_A_CLAUSE,
        "A nurse sings then silence": SwapReason.NOT_A_CLAUSE,
        "A nurse sings as a soloist": SwapReason.NOT_A_CLAUSE,
        "A man and a woman talk as geese honk": SwapReason.NOT_A_CLAUSE,
        "A goose honks then a gate shuts, followed by rain": SwapReason.SEVERAL_CONNECTIVES,
        "A goose honks as it lands": SwapReason.PRONOUN,
        "A gate creaks as the hinge turns": SwapReason.ONE_EVENT,
        "A siren gets louder as a truck nears": SwapReason.ONE_EVENT,
        "A horn blares as a tram approaches": SwapReason.ONE_EVENT,
        "Rain falls as thunder later rumbles": SwapReason.ORDER_WORD,
        "Concurrently a nurse sings as a gate shuts": SwapReason.ORDER_WORD,
        "Water drips as suddenly a gate shuts": SwapReason.ADVERBIAL,
        "A nurse sings then a thud and the goose honks": SwapReason.NOT_A_CLAUSE,
        "Thunder then a goose and a duck honking": SwapReason.VERB_FORM,
        "Camera flash sound, use it as a transition.": SwapReason.SEVERAL_PARTS,
        "A short beep as heard in hospital monitors.": SwapReason.NOT_A_CLAUSE,
        "This is a metal hit, good as a gong.": SwapReason.SEVERAL_PARTS,
        "Big explosion, about as loud as it gets": SwapReason.FIXED_PHRASE,
        "Old lift doors closing. I recorded this as I left.": SwapReason.NOT_A_SENTENCE,
        "Squeaky hinge // door opens as wind blows": SwapReason.NOT_A_SENTENCE,
        "Frogs at a pond as night falls": SwapReason.NO_SOUND,
        "Glass dropped on tiles, then swept up with a broom": SwapReason.NOT_A_CLAUSE,
        "Zip Open Then Zip Close": SwapReason.NOT_A_SENTENCE,
        "Dogs barks then a gate shuts": SwapReason.NOT_A_CLAUSE,
        "Two goose honking then a gate shuts": SwapReason.NOT_A_CLAUSE,
        "A zorblax honks then a gate shuts": SwapReason.UNSURE,
    },
    keep_nouns_and_verbs: {
        "Camera flash sound": SwapReason.UNSURE,
        "A light switch": SwapReason.UNSURE,
        "The close door": SwapReason.UNSURE,
        "A soothing tone": SwapReason.UNSURE,
        "A zorbly noise": SwapReason.UNSURE,
        "?!": SwapReason.EMPTY,
        "click_02.wav": SwapReason.NOT_A_SENTENCE,
        "It is very loud": SwapReason.NOTHING_LEFT,
    },
}
"""By tool, captions with the reason why they are left out."""


def test_texts_are_made_with_their_steps() -> None:
    for (tool, steps), texts in MADE.items():
        outcomes = {caption: tool(caption) for caption in texts}
        assert {caption: each.text for caption, each in outcomes.items()} == texts
        assert {caption for caption, each in outcomes.items() if each.steps != steps} == set()


def test_captions_are_left_out_with_a_reason() -> None:
    for tool, reasons in LEFT_OUT.items():
        outcomes = {caption: tool(caption) for caption in reasons}
        assert {caption: each.reason for caption, each in outcomes.items()} == reasons
        assert not any(each.text for each in outcomes.values())


def test_times_and_places_are_no_events_of_a_swap_either() -> None:
    assert [caption for caption in TIMES_AND_PLACES if swap_clauses(caption).made] == []


def test_sounds_of_a_library_are_still_exchanged() -> None:
    text = "A tram bell rings before the doors close."
    assert swap_clauses(text).text == "The doors close before a tram bell rings."
    text = "An aeroplane takes off as crickets chirp."
    assert swap_as_then(text).text == "An aeroplane takes off then crickets chirp."
    text = "A kettle boiling then a switch clicks"
    assert swap_clauses(text).text == "A switch clicks then a kettle boils"


def test_possessives_with_their_noun_in_the_same_clause_are_no_pronouns() -> None:
    swapped = swap_clauses("A gong rings then geese flap their wings")
    assert swapped.text == "Geese flap their wings then a gong rings"


def test_the_order_of_words_is_told() -> None:
    assert swap_clauses("A goose honks, then a gate shuts.").order == "4 5 6 , 3 0 1 2"
    assert swap_before_after("Rain before thunder").order == "0 after 2"
    assert swap_as_then("Thunder and then water running").order == "0 as 3 runs"


_WORDS = (
    *("a", "the", "goose", "geese", "gate", "rain", "honks", "honk", "shuts", "singing", "laughs"),
    *("then", "before", "after", "as", "while", "followed", "by", ",", ".", "and", "is", "which"),
    *("it", "loudly", "again", "one", "of", "muffled"),
)
_captions = st.one_of(
    st.text(max_size=80), st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join)
)
_subjects = st.sampled_from(["A goose", "Two geese", "An old gate", "A choir of nurses"])
_gerunds = st.sampled_from(["honking", "singing loudly", "creaking in the rain"])
_links = st.sampled_from([" then ", ", then ", ", and then ", " before ", " after "])


@given(_captions)
def test_nothing_raises_and_every_outcome_is_a_text_or_a_reason(caption: str) -> None:
    for kind in TOOL_KINDS:
        outcome = TOOLS[kind](caption, EmbeddedTagger())
        assert outcome.made == bool(outcome.text) == bool(outcome.steps) == bool(outcome.order)


@given(_captions)
def test_before_after_undoes_itself(caption: str) -> None:
    outcome = swap_before_after(caption)
    if outcome.made:
        assert swap_before_after(outcome.text).text == caption


@given(_subjects, _gerunds, _links, _subjects, _gerunds, st.sampled_from(["", "."]))
def test_clause_swap_twice_gives_the_caption(
    one: str, does: str, link: str, other: str, did: str, stop: str
) -> None:
    caption = f"{one} {does}{link}{other[0].lower()}{other[1:]} {did}{stop}"
    outcome = swap_clauses(caption)
    assert outcome.steps == (OrderStep.SWAPPED,)
    assert swap_clauses(outcome.text).text == caption


@given(_subjects, _gerunds, _links, _gerunds)
def test_a_carried_subject_stays_in_front(one: str, does: str, link: str, did: str) -> None:
    outcome = swap_clauses(f"{one} {does}{link}{did}")
    if OrderStep.CARRIED in outcome.steps:
        assert outcome.text.startswith(one)


def test_every_sixteenth_audiocaps_caption_passes_every_tool(
    shared_data: Callable[[str], Path],
) -> None:
    path = shared_data("AudioCaps") / "train.csv"
    counted = subprocess.run(
        [sys.executable, "-c", COUNT, str(path)], capture_output=True, text=True, check=True
    )
    counts = json.loads(counted.stdout)
    assert {tool: captions for tool, (captions, _) in counts.items()} == dict.fromkeys(
        ("nv", "clause-swap", "before-after", "as-then"), 3_115
    )
    assert all(made > 6 for _, made in counts.values())


# A caption inside a longer sentence: its clause, its gerund, or why it has none


def test_forms() -> None:
    forms = {
        "A nurse talks.": ("a nurse talks", "a nurse talking"),
        "A nurse is talking": ("a nurse talks", "a nurse talking"),
        "Geese are softly honking": ("geese softly honk", "geese softly honking"),
        "A nurse is singing and laughing and geese are honking": (
            "a nurse sings and laughs with geese honking",
            "a nurse singing and laughing with geese honking",
        ),
        "A horn is being blown": ("a horn is blown", "a horn being blown"),
        "Gong being struck": ("gong is struck", "gong being struck"),
        "Geese are honking at each other": (
            "geese honk at each other",
            "geese honking at each other",
        ),
        "A nurse is singing and clicking occurs": (
            "a nurse sings with clicking occurring",
            "a nurse singing with clicking occurring",
        ),
        "A motor is humming, and ripping and tearing are occurring": (
            "a motor hums with ripping and tearing occurring",
            "a motor humming with ripping and tearing occurring",
        ),
        "A horn blows, and geese honk": (
            "a horn blows with geese honking",
            "a horn blowing with geese honking",
        ),
        "A horn blowing and geese honking": (
            "a horn blows with geese honking",
            "a horn blowing with geese honking",
        ),
        "A goose honking and cackling": (
            "a goose honks and cackles",
            "a goose honking and cackling",
        ),
        "Dog barking loudly.": ("dog barks loudly", "dog barking loudly"),
        "Horse hooves clopping by": ("horse hooves clop by", "horse hooves clopping by"),
        "Rain with thunder and wind": ("rain with thunder and wind is heard", ""),
        "Typing on a keyboard": ("typing on a keyboard is heard", ""),
        "Geese honking loudly": ("geese honk loudly", "geese honking loudly"),
        "Loud music": ("loud music is heard", "loud music"),
        "Two bangs": ("two bangs are heard", "two bangs"),
        "A loud and long bang": ("a loud and long bang is heard", "a loud and long bang"),
        "Snoring": ("snoring is heard", "snoring"),
        "Loud claps and cheers": ("loud claps and cheers are heard", "loud claps and cheers"),
        "The sound of a nurse singing": ("the sound of a nurse singing is heard", ""),
        "A crowd of nurses singing": ("a crowd of nurses sings", "a crowd of nurses singing"),
        "Big Ben strikes loudly": ("Big Ben strikes loudly", "Big Ben striking loudly"),
        "Irish music plays": ("Irish music plays", "Irish music playing"),
        "TV static is heard": ("TV static is heard", "TV static being heard"),
        "A tram leaves Lisbon": ("a tram leaves Lisbon", "a tram leaving Lisbon"),
    }
    for caption, (clause, gerund) in forms.items():
        phrase = say_caption(caption)
        assert isinstance(phrase, Phrase), (caption, phrase)
        said = (phrase.clause, phrase.gerund)
        assert said == (clause, gerund or clause.removesuffix(" is heard")), caption


def test_reasons() -> None:
    reasons = {
        "A dog barks. Rain falls.": Unjoinable.NOT_A_SENTENCE,
        "Door (wood), close": Unjoinable.NOT_A_SENTENCE,
        "Rock &amp; roll music": Unjoinable.NOT_A_SENTENCE,
        "Dog Barks At Cat": Unjoinable.NOT_A_SENTENCE,
        "A dog barks, rain falls": Unjoinable.SEVERAL_PARTS,
        "A dog barks as rain falls": Unjoinable.CONNECTIVE,
        "A zorblax honks": Unjoinable.UNKNOWN_WORD,
        "Recorded in a barn": Unjoinable.FRAGMENT,
        "Bird calls": Unjoinable.FRAGMENT,
        "Blades of a saw scream loudly": Unjoinable.FRAGMENT,
        "A nurse blows a loud and geese honk": Unjoinable.FRAGMENT,
        "A nurse sits and humming": Unjoinable.FRAGMENT,
        "A horn blares loudly and a bell": Unjoinable.FRAGMENT,
        "A nurse laughs shortly": Unjoinable.REFERS,
        "A nurse finally laughs": Unjoinable.REFERS,
        "Ocean waves following a yell": Unjoinable.REFERS,
        "A nurse talks the whole time": Unjoinable.REFERS,
        "Faint clip clops of a horse and with rustling": Unjoinable.FRAGMENT,
        "A engine hums": Unjoinable.FRAGMENT,
        "An engine idles and continuously": Unjoinable.FRAGMENT,
        "A nurse talks and tap some bells": Unjoinable.FRAGMENT,
        "A nurse talks with gongs and geese honk": Unjoinable.VERB_FORM,
        "A nurse speaking and sizzling": Unjoinable.VERB_FORM,
        "Cars crashing together and sound of engines": Unjoinable.VERB_FORM,
        "A dog starts barking": Unjoinable.VERB_FORM,
        "A car accelerating and shifting gears with a nurse talking": Unjoinable.VERB_FORM,
        "Turning on a faucet": Unjoinable.VERB_FORM,
        "Opening and closing a door": Unjoinable.VERB_FORM,
        "Revving of an engine and a skidding sound": Unjoinable.VERB_FORM,
        "A voice on the radio and distant horns": Unjoinable.VERB_FORM,
        "A nurse speaks and geese honking": Unjoinable.FRAGMENT,
        "Someone laughs at him": Unjoinable.REFERS,
        "The barking starts again": Unjoinable.REFERS,
        "A creaking and tapping noise": Unjoinable.VERB_FORM,
        "A tram crossing alarm": Unjoinable.VERB_FORM,
        "A theory of the moon": Unjoinable.NO_SOUND,
    }
    assert {caption: say_caption(caption) for caption in reasons} == reasons


@given(st.text(max_size=60))
def test_nothing_raises(caption: str) -> None:
    assert isinstance(say_caption(caption), Phrase | Unjoinable)
