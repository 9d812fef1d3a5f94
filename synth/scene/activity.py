"""Activity: the stretches of time in which a sound can be heard.

A recording is no block of sound: a dog barks, pauses and barks again. Nor do all listeners hear
alike, so activity has two bounds. What is `clear` everybody hears; beyond what is `faint` nobody
hears anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from synth.base.errors import SceneError
from synth.base.units import Decibels, Frames

# Acoustics: how a sound sounds, beside when it is heard.


@dataclass(frozen=True, slots=True)
class Acoustics:
    """How loud a sound is by itself, and what was done to its recording.

    Args:
        mean_dba: A-weighted level in dBFS over the whole excerpt, with gain and crossfades (LAeq).
        peak_dba: The same of the loudest 50 ms.
        thirds_dba: The same of its first, second and last third.
        lufs: Its integrated loudness (ITU-R BS.1770-4).
        recording: Id of the clip, without its treatment; "" where only a part of it is heard.
        treatment: How the clip was treated (`synth.labels.lexicon`), "" for as it was recorded.
    """

    mean_dba: Decibels
    peak_dba: Decibels
    thirds_dba: tuple[Decibels, Decibels, Decibels]
    lufs: Decibels
    recording: str = ""
    treatment: str = ""

    def amplify(self, gain_db: Decibels) -> Acoustics:
        """The same, so much louder."""
        levels = (self.mean_dba, self.peak_dba, self.lufs, *self.thirds_dba)
        mean, peak, lufs, *thirds = (round(level + gain_db, 1) for level in levels)
        first, second, last = thirds
        return replace(
            self, mean_dba=mean, peak_dba=peak, lufs=lufs, thirds_dba=(first, second, last)
        )

    def minus(self, other: Acoustics) -> tuple[Decibels, Decibels, Decibels]:
        """How far it is louder than another on the whole, at its loudest, and in LUFS."""
        mean, peak = self.mean_dba - other.mean_dba, self.peak_dba - other.peak_dba
        return round(mean, 1), round(peak, 1), round(self.lufs - other.lufs, 1)

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `from_json` is its inverse."""
        return asdict(self) | {"thirds_dba": list(self.thirds_dba)}

    @classmethod
    def from_json(cls, value: Any) -> Acoustics:
        """The acoustics that `to_json` gave."""
        match value:
            case {
                "mean_dba": mean,
                "peak_dba": peak,
                "thirds_dba": [first, second, last],
                "recording": str(recording),
                "treatment": str(treatment),
            } if all(_is_level(level) for level in (mean, peak, first, second, last)):
                lufs = value.get("lufs", mean)  # older corpora do not tell it
                if _is_level(lufs):
                    return cls(mean, peak, (first, second, last), lufs, recording, treatment)
        raise SceneError(
            f"not the acoustics of a sound: {value!r:.200}",
            fix='expected "mean_dba", "peak_dba", "thirds_dba", "recording" and "treatment"',
        )


def _is_level(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


_UNKNOWN: Final = -1
"""How often a sound begins, where nobody knows, as it is written."""


class Stretch(NamedTuple):
    """Frames from `onset` (included) to `offset` (excluded)."""

    onset: Frames
    offset: Frames


Stretches: TypeAlias = tuple[Stretch, ...]
"""In order of time, apart from one another."""


def measure(stretches: Stretches) -> Frames:
    """How long they are together."""
    return sum(offset - onset for onset, offset in stretches)


def hull(stretches: Stretches) -> Stretch | None:
    """From the first frame of them to the last, None for no stretches."""
    return Stretch(stretches[0].onset, stretches[-1].offset) if stretches else None


def unite(stretches: Iterable[Stretch]) -> Stretches:
    """The time that any of the stretches covers."""
    united: list[Stretch] = []
    for onset, offset in sorted(stretches):
        if united and onset <= united[-1].offset:
            united[-1] = Stretch(united[-1].onset, max(united[-1].offset, offset))
        else:
            united.append(Stretch(onset, offset))
    return tuple(united)


def intersect(first: Stretches, second: Stretches) -> Stretches:
    """The time that both cover."""
    common: list[Stretch] = []
    i = j = 0
    while i < len(first) and j < len(second):
        onset = max(first[i].onset, second[j].onset)
        offset = min(first[i].offset, second[j].offset)
        if onset < offset:
            common.append(Stretch(onset, offset))
        if first[i].offset < second[j].offset:
            i += 1
        else:
            j += 1
    return tuple(common)


def cut(stretches: Stretches, onset: Frames, offset: Frames) -> Stretches:
    """What of them lies from `onset` (included) to `offset` (excluded)."""
    return tuple(
        Stretch(max(stretch.onset, onset), min(stretch.offset, offset))
        for stretch in stretches
        if stretch.onset < offset and stretch.offset > onset
    )


def shift(stretches: Stretches, frames: Frames) -> Stretches:
    """The same, `frames` later."""
    return tuple(Stretch(onset + frames, offset + frames) for onset, offset in stretches)


@dataclass(frozen=True, slots=True)
class Activity:
    """When a sound is heard.

    Args:
        clear: Where every listener hears it; nowhere, if it may be missed altogether.
        faint: Where any listener may hear it; it covers `clear`.
        onsets: How often anybody may say that it begins, at most; None where nobody knows.
        acoustics: How it sounds; None where nobody asked. It is written as a list of none or one.
        likely: Where most listeners hear it by itself; nowhere, where nobody asked.
    """

    clear: Stretches
    faint: Stretches
    onsets: int | None = None
    acoustics: Acoustics | None = None
    likely: Stretches = ()

    @classmethod
    def throughout(cls, onset: Frames, offset: Frames) -> Activity:
        """That of a sound without pauses."""
        whole = (Stretch(onset, offset),)
        return cls(whole, whole)

    @property
    def labelled(self) -> Stretches:
        """Where a strong label puts it; older corpora tell what is clear, or faint at least."""
        return self.likely or self.clear or self.faint

    @property
    def longest_pause(self) -> Frames:
        """The longest pause that anybody may hear in it; it is clear somewhere."""
        pauses = (after.onset - before.offset for before, after in pairwise(self.clear))
        before = self.clear[0].onset - self.faint[0].offset
        behind = self.faint[-1].onset - self.clear[-1].offset
        return max(before, behind, 0, *pauses)

    def cut(self, onset: Frames, offset: Frames) -> Activity:
        """What of it lies from `onset` to `offset`.

        Nobody knows how often a part begins, or how it sounds.
        """
        clear, faint, likely = (
            cut(stretches, onset, offset) for stretches in (self.clear, self.faint, self.likely)
        )
        if (clear, faint) == (self.clear, self.faint):
            return self
        return Activity(clear, faint, likely=likely)

    def shift(self, frames: Frames) -> Activity:
        """The same, `frames` later."""
        clear, faint, likely = (
            shift(stretches, frames) for stretches in (self.clear, self.faint, self.likely)
        )
        return replace(self, clear=clear, faint=faint, likely=likely)

    def amplify(self, gain_db: Decibels) -> Activity:
        """That of a sound in a mix that is louder as a whole."""
        if self.acoustics is None:
            return self
        return replace(self, acoustics=self.acoustics.amplify(gain_db))

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `from_json` is its inverse."""
        return {
            "clear": _write_stretches(self.clear),
            "faint": _write_stretches(self.faint),
            "likely": _write_stretches(self.likely),
            "onsets": _UNKNOWN if self.onsets is None else self.onsets,
            "acoustics": [self.acoustics.to_json()] if self.acoustics else [],
        }

    @classmethod
    def from_json(cls, value: Any) -> Activity:
        """The activity that `to_json` gave."""
        match value:
            case {"clear": [*clear], "faint": [*faint]}:
                onsets = value.get("onsets", _UNKNOWN)
                sounds, likely = value.get("acoustics", []), value.get("likely", [])
                are_lists = isinstance(sounds, list) and isinstance(likely, list)
                if type(onsets) is int and onsets >= _UNKNOWN and are_lists:
                    known = None if onsets == _UNKNOWN else onsets
                    acoustics = next(map(Acoustics.from_json, sounds), None)
                    stretches = _read_stretches(clear), _read_stretches(faint)
                    return cls(*stretches, known, acoustics, _read_stretches(likely))
        raise SceneError(
            f"not an activity: {value!r:.200}", fix='expected an object with "clear" and "faint"'
        )


def _write_stretches(stretches: Stretches) -> list[dict[str, Frames]]:
    return [{"onset": onset, "offset": offset} for onset, offset in stretches]


def _read_stretches(values: Sequence[Any]) -> Stretches:
    stretches: list[Stretch] = []
    for value in values:
        match value:
            case {"onset": int(onset), "offset": int(offset)} if (
                (stretches[-1].offset if stretches else 0) <= onset < offset
            ):
                stretches.append(Stretch(onset, offset))
            case _:
                raise SceneError(
                    f"not a stretch of time: {value!r:.200}",
                    fix="expected onset and offset in frames, in order of time",
                )
    return tuple(stretches)
