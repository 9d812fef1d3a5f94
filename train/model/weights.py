"""Which weights a model has, and whether the file that they lie in is what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, TypeAdapter, ValidationError
from torch import Tensor, uint8

from synth.base.atomic import write_text
from synth.base.doors import open_regular, read_json
from synth.base.errors import CorpusError
from synth.base.hashing import file_sha256, sha256_of

RECEIPTS_FILE: Final = "receipts.json"
_KEPT: Final = 3
"""Receipts of a name: of the file, of the one before, and of one that was damaged."""


def weights_digest(weights: Mapping[str, Tensor]) -> str:
    """Hex SHA-256 of named tensors: of their names, kinds, shapes and values, in order of name."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        tensor = weights[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
        digest.update(tensor.reshape(-1).view(uint8).numpy().data)
    return digest.hexdigest()


class WeightsReceipt(BaseModel):
    """What was written: the size in bytes and the SHA-256 of a file."""

    bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> WeightsReceipt:
        """That of a file that is whole."""
        return cls(bytes=path.stat().st_size, sha256=file_sha256(path))


_RECEIPTS: Final = TypeAdapter(dict[str, list[WeightsReceipt]])


def read_receipts(folder: Path) -> dict[str, list[WeightsReceipt]]:
    """The receipts of files in a folder, by name, the newest first; none in an older folder."""
    path = folder / RECEIPTS_FILE
    fix = "remove it to have the files of this folder read unchecked"
    try:
        return _RECEIPTS.validate_python(read_json(path, fix=fix))
    except FileNotFoundError:
        return {}
    except ValidationError as error:
        raise CorpusError(f"{path}: no receipts", fix=fix) from error


def write_receipts(folder: Path, receipts: Mapping[str, list[WeightsReceipt]]) -> None:
    """Replace the receipts of a folder."""
    write_text(folder / RECEIPTS_FILE, _RECEIPTS.dump_json(dict(receipts), indent=1).decode())


def add_receipt(path: Path, receipt: WeightsReceipt) -> None:
    """Add the receipt of a file that is about to be replaced; the one before stays valid."""
    receipts = read_receipts(path.parent)
    receipts[path.name] = [receipt, *receipts.get(path.name, ())][:_KEPT]
    write_receipts(path.parent, receipts)


def is_damaged(path: Path, name: str = "") -> bool:
    """Whether a file is not what its receipts say; one without a receipt is not checked.

    Args:
        name: The one that its receipts go by, where that is another.
    """
    receipts = read_receipts(path.parent).get(name or path.name)
    if receipts is None:
        return False
    size = path.stat().st_size
    digests = {receipt.sha256 for receipt in receipts if receipt.bytes == size}
    if not digests:
        return True
    with open_regular(path) as file:
        return sha256_of(file) not in digests


def require_whole(path: Path, fix: str) -> None:
    """Refuse a file that is not what its receipt says."""
    if is_damaged(path):
        raise CorpusError(f"{path}: damaged: it is not what its receipt says", fix=fix)
