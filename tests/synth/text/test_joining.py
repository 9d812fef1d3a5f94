"""A caption inside a longer sentence: its clause, its gerund, or why it has none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from synth.labels.lexicon import Phrase
from synth.text.order.temporal import Unjoinable, say_caption


def test_forms() -> None:
    forms = {
        "A nurse talks.": ("a nurse talks", "a nurse talking"),
        "A nurse is talking": ("a nurse talks", "a nurse talking"),
        "Geese are softly honking": ("geese softly honk", "geese softly honking"),
        "A nurse is singing and laughing and geese are honking": (
            "a nurse sings and laughs and geese honk",
            "a nurse singing and laughing and geese honking",
        ),
        "A horn is being blown": ("a horn is being blown", "a horn being blown"),
        "A nurse is singing and clicking occurs": (
            "a nurse sings and clicking occurs",
            "a nurse singing and clicking occurring",
        ),
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
        "Barks at the cat": Unjoinable.FRAGMENT,
        "Recorded in a barn": Unjoinable.FRAGMENT,
        "Bird calls": Unjoinable.FRAGMENT,
        "A gunshot fires and clicks": Unjoinable.FRAGMENT,
        "A nurse blows a loud and geese honk": Unjoinable.FRAGMENT,
        "A nurse sits and humming": Unjoinable.FRAGMENT,
        "A horn blares loudly and a bell": Unjoinable.FRAGMENT,
        "A nurse laughs shortly": Unjoinable.REFERS,
        "A nurse finally laughs": Unjoinable.REFERS,
        "A engine hums": Unjoinable.FRAGMENT,
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
