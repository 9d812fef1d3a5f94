"""Clips that are planned over without being heard."""

from __future__ import annotations

from synth.recipes.base import Clip
from synth.sources.own.vocabulary import VocabularySource
from synth.sources.reading.base import ClipRef


def clip_of(source: VocabularySource, ref: ClipRef, rate: int) -> Clip:
    """A clip of a vocabulary as a recipe takes it, at `rate` Hz."""
    named = {"id": ref.id, "labels": ref.labels, "recording": ref.recording}
    return Clip.of_row(source.row(ref) | named | {"captions": [], "tags": []}, rate)
