"""What the lexicon knows: labels by their words, and words for a label that it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable

import yaml

from synth.base.errors import nearest
from synth.base.own_label import OwnLabel
from synth.labels.lexicon import Phrase, shipped_phrases, wordings
from synth.labels.words import plain_words
from synth.text.tags.tags import add_article, is_plural

_PARTICIPLE = re.compile("[aeiouy][a-z]*ing$")
_DETERMINED = ("a ", "an ", "the ", "some ", "someone", "people ")


def search_labels(text: str) -> list[str]:
    """The listed labels that a text names: first by their own words, then by their wordings'."""
    wanted = f" {plain_words(text)}"

    def rank(label: str) -> int:
        own = f" {plain_words(label)} "
        texts = (f" {phrase.noun} {phrase.clause} " for phrase in wordings(label))
        if own == f"{wanted} ":
            return 0
        return 1 if f"{wanted} " in own else 2 if any(wanted in words for words in texts) else 3

    ranks = {label: rank(label) for label in shipped_phrases()}
    return sorted((label for label in ranks if ranks[label] < 3), key=ranks.__getitem__)


def find_nearest(label: str) -> str | None:
    """A listed label that one may be like: it names the same thing, or is spelt nearly so."""
    known = {plain_words(listed): listed for listed in sorted(shipped_phrases())}
    words = plain_words(label).split()
    named = (known.get(" ".join(words[at:])) for at in range(len(words)))
    return next(filter(None, named), None) or nearest(label, shipped_phrases(), 0.75)


def guess_words(label: str) -> OwnLabel:
    """Words for a label, to be mended: "a kettle is boiling", "a budgie is heard"."""
    plain = Phrase.fallback(label).noun.removeprefix("the sound of ").removeprefix("my ")
    plain = plain.lower() if plain.isupper() else plain
    plain = " ".join(re.sub("[;|{}]", " ", plain).split()).strip(" .") or "sound"
    head, _, last = plain.rpartition(" ")
    goes_on = bool(head and _PARTICIPLE.search(last))
    thing = head if goes_on else plain
    bare = thing.startswith(_DETERMINED) or _PARTICIPLE.search(thing) or is_plural(thing)
    noun, verb = thing if bare else add_article(thing), "are" if is_plural(thing) else "is"
    if goes_on:
        gerund = f"{noun} {last}"
        return OwnLabel(noun=gerund, clause=f"{noun} {verb} {last}", gerund=gerund)
    return OwnLabel(noun=noun, clause=f"{noun} {verb} heard", gerund=f"{noun} being heard")


def suggest_words(labels: Iterable[str]) -> list[str]:
    """Lines of YAML for labels, to be mended and put into a spec."""
    lines = ["labels:"]
    for label in labels:
        entry = {label: guess_words(label).model_dump(exclude_defaults=True)}
        line = yaml.safe_dump(
            entry, default_flow_style=None, width=1000, sort_keys=False, allow_unicode=True
        )
        near = find_nearest(label)
        lines.append(f"  {line.rstrip()}" + (f"  # or {{like: {near}}}" if near else ""))
    return lines
