"""Which weights a model has, told by a digest that does not depend on the file they lie in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from torch import Tensor, uint8


def weights_digest(weights: Mapping[str, Tensor]) -> str:
    """Hex SHA-256 of named tensors: of their names, kinds, shapes and values, in order of name."""
    found = hashlib.sha256()
    for name in sorted(weights):
        tensor = weights[name].detach().cpu().contiguous()
        found.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        found.update(tensor.reshape(-1).view(uint8).numpy().data)
    return found.hexdigest()
