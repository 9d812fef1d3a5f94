"""Where to compute."""

from __future__ import annotations

import torch

from synth.errors import SpecError


def torch_device(name: str) -> torch.device:
    """A device by name, `cpu`, `cuda`, `cuda:1`, `mps`, if it is there.

    Raises:
        SpecError: If it is unknown or absent.
    """
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise SpecError(
            f"device {name!r}: no such kind", mend="use cpu, cuda, cuda:1, ..., or mps"
        ) from error
    there = {
        "cpu": True,
        "cuda": (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there.get(device.type, False):
        raise SpecError(f"device {name!r}: not on this machine", mend="use cpu")
    return device
