"""Sounds within a page: MP3 in a `data:` URI, which every browser plays."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any, Final

import soundfile
import soxr

from pipelines.look.browse.audio import SampleAudio
from synth.audio.dsp import Pcm
from synth.corpus.corpus import REMOVED_FILE, Corpus
from synth.corpus.shards import decode_audio

MOST_BYTES: Final = 4_000_000
"""Of all sounds of a page together, encoded; it keeps the file below 5 MB."""

# MP3 knows no others. Ogg knows all, but libsndfile numbers its streams at random.
_RATES: Final = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
_COMPRESSION: Final = 0.4

NO_AUDIO: Final = "planned, not rendered: `segue build` renders it"
REMOVED: Final = "`segue gc` removed the shards of this version"
FULL: Final = "left out to keep this file small: `segue browse` plays it"


class Listening:
    """The sounds of a page, as long as there is room for them."""

    def __init__(self, corpus: Corpus | None) -> None:
        gone = corpus is not None and (corpus.folder / REMOVED_FILE).is_file()
        self._sounds = None if corpus is None or gone else SampleAudio(corpus)
        self._reason = REMOVED if gone else NO_AUDIO
        self._left = MOST_BYTES

    def hear(self, row: Mapping[str, Any]) -> tuple[str, str]:
        """A sample's sound as a `data:` URI and "", or "" and the reason why it is not there."""
        if self._sounds is None:
            return "", self._reason
        found = playable(decode_audio(self._sounds.read(row)), row["sample_rate"])
        if len(found) > self._left:
            return "", FULL
        self._left -= len(found)
        return found, ""


def playable(pcm: Pcm, rate: int) -> str:
    """A sound as a `data:` URI; equal samples give equal text.

    Args:
        rate: In Hz; where MP3 does not know it, the sound is resampled to the next that it knows.
    """
    wanted = next((each for each in _RATES if each >= rate), _RATES[-1])
    heard = pcm if wanted == rate else soxr.resample(pcm, rate, wanted)
    buffer = io.BytesIO()
    soundfile.write(
        buffer,
        heard,
        wanted,
        format="MP3",
        subtype="MPEG_LAYER_III",
        compression_level=_COMPRESSION,
        bitrate_mode="VARIABLE",
    )
    return "data:audio/mpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
