"""Ends well if torchcodec's libraries load, with ffmpeg's and torch's; importing it takes 3 s more.

What libraries are called, and where they lie, is as on Linux.
"""

from __future__ import annotations

from contextlib import suppress
from ctypes import CDLL, RTLD_GLOBAL
from importlib.metadata import distribution
from pathlib import Path


def main() -> None:
    """Load them: those for one version of ffmpeg are enough."""
    torch, codec = (
        Path(str(distribution(name).locate_file(name))) for name in ("torch", "torchcodec")
    )
    CDLL(str(torch / "lib" / "libtorch.so"), RTLD_GLOBAL)
    for core in codec.glob("libtorchcodec_core*.so"):
        with suppress(OSError):
            for path in (core, core.with_name(core.name.replace("core", "custom_ops"))):
                CDLL(str(path))
            return
    raise SystemExit("no version of ffmpeg fits")


if __name__ == "__main__":
    main()
