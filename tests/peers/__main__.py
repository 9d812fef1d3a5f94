"""Install each peer, then run the tests of those that are there.

    python tests/peers [--only NAME,NAME] [--from NAME=REQUIREMENT]

`make peers` runs it in an environment of its own. The tests of a peer are in `test_NAME.py`. Each
is installed by itself, so that one that cannot be had stops no other: it is named at the end, and
its tests are left out by name.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TORCH = "torch==2.13.0"

# First the peer, which comes without what it asks for where that does not go with Segue's versions,
# then what it cannot be imported without.
PEERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "audiocraft": (
        ("audiocraft==1.3.0",),
        ("av", "einops", "flashy", "julius", "librosa", "num2words", "omegaconf"),
    ),
    "energon": ((), ("megatron-energon[av_decode]",)),
    "laion_clap": (
        ("laion_clap==1.1.7", "timm"),
        ("torchlibrosa", "ftfy", "h5py", "wget", "progressbar"),
    ),
    "lance": ((), ("pylance>=7",)),
    "llamafactory": (("llamafactory",), ("omegaconf", "fire")),
    "mteb": ((), ("mteb>=2.26",)),
    "ms_swift": (("ms-swift",), ("modelscope", "json_repair", "dacite")),
    # PyPI has none yet that hears sounds: 4.2 is its main branch.
    "open_clip": (
        ("open_clip_torch @ git+https://github.com/mlfoundations/open_clip@89fb801f1e60", "timm"),
        ("torchaudio", "ftfy"),
    ),
    "sed_eval": ((), ("sed_eval", "setuptools<81")),
    "sed_scores_eval": ((), ("sed_scores_eval>=0.0.4", "setuptools<81")),
    "trl": ((), ("trl",)),
}


def install(peer: str, instead: str | None) -> str:
    """Returns why it cannot be installed, nothing where it can."""
    bare, needs = PEERS[peer]
    bare = (instead, *bare[1:]) if instead else bare
    # Where torch came from another index than PyPI's, what is built upon it must, too.
    index = os.environ.get("TORCH_INDEX")
    extra = ("--extra-index-url", index) if index else ()
    # The peer comes first: one that cannot be had leaves nothing that others would find.
    for step in (("--no-deps", *bare), ("-c", "constraints.txt", TORCH, *needs)):
        if step == ("--no-deps",):
            continue
        command = [sys.executable, "-m", "pip", "install", *extra, *step]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if ended.returncode:
            lines = ended.stderr.splitlines()
            return next((line.strip() for line in lines if "error" in line.lower()), "pip failed")
    return ""


def main() -> int:
    """Returns the exit status: 1 where a test fails or a peer cannot be installed."""
    parser = argparse.ArgumentParser("python tests/peers", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", default=",".join(PEERS), help="names of peers")
    parser.add_argument("--from", dest="sources", action="append", default=[], metavar="NAME=PATH")
    given = parser.parse_args()
    sources = dict(source.split("=", 1) for source in given.sources)
    missing: dict[str, str] = {}
    for peer in given.only.split(","):
        print(f"installing {peer}", file=sys.stderr, flush=True)
        if reason := install(peer, sources.get(peer)):
            missing[peer] = reason
    files = [
        str(file)
        for peer in given.only.split(",")
        if peer not in missing
        for file in sorted(HERE.glob(f"test_{peer}*.py"))
    ]
    command = [sys.executable, "-m", "pytest", *files]
    status = subprocess.run(command, cwd=ROOT, env=os.environ | {"SEGUE_PEERS": "1"}, check=False)
    for peer, reason in missing.items():
        print(f"not installed, so not tested: {peer}: {reason}", file=sys.stderr)
    return int(bool(status.returncode or missing))


if __name__ == "__main__":
    sys.exit(main())
