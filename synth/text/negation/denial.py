"""Short sentences that deny one tag, put into a caption."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from synth.labels.tag import Tag
from synth.text.negation.negators import Negators
from synth.text.tags.tag_words import TagCategory, TagForm, TagPhrase, add_article, phrase_tag

_SENTENCE_END: Final = re.compile(r"(?<=[^\W_]{3})[.!?](?=\s+[A-Z])|[.!?](?=\s*$)")


def add_denial(caption: str, tag: Tag, negators: Negators, rng: np.random.Generator) -> str:
    """A short sentence behind a random sentence; a thing may also join a caption without stop."""
    words = phrase_tag(tag)
    ends = [found.end() for found in _SENTENCE_END.finditer(caption)]
    thing = str(rng.choice(negators.thing))
    if words.is_thing and not ends and caption:
        return f"{caption}, {_say_lacking(thing, words.words, words.noun)}"
    if words.is_thing:
        sentence = f"The music comes {_say_lacking(thing, words.words, words.noun)}."
    else:
        plain = words.kind is TagCategory.GENRE or words.form is TagForm.ERA
        negator = negators.quality[0] if plain else rng.choice(negators.quality)
        sentence = f"The music is {negator} {_quality(words)}."
    if not ends:
        return f"{caption}. {sentence}" if caption else sentence
    at = int(rng.choice(ends))
    return f"{caption[:at]} {sentence}{caption[at:]}"


def _quality(words: TagPhrase) -> str:
    """How a tag stands behind "the music is": "happy", "from the 80s", "a jazz piece"."""
    if words.form is TagForm.ERA:
        return f"from the {words.words}"
    if words.kind is not TagCategory.GENRE or words.words.endswith("music"):
        return words.words
    return add_article(f"{words.words} piece")


def _say_lacking(negator: str, words: str, noun: str) -> str:
    """As "without an orchestra", "with no orchestra"."""
    return f"{negator} {words if negator.split()[-1] == 'no' else noun}"
