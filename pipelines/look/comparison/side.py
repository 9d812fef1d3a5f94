"""One of two corpora that are compared: its manifests, and what it was made with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from pipelines.build.claim import SHARDS_FILE
from pipelines.build.finalise import SPEC_FILE
from pipelines.build.settings import flat_settings
from pipelines.spec.file import read_spec
from pipelines.store.manifest import find_manifest
from synth.base.doors import own_file
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, QUARANTINE_FILE, Corpus
from synth.corpus.schema import CLIPS, PLAN, QUARANTINE, SAMPLES
from synth.corpus.validation import check_columns
from synth.storage import display_path

_FILES: Final = {
    "clips": (CLIPS_FILE, CLIPS),
    "quarantine": (QUARANTINE_FILE, QUARANTINE),
    "shards": (SHARDS_FILE, pa.schema([])),
}


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """A corpus, or a plan that is not rendered.

    Args:
        manifest: `samples.parquet`, or `plan.parquet` of a plan.
        facts: What `corpus.json` says; None of a plan.
    """

    manifest: Path
    corpus: str
    facts: Mapping[str, Any] | None

    @classmethod
    def open(cls, path: Path) -> ComparedSide:
        """Open a corpus or a plan, as `find_manifest` takes it."""
        manifest = find_manifest(path)
        folder = manifest.parent
        planned = manifest.name == PLAN_FILE
        check_columns(manifest, PLAN if planned else SAMPLES)
        for file, schema in _FILES.values():
            check_columns(folder / file, schema)
        facts = None if planned else Corpus.open(folder).facts
        return cls(manifest, folder.parent.name if facts is None else facts["corpus"], facts)

    @property
    def rendered(self) -> bool:
        """Whether it has audio."""
        return self.facts is not None

    @property
    def tables(self) -> Mapping[str, ds.Dataset]:
        """`samples`, `clips`, `quarantine` and `shards`."""
        folder = self.manifest.parent
        return {
            "samples": ds.dataset(self.manifest),
            **{name: ds.dataset(folder / file) for name, (file, _) in _FILES.items()},
        }

    @property
    def clip_columns(self) -> frozenset[str]:
        """The columns of its catalogue, which differ between versions of Segue."""
        return frozenset(pq.read_schema(self.manifest.with_name(CLIPS_FILE)).names)

    @property
    def settings(self) -> dict[str, Any]:
        """Of its spec, by dotted key; a plan keeps none."""
        path = own_file(self.manifest.parent, SPEC_FILE)
        return flat_settings(read_spec(path)) if self.rendered else {}

    @property
    def algorithms(self) -> dict[str, Any]:
        """Versions of Segue's algorithms, by name; a plan does not say."""
        if self.facts is None:
            return {}
        return {"format": self.facts.get("format_version"), **self.facts.get("algorithms", {})}

    @property
    def libraries(self) -> dict[str, str]:
        """Versions of the packages that made its shards, by name; several where several did."""
        found: dict[str, set[str]] = {}
        for libraries in (self.facts or {}).get("libraries", ()):
            for name, version in libraries.items():
                found.setdefault(name, set()).add(version)
        return {name: " and ".join(sorted(versions)) for name, versions in found.items()}

    def to_json(self) -> dict[str, Any]:
        """Which it is."""
        return {
            "corpus": self.corpus,
            "version": self.manifest.parent.name,
            "manifests": display_path(self.manifest.parent),
            "rendered": self.rendered,
            "digest": None if self.facts is None else self.facts["digest"],
        }


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A value that is another in B than in A; None where one of them has none."""

    name: str
    a: Any
    b: Any


def find_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[ValueChange]:
    """Where two mappings differ, in their order."""
    for name in dict.fromkeys([*a, *b]):
        if a.get(name) != b.get(name):
            yield ValueChange(name, a.get(name), b.get(name))
