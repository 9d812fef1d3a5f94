"""What can be heard of each sound of a sample, measured from its samples.

The plan knows a sound by the levels that the catalogue measured of its clip (`synth.truth.ear`).
Here nothing is taken from the catalogue: each sound is heard by itself, as it is in the mix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from synth.audio.dsp import attacks, block_frames, weighted_levels
from synth.base.units import Decibels, Seconds
from synth.scene.activity import Acoustics, Activity, Stretch, cut
from synth.scene.timeline import Placement
from synth.truth.ear import BLOCK_S, Ear, Envelope

_SILENCE: Final = 1e-12
_SLACK_DB: Final[Decibels] = 1.0
_RISE_DB: Final[Decibels] = 6.0
"""The catalogue counts smaller rises, too, so that the two do not part over a fraction of a dB."""

Powers = Float64[np.ndarray, "events blocks"]
Marks = Bool[np.ndarray, "events blocks"]


@dataclass(frozen=True, slots=True)
class MeasuredSample:
    """How loud each sound of a sample is over time, and all of them together.

    Args:
        edges: First frame of each block of 50 ms, and the frame after the last block.
        powers: Mean square of each sound in each block.
        mix: That of their sum.
        onsets: How often each sound may be said to begin.
        acoustics: How each sounds, None where the plan does not tell.
    """

    edges: Int64[np.ndarray, " edges"]
    powers: Powers
    mix: Float64[np.ndarray, " blocks"]
    onsets: tuple[int, ...]
    acoustics: tuple[Acoustics | None, ...]

    @classmethod
    def of(
        cls,
        stems: Float32[np.ndarray, "events frames"],
        rate: int,
        planned: Sequence[Placement] = (),
    ) -> MeasuredSample:
        """Measure the sounds of a sample.

        Args:
            stems: Each sound alone, on the sample's clock.
            planned: Where each is to play, and which recording in which treatment; none not to
                tell how they sound.
        """
        frames = stems.shape[1]
        block = BLOCK_S * rate
        starts = np.rint(np.arange(frames // block + 1) * block).astype(np.int64)
        edges = np.append(starts[starts < frames], frames)
        powers = np.stack([_measure(stem, edges) for stem in stems])
        onsets = tuple(int(attacks(stem, rate, _RISE_DB).sum()) for stem in stems)
        acoustics = tuple(
            place.heard.acoustics
            and _weigh(stem[place.onset : place.offset], rate, place.heard.acoustics)
            for stem, place in zip(stems, planned, strict=False)
        ) or (None,) * len(stems)
        return cls(edges, powers, _measure(stems.sum(axis=0), edges), onsets, acoustics)

    @property
    def below_loudest(self) -> Powers:
        """How far each block of a sound lies below its loudest one, in dB."""
        levels = _to_decibels(self.powers)
        below: Powers = levels.max(axis=1, keepdims=True) - levels
        return below

    @property
    def below_mix(self) -> Powers:
        """How far each block of a sound lies below all that is heard at its time, in dB."""
        below: Powers = _to_decibels(self.mix[np.newaxis]) - _to_decibels(self.powers)
        return below

    def find_audible(self, within_db: Decibels, masked_db: Decibels | None = None) -> Marks:
        """The blocks in which a sound can be heard.

        Args:
            within_db: So far below its loudest block at most.
            masked_db: And so far below all that is heard at the time; None for a sound alone.
        """
        audible = (self.below_loudest <= within_db) & (self.powers > _SILENCE)
        return audible if masked_db is None else audible & (self.below_mix <= masked_db)

    def hear(self, ear: Ear, within_db: Decibels, extents: Sequence[Stretch]) -> list[Activity]:
        """When one listener hears each sound: there, and nowhere else.

        Args:
            ear: What pauses, blips and masked sounds are.
            within_db: What lies further below the loudest block of a sound is not heard.
            extents: From where to where each sound plays; a block may reach further.
        """
        heard = []
        audible = self.find_audible(within_db, ear.masked_db)
        every = zip(audible, extents, self.onsets, self.acoustics, strict=True)
        for marked, extent, onsets, acoustics in every:
            runs = find_runs(bridge(marked, ear.pause_s))
            lasting = [
                (start, end)
                for start, end in runs
                if ear.is_lasting(float(self.edges[end] - self.edges[start]) / self._block)
            ]
            stretches = cut(
                tuple(
                    Stretch(int(self.edges[start]), int(self.edges[end])) for start, end in lasting
                ),
                *extent,
            )
            heard.append(Activity(stretches, stretches, onsets, acoustics))
        return heard

    @property
    def is_last_whole(self) -> bool:
        """Whether the last block is as long as the others."""
        return bool(self.edges[-1] - self.edges[-2] >= self._block)

    @property
    def _block(self) -> int:
        """Frames of the first block; others have one more or less at the most."""
        return int(self.edges[1] - self.edges[0])

    def find_within(self, stretch: Stretch) -> slice:
        """The blocks that lie wholly within a stretch."""
        start = int(np.searchsorted(self.edges, stretch.onset))
        end = int(np.searchsorted(self.edges, stretch.offset, side="right")) - 1
        return slice(start, max(start, end))

    def find_touched(self, stretch: Stretch, slack: int = 0) -> slice:
        """The blocks that a stretch has a part in, and `slack` more at either side."""
        start = int(np.searchsorted(self.edges, stretch.onset, side="right")) - 1
        end = int(np.searchsorted(self.edges, stretch.offset))
        return slice(max(start - slack, 0), end + slack)


def _weigh(
    sound: Float32[np.ndarray, " frames"], rate: int, planned: Acoustics
) -> Acoustics | None:
    """How loud a sound is from its begin to its end; its treatment is the planned one.

    What is measured within 1 dB of the plan is the plan's: 50 ms begin elsewhere here, and no claim
    is to hang on that.
    """
    levels = weighted_levels(sound, rate)
    weights = Envelope(levels, levels, block_frames(rate), len(sound)).weigh(0, len(sound))
    if weights is None:
        return None
    told = [planned.mean_dba, planned.peak_dba, *planned.thirds_dba]
    found = [weights.mean_dba, weights.peak_dba, *weights.thirds_dba]
    mean, peak, *thirds = (
        one if abs(one - other) <= _SLACK_DB else other
        for one, other in zip(told, found, strict=True)
    )
    return replace(
        planned, mean_dba=mean, peak_dba=peak, thirds_dba=(thirds[0], thirds[1], thirds[2])
    )


def bridge(audible: Bool[np.ndarray, " blocks"], pause_s: Seconds) -> Bool[np.ndarray, " blocks"]:
    """The same without pauses shorter than `pause_s`; what comes before and after is no pause."""
    bridged = audible.copy()
    for start, end in find_runs(~audible):
        if start > 0 and end < len(audible) and (end - start) * BLOCK_S < pause_s:
            bridged[start:end] = True
    return bridged


def find_runs(marked: Bool[np.ndarray, " blocks"]) -> list[tuple[int, int]]:
    """The runs of marked blocks, as [start, end)."""
    edges = np.flatnonzero(np.diff(marked, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _measure(
    audio: Float32[np.ndarray, " frames"], edges: Int64[np.ndarray, " edges"]
) -> Float64[np.ndarray, " blocks"]:
    energy: Float64[np.ndarray, " blocks"] = np.add.reduceat(
        np.square(audio, dtype=np.float64), edges[:-1]
    )
    return energy / np.diff(edges)


def _to_decibels(powers: Powers) -> Powers:
    levels: Powers = 10 * np.log10(np.maximum(powers, _SILENCE))
    return levels
