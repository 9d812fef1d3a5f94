"""Settings of the recipe `edits`: how many pairs, what differs in them, and over which scenes."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, field_validator, model_validator

from synth.base.units import Decibels, Frames, to_frames
from synth.captions.caption import Style
from synth.recipes.base import Length, RecipeSettings, Setting, SplitCounts


class EditFamily(StrEnum):
    """What differs between the members of a group.

    `presence`: a sound is heard or not (add, remove). `replace`: one of two sounds is heard.
    `level`: a sound is quieter or louder. `order`: two sounds follow one another either way (swap).
    """

    PRESENCE = "presence"
    REPLACE = "replace"
    LEVEL = "level"
    ORDER = "order"


class EditSettings(RecipeSettings):
    """Settings of the recipe.

    Args:
        pairs: Pairs of before and after in total, shared among the splits by their number of clips;
            or pairs per split.
        changes: What differs between the two, each equally often: `presence`, `replace`, `level`
            and `order`.
        max_events: Scenes have 2 to this many sounds, each number equally often; two of them may be
            heard at once.
        change_db: Least and greatest change of a level, in whole dB.
        pause_s: Range of the silence between sounds that follow one another.
        max_event_s: Longer sounds are cut to an excerpt of this length.
        peak_db: Level in dBFS that no sample can exceed, as its sounds' peaks add up; at most
            `audio.peak_db`.
        captions: Most true captions of a sample, and most false ones.
        style: Caption style.
    """

    pairs: SplitCounts = 2_000
    changes: tuple[EditFamily, ...] = tuple(EditFamily)
    max_events: int = Field(default=3, ge=2, le=4)
    change_db: tuple[int, int] = (6, 12)
    pause_s: tuple[Length, Length] = (0.2, 1.0)
    max_event_s: Length | None = None
    peak_db: Decibels = Field(default=-1.0, ge=-40, le=0)
    captions: int = Field(default=5, ge=1, le=20)
    style: Style = Style.NATURAL

    @field_validator("changes")
    @classmethod
    def _check_changes(cls, changes: tuple[EditFamily, ...]) -> tuple[EditFamily, ...]:
        if not changes or len(set(changes)) < len(changes):
            raise ValueError("expected one or more different changes")
        return changes

    @model_validator(mode="after")
    def _check_ranges(self) -> EditSettings:
        if not 0 < self.pause_s[0] <= self.pause_s[1]:
            raise ValueError("pause_s: expected the shortest pause, above 0, then the longest")
        if not 3 <= self.change_db[0] <= self.change_db[1] <= 20:
            raise ValueError("change_db: expected the least change, then the greatest, of 3 to 20")
        return self

    def pauses(self, setting: Setting) -> tuple[Frames, Frames]:
        """Shortest and longest pause in frames."""
        least, most = (to_frames(seconds, setting.rate) for seconds in self.pause_s)
        return least, most

    def longest_sound(self, count: int, setting: Setting) -> Frames:
        """Frames that each of `count` sounds may last."""
        assert setting.max_frames is not None  # see check
        room = (setting.max_frames - (count - 1) * self.pauses(setting)[1]) // count
        if self.max_event_s is None:
            return room
        return min(room, to_frames(self.max_event_s, setting.rate))
