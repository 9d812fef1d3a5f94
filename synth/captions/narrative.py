"""Narrative: claims about sounds in words that admit one reading, by one table of wordings.

"A dog barks before rain falls while a siren wails" can be taken two ways; the published template
captions drop the parentheses and leave it at that. Here a part that is itself composed gets a
sentence of its own, or is summed up: "A dog barks and then rain falls, all while a siren wails".

`lexicons/wordings.csv` holds the words, one frame a row:

- `says`: what it is for, such as `order 3` for three sounds in a row
- `connective`: the word by which it relates them
- `style`: of which style it is
- `fit`: where it may stand (`Fit`)
- `frame`: slots are forms of a sound (`{a.clause}`; `a` is heard first, `b` next), or parts that
  have been told (`{text}`); "; " ends a sentence
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, reduce
from itertools import chain
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from synth.base.units import Frames
from synth.captions.caption import (
    Caption,
    Fit,
    Frame,
    Provenance,
    Style,
    capitalise,
    read_frames,
)
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase, wordings
from synth.scene.activity import Activity, Stretch, Stretches, cut, hull, unite
from synth.scene.claim import And, Claim, Not, parts_of
from synth.scene.scene import Concat, Event, Overlay, Scene, operands
from synth.scene.timeline import Placement, Timeline

Composed: TypeAlias = Concat | Overlay
Pick: TypeAlias = Callable[[Sequence[Any]], Any]
"""Chooses one of several equally good words."""

_AT_LENGTH: Final = 3
"""Of more parts than slots each sentence holds so many."""
_SLOTS: Final = "abcd"


@dataclass(frozen=True)
class Narrator:
    """Puts claims into words.

    Args:
        style: `paper` puts connectives between bare labels, as CompA prints them, and leaves open
            what belongs together.
        pick: Chooses among equally good words.
    """

    style: Style
    pick: Pick

    def tell(self, claim: Claim) -> Caption:
        """The caption that makes a claim.

        Args:
            claim: A scene over labels; events joined by `And`; or `And` of a scene and `Not` of an
                event.
        """
        word: Connective | None = None
        match claim:
            case Event() | Concat() | Overlay():
                text, word = self._say(claim, Fit.ALONE)
            case And(Event(label), Not(Event(absent))):
                text, _ = self._fill(
                    "absent from one", a=self._phrase(label), absent=Phrase.of_label(absent)
                )
            case And(Concat() | Overlay() as scene, Not(Event(absent))):
                text, word = self._say(scene, Fit.OPENING)
                text, _ = self._fill("absent", text=text, absent=Phrase.of_label(absent))
            case _:
                text, _ = self._fill("present", nouns=self.join(self._list_nouns(claim)))
        return Caption(
            text if self.style is Style.PAPER else _capitalise_sentences(text),
            claim,
            word.value if word else "",
            Provenance.of_rule("narrative", self.style.value),
        )

    def relate(self, claim: Composed, connective: Connective) -> Caption:
        """The caption of two sounds that relates them by a word.

        Narrators that choose alike make twins of before, after and while, which differ in nothing
        but this word and the order in which the sounds are heard.
        """
        first, second = (part.label for part in operands(claim) if isinstance(part, Event))
        phrases = {label: self._phrase(label) for label in sorted((first, second))}
        frames = read_frames(_NAMES[type(claim)], self.style)
        frame = self.pick([frame for frame in frames if frame.connective is connective])
        text = frame.text.format(a=phrases[first], b=phrases[second])
        rule = Provenance.of_rule("narrative", self.style.value)
        return Caption(_capitalise_sentences(text), claim, connective.value, rule)

    def _phrase(self, label: str) -> Phrase:
        """One way to say a label."""
        if self.style is Style.PAPER:
            return Phrase.of_label(label)
        phrase: Phrase = self.pick(wordings(label))
        return phrase

    def _list_nouns(self, claim: Claim) -> list[str]:
        sounds = [part for part in parts_of(claim) if isinstance(part, Event)]
        if len(sounds) < len(parts_of(claim)):
            raise ValueError(f"no words for the claim {claim}")
        phrases = [self._phrase(sound.label) for sound in sounds]
        return [phrase.plain if self.style is Style.PAPER else phrase.noun for phrase in phrases]

    def _choose(self, says: str, fit: Fit = Fit.ALONE) -> Frame:
        frame: Frame = self.pick(
            [frame for frame in read_frames(says, self.style) if frame.fit >= fit]
        )
        return frame

    def _fill(
        self, says: str, fit: Fit = Fit.ALONE, **slots: str | Phrase
    ) -> tuple[str, Connective | None]:
        frame = self._choose(says, fit)
        return frame.text.format(**slots), frame.connective

    def join(self, words: Sequence[str]) -> str:
        """The words as a list: "a", "a and b", or "a, b and c"."""
        *others, last = words
        return self._fill("and", head=", ".join(others), text=last)[0] if others else last

    def _say(self, scene: Scene, fit: Fit) -> tuple[str, Connective | None]:
        """A scene where a text of such a fit may stand, and how it relates its parts."""
        if isinstance(scene, Event):
            return self._fill("sound", fit, a=self._phrase(scene.label))
        if self.style is Style.PAPER:
            words = {kind: self._choose(f"infix {_NAMES[kind]}") for kind in _NAMES}
            return self._say_infix(scene, words), words[type(scene)].connective
        parts = operands(scene)
        phrases = [self._phrase(part.label) for part in parts if isinstance(part, Event)]
        if len(phrases) == len(parts) <= len(_SLOTS):
            says = _NAMES[type(scene)] + (f" {len(parts)}" if len(parts) > 2 else "")
            return self._fill(says, fit, **dict(zip(_SLOTS, phrases, strict=False)))
        return (
            self._say_in_order(parts, fit)
            if isinstance(scene, Concat)
            else self._say_together(parts, fit)
        )

    def _say_infix(self, scene: Scene, words: Mapping[type[Scene], Frame]) -> str:
        """The parts with connectives between, and nothing that tells what belongs together."""
        if isinstance(scene, Event):
            return self._phrase(scene.label).plain
        head, text = (self._say_infix(part, words) for part in (scene.first, scene.second))
        return words[type(scene)].text.format(head=head, text=text)

    def _say_in_order(self, parts: Sequence[Scene], fit: Fit) -> tuple[str, Connective | None]:
        """Parts in order, too many for one sentence, or some of them composed."""
        match parts:
            case (Event(label), Overlay() as scene) if _is_flat(scene) and self.pick((True, False)):
                text, _ = self._say(scene, Fit.CLAUSE)
                return self._fill("after one", fit, a=self._phrase(label), text=text)
            case (Overlay() as scene, Event(label)) if (
                _is_flat(scene) and fit is not Fit.SENTENCE and self.pick((True, False))
            ):
                text, _ = self._say(scene, Fit.CLAUSE)
                return self._fill("before one", fit, b=self._phrase(label), text=text)
        first, *others = _group_sounds(parts)
        text, word = self._say(first, max(fit, Fit.OPENING))
        for part in others:
            further, _ = self._say(part, Fit.SENTENCE)
            text, word = self._fill("next", head=text, text=further)
        return text, word

    def _say_together(self, parts: Sequence[Scene], fit: Fit) -> tuple[str, Connective | None]:
        """Parts at the same time, of which one or two are concatenations."""
        sounds = [self._phrase(part.label) for part in parts if isinstance(part, Event)]
        first, *others = [part for part in parts if isinstance(part, Concat)]
        if others:
            text, further = (self._say(part, Fit.SENTENCE)[0] for part in (first, others[0]))
            return self._fill("both", fit, text=text, others=further)
        is_short = all(isinstance(step, Event) for step in operands(first))
        text, _ = self._say(first, Fit.CLAUSE if is_short else Fit.OPENING)
        return self._fill(
            "during" if is_short else "during long",
            fit,
            text=text,
            others=self.join([sound.clause for sound in sounds]),
            going=self.join([sound.gerund for sound in sounds]),
        )


_NAMES: Final[Mapping[type[Scene], str]] = {Concat: "order", Overlay: "together"}


def _is_flat(scene: Overlay) -> bool:
    return all(isinstance(part, Event) for part in operands(scene))


def _group_sounds(parts: Sequence[Scene]) -> list[Scene]:
    """The parts with single sounds that follow one another put together, a few at a time."""
    groups: list[list[Scene]] = []
    for part in parts:
        is_open = groups and isinstance(groups[-1][-1], Event) and len(groups[-1]) < _AT_LENGTH
        if is_open and isinstance(part, Event):
            groups[-1].append(part)
        else:
            groups.append([part])
    return [reduce(Concat, group) for group in groups]


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


class DenseCaption(NamedTuple):
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


def dense_captions(timeline: Timeline, frames: Frames, audible: Frames) -> tuple[DenseCaption, ...]:
    """All dense captions of a sample, by resolution and in order of time.

    A sound that is never clear gets none. A segment of `scene` names every sound that is heard;
    where nobody hears anything it says "silence", and where a sound is faint and none is named
    there is no segment. Segments shorter than `audible` are left out.

    Args:
        timeline: The sounds of the sample, with their activity; no tags.
        frames: Length of the sample. Behind the end of the timeline there is silence.
        audible: Shortest stretch in which sounds can be heard together, at least 1 frame.
    """
    by_label: dict[str, list[Placement]] = {}
    for place in timeline.placements:
        by_label.setdefault(place.label, []).append(place)
    clauses = [Phrase.of_label(label).clause for label in by_label]
    named = [
        unite(stretch for place in its for stretch in _find_named(place.heard))
        if len(its) > 1
        else _find_named(its[0].heard)
        for its in by_label.values()
    ]
    hulls = map(_find_hulls, by_label.values(), named)
    faint = unite(stretch for place in timeline.placements for stretch in place.heard.faint)
    return (
        *_list_sounds(Resolution.STRETCH, clauses, named),
        *_list_sounds(Resolution.SOUND, clauses, hulls),
        *_list_segments(clauses, named, _invert(faint, frames), audible),
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


def _find_named(activity: Activity) -> Stretches:
    """The stretches in which most listeners hear a sound that are clear at any moment.

    What is masked for a while, or a little quieter than before, goes on.
    """
    return tuple(
        stretch
        for stretch in activity.labelled
        if any(start < stretch.offset and stretch.onset < end for start, end in activity.clear)
    )


def _find_hulls(places: Sequence[Placement], named: Stretches) -> Stretches:
    """What is named of a label, from first to last, of each run of events that touch."""
    runs = unite(Stretch(place.onset, place.offset) for place in places)
    parts = (cut(named, *run) for run in runs) if len(runs) > 1 else (named,)
    return tuple(stretch for part in parts if (stretch := hull(part)))


def _list_sounds(
    resolution: Resolution, clauses: Sequence[str], sounds: Iterable[Stretches]
) -> list[DenseCaption]:
    captions = [
        DenseCaption(resolution, onset, offset, clause)
        for clause, stretches in zip(clauses, sounds, strict=True)
        for onset, offset in stretches
    ]
    return sorted(captions, key=itemgetter(slice(1, 3)))


def _list_segments(
    clauses: Sequence[str], sounds: Sequence[Stretches], silent: Stretches, audible: Frames
) -> Iterator[DenseCaption]:
    changes: dict[Frames, int] = {}  # a bit for each that begins or ends then; silence comes last
    for number, stretches in enumerate((*sounds, silent)):
        for moment in chain.from_iterable(stretches):
            changes[moment] = changes.get(moment, 0) ^ 1 << number
    now = since = 0
    for moment in sorted(changes):
        if now and moment - since >= audible:
            named = [clause for number, clause in enumerate(clauses) if now >> number & 1]
            text = _join_first(tuple(named)) if named else SILENCE
            yield DenseCaption(Resolution.SCENE, since, moment, text)
        now ^= changes[moment]
        since = moment


@lru_cache(maxsize=1024)
def _join_first(words: tuple[str, ...]) -> str:
    return Narrator(Style.NATURAL, itemgetter(0)).join(words)


def _invert(stretches: Stretches, frames: Frames) -> Stretches:
    """The time from 0 to `frames` that none of the stretches covers."""
    edges = [0, *(edge for stretch in stretches for edge in stretch), frames]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple(Stretch(onset, offset) for onset, offset in pairs if onset < offset)


def _format_time(frames: Frames, rate: int) -> str:
    """Seconds to 0.1 s, halves up: equal lengths stay equal wherever they lie."""
    tenths = (20 * frames + rate) // (2 * rate)
    return f"{tenths // 10}.{tenths % 10}"
