"""What exports for Hugging Face share: the Parquet file of a shard, its features and the card."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import yaml

from synth.corpus.hub import LANGUAGE, size_category
from synth.corpus.licence import parse_licence
from synth.corpus.licence_mix import hugging_face_licence
from synth.export.base import Whole
from synth.export.items import Shard

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
        rate: Of the audio, in Hz.
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
    """The front matter of the card, as YAML.

    Args:
        whole: All that is exported.
        rows: Of all splits.
        category: The task.
        tags: What it is about.
    """
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
