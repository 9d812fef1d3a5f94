from __future__ import annotations

from tests.kit.export_corpora import corpus, exported, wide

__all__ = ["corpus", "exported", "wide"]
