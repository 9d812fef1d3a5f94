"""A language model that rewrites captions and reads them back, and errs at known rates.

It writes what a plan says: a right text is the caption in a frame of its style and language, a
wrong one is a sentence of the plan that says something else, or the caption with a sound more, or
fewer. What it reads is what it wrote, or else one of `misread`, at the rate of the reader. Draws
are functions of the request, so what is to be expected can be computed item by item.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from synth.base.rng import uniform_hash
from synth.labels.lexicon import Phrase
from synth.llm.checks.claim_checks import OTHER, list_sounds
from synth.llm.prompt import Prompt
from synth.llm.reply import PromptItem
from synth.scene.claim import (
    VALUED,
    Statement,
    claim_from_json,
    claim_from_text,
    claim_labels,
    complete,
    state,
)
from tests.kit.llm_tasks import items_of

Statements = frozenset[Statement]
FRAMES: Final = {
    "en": "{text} ({style})",
    "de": "({style}) Das ist es, was man hört, und so ist es, nicht mehr und auch nicht weniger "
    "als das, wie es war und wie es ist: {text}",
    "fr": "({style}) On l'entend, c'est ce qui est dans le son, et il n'est pas plus et pas moins "
    "que ce qui est dans ce son : {text}",
    "it": "({style}) Si sente, ed è quello che è nel suono, non di più e non di meno di quello "
    "che è nel suono: {text}",
    "es": "({style}) Se oye, y es lo que está en el sonido, no más y no menos que lo que es y "
    "como es y está en el sonido: {text}",
}
"""Full of each language's common words: its language is told, though the rest is English."""

TRADED: Final = (
    *(("longer", "longer"), ("louder", "louder"), ("before", "before")),
    *(("at_start", "in_middle"), ("in_middle", "at_end"), ("at_end", "at_start")),
    *(("gets_louder", "gets_quieter"), ("again_louder", "again_quieter")),
    *(("again_farther", "again_closer"), ("again_larger_room", "again_smaller_room")),
    *(("again_higher", "again_lower"), ("again_faster", "again_slower")),
)
KINDS: Final = {
    **{"reorder": "order", "rebind": "order", "relation": "relation", "replace": "renamed"},
    **{"negate": "negation", "count": "count"},
}
"""Of the edits that make negatives, the error of one who would write them; others: measure."""


@dataclass(frozen=True)
class Rates:
    """How often the model errs.

    Args:
        write: By kind of error, of the texts in which it can be made.
        read: Of the texts that it reads.
        seed: Of the draws.
    """

    write: Mapping[str, float]
    read: float
    seed: str = "1"


@dataclass(frozen=True)
class Said:
    """A sentence that the model may write of a caption.

    Args:
        error: The kind of error, "" for none.
        text: The sentence, without a frame.
        means: What it states.
    """

    error: str
    text: str
    means: Statements


@dataclass
class Rewriter:
    """The model; call it with the body of a request.

    Args:
        rows: Rows of plans.
        rates: How often it errs.
        means: By text that it wrote, what that states.
        sounds: By text that it read, the sounds that it was told.
    """

    rows: Sequence[Mapping[str, Any]]
    rates: Rates
    means: dict[str, Statements] = field(default_factory=dict)
    sounds: dict[str, list[str]] = field(default_factory=dict)

    def __call__(self, body: dict[str, Any]) -> str:
        answers = []
        for item in items_of(body):
            if "sounds" in item:
                answers.append({"id": item["id"], "statements": self.read(item)})
            else:
                told = self.write(item, "refused" in item)
                text = frame(item, told)
                self.means[text] = told.means
                answers.append({"id": item["id"], "text": text})
        return json.dumps({"answers": answers})

    @cached_property
    def said(self) -> dict[str, list[Said]]:
        """By caption, the sentences that may be written of it, the right one first."""
        return {caption: list(_find_sentences(*found)) for caption, found in _by_caption(self.rows)}

    def chances(self, caption: str) -> list[float]:
        """How likely each of these is."""
        every = self.said[caption]
        alike = Counter(each.error for each in every)
        wrong = [self.rates.write.get(each.error, 0.0) / alike[each.error] for each in every[1:]]
        return [1 - sum(wrong), *wrong]

    def write(self, item: Mapping[str, Any], again: bool) -> Said:
        """What it writes of an item, for the first time or again."""
        caption = item["caption"]
        key = (self.rates.seed, caption, item["style"], item["language"], str(again))
        drawn = uniform_hash("write", *key)
        upto = accumulate(self.chances(caption))
        return next(
            (each for each, top in zip(self.said[caption], upto, strict=True) if drawn < top),
            self.said[caption][0],
        )

    def read(self, item: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What it says that a text states."""
        text, sounds = item["text"], item["sounds"]
        self.sounds[text] = sounds
        found = known(self.means[text], sounds)
        if uniform_hash("err", self.rates.seed, text) < self.rates.read:
            every = misread(found, sounds)
            found = every[int(uniform_hash("which", self.rates.seed, text) * len(every))]
        return [
            {"says": each.says, "sounds": list(each.sounds), "value": each.value}
            for each in sorted(found)
        ]


def frame(item: Mapping[str, Any], told: Said) -> str:
    """A sentence as a text in a style and a language."""
    return FRAMES[item["language"]].format(style=item["style"].capitalize(), text=told.text)


def known(means: Statements, sounds: Sequence[str]) -> Statements:
    """Statements by one who has a list of sounds."""
    named = {each: each if each in sounds else OTHER for one in means for each in one.sounds}
    return frozenset(Statement(s, tuple(named[each] for each in of), v) for s, of, v in means)


def misread(means: Statements, sounds: Sequence[str]) -> list[Statements]:
    """All that one who errs once may take statements for; each is equally likely."""
    found: list[Statements] = []
    named = sorted({sound for each in means for sound in each.sounds})
    for at, first in enumerate(named):
        for second in named[at + 1 :]:
            found.append(_rename(means, {first: second, second: first}))
        found.append(frozenset(each for each in means if first not in each.sounds))
        found += [_rename(means, {first: other}) for other in sounds if other not in named]
    found += [means | {Statement("heard", (other,))} for other in sounds if other not in named]
    for each in sorted(means):
        found += [(means - {each}) | {other} for other in _alter(each)]
    return [each for each in dict.fromkeys(found) if each and complete(each) != complete(means)]


def _rename(means: Statements, names: Mapping[str, str]) -> Statements:
    return frozenset(
        Statement(says, tuple(names.get(each, each) for each in of), value)
        for says, of, value in means
    )


def _alter(each: Statement) -> Iterator[Statement]:
    """What a statement may be taken for."""
    says, of, value = each
    for one, other in (*TRADED, *(pair[::-1] for pair in TRADED)):
        if says == one:
            yield Statement(other, of[::-1] if one == other else of)
    if says in ("before", "together"):
        yield Statement("together" if says == "before" else "before", of)
    if says == "absent":
        yield Statement("heard", of)
    if says in VALUED:
        yield Statement(says, of, value + 1)
        if value > 1 or (value and says != "times"):
            yield Statement(says, of, max(0.0, value - 1))


def _by_caption(
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, tuple[dict[str, Any], int, list[dict[str, Any]]]]]:
    """The true captions, each with all that it is compared with."""
    truths: dict[str, tuple[dict[str, Any], int]] = {}
    against: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        for true in ({"text": row["caption"], "claim": row["claim"]}, *row["positives"]):
            truths.setdefault(true["text"], (true, row["sample_rate"]))
        for false in row["negatives"]:
            against[false["against"] or row["caption"]].setdefault(false["text"], false)
    for caption, (true, rate) in truths.items():
        yield caption, (true, rate, list(against[caption].values()))


def _find_sentences(
    true: Mapping[str, Any], rate: int, negatives: Sequence[Mapping[str, Any]]
) -> Iterator[Said]:
    claim, caption = claim_from_text(true["claim"]), true["text"].rstrip(".")
    means = state(claim, rate)
    yield Said("", caption, means)
    for each in negatives:
        false = state(claim_from_text(each["claim"]), rate)
        if false != means:
            yield Said(KINDS.get(each["kind"], "measure"), each["text"].rstrip("."), false)
    heard = sorted(each.sounds[0] for each in means if each.says == "heard")
    spare = next(each for each in list_sounds(claim, 1) if each not in claim_labels(claim))
    strange = Phrase.of_label(spare).noun
    yield Said("added", f"{caption}, and {strange}", means | {Statement("heard", (spare,))})
    if len(heard) > 1:
        rest = frozenset(each for each in means if heard[0] not in each.sounds)
        nouns = [Phrase.of_label(each).noun for each in heard[1:]]
        lost = frozenset(each for each in rest if each.says in ("heard", "absent"))
        denied = [Phrase.of_label(each.sounds[0]).noun for each in lost if each.says == "absent"]
        text = " and ".join(nouns) + "".join(f", but never {each}" for each in denied)
        yield Said("lost", f"One hears {text}", lost)
    for each in sorted(means):
        if each.says == "absent":
            nouns = [Phrase.of_label(sound).noun for sound in (*heard, *each.sounds)]
            kept = {Statement("heard", (sound,)) for sound in (*heard, *each.sounds)}
            yield Said("negation", f"One hears {' and '.join(nouns)}", frozenset(kept))


@dataclass
class ExpectedTally:
    """Sums of what is expected and what is there, with the variance of what is expected."""

    expected: float = 0.0
    variance: float = 0.0
    measured: int = 0

    def add(self, chance: float, happened: bool) -> None:
        self.expected += chance
        self.variance += chance * (1 - chance)
        self.measured += happened

    @property
    def sd(self) -> float:
        """The standard deviation of what is expected."""
        return self.variance**0.5


def compare(
    model: Rewriter, prompt: Prompt, answers: Sequence[Mapping[str, Any]]
) -> dict[tuple[str, str, str], ExpectedTally]:
    """What the rates predict beside what became of every distinct item.

    Args:
        model: The model that answered.
        prompt: The first prompt.
        answers: Rows of the answers.

    Returns:
        By kind of claim, error ("" for a right text) and outcome: `caught` (the first text broke a
        static check), `written` (it passed them), `accepted`.
    """
    tallies: dict[tuple[str, str, str], ExpectedTally] = defaultdict(ExpectedTally)
    distinct = {(row["caption"], row["style"], row["language"]): row for row in answers}
    for row in distinct.values():
        claim = claim_from_json(json.loads(row["claim"]))
        sounds = list_sounds(claim, 6)
        fields = {name: row[name] for name in ("caption", "style", "language")}
        every, chances = model.said[row["caption"]], model.chances(row["caption"])
        texts = [frame(row, each) for each in every]
        passes = [not prompt.faults(PromptItem("", fields), {"text": text}) for text in texts]
        again = 1 + sum(p for p, good in zip(chances, passes, strict=True) if not good)
        for each, text, chance, good in zip(every, texts, chances, passes, strict=True):
            written = chance * again * good
            means = known(each.means, sounds)
            wrong = misread(means, sounds)
            back = sum(complete(one) == every[0].means for one in wrong) / len(wrong)
            taken = (1 - model.rates.read) if not each.error else model.rates.read * back
            here, key = row["text"] == text, (row["kind"], each.error)
            caught = not good and model.write(row, False) is each
            tallies[(*key, "caught")].add(chance * (not good), caught)
            accepted = here and row["verdict"] == "accepted"
            tallies[(*key, "written")].add(written, here)
            tallies[(*key, "accepted")].add(written * taken, accepted)
    return tallies
