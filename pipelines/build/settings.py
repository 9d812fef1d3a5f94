"""The settings of a spec, one by one, without those that say where files lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pipelines.spec.spec import Spec
from synth.sources import drop_places

LISTS: Final = ("enrich", "block")
"""Settings that list files; the names of the files count, not their folders."""


def flat_settings(spec: Spec) -> dict[str, Any]:
    """Settings by dotted key, as JSON values."""
    values = spec.model_dump(mode="json", exclude_none=True, exclude={"version"})
    values["source"] = {name: drop_places(settings) for name, settings in values["source"].items()}
    for key in LISTS:
        values[key] = [Path(path).name for path in values[key]]
    return dict(_leaves("", values))


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else key, inner)
    else:
        yield prefix, value
