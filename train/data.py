"""A split of a corpus as the trainer sees it: audio by position, texts by position and step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from jaxtyping import Float, Int
from torch import Tensor

from synth.corpus import Corpus
from synth.dsp import Pcm
from synth.errors import SpecError
from synth.rng import Randomness
from synth.schema import canonical_json
from train.config import Mode, Stage

_COLUMNS: Final = (
    "id",
    "group",
    "split",
    "shard",
    "relation",
    "caption",
    "claim",
    "positives",
    "negatives",
    "scene",
    "frames",
    "offset",
    "size",
)
_FULL_SCALE: Final = 32768.0

TRAIN: Final = "train"
VAL: Final = "val"

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a batch.

    Args:
        captions: One true caption a sample.
        meanings: What each caption claims, equal where claims are equal.
        negatives: False captions of all samples, flat.
        owner: Row of the batch that each negative belongs to.
    """

    captions: tuple[str, ...]
    meanings: tuple[str, ...]
    negatives: tuple[str, ...]
    owner: tuple[int, ...]


class SplitData:
    """One split of a corpus, by position.

    Args:
        corpus: The corpus.
        split: Name of the split.
        mode: Where audio comes from.
    """

    def __init__(self, corpus: Corpus, split: str, mode: Mode) -> None:
        self.corpus = corpus
        self.split = split
        self.mode = mode
        table = corpus.samples(split, columns=list(_COLUMNS))
        # In one piece, since rows taken from many cost the whole table; 64-bit offsets hold any.
        fields = [field.with_type(_large(field.type)) for field in table.schema]
        self.table: pa.Table = table.cast(pa.schema(fields)).combine_chunks()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def groups(self) -> list[str]:
        """Group of every sample."""
        return self.table["group"].to_pylist()  # type: ignore[no-any-return]

    @cached_property
    def relations(self) -> list[str]:
        """Relation of every sample's main caption."""
        return self.table["relation"].to_pylist()  # type: ignore[no-any-return]

    @cached_property
    def longest(self) -> int:
        """Length of the longest sample in frames."""
        return max(self.table["frames"].to_pylist(), default=0)

    def rows(self, positions: Sequence[int]) -> list[Row]:
        """The manifest rows at `positions`, each with its `position`."""
        taken = self.table.take(list(positions)).to_pylist()
        return [row | {"position": k} for k, row in zip(positions, taken, strict=True)]

    def in_play(self, stage: Stage) -> list[int]:
        """Positions of the samples whose main caption tells a relation of the stage."""
        wanted = set(stage.relations or self.relations)
        return [k for k, relation in enumerate(self.relations) if relation in wanted]

    def pool(self, stage: Stage) -> Int[np.ndarray, " samples"]:
        """Positions of the samples in play in a stage.

        Raises:
            SpecError: If there are fewer than two.
        """
        known = set(self.relations)
        if missing := set(stage.relations) - known:
            raise SpecError(
                f"a stage asks for {', '.join(sorted(missing))}, which no sample of split "
                f"{self.split!r} of corpus {self.corpus.name} tells",
                mend=f"its relations are {', '.join(sorted(known))}"
                if any(known)
                else "its captions tell no relation: leave `relations` out of the stage",
            )
        chosen = self.in_play(stage)
        if len(chosen) < 2:
            raise SpecError(
                f"split {self.split!r} of corpus {self.corpus.name} has {len(chosen)} samples "
                "to learn from",
                mend="build a larger corpus",
            )
        return np.array(chosen, dtype=np.int64)

    def pcm(self, row: Row) -> Pcm:
        """The audio of a manifest row."""
        if self.mode is Mode.VIRTUAL:
            return self.corpus.virtual_pcm(row["scene"], row["frames"])
        return self.corpus.stored_pcm(self.split, row["shard"], row["offset"], row["size"])

    def waveforms(self, rows: Sequence[Row]) -> Float[Tensor, "batch samples"]:
        """Audio of manifest rows in -1 to 1, padded at the end with silence to the longest."""
        sounds = [self.pcm(row) for row in rows]
        batch = np.zeros((len(sounds), max(map(len, sounds))), dtype=np.float32)
        for line, pcm in zip(batch, sounds, strict=True):
            line[: len(pcm)] = pcm
        return torch.from_numpy(batch / np.float32(_FULL_SCALE))

    def texts(
        self, rows: Sequence[Row], stage: Stage, restatements: bool, seed: int, step: int
    ) -> Texts:
        """The texts of a batch, a pure function of (seed, step, position).

        Args:
            rows: The batch.
            stage: Gives the relations in play and whether negatives are.
            restatements: Whether to draw from all true captions or take the main one.
            seed: Of the run.
            step: Global step.
        """
        captions, meanings, negatives, owner = [], [], [], []
        for number, row in enumerate(rows):
            said = [{"text": row["caption"], "claim": row["claim"]}]
            if restatements:
                said += [text for text in row["positives"] if _in_play(text, stage)]
            choice = 0
            if len(said) > 1:
                randomness = Randomness(seed).at(f"text/{step}", row["position"])
                choice = int(randomness.integers(len(said)))
            captions.append(said[choice]["text"])
            meanings.append(meaning(said[choice]["claim"]))
            if stage.negatives:
                false = [text["text"] for text in row["negatives"] if _in_play(text, stage)]
                negatives += false
                owner += [number] * len(false)
        return Texts(tuple(captions), tuple(meanings), tuple(negatives), tuple(owner))

    def vocabulary(self) -> set[str]:
        """Every text of the split, true or false."""
        said = [*self.table["caption"].chunks]
        for column in ("positives", "negatives"):
            said += [chunk.flatten().field("text") for chunk in self.table[column].chunks]
        return {text for chunk in said for text in pc.unique(chunk).to_pylist()}


def _large(kind: pa.DataType) -> pa.DataType:
    """The type with 64-bit offsets throughout."""
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_list(kind):
        return pa.large_list(kind.value_field.with_type(_large(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_large(field.type)) for field in kind])
    return kind


def numbered(keys: Sequence[str]) -> Int[Tensor, " keys"]:
    """Numbers that are equal where keys are equal."""
    known: dict[str, int] = {}
    return torch.tensor([known.setdefault(key, len(known)) for key in keys], dtype=torch.long)


@lru_cache(maxsize=65536)
def meaning(claim: str) -> str:
    """A claim in the one form that all claims of equal meaning share.

    Args:
        claim: Claim as JSON. What is heard together, or joined by "and", has no order.
    """
    return canonical_json(_sorted(json.loads(claim)))


def _sorted(value: Any) -> Any:
    match value:
        case {"overlay": [first, second], **rest}:
            parts = sorted((_sorted(first), _sorted(second)), key=canonical_json)
            return {"overlay": parts, **rest}
        case {"and": [first, second]}:
            return {"and": sorted((_sorted(first), _sorted(second)), key=canonical_json)}
        case {"sequence": [first, second], **rest}:
            return {"sequence": [_sorted(first), _sorted(second)], **rest}
        case {"not": inner}:
            return {"not": _sorted(inner)}
        case {"only": inner}:
            return {"only": _sorted(inner)}
    return value


def _in_play(text: dict[str, str], stage: Stage) -> bool:
    return not stage.relations or text["connective"] in stage.relations
