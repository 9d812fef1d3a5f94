"""The scene: a value that says which sounds are heard and how they are composed.

`Scene = Event | Sequence | Overlay`, frozen and sealed; everything else interprets it. A scene
whose events carry no excerpt is a statement over labels; one whose events do can be rendered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, assert_never

from synth.errors import SceneError
from synth.units import Decibels, Frames


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The stretch of a clip that an event plays.

    Args:
        clip: Clip id in the catalogue.
        start: First frame, counted from the clip's active span, at the corpus rate.
        frames: Length at the corpus rate, at least 1.
        gain_db: Gain applied to the clip as catalogued.
    """

    clip: str
    start: Frames
    frames: Frames
    gain_db: Decibels = 0.0

    def __post_init__(self) -> None:
        if self.start < 0 or self.frames < 1:
            raise SceneError(f"excerpt of {self.clip!r}: start {self.start}, frames {self.frames}")


@dataclass(frozen=True, slots=True)
class Event:
    """One sound, by its label."""

    label: str
    excerpt: Excerpt | None = None

    def __post_init__(self) -> None:
        if not self.label.strip():
            raise SceneError("an event needs a label", mend="give it at least one visible letter")

    @property
    def heard(self) -> Excerpt:
        """The excerpt.

        Raises:
            SceneError: If the event is only a statement.
        """
        if self.excerpt is None:
            raise SceneError(f"event {self.label!r} has no excerpt, so it has no place in time")
        return self.excerpt


@dataclass(frozen=True, slots=True)
class Sequence:
    """`first`, then `second`, overlapping by `crossfade` frames."""

    first: Scene
    second: Scene
    crossfade: Frames = 0

    def __post_init__(self) -> None:
        if self.crossfade < 0:
            raise SceneError(f"a crossfade cannot be negative, got {self.crossfade} frames")


@dataclass(frozen=True, slots=True)
class Overlay:
    """`first` and `second` together; `second` starts `offset` frames after `first` (or before)."""

    first: Scene
    second: Scene
    offset: Frames = 0


Scene: TypeAlias = Event | Sequence | Overlay


def events(scene: Scene) -> Iterator[Event]:
    """The events of a scene, left to right."""
    match scene:
        case Event():
            yield scene
        case Sequence(first, second) | Overlay(first, second):
            yield from events(first)
            yield from events(second)
        case _:
            assert_never(scene)


def labels(scene: Scene) -> tuple[str, ...]:
    """The events' labels, left to right, repeats kept."""
    return tuple(event.label for event in events(scene))


def statement(scene: Scene) -> Scene:
    """The scene over labels alone: no excerpts, crossfades or offsets."""
    match scene:
        case Event(label):
            return Event(label)
        case Sequence(first, second):
            return Sequence(statement(first), statement(second))
        case Overlay(first, second):
            return Overlay(statement(first), statement(second))
        case _:
            assert_never(scene)


def to_json(scene: Scene) -> dict[str, Any]:
    """The scene as JSON values; `from_json` is its inverse."""
    match scene:
        case Event(label, excerpt):
            return {"event": label} | (asdict(excerpt) if excerpt else {})
        case Sequence(first, second, crossfade):
            return {"sequence": [to_json(first), to_json(second)], "crossfade": crossfade}
        case Overlay(first, second, offset):
            return {"overlay": [to_json(first), to_json(second)], "offset": offset}
        case _:
            assert_never(scene)


def from_json(value: Any) -> Scene:
    """The scene that `to_json` wrote.

    Raises:
        SceneError: If `value` is not of that form.
    """
    try:
        if "event" in value:
            return Event(str(value["event"]), _excerpt(value) if "clip" in value else None)
        if "sequence" in value:
            first, second = map(from_json, value["sequence"])
            return Sequence(first, second, int(value["crossfade"]))
        first, second = map(from_json, value["overlay"])
        return Overlay(first, second, int(value["offset"]))
    except (KeyError, TypeError, ValueError) as error:
        raise SceneError(
            f"not a scene: {value!r}",
            mend='expected an object with "event", "sequence" and "crossfade", '
            'or "overlay" and "offset"',
        ) from error


def _excerpt(value: Mapping[str, Any]) -> Excerpt:
    return Excerpt(
        str(value["clip"]), int(value["start"]), int(value["frames"]), float(value["gain_db"])
    )
