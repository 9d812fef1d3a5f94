"""A split of a corpus as the trainer sees it: audio by position, texts by position and step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from jaxtyping import Float, Int
from torch import Tensor

from synth.audio.dsp import Pcm
from synth.base.errors import CorpusError, SpecError
from synth.base.units import Frames
from synth.corpus.corpus import CLIPS_FILE, Corpus
from synth.corpus.schema import AUDIBLE
from synth.labels.tag import Tag
from train.config.run import Mode, Stage

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
    "clips",
    "labels",
    "scene",
    "frames",
    "offset",
    "size",
)
_FULL_SCALE: Final = 32768.0

TRAIN: Final = "train"
VAL: Final = "val"

Row = dict[str, Any]


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
        fields = [field.with_type(_widen_offsets(field.type)) for field in table.schema]
        self.table: pa.Table = table.cast(
            pa.schema(fields, metadata=table.schema.metadata)
        ).combine_chunks()

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
    def frames(self) -> list[Frames]:
        """Length of every sample in frames."""
        return self.table["frames"].to_pylist()  # type: ignore[no-any-return]

    @cached_property
    def longest(self) -> Frames:
        """Length of the longest sample in frames."""
        return max(self.frames, default=0)

    @cached_property
    def negative_kinds(self) -> frozenset[str]:
        """Every kind of false caption that a sample has."""
        return frozenset(
            kind
            for chunk in self.table["negatives"].chunks
            for kind in pc.unique(chunk.flatten().field("kind")).to_pylist()
        )

    def rows(self, positions: Sequence[int]) -> list[Row]:
        """The manifest rows at `positions`, each with its `position`."""
        taken = self.table.take(list(positions)).to_pylist()
        return [row | {"position": k} for k, row in zip(positions, taken, strict=True)]

    def find_in_play(self, stage: Stage) -> list[int]:
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
                fix=f"its relations are {', '.join(sorted(known))}"
                if any(known)
                else "its captions tell no relation: leave `relations` out of the stage",
            )
        chosen = self.find_in_play(stage)
        if len(chosen) < 2:
            raise SpecError(
                f"split {self.split!r} of corpus {self.corpus.name} has {len(chosen)} samples "
                "to learn from",
                fix="build a larger corpus",
            )
        return np.array(chosen, dtype=np.int64)

    def pcm(self, row: Row) -> Pcm:
        """The audio of a manifest row."""
        if self.mode is Mode.VIRTUAL:
            return self.corpus.virtual_pcm(row["scene"], row["frames"])
        return self.corpus.stored_pcm(self.split, row["shard"], row["offset"], row["size"])

    def waveforms(self, rows: Sequence[Row]) -> Float[Tensor, "batch samples"]:
        """Audio of manifest rows in -1 to 1, padded at the end with silence to the longest."""
        sounds = [_apply_crop(self.pcm(row), row) for row in rows]
        batch = np.zeros((len(sounds), max(map(len, sounds))), dtype=np.float32)
        for line, pcm in zip(batch, sounds, strict=True):
            line[: len(pcm)] = pcm
        return torch.from_numpy(batch / np.float32(_FULL_SCALE))

    @cached_property
    def tags(self) -> Mapping[str, tuple[Tag, ...]]:
        """Tags of each clip that bears any."""
        rows = pq.read_table(self.corpus.folder / CLIPS_FILE, columns=["id", "tags"]).to_pylist()
        return {row["id"]: tuple(Tag(**tag) for tag in row["tags"]) for row in rows if row["tags"]}

    @cached_property
    def audible(self) -> Frames:
        """Shortest overlap in frames that can be heard as sounding together.

        Raises:
            CorpusError: If the corpus does not say.
        """
        value = (self.table.schema.metadata or {}).get(AUDIBLE.encode())
        if value is None:
            raise CorpusError(
                f"{self.corpus.folder}: does not say from which overlap on sounds are heard "
                "together, so no caption can be judged on a part of a sample",
                fix="build the corpus again, or leave `crop_s` out",
            )
        return int(value)

    def vocabulary(self) -> set[str]:
        """Every text of the split, true or false."""
        said = [*self.table["caption"].chunks]
        for column in ("positives", "negatives"):
            said += [chunk.flatten().field("text") for chunk in self.table[column].chunks]
        return {text for chunk in said for text in pc.unique(chunk).to_pylist()}


def _apply_crop(pcm: Pcm, row: Row) -> Pcm:
    """What is heard of a sample: all of it, or its crop."""
    start, frames = row.get("crop", (0, len(pcm)))
    return pcm[start : start + frames]


def _widen_offsets(kind: pa.DataType) -> pa.DataType:
    """The type with 64-bit offsets throughout."""
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_list(kind):
        return pa.large_list(kind.value_field.with_type(_widen_offsets(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_widen_offsets(field.type)) for field in kind])
    return kind


def number_keys(keys: Sequence[str]) -> Int[Tensor, " keys"]:
    """Numbers that are equal where keys are equal."""
    known: dict[str, int] = {}
    return torch.tensor([known.setdefault(key, len(known)) for key in keys], dtype=torch.long)
