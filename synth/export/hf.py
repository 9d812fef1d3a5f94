"""Hugging Face datasets: Parquet files that hold the audio itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from synth.corpus.facts import LANGUAGE, size_category
from synth.corpus.licence import hugging_face_licence, parse_licence
from synth.export.base import ExportFormat, Whole, batch_rows, make_row, make_schema
from synth.export.folder import Writer
from synth.export.items import Shard

# What exports for Hugging Face share: the Parquet file of a shard, its features and the card.


AUDIO_TYPE: Final = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
"""Read by `datasets` as an `Audio` feature."""

_NAMES: Final = {pa.string(): "string", pa.float64(): "float64", pa.int64(): "int64"}


def name_file(shard: Shard) -> str:
    """Where the rows of a shard go."""
    return f"data/{shard.split}-{shard.number:05d}-of-{shard.of:05d}.parquet"


def with_features(columns: pa.Schema, rate: int) -> pa.Schema:
    """The columns, and in the metadata what `datasets` reads of them; audio comes last.

    Args:
        columns: Of texts, numbers, audio (`AUDIO_TYPE`), lists and structs.
    """
    ordered = sorted(columns, key=lambda field: field.type == AUDIO_TYPE)
    features = {field.name: _feature(field.type, rate) for field in ordered}
    return columns.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def _feature(type_: pa.DataType, rate: int) -> Any:
    """An Arrow type as a feature; lists in the form that all versions of `datasets` read."""
    if type_ == AUDIO_TYPE:
        return {"sampling_rate": rate, "_type": "Audio"}
    if pa.types.is_list(type_):
        return [_feature(type_.value_type, rate)]
    if pa.types.is_struct(type_):
        return {field.name: _feature(field.type, rate) for field in type_}
    return {"dtype": _NAMES[type_], "_type": "Value"}


def card_facts(whole: Whole, rows: int, category: str, tags: Sequence[str]) -> str:
    """The front matter of the card, as YAML."""
    files = [{"split": split, "path": f"data/{split}-*.parquet"} for split in whole.splits]
    facts = {
        "pretty_name": f"{whole.corpus.name} ({whole.corpus.version})",
        "license": hugging_face_licence(parse_licence(whole.corpus.facts.get("licence", ""))),
        "language": LANGUAGE,
        "size_categories": [size_category(rows)],
        "task_categories": [category],
        "tags": [*tags, "synthetic", "segue"],
        "configs": [{"config_name": "default", "data_files": files}],
    }
    return str(yaml.safe_dump(facts, sort_keys=False))


_COLUMNS: Final = make_schema(AUDIO_TYPE)
DECODING: Final = "decoding its sounds needs datasets and torchcodec: pip install 'segue-audio[hf]'"


class HuggingFace(ExportFormat):
    """One Parquet file a shard, and a card that names the splits."""

    name: ClassVar[str] = "hf"
    version: ClassVar[int] = 3
    needs = DECODING

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
            rows = (
                make_row(item, {"bytes": item.audio, "path": f"{item.id}{item.suffix}"})
                for item in shard.items()
            )
            for batch in batch_rows(rows, schema):
                writer.write_batch(batch)

    def finish(self, whole: Whole, out: Writer) -> None:
        """The card."""
        rows = sum(shard.samples for shard in whole.shards)
        tags = ("audio-captioning", "audio-text-retrieval")
        card = card_facts(whole, rows, "audio-classification", tags)
        whole.readme(out, self.name, front_matter=card)
