"""Mel bands, to the last bit as librosa makes them, without the second that importing it takes."""

from __future__ import annotations

import warnings
from typing import Final

import numpy as np
from jaxtyping import Float

_HZ_PER_MEL: Final = 200.0 / 3
_BREAK_HZ: Final = 1000.0
"""Up to here the scale is linear, beyond it logarithmic."""
_BREAK_MEL: Final = _BREAK_HZ / _HZ_PER_MEL
_LOG_STEP: Final = np.log(6.4) / 27.0


def mel_filters(
    sample_rate: int, n_fft: int, mels: int, lowest_hz: float
) -> Float[np.ndarray, "mels bins"]:
    """Triangular filters from `lowest_hz` to half the sample rate: Slaney's scale, of equal areas.

    The order of every operation is librosa's (`librosa.filters.mel`), as trained weights depend on
    the last bits.
    """
    ends = np.linspace(_to_mel(lowest_hz), _to_mel(float(sample_rate) / 2), mels + 2)
    edges = _HZ_PER_MEL * ends
    high = ends >= _BREAK_MEL
    edges[high] = _BREAK_HZ * np.exp(_LOG_STEP * (ends[high] - _BREAK_MEL))

    widths = np.diff(edges)
    ramps = np.subtract.outer(edges, np.fft.rfftfreq(n=n_fft, d=1.0 / sample_rate))
    bank = np.zeros((mels, 1 + n_fft // 2), dtype=np.float32)
    for band in range(mels):
        rising, falling = -ramps[band] / widths[band], ramps[band + 2] / widths[band + 1]
        bank[band] = np.maximum(0, np.minimum(rising, falling))
    bank *= (2.0 / (edges[2:] - edges[:-2]))[:, np.newaxis]
    if not bank.any(axis=1).all():
        warnings.warn(
            f"{mels} mel bands are too many for a window of {n_fft} samples at {sample_rate} Hz: "
            "some are empty",
            stacklevel=2,
        )
    return bank


def _to_mel(hz: float) -> float:
    if hz >= _BREAK_HZ:
        return float(_BREAK_MEL + np.log(hz / _BREAK_HZ) / _LOG_STEP)
    return hz / _HZ_PER_MEL
