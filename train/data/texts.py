"""The texts of a batch: a pure function of the seed, the step and the samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from synth.base.errors import SpecError
from synth.base.rng import Randomness
from synth.corpus.schema import canonical_json
from synth.labels.tag import Tag
from synth.scene.claim import claim_to_json
from synth.text.negation.negation import Mode, Negation, negate
from synth.text.negation.negators import shipped_negators
from synth.text.tags.tag_captions import join_tags
from synth.text.tags.tags import TagVocabulary
from synth.truth.annotation import tag_claim
from train.config.loss import Role
from train.config.run import Stage
from train.config.text import TextSampling
from train.data.meaning import meaning

FULLY_NEGATED: Final = f"negate-{Mode.FULL.value}"

Row = Mapping[str, Any]
Sentence = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a batch: one entry a sample.

    Args:
        captions: One true caption.
        claims: What the caption claims, as JSON.
        meanings: The same in one form, equal where claims are equal.
        positives: Further true captions; none unless the loss asks for them.
        negatives: False captions; likewise. Those that stand against the caption (`against`), or
            all where positives are asked for, too: then they stand against all of these.
        denied: The fully negated caption, if there is one; likewise.
    """

    captions: tuple[str, ...]
    claims: tuple[str, ...]
    meanings: tuple[str, ...]
    positives: tuple[Sequence[str], ...]
    negatives: tuple[Sequence[str], ...]
    denied: tuple[Sequence[str], ...]


@dataclass(frozen=True)
class TextSampler:
    """Chooses the texts of samples, and changes them as the settings ask.

    Args:
        sampling: What is done to captions.
        tags: Tags of each clip, by clip id.
        seed: Of the run.
    """

    sampling: TextSampling
    tags: Mapping[str, Sequence[Tag]]
    seed: int

    @classmethod
    def of(
        cls, sampling: TextSampling, tags: Mapping[str, Sequence[Tag]], seed: int
    ) -> TextSampler:
        """A sampler over a corpus's tags.

        Raises:
            SpecError: If the settings ask for tags, and no clip bears one.
        """
        asked = sampling.needing_tags
        if asked and not any(tags.values()):
            raise SpecError(
                f"{' and '.join(asked)} needs tags, and no clip of the corpus bears one",
                fix="leave it out, or build the corpus from a source with tags",
            )
        return cls(sampling, tags, seed)

    def texts(self, rows: Sequence[Row], stage: Stage, step: int) -> Texts:
        """The texts of a batch.

        Args:
            rows: Manifest rows, each with its `position`.
            stage: Gives the relations in play and the roles that its loss needs.
            step: Step of the run.
        """
        drawn = [self._caption(row, stage, step) for row in rows]
        none: tuple[Sequence[str], ...] = ((),) * len(rows)
        positives = negatives = denied = none
        if Role.POSITIVES in stage.roles:
            pairs = zip(rows, drawn, strict=True)
            positives = tuple(_select_positives(row, said, stage) for row, (_, said) in pairs)
        if Role.NEGATIVES in stage.roles:
            every = Role.POSITIVES in stage.roles
            negatives = tuple(
                _select_negatives(row, None if every else said, stage)
                for row, (_, said) in zip(rows, drawn, strict=True)
            )
        if Role.DENIED in stage.roles:
            denied = tuple(_select_denied(row) for row in rows)
        return Texts(
            captions=tuple(text for text, _ in drawn),
            claims=tuple(said["claim"] for _, said in drawn),
            meanings=tuple(meaning(said["claim"]) for _, said in drawn),
            positives=positives,
            negatives=negatives,
            denied=denied,
        )

    def _caption(self, row: Row, stage: Stage, step: int) -> tuple[str, Sentence]:
        """A caption's text as it is told, and the sentence of the manifest that it tells."""
        rng = Randomness(self.seed).at(f"text/{step}", row["position"])
        said: list[Sentence] = [{"text": row["caption"], "claim": row["claim"]}]
        if self.sampling.restatements:
            said += [text for text in row["positives"] if stage.tells(text["connective"])]
        chosen = said[int(rng.integers(len(said)))] if len(said) > 1 else said[0]
        tags = self._tags(row["clips"])
        if not tags:
            return chosen["text"], chosen
        if rng.random() >= self.sampling.p_caption.at(step):
            chosen = _join_tags(self._tags(row.get("heard", row["clips"]))) or chosen
        text = chosen["text"]
        if rng.random() < self.sampling.p_insert.at(step):
            text = self._insert_denial(text, tags, rng)
        return text, chosen

    def _tags(self, clips: Iterable[str]) -> list[Tag]:
        return [tag for clip in clips for tag in self.tags.get(clip, ())]

    def _insert_denial(self, text: str, tags: Sequence[Tag], rng: np.random.Generator) -> str:
        """The caption with the denial of a tag that the clip does not bear, where one fits in."""
        return negate(text, Mode.INSERT, self._negation, rng, tags).text or text

    @cached_property
    def _negation(self) -> Negation:
        return Negation(TagVocabulary.of(tag for each in self.tags.values() for tag in each))


def added_words(sampling: TextSampling, tags: Mapping[str, Sequence[Tag]]) -> frozenset[str]:
    """What the settings may say that no caption of the corpus says: tags and negators."""
    if not sampling.needing_tags:
        return frozenset()
    names = {tag.name for each in tags.values() for tag in each}
    return frozenset({*names, *shipped_negators().plain, ","})


def _join_tags(tags: Sequence[Tag]) -> Sentence | None:
    sentence = join_tags(tags)
    if not sentence.text:
        return None
    return {
        "text": sentence.text,
        "claim": canonical_json(claim_to_json(tag_claim(sentence.present))),
    }


def _select_positives(row: Row, caption: Sentence, stage: Stage) -> list[str]:
    texts = [row["caption"]]
    texts += [said["text"] for said in row["positives"] if stage.tells(said["connective"])]
    return [text for text in dict.fromkeys(texts) if text != caption["text"]]


def _select_negatives(row: Row, caption: Sentence | None, stage: Stage) -> list[str]:
    """The false sentences that stand against a true one; all beside all true ones."""
    found = [text for text in row["negatives"] if stage.tells(text["connective"])]
    if caption is not None:
        # A caption of tags alone is none of the manifest's: it stands in for the main one.
        told = {caption["text"]} if "connective" in caption else {caption["text"], row["caption"]}
        found = [text for text in found if text.get("against", "") in {"", *told}]
    return [text["text"] for text in found]


def _select_denied(row: Row) -> list[str]:
    return [text["text"] for text in row["negatives"] if text["kind"] == FULLY_NEGATED][:1]
