"""The numbers by which TextSwap replaces wrong captions."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from synth.base.rng import digest


def draw_swaps(rows: slice, total: int, step: int, seed: int) -> Float[Tensor, "rows candidates"]:
    """The uniform numbers, 0 to 1, that decide which wrong captions TextSwap replaces.

    They are drawn for the rows of all processes, so that a row's numbers do not depend on how many
    processes there are.

    Args:
        rows: Those of this process.
        total: Rows of all processes.
    """
    generator = torch.Generator().manual_seed(
        int(digest(str(seed), "textswap", str(step))[:15], 16)
    )
    return torch.rand(total, total, generator=generator)[rows].clone()
