"""What a run has come to, and which corpora it learnt from, by its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from synth.base.errors import SegueError
from synth.corpus.corpus import CORPUS_FILE, Corpus
from synth.storage import format_place, local_place
from train.config.run import TrainConfig
from train.engine.run_folder import CHECKPOINT_FILE, MODEL_FILE, load_tensors
from train.model.weights import weights_digest


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What the files of a run tell of it.

    Args:
        finished: Whether it has ended, and kept a model.
        parameters: Of the model; None where there are neither model nor checkpoint.
        digests: Of the corpus it learnt from, and of those mixed in; none where the checkpoint is
            gone.
    """

    finished: bool
    parameters: int | None
    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Learnt:
    """A corpus that a run learnt from.

    Args:
        place: Where the run was told that it lies.
        share: Of every batch; "" for the corpus that others are mixed into.
        digest: Of the version; "" where nobody knows.
        corpus: That version; None where it is not at hand.
    """

    place: str
    share: str
    digest: str
    corpus: Corpus | None

    @property
    def name(self) -> str:
        """The name of the corpus, or of its folder."""
        return Path(self.place).name if self.corpus is None else self.corpus.name


def read_outcome(folder: Path) -> RunOutcome:
    """The outcome of a run; its tensors' shapes are read, not kept."""
    saved = _load(folder / CHECKPOINT_FILE)
    kept = saved or _load(folder / MODEL_FILE)
    weights = kept.get("model")
    return RunOutcome(
        finished=(folder / MODEL_FILE).is_file(),
        parameters=None if weights is None else sum(each.numel() for each in weights.values()),
        digests=tuple(str(saved.get("origin", {}).get("corpus", "")).split()),
    )


def read_weights(folder: Path) -> str:
    """Digest of the weights that a run has kept; "" where it has kept none yet."""
    kept = _load(folder / MODEL_FILE, "cpu")
    return weights_digest(kept["model"]) if kept else ""


def _load(path: Path, device: str = "meta") -> Mapping[str, Any]:
    return load_tensors(path, torch.device(device)) if path.is_file() else {}


def find_learnt(config: TrainConfig, digests: Sequence[str]) -> list[Learnt]:
    """What a run learnt from: its corpus, then those mixed in.

    Args:
        digests: Of the versions it learnt from, in the same order; none where nobody knows.
    """
    places = [
        (config.corpus, ""),
        *((each.corpus, f"{100 * each.weight:g} %") for each in config.mix),
    ]
    known = digests if len(digests) == len(places) else [""] * len(places)
    return [
        Learnt(format_place(place), share, digest, _find_corpus(place, digest))
        for (place, share), digest in zip(places, known, strict=True)
    ]


def _find_corpus(place: Path, digest: str) -> Corpus | None:
    """The version of a corpus that has a digest; `latest` may have moved since."""
    try:
        folder = local_place(place)
        above = (folder, *sorted(path.parent for path in folder.glob(f"*/{CORPUS_FILE}")))
        opened = [Corpus.open(each) for each in above if each.is_dir()]
    except (SegueError, OSError, ValueError):
        return None
    return next((each for each in opened if each.facts.get("digest") == digest), None)
