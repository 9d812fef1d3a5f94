"""The dataset card: a README with Hugging Face front matter, made from the manifests."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import yaml

from pipelines.builder.plan import ShardPlan
from pipelines.builder.render import ShardReceipt
from pipelines.store.places import Places
from pipelines.store.row_file import read_batches
from synth.base.atomic import replacing, write_bytes, write_text
from synth.captions.caption import Author
from synth.corpus.corpus import SAMPLES_FILE
from synth.corpus.facts import LANGUAGE, size_category
from synth.corpus.licence import effective_licence, hugging_face_licence, parse_licence
from synth.corpus.shards import find_span, serialise_document
from synth.export.laion import RATE

NAMED_ELSEWHERE: Final = ("cc", "other")


def dataset_card(facts: Mapping[str, Any]) -> str:
    """Markdown that says what the corpus holds, how it was made and under which licences."""
    import jinja2  # workers do not need it

    samples = sum(counts["samples"] for counts in facts["splits"].values())
    front_matter = {
        "pretty_name": f"{facts['corpus']} ({facts['version']})",
        **_licence_of(facts),
        "language": LANGUAGE,
        "size_categories": [size_category(samples)],
        "task_categories": ["audio-classification"],
        "tags": ["audio-captioning", "audio-text-retrieval", "webdataset", "synthetic", "segue"],
        "configs": [
            {
                "config_name": "default",
                "data_files": [
                    {"split": split, "path": f"{split}/*.tar"} for split in facts["splits"]
                ],
            }
        ],
    }
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = Path(__file__).with_name("card.md").read_text(encoding="utf-8")
    return environment.from_string(text).render(
        facts=facts,
        front_matter=_to_yaml(front_matter).strip(),
        rate=RATE,
        is_by_model=any(map(Author.MODEL.wrote, facts["generators"])),
    )


def _licence_of(facts: Mapping[str, Any]) -> dict[str, str]:
    """The licence in the front matter, by the Hub's identifiers."""
    licence = parse_licence(facts["licence"])
    fields = {"license": hugging_face_licence(licence)}
    if fields["license"] in NAMED_ELSEWHERE:
        fields["license_name"] = licence.id.lower()
        if licence.url:
            fields["license_link"] = licence.url
    return fields


# The licence ledger of a corpus: ATTRIBUTION.csv, and what `corpus.json` says of licences.


COLUMNS: Final = (
    "clip",
    "recording",
    "licence",
    "licence_url",
    "attribution",
    "source",
    "location",
)

# The full-width forms are read as the plain ones in some locales.
_FORMULA: Final = re.compile(
    "'*[=+\\-@\t\r\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}]"
)


def used_clips(clips: Iterable[Mapping[str, Any]], samples: Path) -> list[Mapping[str, Any]]:
    """The clips that a sample uses.

    Args:
        samples: A Parquet file with the columns of `schema.PLAN`.
    """
    used: set[str] = set()
    for batch in read_batches(samples, ["clips"]):
        used.update(batch["clips"].flatten().to_pylist())
    return [clip for clip in clips if clip["id"] in used]


def write_attribution(clips: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write one row a clip, in the order of the clips' ids: equal clips give equal bytes.

    CSV as in RFC 4180: UTF-8, CRLF, quotes where they are needed. A cell that a spreadsheet would
    take for a formula, because it begins with `=`, `+`, `-`, `@`, a tab or a line break, gets an
    apostrophe in front, which spreadsheets take as "this is text"; so does one that begins so after
    apostrophes of its own.

    Args:
        clips: Rows of `schema.CLIPS`: those that samples use (`used_clips`).
        path: The file, replaced whole or not at all.
    """
    rows = sorted(_row(clip) for clip in clips)
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(COLUMNS)
        writer.writerows(map(safe_cell, row) for row in rows)


def licence_facts(clips: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What `corpus.json` says of licences.

    Args:
        clips: Rows of `schema.CLIPS`: those that samples use (`used_clips`).

    Returns:
        `licence`: id of the one licence that a work of all these clips could be under;
        `licence_reason`: why there is none, else ""; `licences`: clips by licence id.
    """
    licences = [parse_licence(clip["licence"]) for clip in clips]
    whole = effective_licence(licences)
    counts = Counter(licence.id for licence in licences)
    return {
        "licence": whole.id,
        "licence_reason": whole.reason,
        "licences": dict(sorted(counts.items())),
    }


def safe_cell(text: str) -> str:
    """`text` as a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def _row(clip: Mapping[str, Any]) -> tuple[str, ...]:
    licence = parse_licence(clip["licence"])
    return (
        clip["id"],
        clip["recording"],
        licence.id,
        licence.url,
        clip["attribution"],
        clip["source"],
        clip["location"],
    )


# Croissant: what the shards hold, in the vocabulary of mlcommons.org/croissant/1.0.


CROISSANT_FILE: Final = "croissant.json"
CONFORMS_TO: Final = "http://mlcommons.org/croissant/1.0"
MIME: Final = {"flac": "audio/flac", "wav": "audio/x-wav"}


def croissant(
    facts: Mapping[str, Any], receipts: Sequence[ShardReceipt], samples_sha256: str
) -> dict[str, Any]:
    """The JSON-LD that stands beside the shards; `contentUrl` is relative to it.

    Two record sets: `samples` are the rows of `samples.parquet`, `audio` the shards' audio members,
    by the sample's id. There is no `datePublished`: equal corpora have equal files.
    """
    described = json.loads(Path(__file__).with_name(CROISSANT_FILE).read_text(encoding="utf-8"))
    audio_format = facts["audio_format"]
    archives = [_archive(receipt) for receipt in receipts]
    return {
        "@context": described["@context"],
        "@type": "sc:Dataset",
        "name": facts["corpus"],
        "description": (
            f"Synthetic audio-caption pairs made by Segue: recipe {facts['recipe']} over source "
            f"{facts['source']}, {facts['hours']:.2f} hours at {facts['sample_rate']} Hz."
        ),
        "conformsTo": CONFORMS_TO,
        "license": parse_licence(facts["licence"]).url or facts["licence"],
        **({"citeAs": facts["citation"]} if facts["citation"] else {}),
        "version": f"1.0.0+{facts['version']}",
        "keywords": ["audio", "captions", "synthetic", "compositional"],
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": SAMPLES_FILE,
                "name": SAMPLES_FILE,
                "contentUrl": SAMPLES_FILE,
                "encodingFormat": "application/x-parquet",
                "sha256": samples_sha256,
            },
            *archives,
            {
                "@type": "cr:FileSet",
                "@id": "audio-members",
                "name": "audio-members",
                "containedIn": [{"@id": archive["@id"]} for archive in archives],
                "encodingFormat": MIME[audio_format],
                # Keys end with a digit; `excludes` is read by nobody.
                "includes": f"*{'[0-9]' if facts.get('stems') else ''}.{audio_format}",
            },
        ],
        "recordSet": described["recordSet"],
    }


def _archive(receipt: ShardReceipt) -> dict[str, Any]:
    path = f"{receipt.split}/{receipt.shard}"
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": receipt.shard,
        "contentUrl": path,
        "contentSize": f"{receipt.bytes} B",
        "encodingFormat": "application/x-tar",
        "sha256": receipt.sha256,
    }


# What Megatron-Energon needs beside the shards to read them as they are.


META: Final = ".nv-meta"
INDEX_SUFFIX: Final = ".idx"
_DATASET: Final = {"__module__": "megatron.energon", "__class__": "CrudeWebdataset"}


def write_index(
    path: Path, rows: pa.Table, rights: Mapping[str, Mapping[str, str]], stems: bool
) -> None:
    """Write where each sample of a shard begins, and where the last one ends.

    Nothing is read of the shard: the offsets are measured, and JSON is made again for its length,
    of the last sample, or of all where each begins with stems, whose length is measured nowhere.

    Args:
        rows: Its rows of `schema.SAMPLES`.
        rights: Licence and attribution of each clip, by clip id.
    """
    spans = [
        find_span(row["offset"], row["size"], len(serialise_document(row, rights)))
        for row in rows.slice(0 if stems else rows.num_rows - 1).to_pylist()
    ]
    offsets = rows["offset"].to_numpy()
    starts = offsets - (offsets[-1] - spans[-1][0])
    ends = [end for _, end in spans]
    places = np.array([0, *ends]) if stems else np.append(starts, ends)
    write_bytes(path.with_name(path.name + INDEX_SUFFIX), places.astype("<u8").tobytes())


def write_meta(places: Places, shards: Sequence[ShardPlan]) -> None:
    """Write the folder that names splits and shards, and says how samples are read."""
    names: dict[str, list[str]] = {}
    for shard in shards:
        names.setdefault(shard.split, []).append(f"{shard.split}/{shard.shard}")
    counts = {f"{shard.split}/{shard.shard}": shard.samples for shard in shards}
    folder = places.shards / META
    # JSON is YAML; Energon up to 7.4 looks for the second name, newer ones for the first.
    for name in (".info.json", ".info.yaml"):
        write_text(folder / name, json.dumps({"shard_counts": counts}, indent=2) + "\n")
    write_text(folder / "split.yaml", _to_yaml({"split_parts": names, "exclude": []}))
    write_text(folder / "dataset.yaml", _to_yaml(_DATASET))


def _to_yaml(value: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(value, sort_keys=False))
