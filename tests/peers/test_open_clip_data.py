"""open_clip's loader of audio reads the export `laion`."""

from __future__ import annotations

import importlib
import types
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth.corpus.corpus import Corpus
from tests.kit.export_corpora import Exported

CLIP_FRAMES = 480_000
CLAP_AUDIO = {"sample_rate": 48_000, "clip_samples": CLIP_FRAMES}


@pytest.fixture
def open_clip(torchaudio: None, no_images: None) -> types.SimpleNamespace:
    """open_clip's loader of audio and what it does to a waveform."""
    return types.SimpleNamespace(
        data=importlib.import_module("open_clip_train.audio_data"),
        transform=importlib.import_module("open_clip.audio.transform"),
    )


def read_by_open_clip(open_clip: Any, folder: Path, split: str, fill: str) -> list[Any]:
    import torch

    tars = sorted(str(path) for path in (folder / split).glob("*.tar"))
    made = open_clip.transform.make_audio_preprocess(CLAP_AUDIO, data_fill=fill)
    options = {
        "val_data": "::".join(tars),
        "val_num_samples": 0,
        "batch_size": 2,
        "workers": 0,
        "world_size": 1,
    }
    args = Namespace(**options)
    found = open_clip.data.get_wds_audio_dataset(
        args, made, is_train=False, tokenizer=lambda text: torch.zeros(1, 4)
    )
    return [one for batch in found.dataloader for one in batch["audio"]["waveform"]]


def test_open_clip_reads_every_sample(open_clip: Any, wide: Corpus, exported: Exported) -> None:
    found = read_by_open_clip(open_clip, exported(wide, "laion") / "wide", "test", "pad")
    rows = wide.samples("test").to_pylist()
    for waveform, row in zip(found, rows, strict=True):
        stored = wide.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        assert np.array_equal(np.round(waveform.numpy() * 32768), stored)


def test_open_clip_plays_short_samples_again_unless_told_to_pad(
    open_clip: Any, short: Corpus, exported: Exported
) -> None:
    """What the README of the export warns of: its default is `repeatpad`."""
    folder = exported(short, "laion") / "short"
    assert open_clip.transform.AudioAugmentationCfg().data_fill == "repeatpad"
    padded = read_by_open_clip(open_clip, folder, "test", "pad")
    looped = read_by_open_clip(open_clip, folder, "test", "repeatpad")
    for once, again, row in zip(padded, looped, short.samples("test").to_pylist(), strict=True):
        frames = row["frames"] * 48_000 // row["sample_rate"]
        assert not once[frames + 1 :].any()
        assert bool(again[frames + 1 :].any()) == (2 * frames <= CLIP_FRAMES)
