"""The dataset card: a README with Hugging Face front matter, made from the manifests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from pipelines.places import Places

MODEL: Final = "llm:"


def dataset_card(
    places: Places, facts: Mapping[str, Any], clips: Sequence[Mapping[str, Any]]
) -> str:
    """Markdown that says what the corpus holds, how it was made and under which licences."""
    front_matter = {
        "pretty_name": f"{facts['corpus']} ({facts['version']})",
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
    licences = Counter(clip["licence"] for clip in clips if clip["split"])
    rights = "\n".join(f"| {name} | {count:,} |" for name, count in sorted(licences.items()))
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

## Who made the captions

| generator | captions |
|---|---:|
{generators}

## Licences of the clips

| licence | clips |
|---|---:|
{rights}
"""


def _by_whom(generators: Mapping[str, int]) -> str:
    if not any(name.startswith(MODEL) for name in generators):
        return "Captions were made by rule; no language model took part."
    return (
        "Some were written by a language model and put to checks: paraphrases are true as far as "
        "these can tell, and so are exchanged sources (`rebind`) false; new orders were proven "
        "false like all others."
    )


def _caveat(excerpts: int) -> str:
    if not excerpts:
        return ""
    return (
        f"\n{excerpts:,} sounds are excerpts of captioned clips: that their captions hold of the "
        "excerpts too is taken on trust.\n"
    )
