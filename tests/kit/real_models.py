"""Published models for the tests that open and score models, where a folder with them is given.

`SEGUE_TEST_MODELS` names a folder with, as far as they are there, `clap/NAME/` (ClapModel),
`laion/NAME.pt` (LAION-CLAP checkpoints, with RoBERTa's tokenizer files beside them),
`pe_audio/NAME/` (PeAudioModel, PeAudioVideoModel) and `open_clip/NAME/` (folders with
open_clip_config.json).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pytest

TINY: Final = "tiny"
_VARIABLE: Final = "SEGUE_TEST_MODELS"
_KINDS: Final = {"clap": "*/", "laion": "*.pt", "pe_audio": "*/", "open_clip": "*/"}


def with_real(kind: str, *tiny: str) -> list[Any]:
    """Parameters of a test or fixture: the tiny models, by name, and the path of each real one.

    Args:
        kind: `clap`, `laion`, `pe_audio` or `open_clip`.
        tiny: Names of the tiny ones; by default there is one.
    """
    place, pattern = os.environ.get(_VARIABLE), _KINDS[kind]
    found = sorted((Path(place) / kind).glob(pattern)) if place else []
    real = [pytest.param(path.resolve(), id=path.name) for path in found]
    reason = f"no {kind}/{pattern} in {_VARIABLE}={place}" if place else f"{_VARIABLE} is not set"
    return [
        *(tiny or (TINY,)),
        *(real or [pytest.param(None, id="real", marks=pytest.mark.skip(reason=reason))]),
    ]
