"""Random parts of long samples, told by captions that still hold in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Final

import numpy as np
from jaxtyping import Int

from synth.base.errors import SpecError
from synth.base.rng import Randomness
from synth.base.units import Frames
from synth.corpus.schema import read_timeline
from synth.scene.claim import claim_from_text
from synth.scene.timeline import Timeline
from synth.truth.change import annotate
from synth.truth.frames import Crop
from synth.truth.relations import Tolerance
from train.config.run import CropTold, Stage
from train.data.meaning import NAMELESS
from train.data.rows import Row
from train.data.split import SplitData

_TRIES: Final = 8
_PLACES: Final = 5


@dataclass(frozen=True)
class Cropper:
    """Cuts samples to a length, a pure function of the seed, the step and the sample.

    A tag holds of its clip and of every part of it; a caption only of the whole clip.
    """

    data: SplitData
    frames: Frames
    seed: int
    crop_told: CropTold = CropTold.PROVEN

    def crop(self, row: Row, stage: Stage, step: int) -> Row:
        """The row with a `crop` (start, frames), and only the captions that still hold in it.

        Shorter samples stay as they are, and so does one of which no part tried proves a caption
        in play: it is then heard whole. Told by captions of the whole, the first part drawn does.
        """
        if row["frames"] <= self.frames:
            return row
        rng = Randomness(self.seed).at(f"crop/{step}", row.position)
        spare = row["frames"] - self.frames
        drawn = rng.integers(spare + 1, size=_TRIES).tolist()
        if self.crop_told is CropTold.WHOLE:
            return replace(row, crop=(drawn[0], self.frames))
        return self._find_crop(row, stage, iter(drawn)) or row

    def refuse_long(
        self, positions: Int[np.ndarray, " samples"], stage: Stage, longest: Frames
    ) -> None:
        """Check that no sample would have to be heard whole that the model cannot take."""
        if self.crop_told is CropTold.WHOLE:
            return
        most = max(longest, self.frames)
        for position in positions[self.data.frames[positions] > most].tolist():
            (row,) = self.data.rows([position])
            if not self._find_crop(row, stage, iter(())):
                rate = self.data.corpus.sample_rate
                raise SpecError(
                    f"sample {row['id']}: no part of {self.frames / rate:g} s proves a caption, "
                    f"and the model cannot take its {row['frames'] / rate:g} s whole",
                    fix="give a longer `crop_s`, or build the corpus with an `exact` length",
                )

    def _find_crop(self, row: Row, stage: Stage, starts: Iterator[Frames]) -> Row | None:
        """The first part that proves a caption in play; behind `starts`, those at boundaries."""
        names = {clip: [tag.name for tag in self.data.tags.get(clip, ())] for clip in row["clips"]}
        timeline = annotate(read_timeline(row), names)
        stage = row.adapt(stage)
        tolerance = Tolerance(audible=self.data.audible)
        for source in (starts, self._boundaries(timeline, row["frames"])):
            for start in source:
                crop = Crop.of(timeline, start, self.frames, tolerance, self._captions)
                part = _keep_proven(row, stage, crop)
                if part is not None:
                    return replace(part, crop=(start, self.frames))
        return None

    @cached_property
    def _captions(self) -> Collection[str]:
        return frozenset(chain.from_iterable(self.data.clip_captions.values()))

    def _boundaries(self, timeline: Timeline, frames: Frames) -> Iterator[Frames]:
        """Parts that lie evenly about each moment at which a sound begins or ends."""
        moments = {place.onset for place in timeline.placements}
        moments |= {place.offset for place in timeline.placements}
        for moment in sorted(moments):
            for number in range(_PLACES):
                start = moment - self.frames * number // (_PLACES - 1)
                yield min(max(start, 0), frames - self.frames)


def _keep_proven(row: Row, stage: Stage, crop: Crop) -> Row | None:
    """The row as it is told of a part; None where nothing in play is proven."""
    main = {"text": row["caption"], "claim": row["claim"], "connective": row["relation"]}
    hearing = crop.hearing
    # Words that the claim does not tell, a clip's own caption, are about all of it.
    true = [
        text
        for text in (main, *row["positives"])
        if text["claim"] not in NAMELESS and hearing.proves(_parse_claim(text))
    ]
    texts = {"", *(text["text"] for text in true)}
    in_play = [text for text in true if stage.tells(text["connective"])]
    if not in_play:
        return None
    part = row.retell(
        caption=in_play[0]["text"],
        claim=in_play[0]["claim"],
        positives=[text for text in true if text is not in_play[0]],
        negatives=[
            text
            for text in row["negatives"]
            if text.get("against", "") in texts and hearing.refutes(_parse_claim(text))
        ],
    )
    return replace(part, crop_clips=tuple(crop.clips))


def _parse_claim(sentence: dict[str, Any]) -> Any:
    return claim_from_text(sentence["claim"])
