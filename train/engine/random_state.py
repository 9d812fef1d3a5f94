"""torch's random state, on the CPU and on the device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class RandomState:
    """Where torch's generators stand.

    Args:
        cpu: State of the CPU's.
        device: State of the device's, None where that is the CPU.
    """

    cpu: Tensor
    device: Tensor | None

    @classmethod
    def of(cls, device: torch.device) -> RandomState:
        """The state of now."""
        own = None
        if device.type == "cuda":
            own = torch.cuda.get_rng_state(device)
        elif device.type == "mps":
            own = torch.mps.get_rng_state()
        return cls(torch.get_rng_state(), own)

    def restore(self, device: torch.device) -> None:
        """Make it the state of now."""
        torch.set_rng_state(self.cpu.cpu())
        if self.device is not None and device.type == "cuda":
            torch.cuda.set_rng_state(self.device.cpu(), device)
        elif self.device is not None and device.type == "mps":
            torch.mps.set_rng_state(self.device.cpu())
