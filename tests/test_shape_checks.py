"""The suite checks shapes as functions are called; see conftest.py."""

from __future__ import annotations

import jaxtyping
import pytest
import torch

from train.model.features import split_chunks


def test_an_array_of_another_shape_is_refused() -> None:
    split_chunks(torch.zeros(1, 5), 2)
    with pytest.raises(jaxtyping.TypeCheckError):
        split_chunks(torch.zeros(5), 2)
