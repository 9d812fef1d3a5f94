"""ESC-50 and AudioCaps by the book: one sound and one text at a time, and no code of the bench."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import soundfile
from transformers import AutoTokenizer, ClapFeatureExtractor, ClapModel


class Naive:
    """Published: sounds repeated or fused, every caption a query. Else padded or cut, each once."""

    def __init__(self, folder: Path, published: bool) -> None:
        self.model, self.published = ClapModel.from_pretrained(folder).eval(), published
        self.words = AutoTokenizer.from_pretrained(folder)
        self.extractor = ClapFeatureExtractor.from_pretrained(folder)

    def hear(self, path: Path) -> np.ndarray:
        (wave, rate), most = soundfile.read(path, dtype="float32"), self.extractor.nb_max_samples
        fused = self.published and self.model.config.audio_config.enable_fusion
        wave, padding = wave if fused else wave[:most], "repeatpad" if self.published else "pad"
        found = self.extractor(wave, sampling_rate=rate, padding=padding, return_tensors="pt")
        # The extractor calls any sound longer that is alone.
        found["is_longer"] &= len(wave) >= most + self.extractor.hop_length
        return self.model.get_audio_features(**found).pooler_output[0].detach().numpy()

    def similar(self, sounds: list[Path], texts: list[str]) -> np.ndarray:
        words = [self.words(text, return_tensors="pt") for text in texts]
        said = [self.model.get_text_features(**each).pooler_output[0].detach() for each in words]
        return np.stack([np.stack(said) @ self.hear(sound) for sound in sounds])

    def esc50(self, table: Path, audio: Path, template: str) -> float:
        rows = list(csv.DictReader(table.open()))
        classes = np.unique([row["category"] for row in rows])
        prompts = [template.replace("{}", name) for name in classes]
        best = self.similar([audio / row["filename"] for row in rows], prompts).argmax(axis=1)
        return float(np.mean(classes[best] == [row["category"] for row in rows]))

    def audiocaps(self, table: Path, audio: Path) -> dict[str, float]:
        pairs = [(row["caption"], row["youtube_id"]) for row in csv.DictReader(table.open())]
        queries, clips = [(text, {clip}) for text, clip in pairs], sorted({c for _, c in pairs})
        if not self.published:
            queries = [(text, {c for t, c in pairs if t == text}) for text in dict(pairs)]
        score = self.similar([audio / f"{clip}.wav" for clip in clips], [t for t, _ in queries])
        right = np.array([[clip in owners for _, owners in queries] for clip in clips])
        found, ways = {}, {"audio_to_text": (score, right), "text_to_audio": (score.T, right.T)}
        for way, (similar, hits) in ways.items():
            best = np.where(hits, similar, -np.inf).max(axis=1, keepdims=True)
            ranks = 1 + ((similar >= best) & ~hits).sum(axis=1)
            found |= {f"{way}_r{k}": float(np.mean(ranks <= k)) for k in (1, 5, 10)}
        return found
