"""What a run has come to, and which corpus it learnt from, by its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from synth.base.errors import SegueError
from synth.corpus.corpus import CORPUS_FILE, Corpus
from synth.storage import local_place
from train.engine.run_folder import CHECKPOINT_FILE, MODEL_FILE, load_tensors
from train.model.weights import weights_digest


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the files of a run tell of it.

    Args:
        finished: Whether it has ended, and kept a model.
        parameters: Of the model; None where there are neither model nor checkpoint.
        digest: Of the corpus it learnt from; "" where the checkpoint is gone.
    """

    finished: bool
    parameters: int | None
    digest: str


def read_outcome(folder: Path) -> Outcome:
    """The outcome of a run; its tensors' shapes are read, not kept.

    Raises:
        CorpusError: If a file is damaged.
    """
    saved = _load(folder / CHECKPOINT_FILE)
    kept = saved or _load(folder / MODEL_FILE)
    weights = kept.get("model")
    return Outcome(
        finished=(folder / MODEL_FILE).is_file(),
        parameters=None if weights is None else sum(each.numel() for each in weights.values()),
        digest=str(saved.get("origin", {}).get("corpus", "")),
    )


def read_weights(folder: Path) -> str:
    """Digest of the weights that a run has kept; "" where it has kept none yet.

    Raises:
        CorpusError: If the file is damaged.
    """
    kept = _load(folder / MODEL_FILE, "cpu")
    return weights_digest(kept["model"]) if kept else ""


def _load(path: Path, device: str = "meta") -> Mapping[str, Any]:
    return load_tensors(path, torch.device(device)) if path.is_file() else {}


def find_corpus(place: Path, digest: str) -> Corpus | None:
    """The version of a corpus that has this digest; None where it is not at hand.

    Args:
        place: What the run was told to learn from, where `latest` may have moved since.
        digest: Of the version it learnt from.
    """
    try:
        folder = local_place(place)
        above = (folder, *sorted(path.parent for path in folder.glob(f"*/{CORPUS_FILE}")))
        opened = [Corpus.open(each) for each in above if each.is_dir()]
    except (SegueError, OSError, ValueError):
        return None
    return next((each for each in opened if each.facts.get("digest") == digest), None)
