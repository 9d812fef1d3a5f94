"""Narrative: claims about up to four sounds, nested at will, in words that admit one reading.

Of more sounds: sequences of single sounds and overlays of single sounds.

"A dog barks before rain falls while a siren wails" can be taken two ways; the published template
captions drop the parentheses and leave it at that. Here a part that is itself composed gets a
clause of its own behind "then", "after that", "before all of that", or is summed up by words that
span exactly what they speak of: "both with rain falling", "two sounds follow one another: ...".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeAlias

from synth.base.units import Frames
from synth.captions.caption import (
    NUMBERS,
    Caption,
    Phrases,
    Provenance,
    Style,
    capitalise,
    frames,
    relate,
)
from synth.labels.connective import ORDER, SIMULTANEOUS, Connective
from synth.labels.lexicon import Phrase
from synth.scene.activity import Activity, Stretch, Stretches, cut, hull, unite
from synth.scene.claim import And, Claim, Not, parts_of
from synth.scene.scene import Concat, Event, Overlay, Scene, labels, operands
from synth.scene.timeline import Placement, Timeline

Composed: TypeAlias = Concat | Overlay
Pick: TypeAlias = Callable[[Sequence[Any]], Any]
"""Chooses one of several equally good words."""

_MOST_CLAUSES: Final = 4
"""Parts that follow one another in one breath; of more, each sentence holds fewer."""
_IN_SENTENCE: Final = 3
_ALL: Final = {2: "both", 3: "all three", 4: "all four"}

_ALONE: Final = ("{sound.clause}", "you can hear {sound.noun}", "{sound.noun} can be heard")
_PRESENT: Final = ("among the sounds are {nouns}", "{nouns} can be heard")
_DENIED: Final = (
    "{text}, but you never hear {absent.noun}",
    "{text}; at no point do you hear {absent.noun}",
)
_DENIED_THROUGHOUT: Final = (
    "{text}; at no point do you hear {absent.noun}",
    "{text}; nowhere in the recording do you hear {absent.noun}",
)
"""No "after" or "while" before it can be taken to limit the denial."""


@dataclass(frozen=True)
class Narrator:
    """Puts claims into words.

    Args:
        style: `paper` puts bare labels into the sentences; `natural` clauses and gerunds.
        pick: Chooses among equally good words.
    """

    phrases: Phrases
    style: Style
    pick: Pick

    def tell(self, claim: Claim) -> Caption:
        """The caption that makes a claim.

        Args:
            claim: A scene over labels; events joined by `And`; or `And` of a scene of at most two
                events and `Not` of an event.
        """
        word: Connective | None = None
        match claim:
            case Event(label):
                text = self._say_alone(label)
            case Concat() | Overlay():
                text, word = self._say_scene(claim)
            case And(Event(label), Not(Event(absent))):
                text = self._fill(_DENIED, text=self._say_alone(label), absent=self._phrase(absent))
            case And(Concat() | Overlay() as pair, Not(Event(absent))):
                text, word = self._say_scene(pair)
                text = self._fill(_DENIED_THROUGHOUT, text=text, absent=self._phrase(absent))
            case _:
                text = self._fill(_PRESENT, nouns=join_words(self._nouns(claim)))
        return Caption(
            text if self.style is Style.PAPER else _capitalise_sentences(text),
            claim,
            word.value if word else "",
            Provenance.of_rule("narrative", self.style.value),
        )

    def _phrase(self, label: str) -> Phrase:
        phrase = self.phrases(label)
        if self.style is Style.PAPER:
            return Phrase(phrase.plain, phrase.plain, phrase.plain, phrase.plain)
        return phrase

    def _nouns(self, claim: Claim) -> list[str]:
        sounds = [part for part in parts_of(claim) if isinstance(part, Event)]
        if len(sounds) < len(parts_of(claim)):
            raise ValueError(f"no words for the claim {claim}")
        return [self._phrase(sound.label).noun for sound in sounds]

    def _fill(self, frames: Sequence[str], **words: str | Phrase) -> str:
        return str(self.pick(frames)).format(**words)

    def _say_alone(self, label: str) -> str:
        return self._fill(_ALONE, sound=self._phrase(label))

    def _say_scene(self, scene: Composed) -> tuple[str, Connective]:
        word: Connective = self.pick(connectives(scene))
        return self._compose(scene, word, at_top=True), word

    # Compositions

    def _clause(self, scene: Scene) -> str:
        if isinstance(scene, Event):
            return self._phrase(scene.label).clause
        sentences = [word for word in connectives(scene) if word is not Connective.FOLLOWED_BY]
        return self._compose(scene, self.pick(sentences), at_top=False)

    def _gerund(self, scene: Scene) -> str:
        if not isinstance(scene, Event):
            raise ValueError("only a single sound has a gerund")
        return self._phrase(scene.label).gerund

    def _compose(self, scene: Composed, word: Connective, at_top: bool) -> str:
        parts = operands(scene)
        if isinstance(scene, Concat) and len(parts) > _MOST_CLAUSES:
            return self._say_at_length(parts, word)
        if all(isinstance(part, Event) for part in parts):
            if len(parts) > 2:
                return self._say_row(parts, word)
            frame = self.pick(range(frames(self.style))) if at_top else 0
            return relate(scene, word, self.phrases, self.style, frame)
        if isinstance(scene, Concat):
            return self._say_in_order(parts, word)
        return self._say_together(parts, word, at_top)

    def _say_row(self, parts: Sequence[Scene], word: Connective) -> str:
        """Three or more sounds, one after the other or all at the same time."""
        clauses = [self._clause(part) for part in parts]
        match word:
            case Connective.THEN:
                return ", then ".join(clauses[:-1]) + f", and then {clauses[-1]}"
            case Connective.FOLLOWED_BY:
                return ", followed by ".join(self._gerund(part) for part in parts)
            case Connective.BEFORE | Connective.AFTER:
                return self._say_in_order(parts, word)
            case Connective.WITH:
                rest = join_words([self._gerund(part) for part in parts[1:]])
            case _:
                rest = join_words(clauses[1:])
        return f"{clauses[0]} {word.value} {rest}, all at the same time"

    def _say_at_length(self, parts: Sequence[Scene], word: Connective) -> str:
        """Many parts in order: composed ones in sentences of their own, others a few at a time."""
        sentences: list[list[str]] = [[]]
        for previous, part in zip((None, *parts), parts, strict=False):
            alone = not (isinstance(part, Event) and isinstance(previous, Event | None))
            if alone or len(sentences[-1]) == _IN_SENTENCE:
                sentences.append([])
            sentences[-1].append(self._clause(part))
        parted = [", then ".join(clauses) for clauses in sentences if clauses]
        link = "; then " if word is Connective.THEN else f"; {word.value} all of that, "
        return link.join(parted)

    def _say_in_order(self, parts: Sequence[Scene], word: Connective) -> str:
        """Parts in order, some of them composed."""
        if word is Connective.FOLLOWED_BY:
            rest = " and then ".join(self._gerund(part) for part in parts[1:])
            return f"{self._clause(parts[0])}, all of it followed by {rest}"
        clauses = [self._clause(part) for part in parts]
        if word is Connective.THEN:
            return "; then ".join(clauses)
        if word is Connective.BEFORE:
            clauses, parts = clauses[::-1], parts[::-1]
        # "That" may be the last thing said or the first; where there are several, it is "all of".
        that = "all of that" if _holds_concat(parts[0]) else "that"
        links = [that] + ["all of that"] * (len(parts) - 2)
        further = [
            f"{word.value} {link}, {clause}"
            for link, clause in zip(links, clauses[1:], strict=True)
        ]
        return "; ".join([clauses[0], *further])

    def _say_together(self, parts: Sequence[Scene], word: Connective, at_top: bool) -> str:
        """Parts at the same time, some of them concatenations."""
        single = [part for part in parts if isinstance(part, Event)]
        orders = [part for part in parts if isinstance(part, Concat)]
        if len(orders) > 1:
            first, second = orders
            return f"{self._clause(first)}; {word.value} this happens, {self._clause(second)}"
        steps = operands(orders[0])
        in_a_row = all(isinstance(step, Event) for step in steps)
        if at_top and not (in_a_row and self.pick((True, False))):
            order, every = self._clause(orders[0]), _ALL[len(labels(orders[0]))]
            if word is Connective.WITH:
                return f"{order}, {every} with {self._say_alongside(single, gerunds=True)}"
            background = self._say_alongside(single, gerunds=False)
            return f"{order}; {word.value} {every} are heard, {background}"
        background = self._say_alongside(single, gerunds=word is Connective.WITH)
        listed = ", then ".join(self._clause(step) for step in steps)
        count = NUMBERS[len(steps) - 1]
        return f"{word.value} {background}, {count} sounds follow one another: {listed}"

    def _say_alongside(self, single: Sequence[Event], gerunds: bool) -> str:
        words = join_words([(self._gerund if gerunds else self._clause)(event) for event in single])
        return f"{words} at the same time" if len(single) > 1 else words


def connectives(scene: Composed) -> tuple[Connective, ...]:
    """The words that can relate the operands of a scene."""
    if isinstance(scene, Overlay):
        orders = [part for part in operands(scene) if isinstance(part, Concat)]
        # "With this happening" is no English.
        return SIMULTANEOUS if len(orders) < 2 else (Connective.WHILE, Connective.AS)
    if len(operands(scene)) > _MOST_CLAUSES:
        # "Before all of that, a dog barks, then it rains" leaves open when it rains.
        return (Connective.THEN, Connective.AFTER)
    if all(isinstance(part, Event) for part in operands(scene)[1:]):
        return ORDER
    return tuple(word for word in ORDER if word is not Connective.FOLLOWED_BY)


def _holds_concat(scene: Scene) -> bool:
    if isinstance(scene, Event):
        return False
    return isinstance(scene, Concat) or any(map(_holds_concat, operands(scene)))


def join_words(words: Sequence[str]) -> str:
    """The words as a list: "a", "a and b", or "a, b and c"; "" for none."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _capitalise_sentences(words: str) -> str:
    """Clauses behind a semicolon as sentences of their own, with stops where there are several."""
    sentences = [capitalise(clause) for clause in words.split("; ")]
    return ". ".join(sentences) + ("." if len(sentences) > 1 else "")


# Dense captions: sentences with times, made from nothing but where each sound is heard.
#
# Events of one label that touch or overlap are one sound here, as their names do not tell them
# apart. What is heard faintly only is left out. A bed is a sound like any other.


SILENCE: Final = "silence"


class Resolution(StrEnum):
    """How finely time is cut.

    `stretch`: every stretch in which a sound is heard. `sound`: every sound, from its first frame
    to its last. `scene`: the whole, cut where the set of sounds that are heard changes.
    """

    STRETCH = "stretch"
    SOUND = "sound"
    SCENE = "scene"


@dataclass(frozen=True, slots=True)
class DenseCaption:
    """A sentence about a stretch of a sample.

    Args:
        onset: Its first frame.
        offset: The frame after its last.
        text: The sentence, without a capital or a final stop.
    """

    resolution: Resolution
    onset: Frames
    offset: Frames
    text: str


def dense_captions(heard: Timeline, frames: Frames, audible: Frames) -> tuple[DenseCaption, ...]:
    """All dense captions of a sample, by resolution and in order of time.

    A sound that is never clear gets none. A segment of `scene` names every sound that is heard;
    where nobody hears anything it says "silence", and where a sound is faint and none is named
    there is no segment. Segments shorter than `audible` are left out.

    Args:
        heard: The sounds of the sample, with their activity; no tags.
        frames: Length of the sample. Behind the end of the timeline there is silence.
        audible: Shortest stretch in which sounds can be heard together, at least 1 frame.
    """
    by_label: dict[str, list[Placement]] = {}
    for place in heard.placements:
        by_label.setdefault(place.label, []).append(place)
    named = {
        label: unite(stretch for place in its for stretch in _find_named(place.heard))
        for label, its in by_label.items()
    }
    hulls = {label: _find_hulls(its, named[label]) for label, its in by_label.items()}
    faint = unite(stretch for place in heard.placements for stretch in place.heard.faint)
    return (
        *_list_sounds(Resolution.STRETCH, named),
        *_list_sounds(Resolution.SOUND, hulls),
        *_list_segments(named, _invert(faint, frames), audible),
    )


def dense_text(captions: Sequence[DenseCaption], rate: int) -> str:
    """Dense captions in one line, times to 0.1 s: "0.0-1.9 s a dog barks; 1.9-3.0 s silence".

    Args:
        captions: Those of one resolution.
    """
    return "; ".join(f"{format_span(caption, rate)} {caption.text}" for caption in captions)


def format_span(caption: DenseCaption, rate: int) -> str:
    """When a caption holds, to 0.1 s: "0.0-1.9 s"."""
    return f"{_format_time(caption.onset, rate)}-{_format_time(caption.offset, rate)} s"


def _find_named(heard: Activity) -> Stretches:
    """The stretches in which most listeners hear a sound that are clear at any moment.

    What is masked for a while, or a little quieter than before, goes on.
    """
    return tuple(stretch for stretch in heard.labelled if cut(heard.clear, *stretch))


def _find_hulls(places: Sequence[Placement], named: Stretches) -> Stretches:
    """What is named of a label, from first to last, of each run of events that touch."""
    runs = unite(Stretch(place.onset, place.offset) for place in places)
    return tuple(stretch for run in runs if (stretch := hull(cut(named, *run))))


def _list_sounds(resolution: Resolution, stretches: Mapping[str, Stretches]) -> list[DenseCaption]:
    captions = [
        DenseCaption(resolution, onset, offset, Phrase.of_label(label).clause)
        for label, its in stretches.items()
        for onset, offset in its
    ]
    return sorted(captions, key=lambda caption: (caption.onset, caption.offset))


def _list_segments(
    sounds: Mapping[str, Stretches], silent: Stretches, audible: Frames
) -> Iterator[DenseCaption]:
    order = {label: place for place, label in enumerate(sounds)}
    changes: dict[Frames, set[str | None]] = {}
    for label, stretches in (*sounds.items(), (None, silent)):
        for stretch in stretches:
            for moment in stretch:
                changes.setdefault(moment, set()).add(label)
    now: set[str | None] = set()
    since = 0
    for moment in sorted(changes):
        if now and moment - since >= audible:
            named = sorted((label for label in now if label is not None), key=order.__getitem__)
            text = join_words([Phrase.of_label(label).clause for label in named])
            yield DenseCaption(Resolution.SCENE, since, moment, text or SILENCE)
        now ^= changes[moment]
        since = moment


def _invert(stretches: Stretches, frames: Frames) -> Stretches:
    """The time from 0 to `frames` that none of the stretches covers."""
    edges = [0, *(edge for stretch in stretches for edge in stretch), frames]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple(Stretch(onset, offset) for onset, offset in pairs if onset < offset)


def _format_time(frames: Frames, rate: int) -> str:
    """Seconds to 0.1 s, halves up: equal lengths stay equal wherever they lie."""
    tenths = (20 * frames + rate) // (2 * rate)
    return f"{tenths // 10}.{tenths % 10}"
