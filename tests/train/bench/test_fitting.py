"""Repeated and fused sounds against transformers' own feature extractor and ClapModel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import ClapModel

from synth.base.errors import SpecError
from tests.kit.tiny_models import CLAP_RATE, CLAP_SECONDS, extract_features, noise, save_clap
from train.bench.embedder import embed_sounds, fill_up, fuse, repeat_sound
from train.bench.evaluate import assess
from train.bench.opening import open_embedder
from train.bench.settings import BenchSettings, Padding
from train.bench.sounds import SoundItem, file_sound
from train.bench.tables import classes_benchmark

FULL = CLAP_SECONDS * CLAP_RATE
HOP = 480
SIZES = (500, FULL // 3 + 7, FULL - 1, FULL)


def noises(sizes: Sequence[int]) -> list[SoundItem]:
    """Sounds of noise, at the model's rate."""
    waveforms = [noise(size, size).numpy() for size in sizes]
    return [SoundItem("noise", len(one), lambda _, one=one: one) for one in waveforms]


def samples(sounds: Sequence[SoundItem]) -> list[np.ndarray]:
    return [sound.load(CLAP_RATE) for sound in sounds]


@pytest.fixture(scope="module")
def wide_fused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_clap(tmp_path_factory.mktemp("wide"), fused=True, mels=64)


@torch.no_grad()
def theirs(folder: Path, waveforms: Sequence[np.ndarray], padding: str) -> np.ndarray:
    features = extract_features(folder, waveforms, padding)
    embedded = ClapModel.from_pretrained(folder).eval().get_audio_features(**features)
    return embedded.pooler_output.double().numpy()


@pytest.mark.parametrize("padding", Padding)
@pytest.mark.parametrize("name", ["clap_folder", "fused_folder"])
def test_shorter_sounds_are_filled_up_as_transformers_does(
    padding: Padding, name: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(name)
    embedder, sounds = open_embedder(folder), noises(SIZES)
    found, _ = embed_sounds(embedder, fill_up(sounds, padding, embedder.longest))
    assert np.abs(found - theirs(folder, samples(sounds), padding)).max() < 1e-5
    # Which of the three it is can be heard.
    repeats = theirs(folder, samples(sounds[1:2]), "repeat")
    assert np.allclose(found[1:2], repeats, atol=1e-5) == (padding is Padding.REPEAT)


@pytest.mark.parametrize("padding", [Padding.PAD, Padding.REPEATPAD])
def test_longer_sounds_are_fused_as_transformers_does(
    padding: Padding, wide_fused: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They draw a stretch from each third of all; ours is in the middle of those.
    monkeypatch.setattr(np.random, "choice", lambda starts: starts[len(starts) // 2])
    sizes = (*SIZES, FULL + 1, FULL + HOP - 1, FULL + HOP, FULL + 2 * HOP, 5 * FULL // 2 + 99)
    embedder, sounds = open_embedder(wide_fused), noises(sizes)
    fused = fuse(embedder)
    found, was_cut = embed_sounds(fused, fill_up(sounds, padding, embedder.longest))
    expected = theirs(wide_fused, samples(sounds), padding)
    assert was_cut == 0
    assert np.abs(found - expected).max() < 1e-5
    assert np.array_equal(fused.texts(["a dog"]), embedder.texts(["a dog"]))
    # What is longer is heard: its first part alone is something else.
    cut, count = embed_sounds(embedder, noises(sizes[-1:]), cut=True)
    assert count == 1
    assert np.abs(cut - found[-1:]).max() > 1e-2


def test_the_first_part_is_one_that_transformers_may_draw(
    clap_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np.random, "randint", lambda low, high: low)
    sounds = noises([2 * FULL])
    found, _ = embed_sounds(open_embedder(clap_folder), sounds, cut=True)
    assert np.abs(found - theirs(clap_folder, samples(sounds), "pad")).max() < 1e-5


def test_a_sound_is_repeated_up_to_the_length_of_the_input() -> None:
    waveform = noise(3, 3).numpy()
    a, b, c = waveform.tolist()
    for longest, whole, expected in (
        (8, False, [a, b, c, a, b, c, a, b]),
        (8, True, [a, b, c, a, b, c]),
        (3, True, [a, b, c]),
        (2, False, [a, b, c]),
    ):
        assert repeat_sound(waveform, longest, whole).tolist() == expected


def test_what_a_model_cannot_do_is_refused(clap_folder: Path, tables: Any) -> None:
    files = [file_sound(tables.audio / tables.sound("low", "low"))]
    with pytest.raises(SpecError, match="any length, so there is nothing to pad"):
        fill_up(files, Padding.REPEAT, None)
    for model in (tables.tones, open_embedder(clap_folder)):
        with pytest.raises(SpecError, match="needs a fused CLAP"):
            fuse(model)
    with pytest.raises(SpecError, match="both cut and fusion"):
        BenchSettings(cut=True, fusion=True)


def test_a_report_says_how_sounds_were_fitted(wide_fused: Path, tables: Any) -> None:
    rows = [
        (tables.sound("low", "high", rate=CLAP_RATE), "dog"),
        (tables.sound("mid", "mid"), "rain"),
        (tables.sound("high", "low", seconds=3.0), "rain"),
    ]
    table = tables.write(("filename", "category"), *rows)
    settings = BenchSettings(padding=Padding.REPEATPAD, fusion=True)
    benchmark = classes_benchmark(table, tables.audio, settings)
    found = assess(open_embedder(wide_fused), benchmark)
    assert (found.facts["pad"], found.facts["longer sounds"]) == ("repeatpad", "fusion")
    assert not found.left_out
    plain = replace(settings, padding=Padding.PAD, fusion=False, cut=True)
    found = assess(open_embedder(wide_fused), replace(benchmark, settings=plain))
    assert not {"pad", "longer sounds"} & found.facts.keys()
