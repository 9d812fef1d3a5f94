"""What every section of the settings shares, and how the texts of a sample are chosen."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """Frozen settings; an unknown one is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Ramp(Section):
    """A share that changes linearly with the step of the run, then stays.

    A plain number stands for a share that never changes.

    Args:
        start: Value up to step `after`.
        end: Value from step `after + over` on; by default `start`.
        after: Steps of the run before the change.
        over: Steps of the change; 0 jumps.
    """

    start: float = Field(ge=0, le=1)
    end: float = Field(ge=0, le=1)
    after: int = Field(default=0, ge=0)
    over: int = Field(default=0, ge=0)

    @model_validator(mode="before")
    @classmethod
    def _expand_constant(cls, values: Any) -> Any:
        if isinstance(values, int | float):
            values = {"start": values}
        if isinstance(values, dict) and "start" in values:
            return {"end": values["start"]} | values
        return values

    def at(self, step: int) -> float:
        """The value at a step of the run."""
        if step < self.after:
            return self.start
        share = 1.0 if not self.over else min((step - self.after) / self.over, 1.0)
        return self.start + (self.end - self.start) * share


ALWAYS = Ramp(start=1.0, end=1.0)
NEVER = Ramp(start=0.0, end=0.0)


class TextSampling(Section):
    """What happens to captions when they are loaded; the corpus stays as it is.

    Args:
        restatements: Whether a sample may get any of its true captions.
        p_caption: Share of samples with a caption; the others get their joined tags.
        p_insert: Share of captions into which the denial of an absent tag is put, and into the
            other texts of their samples with them.
    """

    restatements: bool = True
    p_caption: Ramp = ALWAYS
    p_insert: Ramp = NEVER

    @property
    def needing_tags(self) -> tuple[str, ...]:
        """The settings that ask for tags of the clips, by their names in a file."""
        needs = {
            "text.p_caption": self.p_caption != ALWAYS,
            "text.p_insert": self.p_insert != NEVER,
        }
        return tuple(name for name, is_needed in needs.items() if is_needed)
