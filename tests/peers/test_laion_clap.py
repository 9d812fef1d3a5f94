"""LAION-CLAP reads the export `laion`, without the pretrained text models that it loads."""

from __future__ import annotations

import importlib
import importlib.util
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth.corpus.corpus import Corpus
from tests.kit.export_corpora import Exported

CLIP_FRAMES = 480_000


@pytest.fixture
def laion_clap(monkeypatch: pytest.MonkeyPatch, torchaudio: None, no_images: None) -> Any:
    """LAION-CLAP's own `training.data`, without the pretrained text models that it loads."""
    spec = importlib.util.find_spec("laion_clap")
    assert spec is not None
    assert spec.submodule_search_locations
    transformers = importlib.import_module("transformers")
    for name in ("Bert", "Roberta", "Bart"):
        kind = getattr(transformers, f"{name}Tokenizer")
        monkeypatch.setattr(kind, "from_pretrained", Tokenizer.from_pretrained)
    monkeypatch.syspath_prepend(spec.submodule_search_locations[0])
    return importlib.import_module("training.data")


class Tokenizer:
    """Stands for the tokenizers of pretrained models, which would be fetched."""

    @classmethod
    def from_pretrained(cls, name: str) -> Tokenizer:
        return cls()

    def __call__(self, text: str | list[str], **_: object) -> dict[str, Any]:
        import torch

        rows = 1 if isinstance(text, str) else len(text)
        return {"input_ids": torch.zeros(rows, 77, dtype=torch.long)}


def read_by_laion_clap(data: Any, folder: Path, name: str, split: str) -> Iterator[Any]:
    """The batches of its validation loader, with its defaults."""
    utils = importlib.import_module("clap_module.utils")
    tars = utils.get_tar_path_from_dataset_name([name], [split], True, str(folder))
    options = {
        "class_index_dict": None,
        "data_filling": "pad",
        "data_truncating": "rand_trunc",
        "text_augment_selection": None,
        "tmodel": "roberta",
        "remotedata": False,
        "val_data": tars,
        "train_data": None,
        "parallel_eval": False,
        "batch_size": 4,
        "world_size": 1,
        "workers": 1,
        "horovod": False,
    }
    args = Namespace(**options)
    yield from data.get_wds_dataset(
        args, {"audio_cfg": {"sample_rate": 48_000, "clip_samples": CLIP_FRAMES}}, is_train=False
    ).dataloader


def test_laion_clap_reads_every_sample(laion_clap: Any, wide: Corpus, exported: Exported) -> None:
    folder = exported(wide, "laion")
    batches = list(read_by_laion_clap(laion_clap, folder, "wide", "test"))
    rows = wide.samples("test").to_pylist()
    assert [key for batch in batches for key in batch["__key__"]] == [row["id"] for row in rows]
    waveforms = [sound for batch in batches for sound in batch["waveform"]]
    texts = [one for batch in batches for one in batch["full_text"]]
    assert not any(bool(one) for batch in batches for one in batch["longer"])
    for waveform, text, row in zip(waveforms, texts, rows, strict=True):
        stored = wide.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        steps = np.round(waveform.numpy() * 32767)
        assert waveform.shape == (CLIP_FRAMES,)
        assert np.abs(steps - stored).max() <= 1  # it quantises again, to 32,767 steps
        assert text[0] == row["caption"]


def test_laion_clap_fills_with_silence_when_told(
    laion_clap: Any, short: Corpus, exported: Exported
) -> None:
    folder = exported(short, "laion")
    batch = next(read_by_laion_clap(laion_clap, folder, "short", "test"))
    row = short.samples("test").to_pylist()[0]
    frames = row["frames"] * 48_000 // row["sample_rate"]
    assert batch["waveform"][0, : frames - 1].any()
    assert not batch["waveform"][0, frames + 1 :].any()
