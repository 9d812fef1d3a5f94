"""The frozen test sets as tasks of mteb, which must be installed: `mteb.evaluate(model, tasks)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from mteb import TaskMetadata
from mteb.abstasks import AbsTask
from torch.utils.data import DataLoader, Dataset

from experiments.frozen.score import OpenSet, score_set
from pipelines.frozen import ROOT
from pipelines.frozen.description import SPLIT, BuiltSet, read_records
from synth.audio.dsp import Audio
from synth.base.progress import UNOBSERVED
from train.bench.embedder import Embeddings, unit_length
from train.bench.settings import Padding

MAIN_SCORE: Final = "group"


def mteb_tasks(sets: Path = ROOT) -> list[AbsTask]:
    """A task for each set that is built, but for those that are answered with windows.

    Its scores are those of `segue bench run`: `text`, `audio` and `group`, which is the main one
    but for composed sets, where `audio` is, and the same after `backwards_`. The model resamples
    and pads as it does for mteb.
    """
    return [_make_task(built, sets)() for built in read_records(sets) if not built.windows]


def _make_task(built: BuiltSet, root: Path) -> type[AbsTask]:
    """The class of a set's task: mteb reads the metadata from the class."""
    name = "".join(part.capitalize() for part in built.corpus.split("-"))
    what = "Minimal pairs of two sounds and two captions."
    if built.composed:
        what = "A sound and an instruction, and two edits of the sound; chance is one half."
    metadata = TaskMetadata(
        name=f"Segue{name}",
        description=f"{built.asks} {what}",
        dataset={"path": f"segue/{built.corpus}", "revision": built.digest},
        type="Compositionality",
        category="at2a" if built.composed else "a2t",
        modalities=["audio", "text"],
        eval_splits=[SPLIT],
        eval_langs=["eng-Latn"],
        main_score="audio" if built.composed else MAIN_SCORE,
        sample_creation="created",
        annotations_creators="derived",
    )
    body = {"metadata": metadata, "built": built, "root": root}
    return type(metadata.name, (_SegueTask,), body)


class _SegueTask(AbsTask):  # type: ignore[misc]
    """The task of one set."""

    built: BuiltSet
    root: Path
    abstask_prompt = "Find the caption that is true of the sound."

    def load_data(self, num_proc: int | None = None, **_: Any) -> None:
        """Open the set, and prove that it is what was built."""
        opened = OpenSet.open(self.built, self.root, UNOBSERVED)
        self.dataset = {"default": {SPLIT: opened}}
        self.data_loaded = True

    def _evaluate_subset(
        self,
        model: Any,
        data_split: OpenSet,
        *,
        hf_split: str,
        hf_subset: str,
        encode_kwargs: dict[str, Any],
        **_: Any,
    ) -> dict[str, float]:
        encode = partial(
            model.encode,
            task_metadata=self.metadata,
            hf_split=hf_split,
            hf_subset=hf_subset,
            **encode_kwargs,
        )
        rate = data_split.data.corpus.sample_rate
        embedder = _Encoder(encode, rate, encode_kwargs.get("batch_size", 32))
        sounds = data_split.list_sounds()
        metrics = score_set(embedder, data_split, sounds, Padding.PAD, UNOBSERVED)
        return {name: metric.value for name, metric in metrics.items()}

    def _calculate_descriptive_statistics_from_split(self, split: str, **_: Any) -> dict[str, Any]:
        opened: OpenSet = self.dataset["default"][split]
        return {"num_samples": len(opened.positions), "blocks": len(opened.blocks)}


@dataclass(frozen=True)
class _Encoder:
    """A model of mteb as an `Embedder`; it is given the sounds at the set's own rate."""

    encode: Any
    sample_rate: int
    batch_size: int
    longest: int | None = None

    def audio(self, waveforms: Sequence[Audio]) -> Embeddings:
        rate = self.sample_rate
        return self._embed("audio", [{"array": wave, "sampling_rate": rate} for wave in waveforms])

    def texts(self, texts: Sequence[str]) -> Embeddings:
        return self._embed("text", texts)

    def _embed(self, kind: str, items: Sequence[Any]) -> Embeddings:
        batches: DataLoader[Any] = DataLoader(
            _Items(kind, items), batch_size=self.batch_size, collate_fn=_collate
        )
        return unit_length(torch.as_tensor(self.encode(batches)))


class _Items(Dataset[dict[str, Any]]):
    """Sounds or texts; models of mteb tell by `features` which they are given."""

    def __init__(self, kind: str, items: Sequence[Any]) -> None:
        self.features = {kind: None}
        self._kind, self._items = kind, items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {self._kind: self._items[number]}


def _collate(batch: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [item[name] for item in batch] for name in batch[0]}
