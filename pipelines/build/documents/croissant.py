"""Croissant: what the shards hold, in the vocabulary of mlcommons.org/croissant/1.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pipelines.build.render import ShardReceipt
from synth.corpus.corpus import SAMPLES_FILE
from synth.corpus.licence import parse_licence

CROISSANT_FILE: Final = "croissant.json"
CONFORMS_TO: Final = "http://mlcommons.org/croissant/1.0"
MIME: Final = {"flac": "audio/flac", "wav": "audio/x-wav"}
_TERMS: Final = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject"),
    *("fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField"),
    *("path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
    *("separator", "source", "subField", "transform"),
)
_CONTEXT: Final[Mapping[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}


_FIELDS: Final = {
    "id": ("sc:Text", "Key of the sample in its shard."),
    "caption": ("sc:Text", "The main caption, proven true."),
    "labels": ("sc:Text", "Labels of the sounds, in scene order."),
    "relation": ("sc:Text", "How the sounds follow one another."),
    "group": ("sc:Text", "Minimal-pair group: the same clips in another composition."),
    "split": ("sc:Text", "train, val or test."),
    "notation": ("sc:Text", "The scene: + is then, * is with."),
    "scene": ("sc:Text", "The scene as JSON, from which the audio can be rendered again."),
    "frames": ("sc:Integer", "Length of the audio."),
    "sample_rate": ("sc:Integer", "In Hz."),
    "shard": ("sc:Text", "Name of the shard that holds it."),
}
_REPEATED: Final = frozenset({"labels"})


def croissant(
    facts: Mapping[str, Any], receipts: Sequence[ShardReceipt], samples_sha256: str
) -> dict[str, Any]:
    """The JSON-LD that stands beside the shards; `contentUrl` is relative to it.

    Two record sets: `samples` are the rows of `samples.parquet`, `audio` the shards' audio members,
    by the sample's id. There is no `datePublished`: equal corpora have equal files.

    Args:
        facts: What `corpus.json` says.
        receipts: Of every shard.
        samples_sha256: Of `samples.parquet`.
    """
    audio_format = facts["audio_format"]
    archives = [_archive(receipt) for receipt in receipts]
    return {
        "@context": dict(_CONTEXT),
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
                "includes": f"*.{audio_format}",
            },
        ],
        "recordSet": [_samples(), _audio()],
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


def _samples() -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": "samples",
        "name": "samples",
        "key": {"@id": "samples/id"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"samples/{name}",
                "name": name,
                "description": description,
                "dataType": kind,
                "repeated": name in _REPEATED,
                "source": {"fileObject": {"@id": SAMPLES_FILE}, "extract": {"column": name}},
            }
            for name, (kind, description) in _FIELDS.items()
        ],
    }


def _audio() -> dict[str, Any]:
    source = {"fileSet": {"@id": "audio-members"}}
    return {
        "@type": "cr:RecordSet",
        "@id": "audio",
        "name": "audio",
        "key": {"@id": "audio/id"},
        "field": [
            {
                "@type": "cr:Field",
                "@id": "audio/id",
                "name": "id",
                "description": "Key of the sample in its shard.",
                "dataType": "sc:Text",
                "references": {"field": {"@id": "samples/id"}},
                "source": source
                | {
                    "extract": {"fileProperty": "filename"},
                    "transform": {"regex": "^([a-z0-9-]+)"},
                },
            },
            {
                "@type": "cr:Field",
                "@id": "audio/audio",
                "name": "audio",
                "description": "The sound.",
                "dataType": "sc:AudioObject",
                "source": source | {"extract": {"fileProperty": "content"}},
            },
        ],
    }
