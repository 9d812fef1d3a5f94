"""Edits with their audio in one file a shard: WebDataset shards, and Parquet for Hugging Face."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq

from synth.export.base import Whole, add_member, json_line
from synth.export.edit_pairs import (
    FIELDS,
    EditGroup,
    PairSide,
    describe_edit,
    edit_groups,
    read_edits,
)
from synth.export.edits import EditFormat, note_unlike, write_readme
from synth.export.folder import Writer
from synth.export.hub_tables import AUDIO_TYPE, card_facts, name_file, with_features
from synth.export.items import Shard

_UNLIKE = "\nPairs of a group that are no single edit, and so are left out: UNLIKE.\n"
_HOW_TAR = f"""\
`SPLIT/*.tar` are WebDataset shards. A sample is an edit: `before.flac` and `after.flac` (or `.wav`)
are its audio, `before-stem0.flac`, `after-stem0.flac` and so on the sounds of each side by
themselves, and `json` says what the edit is; `before_stems` and `after_stems` there are the labels
of the stems.

    import webdataset
    edits = webdataset.WebDataset("FOLDER/train/train-00000.tar", shardshuffle=False)

{FIELDS}{_UNLIKE}"""
_HOW_PARQUET = f"""\
One Parquet file a shard in `data/`, a row an edit. `before` and `after` are `Audio` columns with
the files' bytes; `before_stems` and `after_stems` list `label` and `audio` of every sound.

    from datasets import load_dataset
    edits = load_dataset("FOLDER")

{FIELDS}{_UNLIKE}"""

_STEMS = pa.list_(pa.struct([("label", pa.string()), ("audio", AUDIO_TYPE)]))
_TEXT: Final = pa.string()
_COLUMNS: Final = pa.schema(
    [
        ("id", _TEXT),
        ("instruction", _TEXT),
        ("reverse_instruction", _TEXT),
        ("kind", _TEXT),
        ("sounds", pa.list_(_TEXT)),
        ("gain_db", pa.float64()),
        ("onset_s", pa.float64()),
        ("offset_s", pa.float64()),
        ("before", AUDIO_TYPE),
        ("after", AUDIO_TYPE),
        ("before_stems", _STEMS),
        ("after_stems", _STEMS),
        ("before_id", _TEXT),
        ("after_id", _TEXT),
        ("before_caption", _TEXT),
        ("after_caption", _TEXT),
        ("claims", pa.list_(_TEXT)),
        ("group", _TEXT),
    ]
)


class EditsWebDataset(EditFormat):
    """A tar file a shard."""

    name: ClassVar[str] = "edits-webdataset"
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """The edits of a shard, members of each adjacent."""
        found = read_edits(shard)
        with (
            out.open(f"{shard.split}/{shard.name}") as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar,
        ):
            for group in edit_groups(shard, found.edits):
                for edit in group.edits:
                    row = describe_edit(edit, group)
                    for which in ("before", "after"):
                        side = group.sides[row[which]]
                        row[f"{which}_stems"] = [stem.label for stem in side.stems]
                        add_member(tar, f"{edit.id}.{which}{side.item.suffix}", side.item.audio)
                        for number, stem in enumerate(side.stems):
                            name = f"{edit.id}.{which}-stem{number}{side.item.suffix}"
                            add_member(tar, name, stem.audio)
                    add_member(tar, f"{edit.id}.json", json_line(row))
        note_unlike(out, found)

    def finish(self, whole: Whole, out: Writer) -> None:
        """The README."""
        write_readme(whole, out, _HOW_TAR)


class EditsHuggingFace(EditFormat):
    """A Parquet file a shard, and a card that names the splits."""

    name: ClassVar[str] = "edits-hf"
    version: ClassVar[int] = 3

    def part(self, shard: Shard, out: Writer) -> None:
        """The edits of a shard, a row group each group."""
        found = read_edits(shard)
        schema = with_features(_COLUMNS, shard.corpus.sample_rate)
        samples = 0
        with (
            out.open(name_file(shard)) as file,
            pq.ParquetWriter(file, schema, write_statistics=["id"], use_dictionary=False) as writer,
        ):
            for group in edit_groups(shard, found.edits):
                rows = list(_rows(group))
                samples += len(rows)
                writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        note_unlike(out, found)
        with out.piece("rows") as facts:
            facts.write(json_line(samples))

    def finish(self, whole: Whole, out: Writer) -> None:
        """The card."""
        rows = sum(sum(whole.values(split, "rows")) for split in whole.splits)
        tags = ("audio-editing", "source-separation")
        write_readme(whole, out, _HOW_PARQUET, card_facts(whole, rows, "audio-to-audio", tags))


def _rows(group: EditGroup) -> Iterator[dict[str, Any]]:
    for edit in group.edits:
        row = describe_edit(edit, group)
        for which in ("before", "after"):
            side = group.sides[row[which]]
            row[f"{which}_id"] = side.item.id
            row[which] = _audio(side.item.id, side, side.item.audio)
            row[f"{which}_stems"] = [
                {"label": stem.label, "audio": _audio(stem.name, side, stem.audio)}
                for stem in side.stems
            ]
        yield row


def _audio(name: str, side: PairSide, data: bytes) -> dict[str, Any]:
    return {"bytes": data, "path": f"{name}{side.item.suffix}"}
