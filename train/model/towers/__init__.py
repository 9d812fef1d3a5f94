"""Towers: from waveform, or from token ids, to tokens."""

from __future__ import annotations

from train.model.loading import model_rate, transformers_model
from train.model.towers.base import AudioTower, Chunks, ChunkTower, TextTower
from train.model.towers.small import EmbeddingTower, cnn_tower
from train.model.towers.text import TextModel

__all__ = [
    "AudioTower",
    "ChunkTower",
    "Chunks",
    "EmbeddingTower",
    "TextModel",
    "TextTower",
    "cnn_tower",
    "model_rate",
    "transformers_model",
]
