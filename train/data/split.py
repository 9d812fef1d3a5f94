"""A split of a corpus as the trainer sees it: audio by position, texts by position and step."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from tarfile import BLOCKSIZE
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import soundfile
import torch
from jaxtyping import Bool, Int, Int16
from torch import Tensor

from synth.audio.dsp import Pcm, from_pcm, ramp_cut, to_pcm
from synth.base.doors import MAX_BYTES
from synth.base.errors import CorpusError, SpecError
from synth.base.units import Frames
from synth.corpus.corpus import CLIPS_FILE, Corpus
from synth.corpus.schema import AUDIBLE
from synth.corpus.shards import read_member
from synth.labels.lexicon import Tag, heard_tags
from synth.storage import display_path
from train.config.run import AudioMode, Stage
from train.data.meaning import number_of
from train.data.rows import Row, SplitRows
from train.data.tokenizer import CutTexts, TextTokenizer

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
    "activity",
    "lead",
    "frames",
    "offset",
    "size",
)
_NAME: Final = 100
"""Bytes of a name in the header before a member."""
TRAIN: Final = "train"
VAL: Final = "val"


class SplitData:
    """One split of a corpus, by position."""

    def __init__(
        self, corpus: Corpus, split: str, mode: AudioMode, rows: SplitRows | None = None
    ) -> None:
        self.corpus = corpus
        self.split = split
        self.mode = mode
        self._rows = SplitRows.open(corpus, split, _COLUMNS) if rows is None else rows

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def mixed(self) -> Sequence[Int[np.ndarray, " _samples"]]:
        """Positions of the samples of each split that is mixed in: none here."""
        return ()

    @cached_property
    def groups(self) -> Int[np.ndarray, " samples"]:
        """A number of every sample's group: equal where the group is."""
        return self._number("group", number_of)

    @cached_property
    def _relations(self) -> tuple[dict[str, int], Int[np.ndarray, " samples"]]:
        """Numbers of the relations that main captions tell, and that of every sample."""
        relations: dict[str, int] = {}
        numbers = self._number("relation", lambda name: relations.setdefault(name, len(relations)))
        return relations, numbers

    def _number(self, column: str, number: Callable[[str], int]) -> Int[np.ndarray, " samples"]:
        """Numbers of what a column says, given that of each text; asked once a batch of rows."""
        numbers = np.empty(len(self._rows), dtype=np.int64)
        stop = 0
        for batch in self._rows.scan():
            start, stop = stop, stop + len(batch)
            coded = batch[column].dictionary_encode()
            ids = np.array([number(text) for text in coded.dictionary.to_pylist()], dtype=np.int64)
            numbers[start:stop] = ids[coded.indices.to_numpy()]
        return numbers

    @property
    def relations(self) -> tuple[str, ...]:
        """Every relation that a main caption tells."""
        return tuple(self._relations[0])

    @cached_property
    def frames(self) -> Int[np.ndarray, " samples"]:
        """Length of every sample in frames."""
        return np.fromiter(
            chain.from_iterable(batch["frames"].to_pylist() for batch in self._rows.scan()),
            dtype=np.int64,
            count=len(self),
        )

    @cached_property
    def longest(self) -> Frames:
        """Length of the longest sample in frames."""
        return int(self.frames.max(initial=0))

    @cached_property
    def negative_kinds(self) -> frozenset[str]:
        """Every kind of false caption that a sample has."""
        return frozenset(
            kind
            for batch in self._rows.scan()
            for kind in pc.unique(batch["negatives"].flatten().field("kind")).to_pylist()
        )

    def rows(self, positions: Sequence[int]) -> list[Row]:
        """The rows at `positions`."""
        rows = self._rows.take(positions)
        return [Row(row, k) for k, row in zip(positions, rows, strict=True)]

    def find_in_play(self, stage: Stage) -> Int[np.ndarray, " samples"]:
        """Positions of the samples whose main caption tells a relation of the stage."""
        relations, numbers = self._relations
        in_play = [number for name, number in relations.items() if stage.tells(name)]
        return np.flatnonzero(np.isin(numbers, in_play))

    def pool(self, stage: Stage) -> Int[np.ndarray, " samples"]:
        """Positions of the samples in play in a stage."""
        relations = set(self.relations)
        if missing := set(stage.relations) - relations:
            raise SpecError(
                f"a stage asks for {', '.join(sorted(missing))}, but no sample of split "
                f"{self.split!r} of corpus {self.corpus.name} has that",
                fix=f"its relations are {', '.join(sorted(relations))}"
                if any(relations)
                else "its captions have no relation: drop `relations` from the stage",
            )
        chosen = self.find_in_play(stage)
        if len(chosen) < 2:
            raise SpecError(
                f"split {self.split!r} of corpus {self.corpus.name} has {len(chosen)} "
                "samples to learn from",
                fix="build a larger corpus",
            )
        return chosen

    def pcm(self, row: Row) -> Pcm:
        """The audio of a manifest row."""
        if self.mode is AudioMode.VIRTUAL:
            return self.corpus.virtual_pcm(row)
        shard = self.corpus.shard(self.split, row["shard"])
        try:
            return self._stored_pcm(row, shard)
        except (ValueError, EOFError, soundfile.SoundFileError) as error:
            raise CorpusError(
                f"{display_path(shard)}: sample {row['id']} at byte {row['offset']}: {error}",
                fix="run `segue build` again, or download the shard again",
            ) from error

    def _stored_pcm(self, row: Row, shard: Path) -> Pcm:
        """A sample as its shard holds it, with the name, rate and length that its row tells."""
        start, size = row["offset"] - BLOCKSIZE, row["size"] + BLOCKSIZE
        if start < 0 or not BLOCKSIZE < size <= MAX_BYTES:
            raise ValueError("no sample can lie there")
        data = read_member(shard, start, size, self.corpus.receipt(row["shard"]))
        name = data[:_NAME].rstrip(b"\0").decode("utf-8", "replace")
        if name.rpartition(".")[0] != row["id"]:
            raise ValueError(f"{name!r} lies there" if name else "no sample lies there")
        with soundfile.SoundFile(io.BytesIO(data[BLOCKSIZE:])) as file:
            shape = file.samplerate, file.channels, file.frames
            if shape != (self.corpus.sample_rate, 1, row["frames"]):
                raise ValueError("{} Hz, {} channels, {} frames".format(*shape))
            pcm: Pcm = file.read(dtype="int16")
        if len(pcm) != row["frames"]:
            raise ValueError(f"ends after {len(pcm)} of {row['frames']} frames")
        return pcm

    def sounds(self, rows: Sequence[Row]) -> Int16[Tensor, "batch samples"]:
        """Audio of manifest rows, padded at the end with silence to the longest.

        A part that is cut out of one begins and ends within 5 ms.
        """
        sounds = []
        for row in rows:
            pcm = self.pcm(row)
            if row.crop is not None:
                start, frames = row.crop
                part = from_pcm(pcm[start : start + frames])
                begins, ends = start > 0, start + frames < len(pcm)
                ramp_cut(part, self.corpus.sample_rate, begins=begins, ends=ends)
                pcm = to_pcm(part)
            sounds.append(pcm)
        batch = np.zeros((len(sounds), max(map(len, sounds))), dtype=np.int16)
        for line, pcm in zip(batch, sounds, strict=True):
            line[: len(pcm)] = pcm
        return torch.from_numpy(batch)

    @cached_property
    def tags(self) -> Mapping[str, tuple[Tag, ...]]:
        """Tags of each clip that bears any, but for those of treatments."""
        with pq.ParquetFile(self.corpus.folder / CLIPS_FILE) as file:
            rows = chain.from_iterable(
                batch.to_pylist() for batch in file.iter_batches(4096, columns=["id", "tags"])
            )
            pairs = ((row["id"], heard_tags(row["tags"])) for row in rows)
            return {clip: tags for clip, tags in pairs if tags}

    @cached_property
    def clip_captions(self) -> Mapping[str, tuple[str, ...]]:
        """Captions of each clip that has any; each describes the whole clip."""
        table = pq.read_table(self.corpus.folder / CLIPS_FILE, columns=["id", "captions"])
        return {row["id"]: tuple(row["captions"]) for row in table.to_pylist() if row["captions"]}

    @cached_property
    def audible(self) -> Frames:
        """Shortest overlap in frames that can be heard as sounding together."""
        value = (self._rows.schema.metadata or {}).get(AUDIBLE.encode())
        if value is None or "activity" not in self._rows.schema.names:
            raise CorpusError(
                f"{self.corpus.folder}: does not say when its sounds are heard: it is of "
                "an older version, so its captions cannot be judged",
                fix="build the corpus again",
            )
        return int(value)

    @cached_property
    def is_labelled(self) -> Bool[np.ndarray, " samples"]:
        """Of which samples the labels name every sound that is heard."""
        return np.concatenate([*find_labelled(self.corpus, self.split)])

    def find_labels(self) -> set[str]:
        """The labels of the samples' sounds."""
        return self._find("labels")

    def find_clips(self) -> set[str]:
        """Ids of the clips that samples are made of."""
        return self._find("clips")

    def _find(self, column: str) -> set[str]:
        lists = (pc.unique(batch[column].flatten()) for batch in self._rows.scan())
        return set(chain.from_iterable(part.to_pylist() for part in lists))

    def _texts(self) -> Iterator[pa.StringArray]:
        """The split's texts, true or false, batch by batch."""
        for batch in self._rows.scan():
            others = (batch[name].flatten().field("text") for name in ("positives", "negatives"))
            yield pa.concat_arrays([batch["caption"], *others])

    def vocabulary(self) -> set[str]:
        """Every word, as spaces part them, of the split's texts."""
        words: set[str] = set()
        for texts in self._texts():
            split = pc.split_pattern(pc.unique(texts), " ")
            words.update(pc.unique(split.flatten()).to_pylist())
        return words

    def count_cut(self, tokenizer: TextTokenizer) -> CutTexts:
        """How many of the split's texts a tokenizer cuts; each counts as often as it occurs."""
        total = cut = 0
        for texts in self._texts():
            total += len(texts)
            is_long = pc.greater(pc.binary_length(texts), tokenizer.never_cut)
            may_be_cut = pc.or_(is_long, pc.invert(pc.string_is_ascii(texts)))
            counts = pc.value_counts(texts.filter(may_be_cut))
            cuts = tokenizer.cuts(counts.field("values").to_pylist())
            cut += sum(
                count
                for count, is_cut in zip(counts.field("counts").to_pylist(), cuts, strict=True)
                if is_cut
            )
        return CutTexts(cut, total, tokenizer.most_tokens)


def find_labelled(corpus: Corpus, split: str) -> Iterator[Bool[np.ndarray, " samples"]]:
    """Of which samples the labels name every sound that is heard, some samples at a time.

    They are those with dense captions, and none in an older corpus. The first array is empty.
    """
    # Every corpus has `relation`, which tells how many samples an older one has.
    for part in corpus.read_in_parts(split, ["relation", "dense"]):
        if "dense" in part.column_names:
            yield pc.list_value_length(part["dense"]).to_numpy() > 0
        else:
            yield np.zeros(len(part), dtype=bool)
