"""The procedural sound library: its contract, and that its classes are told apart by ear."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from synth.sources.procedural.foley import CLASSES, RATE, synthesize
from synth.sources.procedural.foley.source import Foley
from synth.sources.procedural.jam.source import Jam

BANDS = 26


@lru_cache(maxsize=3 * len(CLASSES))
def take(label: str, seed: int) -> NDArray[np.float32]:
    return synthesize(label, np.random.default_rng([seed, CLASSES.index(label)]))


def sounding(x: NDArray[np.float32]) -> NDArray[np.float32]:
    (audible,) = np.nonzero(x)
    return x[audible[0] : audible[-1] + 1]


def windows(x: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    half = RATE // 2
    for start in range(0, x.size - half + 1, half // 2):
        yield x[start : start + half]


def features(x: NDArray[np.float32]) -> NDArray[np.float64]:
    """Shape, never level: band energies of the loudest 26 dB, and how far each band moves."""
    frames = np.lib.stride_tricks.sliding_window_view(sounding(x), 1024)[::1024]
    power = np.abs(np.fft.rfft(frames * np.hanning(1024).astype(np.float32))) ** 2
    edges = np.unique(np.geomspace(2, power.shape[1] - 1, BANDS + 1).astype(int))
    bands = np.log(np.add.reduceat(power[:, : edges[-1]], edges[:-1], axis=1) + 1e-12)
    bands = np.maximum(bands, bands.max() - 6)
    mean = np.log(np.exp(bands).mean(axis=0))
    return np.concatenate((mean - mean.mean(), bands.std(axis=0)))


def test_there_are_24_classes_sorted_and_unique() -> None:
    assert len(CLASSES) == 24
    assert list(CLASSES) == sorted(set(CLASSES))
    assert all(label.replace("_", "").isalpha() and label.islower() for label in CLASSES)


@pytest.mark.parametrize("label", CLASSES)
def test_a_take_is_a_mono_recording_at_full_rate(label: str) -> None:
    for seed in range(3):
        x = take(label, seed)
        assert x.dtype == np.float32
        assert x.ndim == 1
        assert 1.5 * RATE <= x.size <= 5 * RATE
        assert np.isfinite(x).all()
        assert -20.1 <= 20 * np.log10(np.abs(x).max()) <= -0.9
        assert sounding(x).size >= 1.2 * RATE


@pytest.mark.parametrize("label", CLASSES)
def test_equal_seeds_give_equal_bits_and_other_seeds_other_sounds(label: str) -> None:
    again = synthesize(label, np.random.default_rng([0, CLASSES.index(label)]))
    assert again.tobytes() == take(label, 0).tobytes()
    other = take(label, 1)
    n = min(again.size, other.size)
    assert not np.array_equal(again[:n], other[:n])


@pytest.mark.parametrize(("library", "first"), [(Foley, "foley/dog-00000"), (Jam, "jam/00000")])
def test_other_seeds_are_other_recordings(library: type[Foley | Jam], first: str) -> None:
    names = [{ref.recording for ref in library(seed=seed).refs()} for seed in (0, 1, 2)]
    assert not set.intersection(*names[:2])
    assert not set.intersection(*names[1:])
    assert first in names[0]


@pytest.mark.parametrize("label", CLASSES)
def test_no_half_second_of_the_sound_is_silent(label: str) -> None:
    for seed in range(3):
        x = sounding(take(label, seed)).astype(np.float64)
        levels = [float(np.mean(w**2)) for w in windows(x)]
        assert 10 * np.log10(min(levels) / max(levels)) > -40


def test_a_third_of_the_takes_carry_digital_silence() -> None:
    silences = [x.size - sounding(x).size for x in (take(c, s) for c in CLASSES for s in range(3))]
    assert max(silences) <= 1.0 * RATE + 1000
    assert 0.15 < np.mean(np.array(silences) > 0.05 * RATE) < 0.55


def test_an_unknown_label_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'unicorn'.*car_horn.*wind"):
        synthesize("unicorn", np.random.default_rng(0))


def test_classes_separate_on_takes_held_out() -> None:
    train = np.array([[features(take(c, s)) for s in range(5)] for c in CLASSES])
    test = np.array([[features(take(c, s)) for s in range(5, 8)] for c in CLASSES])
    centroids = train.mean(axis=1)
    spread = np.sqrt(((train - centroids[:, None]) ** 2).mean(axis=(0, 1)))
    distance = (((test[:, :, None] - centroids) / spread) ** 2).sum(axis=-1)
    right = distance.argmin(axis=-1) == np.arange(len(CLASSES))[:, None]
    assert right.mean() >= 0.85
    assert right.any(axis=1).all()
