"""What Prefect's pages show of a run: progress, shards, report. Nothing is read back from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from uuid import UUID

from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)

MOST_ROWS: Final = 500


class RenderProgress:
    """The bar of a run's shards.

    Args:
        total: Shards to render.
    """

    def __init__(self, corpus: str, total: int) -> None:
        self._total = total
        self._id: UUID = create_progress_artifact(  # type: ignore[assignment]
            0.0 if total else 100.0,
            key=f"{corpus}-progress",
            description=f"{total} shards to render",
        )

    def show(self, done: int) -> None:
        """So many are rendered."""
        update_progress_artifact(self._id, progress=100.0 * done / max(1, self._total))


def show_shards(corpus: str, rows: list[dict[str, Any]], manifests: Path) -> None:
    """The table of shards; of very many the first."""
    shown = f"the first {MOST_ROWS} of {len(rows)}" if len(rows) > MOST_ROWS else str(len(rows))
    create_table_artifact(
        rows[:MOST_ROWS],
        key=f"{corpus}-shards",
        description=f"{shown} shards; all are in {manifests / 'shards.parquet'}",
    )


def show_link(corpus: str, name: str, path: Path) -> None:
    """A link to a file that the run wrote."""
    create_link_artifact(path.resolve().as_uri(), key=f"{corpus}-{name}", link_text=str(path))


def show_report(corpus: str, report: Path) -> None:
    """The report, and where it lies."""
    create_markdown_artifact(report.read_text(encoding="utf-8"), key=f"{corpus}-report")
    show_link(corpus, "report-file", report)
