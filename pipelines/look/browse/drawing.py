"""The shapes of a sample: its timeline's bars and crossfades, and its scene as a tree."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, assert_never

from pipelines.look.page.page import Tick, find_round_numbers
from synth.base.errors import CorpusError
from synth.base.own_label import name_of
from synth.base.units import Frames
from synth.corpus.corpus import Corpus
from synth.corpus.shards import read_member
from synth.scene.scene import Concat, Event, Overlay, Scene
from synth.scene.timeline import Timeline, duration, timeline
from synth.storage import display_path

COLOURS: Final = 6
"""Events are told apart by so many colours, and always by their names, too."""

_MOST_TICKS: Final = 10


@dataclass(frozen=True, slots=True)
class Bar:
    """One event of the timeline.

    Args:
        left: Where it begins, in percent of the whole.
        colour: From 0 to `COLOURS` - 1; equal labels have equal colours.
        clear: Where it is clearly heard: left and width of each stretch, in percent of the whole.
    """

    label: str
    clip: str
    start_s: float
    end_s: float
    gain_db: float
    left: float
    width: float
    colour: int
    clear: tuple[tuple[float, float], ...]

    @property
    def is_late(self) -> bool:
        """Whether its name fits better at its end."""
        return self.left > 60


@dataclass(frozen=True, slots=True)
class Crossfade:
    """Where a sequence's parts overlap; `left` and `width` in percent of the whole."""

    start_s: float
    end_s: float
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the scene tree.

    Args:
        kind: `event`, `sequence` or `overlay`.
        name: The label, or what the composition does.
    """

    kind: str
    name: str
    detail: str
    colour: int
    parts: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    """Everything that is drawn of one sample's scene."""

    bars: tuple[Bar, ...]
    crossfades: tuple[Crossfade, ...]
    ticks: tuple[Tick, ...]
    tree: Node
    seconds: float

    @property
    def colours(self) -> dict[str, int]:
        """The colour of each label."""
        return {bar.label: bar.colour for bar in self.bars}

    @property
    def summary(self) -> str:
        """The timeline in one sentence, for those who do not see it."""
        bars = ", ".join(
            f"{bar.label} from {bar.start_s:.2f} to {bar.end_s:.2f}" for bar in self.bars
        )
        return f"Timeline of {self.seconds:.2f} seconds: {bars}"


def draw(
    scene: Scene,
    frames: Frames,
    sample_rate: int,
    colours: Mapping[str, int] | None = None,
    placed: Timeline | None = None,
) -> Drawing:
    """The shapes of a scene in audio of `frames` frames.

    Args:
        frames: Of the audio, which may end after the scene.
        colours: Of labels; the others take the colours that come next.
        placed: Its timeline, where it is known when each event is heard.
    """
    placed = placed or timeline(scene)
    lead = min(place.onset for place in placed.placements)
    whole = max(frames, placed.frames, 1)
    seconds = whole / sample_rate
    names = dict.fromkeys((*(colours or {}), *(place.label for place in placed.placements)))
    colours = {name: at % COLOURS for at, name in enumerate(names)}

    def to_percent(length: Frames) -> float:
        return round(100 * length / whole, 3)

    return Drawing(
        bars=tuple(
            Bar(
                label=name_of(place.label),
                clip=place.excerpt.clip,
                start_s=place.onset / sample_rate,
                end_s=place.offset / sample_rate,
                gain_db=place.excerpt.gain_db,
                left=to_percent(place.onset),
                width=to_percent(place.frames),
                colour=colours[place.label],
                clear=tuple(
                    (to_percent(onset), to_percent(offset - onset))
                    for onset, offset in place.heard.clear
                ),
            )
            for place in placed.placements
        ),
        crossfades=tuple(
            Crossfade(
                start / sample_rate, end / sample_rate, to_percent(start), to_percent(end - start)
            )
            for start, end in _find_crossfades(scene, lead)
        ),
        ticks=tuple(
            Tick(f"{at:g} s", round(100 * at / seconds, 3))
            for at in find_round_numbers(0.0, seconds, _MOST_TICKS).tolist()
            if at <= seconds
        ),
        tree=_draw_tree(scene, lead, sample_rate, colours),
        seconds=seconds,
    )


def _find_starts(scene: Concat | Overlay, onset: Frames) -> tuple[Frames, Frames]:
    if isinstance(scene, Concat):
        return onset, onset + duration(scene.first) - scene.crossfade
    return onset + max(0, -scene.offset), onset + max(0, scene.offset)


def _find_crossfades(scene: Scene, onset: Frames) -> Iterator[tuple[Frames, Frames]]:
    if isinstance(scene, Event):
        return
    first, second = _find_starts(scene, onset)
    if isinstance(scene, Concat) and scene.crossfade > 0:
        yield second, second + scene.crossfade
    yield from _find_crossfades(scene.first, first)
    yield from _find_crossfades(scene.second, second)


def _draw_tree(scene: Scene, onset: Frames, rate: int, colours: Mapping[str, int]) -> Node:
    match scene:
        case Event(label):
            excerpt = scene.played
            end = onset + excerpt.frames
            detail = f"{onset / rate:.2f} to {end / rate:.2f} s, {excerpt.gain_db:+.1f} dB"
            return Node("event", label, detail, colours[label])
        case Concat():
            detail = f"crossfade {scene.crossfade / rate:.2f} s"
            if scene.crossfade <= 0:
                detail = (
                    f"pause {-scene.crossfade / rate:.2f} s" if scene.crossfade else "no crossfade"
                )
            name, kind = "one after the other", "sequence"
        case Overlay():
            late = "later" if scene.offset > 0 else "earlier"
            detail = f"the second starts {abs(scene.offset) / rate:.2f} s {late}"
            if not scene.offset:
                detail = "both start at once"
            name, kind = "together", "overlay"
        case _:
            assert_never(scene)
    first, second = _find_starts(scene, onset)
    parts = (
        _draw_tree(scene.first, first, rate, colours),
        _draw_tree(scene.second, second, rate, colours),
    )
    return Node(kind, name, detail, 0, parts)


# The audio of samples, out of the shards and checked, and the parts of it that HTTP asks for.


_KEPT: Final = 12
_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.ASCII)
"""No file has a length of more digits."""


class SampleAudio:
    """The audio of a corpus's samples; the last few are kept, for players ask for parts."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._kept = lru_cache(_KEPT)(self._read)

    def read(self, row: Mapping[str, Any]) -> bytes:
        """The audio file of a row of `schema.SAMPLES`, as the shard holds it."""
        keys = ("split", "shard", "member", "offset", "size", "sha256")
        return self._kept(*(row[key] for key in keys))

    def _read(
        self, split: str, shard: str, member: str, offset: int, size: int, sha256: str
    ) -> bytes:
        path = self._corpus.shard(split, shard)
        data = read_member(path, offset, size, self._corpus.receipt(shard))
        if hashlib.sha256(data).hexdigest() != sha256:
            raise CorpusError(
                f"{display_path(path)}: damaged: {member} at byte {offset} "
                "is not what was rendered",
                fix="delete the shard and build again",
            )
        return data


def parse_range(size: int, header: str) -> range | None:
    """The bytes of a file that a `Range` header asks for, maybe none of them (RFC 9110).

    None for the whole: several ranges, and other units, need not be understood.
    """
    match = _RANGE.fullmatch(header.strip())
    first, last = match.groups() if match else ("", "")
    if not first:
        return range(max(0, size - int(last)), size) if last else None
    if last and int(last) < int(first):
        return None
    return range(int(first), min(size, int(last) + 1) if last else size)
