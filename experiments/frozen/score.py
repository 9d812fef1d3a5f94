"""The scores of a model on a frozen test set, forwards and backwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Final

import numpy as np

from pipelines.frozen.composed import list_choices
from pipelines.frozen.description import SPLIT, BuiltSet, locate_corpus
from pipelines.frozen.digests import digest_corpus
from synth.audio.dsp import PCM_SCALE, Audio
from synth.base.errors import CorpusError
from synth.base.progress import Observer, Silent
from synth.corpus.corpus import Corpus
from synth.derived.edits import EditChoice
from synth.sources.catalogue import resample
from train.bench.embedder import Embedder, embed_sounds, embed_texts, fill_up
from train.bench.metrics import Metric
from train.bench.settings import Padding
from train.bench.sounds import SoundItem, corpus_sounds
from train.bench.tasks.choosing import Block, find_blocks, score_blocks
from train.config.run import AudioMode
from train.data.recordings import Recordings
from train.data.rows import Row
from train.data.split import SplitData

SCORES: Final = ("text", "audio", "group")
BACKWARDS: Final = "backwards_"
"""Before the name of a score whose sounds are played backwards."""


@dataclass(frozen=True)
class OpenSet:
    """A built set, opened and proven to be what its record says.

    Args:
        queries: Of a composed set by what stands for it in a block: the position of the source's
            row, and the instruction.
    """

    built: BuiltSet
    data: SplitData
    rows: Sequence[Row]
    blocks: Sequence[Block]
    queries: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @classmethod
    def open(cls, built: BuiltSet, root: Path, observer: Observer) -> OpenSet:
        """Open a set."""
        corpus = Corpus.open(locate_corpus(built, root))
        choices = list_choices(corpus, built.edits) if built.composed else ()
        if digest_corpus(corpus, observer, map(asdict, choices)) != built.digest:
            raise CorpusError(
                f"{corpus.folder}: was changed since {built.name} was built",
                fix=f"remove {root / 'data_manifests' / built.corpus} and "
                f"{root / 'shards' / built.corpus}, and build the set again",
            )
        data = SplitData(corpus, SPLIT, AudioMode.SHARDS)
        rows = data.rows(range(len(data)))
        if choices:
            return cls(built, data, rows, *_compose_blocks(rows, choices))
        blocks = find_blocks(rows, built.edits)
        if not blocks:
            raise CorpusError(
                f"{built.name}: no captions of {', '.join(built.edits)} stand against one another",
                fix="name other edits in its description, and build it again",
            )
        return cls(built, data, rows, blocks)

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """Positions of the samples that are scored."""
        sounds = {number for block in self.blocks for number in block.sounds}
        return tuple(sorted(sounds | {source for source, _ in self.queries.values()}))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The different captions, or instructions, that are scored."""
        if self.queries:
            return tuple(sorted({text for _, text in self.queries.values()}))
        return tuple(sorted({text for block in self.blocks for text in block.texts}))

    @cached_property
    def recordings(self) -> Recordings:
        """What its sounds are made of."""
        return Recordings.of(self.data)

    def list_sounds(self) -> dict[str, list[SoundItem]]:
        """What is heard, by what stands before its scores."""
        sounds = corpus_sounds(self.data, [self.rows[number] for number in self.positions])
        return {
            name: [
                replace(sound, load=partial(self._load, self.rows[number], backwards))
                for number, sound in zip(self.positions, sounds, strict=True)
            ]
            for name, backwards in (("", False), (BACKWARDS, True))
        }

    def _load(self, row: Row, backwards: bool, rate: int) -> Audio:
        """A sound, resampled; played backwards, the silence around it stays where it is."""
        pcm = self.data.pcm(row)
        if backwards:
            sounding = np.flatnonzero(pcm)
            if len(sounding):
                span = slice(sounding[0], sounding[-1] + 1)
                pcm = pcm.copy()
                pcm[span] = pcm[span][::-1].copy()
        samples = pcm.astype(np.float32) / np.float32(PCM_SCALE)
        return resample(samples, self.data.corpus.sample_rate, rate)

    @property
    def effort(self) -> int:
        """Sounds and texts that a model is asked for."""
        return 2 * len(self.positions) + len(self.texts)


def _compose_blocks(
    rows: Sequence[Row], choices: Sequence[EditChoice]
) -> tuple[list[Block], dict[str, tuple[int, str]]]:
    """A block of each choice, and the queries that stand in it for captions."""
    places = {row["id"]: number for number, row in enumerate(rows)}
    blocks: list[Block] = []
    queries: dict[str, tuple[int, str]] = {}
    for choice in choices:
        first, second = (f"{choice.source}: {text}" for text in choice.instructions)
        queries |= {
            name: (places[choice.source], text)
            for name, text in zip((first, second), choice.instructions, strict=True)
        }
        sounds = places[choice.targets[0]], places[choice.targets[1]]
        blocks.append(Block(sounds, (first, second), choice.group))
    return blocks, queries


class OnePhase(Silent):
    """Counts whatever is done inside as one phase of another observer."""

    def __init__(self, observer: Observer, phase: str) -> None:
        self._observer = observer
        self._phase = phase

    def advance(self, phase: str, units: int = 1, note: str = "") -> None:
        """Count on."""
        self._observer.advance(self._phase, units)


def score_set(
    embedder: Embedder,
    opened: OpenSet,
    sounds: Mapping[str, Sequence[SoundItem]],
    padding: Padding,
    observer: Observer,
) -> dict[str, Metric]:
    """`text`, `audio` and `group`; and the same with every sound played backwards.

    Args:
        observer: Told of `opened.effort` units.
    """
    vectors = embed_texts(embedder, opened.texts, observer)
    positions = {number: place for place, number in enumerate(opened.positions)}
    metrics: dict[str, Metric] = {}
    for name, items in sounds.items():
        audio, _ = embed_sounds(
            embedder, fill_up(items, padding, embedder.longest), observer=observer
        )
        # Of a composed set: a source and an instruction are asked for by the sum of both.
        sums = {
            name: audio[positions[source]] + vectors[text]
            for name, (source, text) in opened.queries.items()
        }
        # A source and an instruction that cancel out are as near to all.
        queries = {name: total / (np.linalg.norm(total) or 1.0) for name, total in sums.items()}
        scores = score_blocks(opened.blocks, audio, queries or vectors, positions)
        metrics |= {name + score: metric for score, metric in scores.items()}
    return metrics
