"""The texts of a batch: a pure function of the seed, the step and the samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final

import numpy as np

from synth.base.errors import SpecError
from synth.base.rng import Randomness
from synth.labels.lexicon import Tag
from synth.scene.claim import claim_to_text
from synth.scene.edit import EditKind
from synth.text.negation.negation import Negation, negate
from synth.text.negation.negators import NegationExtent, shipped_negators
from synth.text.tags.tag_captions import join_tags
from synth.text.tags.tag_relations import explain_never_denied
from synth.text.tags.tags import TagCategory, TagVocabulary
from synth.truth.change import tag_claim
from train.config.loss import Role
from train.config.run import Stage
from train.config.text import NEVER, TextSampling
from train.data.meaning import find_meaning
from train.data.rows import Row

FULLY_NEGATED: Final = EditKind.NEGATE_FULL.value

Sentence = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a batch: one entry a sample.

    Args:
        captions: One true caption.
        claims: What the caption claims, as JSON.
        meanings: The same in one form, equal where claims are equal; the caption, where the claim
            names nothing.
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


@dataclass(frozen=True, slots=True)
class _SampleTexts:
    """The texts of one sample."""

    claim: str
    caption: str
    positives: Sequence[str]
    negatives: Sequence[str]


@dataclass(frozen=True)
class TextSampler:
    """Chooses the texts of samples, and changes them as the settings ask.

    Args:
        tags: Tags of each clip, by clip id.
    """

    sampling: TextSampling
    tags: Mapping[str, Sequence[Tag]]
    seed: int

    @classmethod
    def of(
        cls, sampling: TextSampling, tags: Mapping[str, Sequence[Tag]], seed: int
    ) -> TextSampler:
        """A sampler over a corpus's tags."""
        settings = sampling.needing_tags
        if settings and not any(tags.values()):
            raise SpecError(
                f"{' and '.join(settings)} needs tags, but no clip of the corpus has one",
                fix="leave it out, or build the corpus from a source with tags",
            )
        unique = set(chain.from_iterable(tags.values()))
        if sampling.p_insert != NEVER and all(map(explain_never_denied, unique)):
            first = min(unique, key=lambda tag: tag.name)
            categories = ", ".join(kind for kind in TagCategory if kind is not TagCategory.OTHER)
            raise SpecError(
                f"text.p_insert puts denials of tags into captions, but none of the {len(unique)} "
                f"tags of the corpus can be denied. {first.name!r} of category "
                f"{first.category!r}: {explain_never_denied(first)}",
                fix=f"drop it, or give the tags categories: {categories}",
            )
        return cls(sampling, tags, seed)

    def texts(self, rows: Sequence[Row], stage: Stage, step: int) -> Texts:
        """The texts of a batch, in a step of the run."""
        samples = [self._tell(row, stage, step) for row in rows]
        denied: tuple[Sequence[str], ...] = ((),) * len(rows)
        if Role.DENIED in stage.roles:
            denied = tuple(_select_denied(row) for row in rows)
        return Texts(
            captions=tuple(sample.caption for sample in samples),
            claims=tuple(sample.claim for sample in samples),
            meanings=tuple(find_meaning(sample.caption, sample.claim) for sample in samples),
            positives=tuple(sample.positives for sample in samples),
            negatives=tuple(sample.negatives for sample in samples),
            denied=denied,
        )

    def _tell(self, row: Row, stage: Stage, step: int) -> _SampleTexts:
        """A caption of a sample, and the other texts that its loss asks for."""
        stage = row.adapt(stage)
        rng = Randomness(self.seed).at(f"text/{step}", row.position)
        captions: list[Sentence] = [{"text": row["caption"], "claim": row["claim"]}]
        if self.sampling.restatements:
            captions += [text for text in row["positives"] if stage.tells(text["connective"])]
        chosen = captions[int(rng.integers(len(captions)))] if len(captions) > 1 else captions[0]
        tags = self._tags(row["clips"])
        if tags and rng.random() >= self.sampling.p_caption.at(step):
            clips = row["clips"] if row.crop_clips is None else row.crop_clips
            chosen = _join_tags(self._tags(clips)) or chosen
        every = Role.POSITIVES in stage.roles
        positives = _select_positives(row, chosen, stage) if every else []
        negatives: list[str] = []
        if Role.NEGATIVES in stage.roles:
            negatives = _select_negatives(row, None if every else chosen, stage)
        texts = [chosen["text"], *positives, *negatives]
        if tags and rng.random() < self.sampling.p_insert.at(step):
            texts = self._insert_denial(texts, tags, rng)
        behind = 1 + len(positives)
        return _SampleTexts(chosen["claim"], texts[0], texts[1:behind], texts[behind:])

    def _tags(self, clips: Iterable[str]) -> list[Tag]:
        return [tag for clip in clips for tag in self.tags.get(clip, ())]

    def _insert_denial(
        self, texts: Sequence[str], tags: Sequence[Tag], rng: np.random.Generator
    ) -> list[str]:
        """The texts with the denial of a tag that the clip does not bear, if one fits in all.

        False texts deny it as true ones do: what is true is not told by that.
        """
        words = self._negation.vocabulary
        named = (tag for text in texts[1:] for tag in words.find_tags(text))
        first = negate(texts[0], NegationExtent.INSERT, self._negation, rng, [*tags, *named])
        if not first.text:
            return list(texts)
        (tag,) = first.denied
        others = [
            negate(text, NegationExtent.INSERT, self._negation, rng, insert=tag).text
            for text in texts[1:]
        ]
        return [first.text, *others] if all(others) else list(texts)

    @cached_property
    def _negation(self) -> Negation:
        return Negation(TagVocabulary.of(chain.from_iterable(self.tags.values())))


def added_words(sampling: TextSampling, tags: Mapping[str, Sequence[Tag]]) -> frozenset[str]:
    """What the settings may say that no caption of the corpus says: tags and negators."""
    if not sampling.needing_tags:
        return frozenset()
    names = {tag.name for tag in chain.from_iterable(tags.values())}
    return frozenset({*names, *shipped_negators().plain, ","})


def _join_tags(tags: Sequence[Tag]) -> Sentence | None:
    sentence = join_tags(tags)
    if not sentence.text:
        return None
    return {
        "text": sentence.text,
        "claim": claim_to_text(tag_claim(sentence.present)),
    }


def _select_positives(row: Row, caption: Sentence, stage: Stage) -> list[str]:
    texts = [row["caption"]]
    texts += [text["text"] for text in row["positives"] if stage.tells(text["connective"])]
    return [text for text in dict.fromkeys(texts) if text != caption["text"]]


def _select_negatives(row: Row, caption: Sentence | None, stage: Stage) -> list[str]:
    """The false sentences that stand against a true one; all beside all true ones."""
    texts = [text for text in row["negatives"] if stage.tells(text["connective"])]
    if caption is not None:
        # A caption of tags alone is none of the manifest's: it stands in for the main one.
        true = {caption["text"]} if "connective" in caption else {caption["text"], row["caption"]}
        texts = [text for text in texts if text.get("against", "") in {"", *true}]
    return [text["text"] for text in texts]


def _select_denied(row: Row) -> list[str]:
    return [text["text"] for text in row["negatives"] if text["kind"] == FULLY_NEGATED][:1]
