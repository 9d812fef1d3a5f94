"""Stretches of YouTube videos, and how their audio is named by those who collect it."""

from __future__ import annotations

from dataclasses import dataclass

from synth.base.errors import SourceError
from synth.base.units import Seconds
from synth.sources.reading.tables import FIX_ROW, seconds_of


def stems(youtube_id: str, start: str, seconds: Seconds) -> tuple[str, ...]:
    """File names in common use for a stretch of a video, without extension, the likeliest first.

    Args:
        youtube_id: 11 characters; it may begin with a dash.
        start: Where the stretch begins in seconds, as the index writes it.
        seconds: How long it lasts.
    """
    begin = int(float(start))
    end = int(float(start) + seconds)
    return (
        f"{youtube_id}_{start}",
        f"{youtube_id}_{begin}",
        f"Y{youtube_id}_{start}",
        f"{youtube_id}_{begin}_{end}",
        f"{youtube_id}_{begin * 1000}",
        f"{youtube_id}_{begin * 1000}_{end * 1000}",
        youtube_id,
        f"Y{youtube_id}",
    )


@dataclass(frozen=True, slots=True)
class YouTubeClip:
    """A stretch of a video.

    Args:
        youtube_id: 11 characters; it may begin with a dash.
        start: Where it begins in seconds, as the table writes it.
        end: Where it ends.
        seconds: How long it lasts.
    """

    youtube_id: str
    start: str
    end: str
    seconds: Seconds

    @classmethod
    def of(cls, youtube_id: str, start: str, end: str, where: str) -> YouTubeClip:
        """A clip of a table's fields."""
        begin_s, end_s = seconds_of(start, "start", where), seconds_of(end, "end", where)
        if not youtube_id or end_s <= begin_s:
            raise SourceError(
                f"{where}: a clip of {youtube_id!r} from {start!r} to {end!r}, "
                "expected a video and seconds in order",
                fix=FIX_ROW,
            )
        return cls(youtube_id, start, end, end_s - begin_s)

    @property
    def name(self) -> str:
        """Video and start."""
        return f"{self.youtube_id}_{self.start}"

    @property
    def recording(self) -> str:
        """The video."""
        return f"youtube/{self.youtube_id}"

    @property
    def stems(self) -> tuple[str, ...]:
        """File names in common use, without extension, the likeliest first."""
        bracketed = f"[{self.youtube_id}]-[{self.start}-{self.end}]"
        return (bracketed, *stems(self.youtube_id, self.start, self.seconds))
