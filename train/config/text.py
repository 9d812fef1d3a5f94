"""How the texts of a sample are chosen and changed when it is loaded."""

from __future__ import annotations

from pydantic import Field

from train.config.section import Section


class Ramp(Section):
    """A share that changes linearly with the step of the run, then stays.

    Args:
        start: Value up to step `after`.
        end: Value from step `after + over` on.
        after: Steps before the change.
        over: Steps of the change; 0 jumps.
    """

    start: float = Field(default=0.0, ge=0, le=1)
    end: float = Field(default=1.0, ge=0, le=1)
    after: int = Field(default=0, ge=0)
    over: int = Field(default=0, ge=0)

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
        restatements: Whether a sample may be told by any of its true captions.
        p_caption: Share of samples told by a caption; the others by their joined tags.
        p_insert: Share of captions into which the denial of an absent tag is put.
    """

    restatements: bool = True
    p_caption: Ramp = ALWAYS
    p_insert: Ramp = NEVER
