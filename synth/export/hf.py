"""Hugging Face datasets: Parquet files that hold the audio itself."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import pyarrow.parquet as pq

from synth.export.base import ExportFormat, Whole
from synth.export.columns import batch_rows, make_row, make_schema
from synth.export.folder import Writer
from synth.export.hub_tables import AUDIO_TYPE, card_facts, name_file, with_features
from synth.export.items import ExportItem, Shard

_COLUMNS: Final = make_schema(AUDIO_TYPE)
_HOW = """\
One Parquet file a shard in `data/`; `audio` is an `Audio` column with the files' bytes. `caption`
is the main caption, `captions` are all true ones, `negatives` are false of the audio: never train
on them as captions. `dense` are captions with times, at three resolutions (`stretch`, `sound`,
`scene`).

    from datasets import load_dataset
    corpus = load_dataset("FOLDER")
    samples = corpus["train"][0]["audio"].get_all_samples()      # needs torchcodec

`datasets` decodes sounds with torchcodec, which is no part of it: for torch 2.11 and newer
`pip install 'torchcodec>=0.13,<0.14'`, and ffmpeg's libraries (`apt install ffmpeg`). Without it
`corpus.cast_column("audio", datasets.Audio(decode=False))` gives the files' bytes.
"""


class HuggingFace(ExportFormat):
    """One Parquet file a shard, and a card that names the splits."""

    name: ClassVar[str] = "hf"
    version: ClassVar[int] = 3

    def part(self, shard: Shard, out: Writer) -> None:
        """The Parquet file; its row groups are small, and an index says where their pages lie."""
        schema = with_features(_COLUMNS, shard.corpus.sample_rate)
        with (
            out.open(name_file(shard)) as file,
            pq.ParquetWriter(
                file,
                schema,
                write_statistics=["id"],
                write_page_index=True,
                use_dictionary=False,
            ) as writer,
        ):
            for rows in batch_rows(map(_row, shard.items()), schema):
                writer.write_batch(rows)

    def finish(self, whole: Whole, out: Writer) -> None:
        """The card."""
        rows = sum(shard.samples for shard in whole.shards)
        tags = ("audio-captioning", "audio-text-retrieval")
        whole.readme(out, _HOW, card_facts(whole, rows, "audio-classification", tags))


def _row(item: ExportItem) -> dict[str, Any]:
    return make_row(item, {"bytes": item.audio, "path": f"{item.id}{item.suffix}"})
