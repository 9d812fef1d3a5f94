"""Drafting: the rows of a plan, a run of groups at a time, in whatever process.

What tells a row's place in the corpus is still empty, as it depends on all rows before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import pyarrow as pa

from pipelines.build.usable import Shortage
from pipelines.spec.enrich import Enrichment
from pipelines.spec.spec import AudioSpec
from synth.base.errors import LeftOutError, PlanError
from synth.base.units import Frames
from synth.captions.narrative import DenseCaption, dense_captions
from synth.corpus.schema import PLAN, Sample, canonical_json, to_table
from synth.recipes.base import Draft, Groups
from synth.scene.scene import events
from synth.scene.timeline import duration
from synth.truth.listener import Listener


class GroupRun(NamedTuple):
    """Groups of one split that follow one another."""

    split: str
    groups: range


@dataclass(frozen=True, slots=True)
class DraftedRows:
    """The rows of a run of groups.

    Args:
        rows: Of `schema.PLAN`; `id` and `shard` are empty, `index` is 0.
        texts: The same rows as canonical JSON.
        sizes: Rows of each group, 0 for one that is left out.
        left_out: Why groups are left out.
    """

    split: str
    rows: pa.Table
    texts: Sequence[str]
    sizes: Sequence[int]
    left_out: Sequence[LeftOutError] = ()

    @classmethod
    def of(
        cls, split: str, groups: Sequence[Sequence[Sample]], left_out: Sequence[LeftOutError] = ()
    ) -> Self:
        """From the samples of each group."""
        rows = [sample.row() for group in groups for sample in group]
        texts = [canonical_json(row) for row in rows]
        sizes = [len(group) for group in groups]
        return cls(split, to_table(rows, PLAN), texts, sizes, left_out)

    def __reduce__(self) -> tuple[Any, ...]:
        """Tables travel as Arrow's stream, which costs a tenth of its pickles."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.rows.schema) as stream:
            stream.write_table(self.rows)
        others = self.texts, self.sizes, self.left_out
        return _receive, (self.split, sink.getvalue().to_pybytes(), *others)


@dataclass(frozen=True)
class Drafter:
    """Drafts the groups of a corpus; a value that travels to workers.

    Args:
        groups: Of each split.
        listener: Hears what a recipe leaves unheard.
        enrichment: Captions that were bought for some samples.
        shortage: Tells why clips are missing where a group cannot be made.
    """

    corpus: str
    recipe: str
    groups: Mapping[str, Groups]
    listener: Listener
    audio: AudioSpec
    enrichment: Enrichment
    shortage: Shortage

    def draft(self, run: GroupRun, first: int = 0) -> DraftedRows:
        """The rows of a run of groups.

        Args:
            first: The number in its split of the first sample; only enrichment asks for it.
        """
        groups: list[list[Sample]] = []
        left_out: list[LeftOutError] = []
        number = first
        for group in run.groups:
            drafts: Sequence[Draft] = ()
            with self.shortage.explained(by_ear=True):
                try:
                    drafts = self.groups[run.split].group(group)
                except LeftOutError as error:
                    left_out.append(error)
            samples = [self._sample(draft, run.split, group) for draft in drafts]
            groups.append([self._enrich(each, number + at) for at, each in enumerate(samples)])
            number += len(samples)
        return DraftedRows.of(run.split, groups, left_out)

    def _sample(self, draft: Draft, split: str, group: int) -> Sample:
        heard = draft.heard or self.listener.hear(draft.scene)
        frames = self._frames(draft)
        envelopes = self.listener.envelopes
        return Sample(
            id="",
            index=0,
            group=f"{split}-{group:08d}",
            split=split,
            shard="",
            recipe=self.recipe,
            scene=draft.scene,
            activity=tuple(place.heard for place in heard.placements),
            caption=draft.captions.caption,
            positives=draft.captions.positives,
            negatives=draft.captions.negatives,
            frames=frames,
            excerpts=sum(
                event.heard.frames < envelopes[event.heard.clip].frames
                for event in events(draft.scene)
            ),
            sample_rate=self.audio.sample_rate,
            dense=self._tell_densely(draft, frames),
        )

    def _tell_densely(self, draft: Draft, frames: Frames) -> tuple[DenseCaption, ...]:
        if draft.heard is None or not draft.is_labelled:
            return ()
        return dense_captions(draft.heard, frames, self.enrichment.audible)

    def _frames(self, draft: Draft) -> Frames:
        frames, exact = duration(draft.scene), self.audio.exact_frames
        if exact is not None and frames > exact:
            rate = self.audio.sample_rate
            raise PlanError(
                f"{draft.captions.caption.text!r} lasts {frames / rate:.2f} s, "
                f"audio.length is exactly {exact / rate:g} s",
                fix="raise audio.length, or lower the recipe's max_event_s",
            )
        return max(frames, self.audio.least_frames)

    def _enrich(self, sample: Sample, number: int) -> Sample:
        """The sample with the captions that were bought for the one of this number."""
        name = sample_id(self.corpus, sample.split, number)
        if name not in self.enrichment.answers:
            return sample
        return replace(self.enrichment.add_captions(replace(sample, id=name)), id="")


def _receive(split: str, stream: bytes, *others: Any) -> DraftedRows:
    return DraftedRows(split, pa.ipc.open_stream(stream).read_all(), *others)


def sample_id(corpus: str, split: str, number: int) -> str:
    """The id of a sample of a split."""
    return f"{corpus}-{split}-{number:08d}"
