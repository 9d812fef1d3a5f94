"""Evaluation of a trained model on a split of a corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from jaxtyping import Float

from synth.caption import Connective
from synth.corpus import Corpus
from synth.errors import SpecError
from train.config import Mode
from train.data import Row, SplitData, meaning, numbered
from train.device import torch_device
from train.metrics import Metric, bat, retrieval, triplet_accuracy
from train.model import Clap
from train.run_folder import load_run
from train.tokenizer import TextTokenizer

_TOGETHER: Final = 64
_TRIPLET: Final = (Connective.BEFORE.value, Connective.AFTER.value, Connective.WHILE.value)
_EXCHANGED: Final = {
    Connective.BEFORE.value: Connective.AFTER.value,
    Connective.AFTER.value: Connective.BEFORE.value,
}

Embeddings = Float[np.ndarray, "items dim"]
Embedding = Float[np.ndarray, " dim"]


@dataclass(frozen=True)
class Evaluator:
    """A trained model and what it says of sounds and texts.

    Args:
        model: In evaluation mode.
        tokenizer: Of the run.
    """

    model: Clap
    tokenizer: TextTokenizer

    @torch.no_grad()
    def audio(self, data: SplitData, rows: Sequence[Row]) -> Embeddings:
        """Unit-length embeddings of the sounds of a split's rows, in order, float64."""
        device = self.model.scale.log.device
        parts = [
            self.model.encode_audio(
                data.waveforms(rows[start : start + _TOGETHER]).to(device)
            ).cpu()
            for start in range(0, len(rows), _TOGETHER)
        ]
        return torch.cat(parts).double().numpy()

    @torch.no_grad()
    def texts(self, texts: Sequence[str]) -> Mapping[str, Embedding]:
        """The unit-length embedding of every different text, float64."""
        device = self.model.scale.log.device
        # Texts of one length stand together, so that little is spent on padding.
        unique = sorted(set(texts), key=lambda text: (len(text.split()), text))
        found: dict[str, Embedding] = {}
        for start in range(0, len(unique), _TOGETHER):
            part = unique[start : start + _TOGETHER]
            ids = self.tokenizer(part).to(device)
            embedded = self.model.encode_text(ids.ids, ids.mask).cpu().double().numpy()
            found.update(zip(part, embedded, strict=True))
        return found


def evaluate(
    run: Path, corpus: Path, split: str = "test", *, mode: Mode = Mode.SHARDS, device: str = "cpu"
) -> dict[str, Metric]:
    """Every metric that the samples of a split allow.

    Args:
        run: Folder of a finished run.
        corpus: Manifest folder of the corpus.
        split: The split.
        mode: Where audio comes from.
        device: Where to compute.

    Returns:
        `bat`, `triplets`, and `audio_to_text_*` and `text_to_audio_*` retrieval; those that nothing
        in the split can be judged by are left out.

    Raises:
        CorpusError: If the run or the corpus cannot be read.
        SpecError: If the run takes another sample rate, or the device is absent.
    """
    place = torch_device(device)
    loaded = load_run(run)
    opened = Corpus.open(corpus)
    if loaded.sample_rate != opened.sample_rate:
        raise SpecError(
            f"{run} takes audio at {loaded.sample_rate} Hz, corpus {opened.name} is at "
            f"{opened.sample_rate} Hz",
            mend=f"build the corpus with sample_rate: {loaded.sample_rate}",
        )
    data = SplitData(opened, split, mode)
    rows = data.rows(range(len(data)))
    evaluator = Evaluator(loaded.model.to(place), loaded.tokenizer)
    audio = evaluator.audio(data, rows)
    texts = evaluator.texts(
        [row["caption"] for row in rows]
        + [text for row in rows if (text := exchanged(row)) is not None]
    )
    metrics = {
        "bat": _bat(rows, audio, texts),
        "triplets": _triplets(rows, audio, texts),
        **_retrieval(rows, audio, texts),
    }
    return {name: metric for name, metric in metrics.items() if metric.n}


def exchanged(row: Mapping[str, Any]) -> str | None:
    """The caption of a before/after sample with the word exchanged; None where it has none.

    Args:
        row: A manifest row.
    """
    wanted = _EXCHANGED.get(row["relation"])
    for text in row["negatives"]:
        if text["kind"] == "relation" and text["connective"] == wanted:
            return str(text["text"])
    return None


def _bat(
    rows: Sequence[Mapping[str, Any]], audio: Embeddings, texts: Mapping[str, Embedding]
) -> Metric:
    pairs, is_after, groups = [], [], []
    for row, sound in zip(rows, audio, strict=True):
        other = exchanged(row)
        if other is not None:
            pairs.append([sound @ texts[row["caption"]], sound @ texts[other]])
            is_after.append(row["relation"] == Connective.AFTER.value)
            groups.append(row["group"])
    return bat(
        np.array(pairs).reshape(-1, 2), np.array(is_after, dtype=bool), numbered(groups).numpy()
    )


def _triplets(
    rows: Sequence[Mapping[str, Any]], audio: Embeddings, texts: Mapping[str, Embedding]
) -> Metric:
    groups: dict[str, dict[str, int]] = {}
    for position, row in enumerate(rows):
        groups.setdefault(row["group"], {})[row["relation"]] = position
    blocks = []
    for members in groups.values():
        if all(relation in members for relation in _TRIPLET):
            chosen = [members[relation] for relation in _TRIPLET]
            said = np.stack([texts[rows[position]["caption"]] for position in chosen])
            blocks.append(audio[chosen] @ said.T)
    return triplet_accuracy(np.array(blocks).reshape(-1, 3, 3))


def _retrieval(
    rows: Sequence[Mapping[str, Any]], audio: Embeddings, texts: Mapping[str, Embedding]
) -> dict[str, Metric]:
    """Each different caption is one text; every sample whose claim means the same is right.

    A text counts to the group of the first sample that it is the caption of.
    """
    heard = numbered([meaning(row["claim"]) for row in rows]).numpy()
    groups = numbered([row["group"] for row in rows]).numpy()
    first: dict[str, int] = {}
    for position, row in enumerate(rows):
        first.setdefault(row["caption"], position)
    said = list(first.values())
    correct = heard[:, None] == heard[said][None, :]
    similarity = audio @ np.stack([texts[text] for text in first]).T
    ways = {
        "audio_to_text": retrieval(similarity, correct, groups),
        "text_to_audio": retrieval(similarity.T, correct.T, groups[said]),
    }
    return {f"{way}_{name}": one for way, found in ways.items() for name, one in found.items()}
