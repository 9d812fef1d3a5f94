"""Another source's clips, and each of them again: in a hall, further away, higher, faster.

Every clip is listed as it is, and once more per treatment as `ID~TREATMENT`: of the same recording,
with the same labels, captions and licence, and with the tag `treatment:NAME`. The catalogue refuses
what was treated and has hardly changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
from pydantic import Field, field_validator

from synth.audio.dsp import active_span
from synth.audio.treatments import RANGE_DB, TREATMENTS_VERSION, treat
from synth.base.errors import SourceError
from synth.base.rng import Randomness, digest
from synth.labels.lexicon import TREATMENT, Tag, Treatment, treated_id, untreated_id
from synth.sources import SourceChoice, open_source
from synth.sources.reading.base import ClipRef, Recording, Settings, Source
from synth.sources.reading.files import MISSING, list_refs


class Treated(Settings):
    """Renditions of other clips.

    Args:
        of: The source whose clips are treated, with its settings.
        treatments: What is done to each: `hall` (reverberation of 2.5 s), `far` (15 dB quieter,
            dull, in a room), `high` and `low` (5 semitones), `fast` and `slow` (1.5 times the
            tempo), `rising` and `falling` (by 18 dB from begin to end).
    """

    name: ClassVar[str] = "treated"
    of: SourceChoice = Field(default_factory=lambda: SourceChoice.model_validate("foley"))
    treatments: tuple[Treatment, ...] = Field(default=tuple(Treatment), min_length=1)

    @field_validator("of")
    @classmethod
    def _check_untreated(cls, of: SourceChoice) -> SourceChoice:
        if isinstance(of.chosen, Treated):
            raise ValueError("these clips are treated already; name their own source")
        return of

    @field_validator("treatments")
    @classmethod
    def _drop_repeated(cls, treatments: tuple[Treatment, ...]) -> tuple[Treatment, ...]:
        return tuple(dict.fromkeys(treatments))

    def refs(self) -> Iterator[ClipRef]:
        """Each clip, and after it what is made of it; what cannot be used is listed once."""
        for ref in list_refs(self._open()):
            yield ref
            for name in () if ref.refusal else self.treatments:
                yield replace(
                    ref,
                    id=treated_id(ref.id, name),
                    recording=ref.recording or ref.id,
                    tags=(*ref.tags, Tag(TREATMENT, name)),
                    duration_s=None,
                )

    def stamp(self, ref: ClipRef) -> str:
        """That of the clip, with the version of the treatments."""
        original, name = self._part(ref)
        stamp = self._open().stamp(original)
        return f"{stamp}:{TREATMENTS_VERSION}" if name and stamp != MISSING else stamp

    def load(self, ref: ClipRef) -> Recording:
        """Decode a clip, and treat it."""
        original, name = self._part(ref)
        recording = self._open().load(original)
        if not name:
            return recording
        before = recording.audio
        identity = digest(recording.sha256, name, str(TREATMENTS_VERSION))
        # What cannot be treated is refused for what it is.
        if not np.isfinite(before).all() or active_span(before, recording.rate, RANGE_DB) is None:
            return replace(recording, sha256=identity)
        rng = Randomness(0).at(f"treated/{identity}", 0)
        after = treat(name, before, recording.rate, rng)
        return replace(recording, audio=after, sha256=identity, untreated=before, treatment=name)

    def _open(self) -> Source:
        opened = open_source(self.of.chosen)  # type: ignore[arg-type]
        if not isinstance(opened, Source):
            raise SourceError(
                f"treated: {opened.name} has no recordings here to treat",
                fix="give a source with audio as `of`",
            )
        return opened

    @staticmethod
    def _part(ref: ClipRef) -> tuple[ClipRef, Treatment | None]:
        """The clip as its own source lists it, and the treatment, if any."""
        original = untreated_id(ref.id)
        name = ref.id[len(original) + 1 :]
        if not name or ref.tags[-1:] != (Tag(TREATMENT, name),):
            return ref, None
        return replace(ref, id=original, tags=ref.tags[:-1]), Treatment(name)
