"""Random parts of long samples, told by captions that still hold in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from synth.annotation import annotated
from synth.claim import claim_from_json
from synth.crop import Crop
from synth.rng import Randomness
from synth.scene import from_json
from synth.timeline import timeline
from synth.truth import Tolerance
from synth.units import Frames
from train.data.split import Row, SplitData

_TRIES: Final = 8


@dataclass(frozen=True)
class Cropper:
    """Cuts samples to a length, a pure function of the seed, the step and the sample.

    Args:
        data: The split.
        frames: Longest that a sample may be.
        seed: Of the run.
    """

    data: SplitData
    frames: Frames
    seed: int

    def crop(self, row: Row, step: int) -> Row:
        """The row with a `crop` (start, frames), and only the captions that still hold in it.

        Shorter samples stay as they are, and so does one that no caption holds in any of the parts
        tried: it is then heard whole.
        """
        spare = row["frames"] - self.frames
        if spare <= 0:
            return row
        rng = Randomness(self.seed).at(f"crop/{step}", row["position"])
        for start in rng.integers(spare + 1, size=_TRIES).tolist():
            part = self._told(row, start)
            if part is not None:
                return part
        return row

    def _told(self, row: Row, start: Frames) -> Row | None:
        scene = from_json(json.loads(row["scene"]))
        names = {clip: [tag.name for tag in self.data.tags.get(clip, ())] for clip in row["clips"]}
        heard = annotated(timeline(scene), names)
        crop = Crop.of(heard, start, self.frames, Tolerance.of_scene(scene, self.data.audible))
        own = {name: row[name] for name in ("caption", "claim", "relation")}
        true = [_sentence(own), *row["positives"]]
        proven = [text for text in true if crop.proves(_claim(text))]
        if not proven:
            return None
        main, *positives = proven
        refuted = [text for text in row["negatives"] if crop.refutes(_claim(text))]
        return row | {
            "caption": main["text"],
            "claim": main["claim"],
            "positives": positives,
            "negatives": refuted,
            "crop": (start, self.frames),
        }


def _sentence(own: dict[str, str]) -> dict[str, str]:
    return {"text": own["caption"], "claim": own["claim"], "connective": own["relation"]}


def _claim(sentence: dict[str, Any]) -> Any:
    return claim_from_json(json.loads(sentence["claim"]))
