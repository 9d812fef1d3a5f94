"""The key that the endpoints of these tests want."""

from __future__ import annotations

import pytest

from tests.kit.llm_tasks import KEY, KEY_VARIABLE


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
