"""What can be heard and read of a sample, whether of a corpus or composed just now."""

from __future__ import annotations

import base64
import io
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

    from pipelines.look.report.corpus import Negative, ReportedSample
    from synth.audio.dsp import Pcm

_COLUMNS: Final = 640
_ROWS: Final = 96
_LOWEST_HZ: Final = 50.0
_RANGE_DB: Final = 80.0


class HeardFrom(NamedTuple):
    """When a sound is clearly heard, in seconds."""

    label: str
    start_s: float
    end_s: float


class PlacedScene(ABC):
    """A scene that is placed in time, and what is true and false of it."""

    if TYPE_CHECKING:

        @property
        def row(self) -> Mapping[str, Any]:
            """All that a manifest says of it."""

    @property
    @abstractmethod
    def _context(self) -> tuple[Mapping[str, Sequence[str]], int]:
        """Names of the tags of its clips, and the shortest overlap that can be heard."""

    @abstractmethod
    def render(self) -> tuple[Pcm, int]:
        """The waveform, 16 bit, mono, and its rate in Hz."""

    @cached_property
    def _report(self) -> ReportedSample:
        from pipelines.look.report.corpus import report_sample

        return report_sample(self.row, *self._context)

    def captions(self) -> list[str]:
        """Sentences that are proven true of it; the main one is the first."""
        return [self.row["caption"], *(caption["text"] for caption in self.row["positives"])]

    def negatives(self) -> list[Negative]:
        """Sentences that are proven false of it, each with its reason."""
        return [*self._report.negatives]

    @property
    def timeline(self) -> list[HeardFrom]:
        """Who sounds when, in the order of the scene."""
        from synth.corpus.schema import read_timeline
        from synth.scene.activity import hull

        rate = self.row["sample_rate"]
        return [
            HeardFrom(place.label, round(onset / rate, 2), round(offset / rate, 2))
            for place in read_timeline(self.row).placements
            for onset, offset in [hull(place.heard.clear) or (place.onset, place.offset)]
        ]

    def _repr_html_(self) -> str:
        from dataclasses import replace

        from pipelines.look.page import render_page
        from pipelines.look.report.corpus import PACKAGES, playable

        pcm, rate = self.render()
        return render_page(
            "segue/sample.html",
            {**PACKAGES, "segue": "segue"},
            each=replace(self._report, sound=playable(pcm, rate)),
            picture=_to_png(find_levels(pcm, rate)),
        )


def find_levels(pcm: Pcm, rate: int) -> Float[np.ndarray, "rows columns"]:
    """A spectrogram in dB below its loudest point, low sounds first, pitches evenly spaced."""
    import numpy as np

    size = 1024 if rate < 24_000 else 2048
    padded = np.pad(pcm / 32768, size // 2)
    starts = np.linspace(0, len(pcm) - 1, _COLUMNS).astype(np.int64)
    blocks = np.lib.stride_tricks.sliding_window_view(padded, size)[starts]
    power = np.abs(np.fft.rfft(blocks * np.hanning(size))) ** 2
    pitches = np.geomspace(_LOWEST_HZ, rate / 2, _ROWS)
    levels = 10 * np.log10(power[:, np.rint(pitches * size / rate).astype(np.int64)] + 1e-20)
    image: Float[np.ndarray, "rows columns"] = (levels - levels.max()).T
    return image


def _to_png(levels: Float[np.ndarray, "rows columns"]) -> str:
    """The picture as a `data:` URI."""
    from matplotlib.image import imsave

    buffer = io.BytesIO()
    imsave(buffer, levels, vmin=-_RANGE_DB, vmax=0, cmap="magma", origin="lower", format="png")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
