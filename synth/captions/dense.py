"""Dense captions: sentences with times, made from nothing but where each sound is clearly heard.

Events of one label that touch or overlap are one sound here, as their names do not tell them apart.
What is heard faintly only is left out. A bed is a sound like any other: it is named where it is
clear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from synth.base.units import Frames
from synth.captions.narrative import join_words
from synth.labels.lexicon import Phrase
from synth.scene.activity import Stretch, Stretches, cut, hull, unite
from synth.scene.timeline import Placement, Timeline

SILENCE: Final = "silence"


class Resolution(StrEnum):
    """How finely time is cut.

    `stretch`: every stretch in which a sound is clear. `sound`: every sound, from its first clear
    frame to its last. `scene`: the whole, cut where the set of clear sounds changes.
    """

    STRETCH = "stretch"
    SOUND = "sound"
    SCENE = "scene"


@dataclass(frozen=True, slots=True)
class DenseCaption:
    """A sentence about a stretch of a sample.

    Args:
        resolution: How time is cut.
        onset: Its first frame.
        offset: The frame after its last.
        text: The sentence, without a capital or a final stop.
    """

    resolution: Resolution
    onset: Frames
    offset: Frames
    text: str


def dense_captions(heard: Timeline, frames: Frames, audible: Frames) -> tuple[DenseCaption, ...]:
    """All dense captions of a sample, by resolution and in order of time.

    A sound that is never clear gets none. A segment of `scene` names every clear sound; where
    nobody hears anything it says "silence", and where a sound is faint and none is clear there is
    no segment. Segments shorter than `audible` are left out.

    Args:
        heard: The sounds of the sample, with their activity; no tags.
        frames: Length of the sample. Behind the end of the timeline there is silence.
        audible: Shortest stretch in which sounds can be heard together, at least 1 frame.
    """
    by_label: dict[str, list[Placement]] = {}
    for place in heard.placements:
        by_label.setdefault(place.label, []).append(place)
    clear = {
        label: unite(stretch for place in its for stretch in place.heard.clear)
        for label, its in by_label.items()
    }
    hulls = {label: _find_hulls(its, clear[label]) for label, its in by_label.items()}
    faint = unite(stretch for place in heard.placements for stretch in place.heard.faint)
    return (
        *_list_sounds(Resolution.STRETCH, clear),
        *_list_sounds(Resolution.SOUND, hulls),
        *_list_segments(clear, _invert(faint, frames), audible),
    )


def dense_text(captions: Sequence[DenseCaption], rate: int) -> str:
    """Dense captions in one line, times to 0.1 s: "0.0-1.9 s a dog barks; 1.9-3.0 s silence".

    Args:
        captions: Those of one resolution.
        rate: Sample rate in Hz.
    """
    return "; ".join(f"{format_span(each, rate)} {each.text}" for each in captions)


def format_span(caption: DenseCaption, rate: int) -> str:
    """When a caption holds, to 0.1 s: "0.0-1.9 s"."""
    return f"{_format_time(caption.onset, rate)}-{_format_time(caption.offset, rate)} s"


def _find_hulls(places: Sequence[Placement], clear: Stretches) -> Stretches:
    """What is clear of a label, from first to last, of each run of events that touch."""
    runs = unite(Stretch(place.onset, place.offset) for place in places)
    return tuple(found for run in runs if (found := hull(cut(clear, *run))))


def _list_sounds(resolution: Resolution, stretches: Mapping[str, Stretches]) -> list[DenseCaption]:
    found = [
        DenseCaption(resolution, onset, offset, Phrase.of_label(label).clause)
        for label, its in stretches.items()
        for onset, offset in its
    ]
    return sorted(found, key=lambda each: (each.onset, each.offset))


def _list_segments(
    clear: Mapping[str, Stretches], silent: Stretches, audible: Frames
) -> Iterator[DenseCaption]:
    order = {label: place for place, label in enumerate(clear)}
    changes: dict[Frames, set[str | None]] = {}
    for label, stretches in (*clear.items(), (None, silent)):
        for stretch in stretches:
            for moment in stretch:
                changes.setdefault(moment, set()).add(label)
    now: set[str | None] = set()
    since = 0
    for moment in sorted(changes):
        if now and moment - since >= audible:
            named = sorted((label for label in now if label is not None), key=order.__getitem__)
            text = join_words([Phrase.of_label(label).clause for label in named])
            yield DenseCaption(Resolution.SCENE, since, moment, text or SILENCE)
        now ^= changes[moment]
        since = moment


def _invert(stretches: Stretches, frames: Frames) -> Stretches:
    """The time from 0 to `frames` that none of the stretches covers."""
    edges = [0, *(edge for stretch in stretches for edge in stretch), frames]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple(Stretch(onset, offset) for onset, offset in pairs if onset < offset)


def _format_time(frames: Frames, rate: int) -> str:
    """Seconds to 0.1 s, halves up: equal lengths stay equal wherever they lie."""
    tenths = (20 * frames + rate) // (2 * rate)
    return f"{tenths // 10}.{tenths % 10}"
