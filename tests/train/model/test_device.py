"""What torch finds on a machine, as `segue check` asks for it."""

from __future__ import annotations

import json

import pytest
import torch

from train.model.device import describe_devices, matmul_precision


def test_a_machine_without_gpu_has_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    found = json.loads(json.dumps(describe_devices()))
    assert found["devices"] == []
    assert found["torch"] == torch.__version__


def test_each_gpu_is_told_with_its_memory_and_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    class Properties:
        total_memory = 80_000_000_000

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: f"GPU {index}")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Properties)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: (7 + 2 * index, 0))
    devices = describe_devices()["devices"][:2]
    assert [(each["device"], each["bf16"]) for each in devices] == [
        ("cuda:0", False),
        ("cuda:1", True),
    ]
    assert devices[0]["memory"] == Properties.total_memory


def test_products_are_as_precise_as_before_once_a_run_is_over() -> None:
    def dies() -> None:
        with matmul_precision("high"):
            assert torch.get_float32_matmul_precision() == "high"
            with matmul_precision("highest"):
                assert torch.get_float32_matmul_precision() == "highest"
            assert torch.get_float32_matmul_precision() == "high"
            raise RuntimeError("killed")

    before = torch.get_float32_matmul_precision()
    with pytest.raises(RuntimeError, match="killed"):
        dies()
    assert torch.get_float32_matmul_precision() == before
