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
from tests.kit.cases import cases
from tests.kit.libraries import assert_told_apart

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


@cases("label", CLASSES)
def test_a_take_is_a_mono_recording_at_full_rate(label: str) -> None:
    for seed in range(3):
        x = take(label, seed)
        assert x.dtype == np.float32
        assert x.ndim == 1
        assert 1.5 * RATE <= x.size <= 5 * RATE
        assert np.isfinite(x).all()
        assert -20.1 <= 20 * np.log10(np.abs(x).max()) <= -0.9
        heard = sounding(x).astype(np.float64)
        assert heard.size >= 1.2 * RATE
        # No half second of the sound is silent.
        levels = [float(np.mean(window**2)) for window in windows(heard)]
        assert 10 * np.log10(min(levels) / max(levels)) > -40


def test_equal_seeds_give_equal_bits_and_other_seeds_other_sounds() -> None:
    for label in CLASSES:
        again = synthesize(label, np.random.default_rng([0, CLASSES.index(label)]))
        assert again.tobytes() == take(label, 0).tobytes()
        other = take(label, 1)
        n = min(again.size, other.size)
        assert not np.array_equal(again[:n], other[:n])
    with pytest.raises(ValueError, match=r"'unicorn'.*car_horn.*wind"):
        synthesize("unicorn", np.random.default_rng(0))


def test_other_seeds_are_other_recordings() -> None:
    for library, first in ((Foley, "foley/dog-00000"), (Jam, "jam/00000")):
        names = [{ref.recording for ref in library(seed=seed).refs()} for seed in (0, 1, 2)]
        assert not set.intersection(*names[:2])
        assert not set.intersection(*names[1:])
        assert first in names[0]


def test_classes_separate_on_takes_held_out() -> None:
    all_ = np.array([[features(take(c, s)) for s in range(7)] for c in CLASSES])
    assert_told_apart(all_[:, :4], all_[:, 4:], least=0.85)
    silences = [x.size - sounding(x).size for x in (take(c, s) for c in CLASSES for s in range(3))]
    assert max(silences) <= 1.0 * RATE + 1000
    # A third of the takes carry digital silence.
    assert 0.15 < np.mean(np.array(silences) > 0.05 * RATE) < 0.55
