"""Hugging Face datasets: Parquet files that hold the audio itself."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from synth.corpus.hub import LANGUAGE, size_category
from synth.corpus.licence import parse_licence
from synth.corpus.licence_mix import hugging_face_licence
from synth.export.base import ExportFormat, Whole
from synth.export.columns import AUDIO, batch_rows, make_row, make_schema
from synth.export.folder import Writer
from synth.export.items import ExportItem, Shard

_COLUMNS: Final = make_schema(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
_NAMES = {pa.string(): "string", pa.float64(): "float64", pa.int64(): "int64"}
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
        name = f"data/{shard.split}-{shard.number:05d}-of-{shard.of:05d}.parquet"
        schema = _schema(shard.corpus.sample_rate)
        with (
            out.open(name) as file,
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
        files = [{"split": split, "path": f"data/{split}-*.parquet"} for split in whole.splits]
        facts = {
            "pretty_name": f"{whole.corpus.name} ({whole.corpus.version})",
            "license": hugging_face_licence(parse_licence(whole.corpus.facts.get("licence", ""))),
            "language": LANGUAGE,
            "size_categories": [size_category(sum(shard.samples for shard in whole.shards))],
            "task_categories": ["audio-classification"],
            "tags": ["audio-captioning", "audio-text-retrieval", "synthetic", "segue"],
            "configs": [{"config_name": "default", "data_files": files}],
        }
        whole.readme(out, _HOW, yaml.safe_dump(facts, sort_keys=False))


def _row(item: ExportItem) -> dict[str, Any]:
    return make_row(item, {"bytes": item.audio, "path": f"{item.id}{item.suffix}"})


def _schema(rate: int) -> pa.Schema:
    """The columns, and what `datasets` reads of them in the file's metadata."""
    features = {field.name: _feature(field.type) for field in _COLUMNS if field.name != AUDIO}
    features[AUDIO] = {"sampling_rate": rate, "_type": "Audio"}
    told = json.dumps({"info": {"features": features}})
    return _COLUMNS.with_metadata({"huggingface": told})


def _feature(type_: pa.DataType) -> Any:
    """An Arrow type as a feature; lists in the form that all versions of `datasets` read."""
    if pa.types.is_list(type_):
        return [_feature(type_.value_type)]
    if pa.types.is_struct(type_):
        return {field.name: _feature(field.type) for field in type_}
    return {"dtype": _NAMES[type_], "_type": "Value"}
