"""The truth of a generated text on the timeline of its recording.

A model's word for what its text claims is a scene notation beside it. Where the item brings the
timeline the claim is put to the same test as every caption of ours. A label that the timeline
lacks is refused, for a claim about it would be refuted whatever it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar

from synth.base.errors import SceneError
from synth.base.units import Frames
from synth.llm.checks.check import Case, Check, quote
from synth.llm.checks.label_checks import parse_scene
from synth.scene.activity import Activity
from synth.scene.scene import Excerpt, Scene, from_json, labels, to_json
from synth.scene.timeline import Placement, Timeline, timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import proves, refutes


class Expected(StrEnum):
    """What a claim must be on the timeline."""

    PROVEN = "proven"
    REFUTED = "refuted"


class Truth(Check):
    """Each notation is proven, or refuted, on the item's timeline.

    The item has a `scene` that could be rendered (`scene_fields`), or `events` with onset and
    offset in seconds. One that has neither is not checked.

    Args:
        expect: `proven` for captions, `refuted` for hard negatives.
        transition_ms: For events in seconds: overlap up to which two follow one another.
        audible_ms: For events in seconds: shortest overlap that can be heard.
    """

    name: ClassVar[str] = "truth"
    main: ClassVar[str] = "expect"
    expect: Expected
    transition_ms: int = 100
    audible_ms: int = 100

    def faults(self, case: Case) -> list[str]:
        """Notation that does not parse, labels that are not heard, and untested claims."""
        try:
            found = self._timeline(case.item.fields)
        except SceneError as error:
            return [f"its recording has no timeline: {error.message}"]
        if found is None:
            return []
        heard, tolerance = found
        faults = [(text, self._fault(text, heard, tolerance)) for text in self.select_texts(case)]
        return [fault for _, fault in faults if fault]

    def _timeline(self, fields: Mapping[str, Any]) -> tuple[Timeline, Tolerance] | None:
        if fields.get("scene") is not None:
            scene = from_json(fields["scene"])
            told = fields.get("activity")
            activities = None if told is None else [Activity.from_json(each) for each in told]
            tolerance = Tolerance(audible=int(fields.get("audible") or 1))
            return timeline(scene, activities), tolerance
        if fields.get("events") is not None:
            return events_timeline(fields["events"]), Tolerance(self.transition_ms, self.audible_ms)
        return None

    def _fault(self, text: str, heard: Timeline, tolerance: Tolerance) -> str:
        scene, fault = parse_scene(text)
        if scene is None:
            return fault
        absent = [label for label in labels(scene) if label not in heard.labels()]
        if absent:
            return f"{quote(text)} names {quote(absent[0])}, which is no sound of the recording"
        if self.expect is Expected.PROVEN and not proves(heard, scene, tolerance):
            return f"{quote(text)} is not certain from the times; claim only what is"
        if self.expect is Expected.REFUTED and not refutes(heard, scene, tolerance):
            return f"{quote(text)} may be true of the recording; it must be false"
        return ""


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
    """The fields by which an item brings the timeline of one of our scenes.

    Args:
        scene: A scene whose events carry excerpts.
        activity: When each of them is heard.
        audible: Shortest overlap that can be heard, in frames.
    """
    return {
        "scene": to_json(scene),
        "activity": [each.to_json() for each in activity],
        "audible": audible,
        "labels": list(dict.fromkeys(labels(scene))),
    }
