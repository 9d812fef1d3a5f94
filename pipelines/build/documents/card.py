"""The dataset card: a README with Hugging Face front matter, made from the manifests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

from synth.captions.caption import MODEL
from synth.corpus.facts import LANGUAGE, size_category
from synth.corpus.licence import hugging_face_licence, parse_licence
from synth.export.laion import RATE

NAMED_ELSEWHERE: Final = ("cc", "other")


def dataset_card(facts: Mapping[str, Any]) -> str:
    """Markdown that says what the corpus holds, how it was made and under which licences.

    Args:
        facts: What `corpus.json` says.
    """
    front_matter = {
        "pretty_name": f"{facts['corpus']} ({facts['version']})",
        **_licence_of(facts),
        "language": LANGUAGE,
        "size_categories": [size_category(_count_samples(facts))],
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
    splits = "\n".join(
        f"| {split} | {counts['samples']:,} | {counts['shards']:,} |"
        for split, counts in facts["splits"].items()
    )
    rights = "\n".join(f"| {name} | {count:,} |" for name, count in facts["licences"].items())
    generators = "\n".join(f"| {name} | {count:,} |" for name, count in facts["generators"].items())
    return f"""---
{yaml.safe_dump(front_matter, sort_keys=False).strip()}
---
# {facts["corpus"]}

Synthetic audio-caption pairs made by Segue: recipe `{facts["recipe"]}` over source
`{facts["source"]}`, version `{facts["version"]}`, {facts["hours"]:.2f} hours at
{facts["sample_rate"]:,} Hz.

Every caption in `text` was proven true of the timeline that the audio was rendered from, and every
caption in `negatives` proven false. {_by_whom(facts["generators"])}
{_caveat(facts["excerpts_of_captioned_clips"])}
| split | samples | shards |
|---|---:|---:|
{splits}

Each sample is `KEY.{facts["audio_format"]}` and `KEY.json`; the fields are the same in every one.
`samples.parquet` lists all samples with their scenes, `croissant.json` describes the files.
Megatron-Energon reads the shards by `.nv-meta` and the indexes `*.tar.idx`.

## Training with LAION-CLAP or open_clip

Their loaders take 10 s at {RATE:,} Hz. LAION-CLAP's resamples nothing and fails at a longer
sample; open_clip's cuts it at random, which can make a caption false. Build with
`length: exact 10 s` and `sample_rate: {RATE}`.{_resampled(facts["sample_rate"])}
Fill shorter samples with silence: `--data-filling pad` for LAION-CLAP, `--audio-fill pad` for
open_clip. In a sample that is looped statements of order are false.

## Who made the captions

| generator | captions |
|---|---:|
{generators}

## Licences

{_rights(facts)} `ATTRIBUTION.csv` credits every clip, and each sample's JSON names the licence of
its own mix and those of its clips. This is bookkeeping, not legal advice.

| licence | clips |
|---|---:|
{rights}
"""


def _resampled(rate: int) -> str:
    if rate == RATE:
        return ""
    return f" This corpus is at {rate:,} Hz: `segue export --to laion` resamples it."


def _count_samples(facts: Mapping[str, Any]) -> int:
    return sum(counts["samples"] for counts in facts["splits"].values())


def _licence_of(facts: Mapping[str, Any]) -> dict[str, str]:
    """The licence in the front matter, by the Hub's identifiers."""
    licence = parse_licence(facts["licence"])
    found = {"license": hugging_face_licence(licence)}
    if found["license"] in NAMED_ELSEWHERE:
        found["license_name"] = licence.id.lower()
        if licence.url:
            found["license_link"] = licence.url
    return found


def _rights(facts: Mapping[str, Any]) -> str:
    if facts["licence_reason"]:
        return f"No single licence covers all samples: {facts['licence_reason']}."
    return f"A work of all these clips can be under {facts['licence']}."


def _by_whom(generators: Mapping[str, int]) -> str:
    if not any(name.startswith(MODEL) for name in generators):
        return "Captions were made by rule; no language model took part."
    return (
        "Some were written by a language model and put to checks: paraphrases and rewrites are "
        "true as far as these can tell, and so are exchanged sources (`rebind`) false; new orders "
        "were proven false like all others."
    )


def _caveat(excerpts: int) -> str:
    if not excerpts:
        return ""
    return (
        f"\n{excerpts:,} sounds are excerpts of captioned clips: that their captions hold of the "
        "excerpts too is taken on trust.\n"
    )
