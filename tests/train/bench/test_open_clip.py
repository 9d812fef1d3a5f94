"""What is said where there is no open_clip that hears sounds; tests/peers has one that does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from synth.base.errors import SpecError
from train.bench.opening import open_embedder


def test_an_open_clip_without_audio_or_none_at_all_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The environment of the README has open_clip 3.
    for what in ("this open_clip has no models of sounds", "open_clip is not installed"):
        with pytest.raises(SpecError, match=what) as error:
            open_embedder(Path("hf-hub:owner/name"))
        assert str(error.value.fix).startswith("install open_clip 4.2")
        monkeypatch.setitem(sys.modules, "open_clip", None)
