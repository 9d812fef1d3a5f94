"""The versions of Segue's algorithms: what makes a corpus beside spec, clips and libraries."""

from __future__ import annotations

from pipelines.ingestion.parts import INGEST_VERSION
from pipelines.spec import PLAN_VERSION
from synth.lexicon import words_digest
from synth.render import RENDER_VERSION
from synth.schema import FORMAT_VERSION


def algorithm_versions() -> dict[str, int | str]:
    """By name; `words` is the digest of the word lists that ship."""
    return {
        "ingest": INGEST_VERSION,
        "plan": PLAN_VERSION,
        "render": RENDER_VERSION,
        "format": FORMAT_VERSION,
        "words": words_digest(),
    }
