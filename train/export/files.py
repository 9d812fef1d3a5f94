"""What an exported folder holds beside a ClapModel."""

from __future__ import annotations

from typing import Final

SETTINGS_FILE: Final = "segue_heads.json"
HEADS_FILE: Final = "segue_heads.safetensors"
FORMAT: Final = 1
# Weights of a model that a ClapModel has no place for, where its heads are ours.
HEAD_PREFIXES: Final = ("audio_head.", "text_head.", "scale.", "bias")
