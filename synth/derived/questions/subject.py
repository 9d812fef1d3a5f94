"""Subjects: samples as they are asked about, read from the rows of their manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from synth.base.units import Frames
from synth.captions.dense import DenseCaption, dense_captions
from synth.corpus.rows import read_dense, read_timeline
from synth.labels.lexicon import Phrase
from synth.labels.treatment import heard_tags
from synth.scene.claim import Claim, claim_from_text, claim_labels
from synth.scene.scene import Event, events, from_text
from synth.scene.timeline import Timeline
from synth.truth.annotation import annotate
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing


class TrueSentence(NamedTuple):
    """A sentence that passes for true of a sample, and its claim."""

    text: str
    claim: Claim


@dataclass(frozen=True)
class Subject:
    """One sample of a corpus.

    Args:
        id: The sample's id.
        group: Its minimal-pair group.
        heard: What is heard, the tags of its clips included.
        tolerance: What counts as a transition.
        sounds: The labels that its main caption names, in scene order, each once. A background bed
            is none of them.
        sentences: Those of its labels that are whole captions of a clip. They say nothing of what
            is absent, and a question quotes them.
        told: Its true captions, the main one first.
        dense: Its dense captions, made anew from its activity; none where its recipe makes none.
        rate: Frames a second.
    """

    id: str
    group: str
    heard: Timeline
    tolerance: Tolerance
    sounds: tuple[str, ...]
    sentences: frozenset[str] = frozenset()
    told: tuple[TrueSentence, ...] = ()
    dense: tuple[DenseCaption, ...] = ()
    rate: int = 1

    def proves(self, claim: Claim) -> bool:
        """Whether the claim is true of it under every reading."""
        return self._hearing.proves(claim)

    def refutes(self, claim: Claim) -> bool:
        """Whether the claim is false of it under every reading."""
        return self._hearing.refutes(claim)

    @cached_property
    def _hearing(self) -> Hearing:
        return Hearing(self.heard, self.tolerance)

    def has(self, label: str) -> bool:
        """Whether a label is one of its sounds, and no other sound could be meant."""
        return label in self.sounds and self.proves(Event(label))

    def phrase(self, label: str) -> Phrase:
        """How a label is said of it; a whole caption stands in quotation marks."""
        if label not in self.sentences:
            return Phrase.of_label(label)
        said = Phrase.of_caption(label)
        return Phrase(said.plain, f"“{said.plain}”", said.clause, said.gerund)


def subjects(
    rows: Iterable[Mapping[str, Any]], clips: Mapping[str, Mapping[str, Any]], audible: Frames
) -> list[Subject]:
    """Samples as they are asked about, in the order of their rows.

    Args:
        rows: Rows of `schema.PLAN` or `schema.SAMPLES`.
        clips: Rows of `schema.CLIPS` by clip id; labels, captions and tags are read.
        audible: Shortest overlap that can be heard, as the manifest's metadata says.
    """
    return [_subject(row, clips, audible) for row in rows]


def _subject(
    row: Mapping[str, Any], clips: Mapping[str, Mapping[str, Any]], audible: Frames
) -> Subject:
    scene = from_text(row["scene"])
    named = claim_labels(claim_from_text(row["claim"]))
    found = list(events(scene))
    placed = read_timeline(row)
    is_dense = bool(read_dense(row)) and row.get("activity") is not None
    tags = {
        event.heard.clip: [tag.name for tag in heard_tags(clips[event.heard.clip]["tags"])]
        for event in found
    }
    return Subject(
        id=row["id"],
        group=row["group"],
        heard=annotate(placed, tags),
        tolerance=Tolerance(audible=audible),
        sounds=tuple(dict.fromkeys(event.label for event in found if event.label in named)),
        sentences=frozenset(
            event.label for event in found if _is_sentence(event.label, clips[event.heard.clip])
        ),
        told=tuple(
            TrueSentence(each["text"], claim_from_text(each["claim"]))
            for each in ({"text": row["caption"], "claim": row["claim"]}, *row["positives"])
        ),
        dense=dense_captions(placed, row["frames"], audible) if is_dense else (),
        rate=row["sample_rate"],
    )


def _is_sentence(label: str, clip: Mapping[str, Any]) -> bool:
    if label in clip["labels"]:
        return False
    return any(label == Phrase.of_caption(text).plain for text in clip["captions"])
