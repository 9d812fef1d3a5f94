"""Prefect flows: the build functions as tasks. The only importer of Prefect, but for its server.

Prefect orchestrates and shows; it neither computes nor decides what is done. Tasks are threads that
hand plain functions to worker processes, a task a portion of the shards; receipts alone say which
shards are finished, and a flow that is run again makes only what is missing.
"""

from __future__ import annotations

from typing import Any

__all__ = ["build_corpus", "enrich", "finalise", "ingest", "nightly", "plan", "render"]


def __getattr__(name: str) -> Any:
    """Import Prefect when a flow is asked for: the command line first sets its log."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pipelines.flows.corpus import flow_of

    globals()[name] = flow_of(name.replace("_", "-"))
    return globals()[name]
