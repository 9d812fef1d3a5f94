"""Install each peer, then run the tests of those that are there.

    python -m tests.peers [--only NAME,NAME] [--from NAME=REQUIREMENT]

`make peers` runs it in an environment of its own. The tests of a peer are in `test_NAME.py`. Each is
installed by itself, so that one that cannot be had stops no other: it is named at the end, and its
tests are left out by name.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TORCH = "torch==2.13.0"

# First the peer, which comes without what it asks for where that is older than what Segue is tested
# with, then what it cannot be imported without.
PEERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "energon": ((), ("megatron-energon", "av")),
    "laion_clap": (("laion_clap==1.1.7",), ("torchlibrosa", "ftfy", "h5py", "wget", "progressbar")),
    "lance": ((), ("pylance>=7",)),
    "llamafactory": (("llamafactory", "trl<1"), ("omegaconf", "fire", "modelscope")),
    "ms_swift": (("ms-swift", "trl<1"), ("modelscope", "json_repair", "addict")),
    "mteb": ((), ("mteb>=2.26",)),
    # On PyPI it hears sounds from 4.2 on.
    "open_clip": (
        ("open_clip_torch @ git+https://github.com/mlfoundations/open_clip@89fb801f1e60",),
        ("torchvision", "timm", "ftfy"),
    ),
    "sed_eval": ((), ("sed_eval", "setuptools<81")),
    "sed_scores_eval": ((), ("sed_scores_eval>=0.0.4", "setuptools<81")),
    "trl": ((), ("trl",)),
}


def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "install", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def install(peer: str, instead: str | None) -> str:
    """Returns why it cannot be installed, nothing where it can."""
    bare, needs = PEERS[peer]
    if instead:
        bare = (instead,)
    for step in (("-c", "constraints.txt", TORCH, *needs), ("--no-deps", *bare)):
        ended = pip(*step) if len(step) > 1 else None
        if ended is not None and ended.returncode:
            lines = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")]
            return (lines or ["pip failed"])[0]
    return ""
