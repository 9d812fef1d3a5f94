"""Where to compute."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch

from synth.base.errors import SpecError

BF16_CAPABILITY: Final = (8, 0)
"""CUDA's compute capability from which on GPUs calculate in bfloat16."""


def torch_device(name: str) -> torch.device:
    """A device by name, `cpu`, `cuda`, `cuda:1`, `mps`, if it is there."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise SpecError(
            f"device {name!r}: unknown device", fix="use cpu, cuda, cuda:1, ..., or mps"
        ) from error
    available = {
        "cpu": True,
        "cuda": (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not available.get(device.type, False):
        raise SpecError(f"device {name!r}: this machine has no such device", fix="use cpu")
    return device


def describe_devices() -> dict[str, Any]:
    """Torch's version and build, and every GPU: name, memory in bytes, whether it has bf16."""
    devices: list[dict[str, Any]] = [
        {
            "device": f"cuda:{index}",
            "name": torch.cuda.get_device_name(index),
            "memory": torch.cuda.get_device_properties(index).total_memory,
            "bf16": torch.cuda.get_device_capability(index) >= BF16_CAPABILITY,
        }
        for index in range(torch.cuda.device_count())
    ]
    if torch.backends.mps.is_available():
        devices.append({"device": "mps", "name": "Apple GPU", "memory": 0, "bf16": True})
    gpus = {"CUDA": torch.version.cuda, "ROCm": torch.version.hip}
    build = ", ".join(f"built for {name} {of}" for name, of in gpus.items() if of)
    return {"torch": torch.__version__, "build": build or "built for CPU", "devices": devices}


@contextmanager
def matmul_precision(name: str) -> Iterator[None]:
    """Within it, float32 matrices are multiplied with this precision.

    Args:
        name: `highest`, or `high` for TF32 on GPUs that have it.
    """
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(name)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


if __name__ == "__main__":
    print(json.dumps(describe_devices()))
