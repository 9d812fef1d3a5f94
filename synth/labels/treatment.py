"""Treatments by name, and how a clip tells its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from synth.labels.tag import Tag


class Treatment(StrEnum):
    """What is done to a recording: see `synth.audio.treatments`."""

    HALL = "hall"
    FAR = "far"
    HIGH = "high"
    LOW = "low"
    FAST = "fast"
    SLOW = "slow"
    RISING = "rising"
    FALLING = "falling"


TREATMENT: Final = "treatment"
"""The category of the tag that tells a clip's treatment."""

_MARK: Final = "~"


def treated_id(clip: str, treatment: Treatment) -> str:
    """Id of a clip's rendition."""
    return f"{clip}{_MARK}{treatment.value}"


def untreated_id(clip: str) -> str:
    """The id of the clip that one was made of; its own where it was not treated."""
    name, _, treatment = clip.rpartition(_MARK)
    return name if treatment in tuple(Treatment) else clip


def heard_tags(tags: Iterable[Mapping[str, str]]) -> tuple[Tag, ...]:
    """A clip's tags, but for that of its treatment: it is nothing that is heard beside others."""
    return tuple(Tag(**tag) for tag in tags if tag["category"] != TREATMENT)


def find_treatment(tags: Iterable[Mapping[str, str]]) -> str:
    """The treatment that a clip's tags tell, "" for none."""
    return next((tag["name"] for tag in tags if tag["category"] == TREATMENT), "")
