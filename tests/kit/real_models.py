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
    place = os.environ.get(_VARIABLE)
    real = sorted((Path(place) / kind).glob(_KINDS[kind])) if place else []
    return [*(tiny or (TINY,)), *(pytest.param(path.resolve(), id=path.name) for path in real)]
