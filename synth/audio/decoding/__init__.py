"""Decode audio files: libsndfile where it can, ffmpeg where it cannot.

Files come from strangers. What a file's header promises is held against the bytes that are there,
and limits are applied to the header before memory is taken.
"""

from synth.audio.decoding.formats import Limits, Mislabelled, use_limits
from synth.audio.decoding.read import read_audio

__all__ = ["Limits", "Mislabelled", "read_audio", "use_limits"]
