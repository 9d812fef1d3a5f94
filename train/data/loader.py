"""Batches by global step, prepared ahead in threads that share the processors with torch."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from synth.base.errors import SpecError
from synth.base.processors import processors
from synth.base.rng import digest
from synth.base.units import Frames
from train.config.loss import Role
from train.config.run import Stage, TrainConfig, place
from train.data.audio import AudioBatch, count_chunks, crop_frames, hear
from train.data.batch import Batch, SoundFrames
from train.data.crop import Cropper
from train.data.frames import sounds_of, text_of, token_states
from train.data.meaning import find_unrefuted, number_of
from train.data.order import Chosen
from train.data.rows import Row
from train.data.split import SplitData
from train.data.texts import FULLY_NEGATED, TextSampler
from train.data.tokenizer import TextTokenizer
from train.losses.batch import Ragged
from train.model.towers.base import AudioTower

_VIEWS: Final = {"before": 0, "after": 1, "while": 2}
_UNKNOWN: Final = -1
_WIDTH: Final = 16
"""What the width of texts is a multiple of for a compiled model, which is made for each width."""


@dataclass(frozen=True, slots=True)
class Assembler:
    """Turns manifest rows into batches.

    Args:
        cropper: Cuts long samples, None to keep them whole.
        cached: Whether features are at hand, so that no audio need be read.
        tower: Says what a chunk is, and gives features. None counts and computes nothing.
        hears: Whether features are computed here, in the loader's threads, or by the step on a
            device of its own.
        width: What the width of texts is a multiple of.
    """

    data: SplitData
    tokenizer: TextTokenizer
    sampler: TextSampler
    cropper: Cropper | None
    cached: bool
    tower: AudioTower | None
    hears: bool = False
    width: int = 1

    @classmethod
    def of(
        cls,
        data: SplitData,
        tokenizer: TextTokenizer,
        config: TrainConfig,
        cached: bool,
        tower: AudioTower | None = None,
    ) -> Assembler:
        """That of a run, whose tower gives features here if it or the run is on the CPU."""
        sampler = TextSampler.of(config.text, data.tags, config.seed)
        frames = crop_frames(data, config)
        cropper = None if frames is None else Cropper(data, frames, config.seed, config.crop_told)
        hears = tower is not None and (config.device == "cpu" or tower.hears_on_cpu)
        width = _WIDTH if config.compile else 1
        return cls(data, tokenizer, sampler, cropper, cached, tower, hears, width)

    def check(
        self, stage: Stage, positions: Int[np.ndarray, " samples"], longest: Frames | None
    ) -> None:
        """Check what a stage asks of these samples, given the most that the model can hear."""
        refuse_unsuitable(self.data, stage)
        if self.cropper is not None and longest is not None:
            self.cropper.refuse_long(positions, stage, longest)

    def batch(
        self,
        positions: Sequence[int],
        stage: Stage,
        step: int,
        counts: Sequence[int] = (),
        rank: int = 0,
        everywhere: Sequence[int] = (),
    ) -> Batch:
        """The batch of the samples at `positions`.

        Args:
            counts: How many samples each process takes; none where this one takes all.
            everywhere: Positions of the samples of all processes, where this one does not take
                all.
        """
        rows = self.data.rows(positions)
        whole = 0
        if self.cropper is not None:
            rows = [self.cropper.crop(row, stage, step) for row in rows]
            whole = sum(row.crop is None and row["frames"] > self.cropper.frames for row in rows)
        texts = self.sampler.texts(rows, stage, step)
        extra = chain.from_iterable((*texts.positives, *texts.negatives, *texts.denied))
        labels: tuple[str, ...] = ()
        if stage.frames:
            labels = sounds_of(self.data, self.data.rows(everywhere) if everywhere else rows)
        sentences = (*texts.captions, *extra, *map(text_of, labels))
        number = {text: k for k, text in enumerate(dict.fromkeys(sentences))}

        counts = tuple(counts) or (len(rows),)
        uniform = None
        if stage.loss.draws:
            first = sum(counts[:rank])
            span = slice(first, first + len(rows))
            uniform = draw_uniform(span, sum(counts), step, self.sampler.seed)

        def to_ragged(rows_of_texts: Iterable[Sequence[str]]) -> Ragged:
            return Ragged.of_rows([number[text] for text in row] for row in rows_of_texts)

        return Batch(
            step=step,
            audio=self._audio(positions, rows),
            texts=self.tokenizer(list(number), self.width),
            captions=_to_tensor([number[text] for text in texts.captions]),
            positives=to_ragged(texts.positives),
            negatives=to_ragged(texts.negatives),
            denied=to_ragged(texts.denied),
            keys=_to_tensor(
                [[number_of(key) for key in keys] for keys in (texts.captions, texts.meanings)]
            ),
            views=_to_tensor([_view(row) for row in rows]),
            groups=_to_tensor([number_of(row["group"]) for row in rows]),
            classes=_to_tensor(
                [[number_of(row["labels"][end]) for end in (0, -1)] for row in rows]
            ).reshape(len(rows), 2),
            unrefuted=find_unrefuted(rows, texts.claims, self.data.audible),
            whole=whole,
            counts=counts,
            uniform=uniform,
            sounds=self._sounds(rows, labels, number) if stage.frames else None,
        )

    def _sounds(
        self, rows: Sequence[Row], labels: Sequence[str], number: Mapping[str, int]
    ) -> SoundFrames:
        if self.tower is None:
            raise ValueError("the length of a token is the tower's")
        states = token_states(self.data, rows, labels, self.tower.chunk)
        return SoundFrames(_to_tensor([number[text_of(label)] for label in labels]), states)

    def _audio(self, positions: Sequence[int], rows: Sequence[Row]) -> AudioBatch:
        if self.cached:
            return AudioBatch(tuple(positions))
        pcm = self.data.sounds(rows)
        if self.tower is None:
            return AudioBatch(tuple(positions), pcm)
        if self.hears:
            return AudioBatch(tuple(positions), features=hear(pcm, self.tower))
        return AudioBatch(tuple(positions), pcm, count_chunks(pcm, self.tower.chunk))


class Loader:
    """Makes the batch of any step; a resumed run asks for the same steps and gets the same.

    Args:
        assembler: Makes batches of samples; another one may take its place before the first step.
        rank: Which part of every batch this process takes, of `ranks`.
    """

    def __init__(
        self, assembler: Assembler, config: TrainConfig, rank: int = 0, ranks: int = 1
    ) -> None:
        self.assembler = assembler
        self._config = config
        self._rank = rank
        self._chosen = Chosen.of(assembler.data, config, ranks)

    def batch(self, step: int) -> Batch:
        """This process's part of the batch of a step."""
        shares = self._chosen.shares(step)
        stage, rank = self._config.stages[place(step, self._config.stages).stage], self._rank
        counts = [len(share) for share in shares]
        everywhere = np.concatenate(shares).tolist() if len(shares) > 1 else ()
        batch = self.assembler.batch(shares[rank].tolist(), stage, step, counts, rank, everywhere)
        return batch.pinned() if self._config.device.startswith("cuda") else batch

    def iterate(self, start: int, stop: int) -> Iterator[Batch]:
        """The batches of steps `start` to `stop - 1`.

        `prefetch` of them are made ahead, or one a worker where those are more.
        """
        most = max(self._config.prefetch, self._config.workers)
        waiting: deque[Future[Batch]] = deque()
        ahead = start
        with ThreadPoolExecutor(self._config.workers, "segue-batch", compute_alone) as pool:
            try:
                for _ in range(start, stop):
                    while ahead < stop and len(waiting) < most:
                        waiting.append(pool.submit(self.batch, ahead))
                        ahead += 1
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def refuse_unsuitable(data: SplitData, stage: Stage) -> None:
    """Check that the corpus gives a stage's losses what they are about."""
    _ = data.audible  # by which `find_unrefuted` judges captions
    if Role.DENIED in stage.roles and FULLY_NEGATED not in data.negative_kinds:
        raise SpecError(
            f"`dissimilarity` needs fully negated captions, and corpus {data.corpus.name} has none",
            fix="leave out `dissimilarity`, or build a corpus with the `negation` recipe",
        )
    if stage.frames and not data.is_labelled.any():
        raise SpecError(
            "`frames` needs sounds that are named by labels and whose times are known, and corpus "
            f"{data.corpus.name} has none",
            fix="drop it, or build a corpus of a labelled source with the `scenes` recipe, or one "
            "of an older version again",
        )
    stage.loss.refuse_unsuitable(data)


def draw_uniform(rows: slice, total: int, step: int, seed: int) -> Float[Tensor, "rows candidates"]:
    """Numbers in [0, 1) by which a loss draws, as TextSwap does which captions it replaces.

    They are drawn for the rows of all processes, so that a row's numbers do not depend on how many
    processes there are.
    """
    generator = torch.Generator().manual_seed(  # of TextSwap, the first that drew
        int(digest(str(seed), "textswap", str(step))[:15], 16)
    )
    return torch.rand(total, total, generator=generator)[rows].clone()


def _view(row: Row) -> int:
    if row["relation"]:
        return _VIEWS.get(row["relation"], _UNKNOWN)
    scene = json.loads(row["scene"])
    return 0 if "event" in scene else 1 if "overlay" in scene else _UNKNOWN


def _to_tensor(values: Sequence[int] | Sequence[Sequence[int]]) -> Tensor:
    return torch.tensor(values, dtype=torch.long)


ASKED: Final = "OMP_NUM_THREADS"
"""By which the user, or torchrun, says how many threads torch is to have."""


@contextmanager
def share_processors(workers: int) -> Iterator[None]:
    """Within it torch has the processors that so many loader threads leave, at least one.

    A number of threads that the environment asks for stays.
    """
    before = torch.get_num_threads()
    if ASKED not in os.environ:
        torch.set_num_threads(max(processors() - workers, 1))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def compute_alone() -> None:
    """Have what torch computes in this thread done by this thread alone."""
    torch.set_num_threads(1)
