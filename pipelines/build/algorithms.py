"""The versions of Segue's algorithms: what makes a corpus beside spec, clips and libraries."""

from __future__ import annotations

from pipelines.ingest.parts import INGEST_VERSION
from pipelines.spec.spec import PLAN_VERSION
from synth.audio.render import RENDER_VERSION
from synth.corpus.schema import FORMAT_VERSION
from synth.labels.lexicon import words_digest


def algorithm_versions() -> dict[str, int | str]:
    """By name; `words` is the digest of the word lists that ship."""
    return {
        "ingest": INGEST_VERSION,
        "plan": PLAN_VERSION,
        "render": RENDER_VERSION,
        "format": FORMAT_VERSION,
        "words": words_digest(),
    }
