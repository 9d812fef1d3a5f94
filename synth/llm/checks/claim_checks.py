"""Checks of what a reader says that a text states: its form, and that it is a given claim."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from synth.base.errors import SceneError
from synth.base.rng import uniform_hash
from synth.base.units import Frames
from synth.labels.lexicon import are_confusable, shipped_phrases
from synth.llm.checks.check import Case, Check, NeededField, quote
from synth.llm.checks.label_checks import parse_scene
from synth.llm.reply import PromptItem
from synth.scene.activity import Activity
from synth.scene.claim import (
    SOUNDS,
    VALUED,
    Claim,
    Statement,
    claim_from_json,
    claim_labels,
    claim_to_text,
    classify,
    complete,
    state,
)
from synth.scene.scene import Excerpt, Scene, from_json, labels, to_text
from synth.scene.timeline import Placement, Timeline, timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes

OTHER: Final = "other"
"""What a sound is called that a text names and that is not in the list."""

_SHOWN: Final = 3


class Reading(Check):
    """Each statement is of as many sounds as it needs, all of the list, with a value if it has one.

    Args:
        sounds: The item's field that lists the sounds.
    """

    name: ClassVar[str] = "reading"
    main: ClassVar[str] = "sounds"
    sounds: NeededField = "sounds"

    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterator[str]:
        known = [*case.field(self.sounds), OTHER]
        for says, sounds, value in read_statements(case.answer):
            strange = [sound for sound in sounds if sound not in known]
            if strange:
                yield f'{quote(strange[0])} is not in the list; say "{OTHER}"'
            elif says not in SOUNDS:
                yield f"{quote(says)} is not among the things that can be said"
            elif not len(set(sounds)) == len(sounds) == SOUNDS[says]:
                yield f'"{says}" is said of {SOUNDS[says]} different sounds'
            elif value < 0 or (says == "times" and value < 1):
                yield f'"{says}" cannot have the value {value:g}'


class SameClaim(Check):
    """The statements that a reader found are those of the item's claim, no more and no fewer.

    Args:
        claim: The item's field that holds the claim, as JSON.
        decoys: How many sounds the reader is told of beside those of the claim.
    """

    name: ClassVar[str] = "same_claim"
    main: ClassVar[str] = "claim"
    claim: NeededField = "claim"
    decoys: int = Field(default=6, ge=0, le=50)

    def tells(self, item: PromptItem) -> Mapping[str, Any]:
        """The `sounds` that a reader chooses from, in an order that says nothing."""
        return {"sounds": list(list_sounds(self._claim(item), self.decoys))}

    def kind(self, item: PromptItem) -> str:
        """The kind of the claim."""
        claim = self._claim(item)
        state(claim, item.fields.get("sample_rate"))  # One without its rate is told at once.
        return classify(claim)

    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterator[str]:
        claim = self._claim(case.item)
        if OTHER in claim_labels(claim):
            yield f"the label {quote(OTHER)} cannot be told from a sound that is not listed"
            return
        wanted = state(claim, case.field("sample_rate"))
        given = complete(read_statements(case.answer))
        parts = ("lost", wanted - given), ("added", given - wanted)
        changes = [f"{name} {_list(which)}" for name, which in parts if which]
        if changes:
            yield f"read otherwise: {'; '.join(changes)}"

    def _claim(self, item: PromptItem) -> Claim:
        return claim_from_json(item.fields[self.claim])


def read_statements(answer: Mapping[str, Any]) -> list[Statement]:
    """The statements of an answer to `read-claim`."""
    return [
        Statement(
            statement["says"],
            tuple(statement["sounds"]),
            statement["value"] if statement["says"] in VALUED else 0.0,
        )
        for statement in answer["statements"]
    ]


@lru_cache(maxsize=1 << 16)
def list_sounds(claim: Claim, decoys: int) -> tuple[str, ...]:
    """The labels of a claim among others that none of them could be called by; always the same."""
    text, named = claim_to_text(claim), claim_labels(claim)
    listed = list(shipped_phrases())
    sounds = set(named)
    for turn in range(20 * decoys):
        label = listed[int(uniform_hash("decoy", text, str(turn)) * len(listed))]
        if len(sounds) == len(named) + decoys:
            break
        if not any(are_confusable(label, other) for other in sounds):
            sounds.add(label)
    return tuple(sorted(sounds, key=lambda label: uniform_hash("place", text, label)))


def _list(statements: frozenset[Statement]) -> str:
    shown: Sequence[str] = sorted(map(str, statements))
    more = [f"{len(shown) - _SHOWN} more"] if len(shown) > _SHOWN else []
    return ", ".join([*map(quote, shown[:_SHOWN]), *more])


# The truth of a generated text on the timeline of its recording.
#
# A model's word for what its text claims is a scene notation beside it. Where the item brings the
# timeline the claim is put to the same test as every caption of ours. A label that the timeline
# lacks is refused, for a claim about it would be refuted whatever it says.


_EVENTS_MS: Final = 100
"""Of events in seconds: up to which two follow one another, and from which both are heard."""


class Truth(Check):
    """Each notation is proven, or refuted, on the item's timeline.

    The item has a `scene` that could be rendered (`scene_fields`), or `events` with onset and
    offset in seconds. One that has neither is not checked.

    Args:
        expect: `proven` for captions, `refuted` for hard negatives.
    """

    name: ClassVar[str] = "truth"
    main: ClassVar[str] = "expect"
    expect: Literal["proven", "refuted"]

    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterable[str]:
        try:
            placed = _read_timeline(case.item.fields)
        except SceneError as error:
            return [f"its recording has no timeline: {error.message}"]
        return filter(None, (self._fault(text, *placed) for text in texts)) if placed else ()

    def _fault(self, text: str, heard: Timeline, tolerance: Tolerance) -> str:
        scene, fault = parse_scene(text)
        if scene is None:
            return fault
        absent = [label for label in labels(scene) if label not in heard.labels()]
        if absent:
            return f"{quote(text)} names {quote(absent[0])}, which is no sound of the recording"
        if self.expect == "proven" and not proves(heard, scene, tolerance):
            return f"{quote(text)} is not certain from the times; claim only what is"
        if self.expect == "refuted" and not refutes(heard, scene, tolerance):
            return f"{quote(text)} may be true of the recording; it must be false"
        return ""


def _read_timeline(fields: Mapping[str, Any]) -> tuple[Timeline, Tolerance] | None:
    if fields.get("scene") is not None:
        scene = from_json(fields["scene"])
        stored = fields.get("activity")
        activities = None if stored is None else [Activity.from_json(item) for item in stored]
        tolerance = Tolerance(audible=int(fields.get("audible") or 1))
        return timeline(scene, activities), tolerance
    if fields.get("events") is not None:
        return events_timeline(fields["events"]), Tolerance(_EVENTS_MS, _EVENTS_MS)
    return None


def events_timeline(events: list[Mapping[str, Any]]) -> Timeline:
    """The timeline of labels with onset and offset in seconds, in milliseconds."""
    placements = []
    for number, event in enumerate(events):
        onset, offset = round(event["onset"] * 1000), round(event["offset"] * 1000)
        if onset < 0:
            raise SceneError(f"event {event['label']!r} starts before the recording")
        excerpt = Excerpt(str(number), 0, offset - onset)
        placements.append(Placement(event["label"], onset, offset, excerpt))
    return Timeline(tuple(placements), max((place.offset for place in placements), default=0))


def scene_fields(scene: Scene, activity: Sequence[Activity], audible: Frames) -> dict[str, Any]:
    """The fields by which an item brings the timeline of one of our scenes, with its excerpts.

    Args:
        audible: Shortest overlap that can be heard, in frames.
    """
    return {
        "scene": json.loads(to_text(scene)),
        "activity": [item.to_json() for item in activity],
        "audible": audible,
        "labels": list(dict.fromkeys(labels(scene))),
    }
