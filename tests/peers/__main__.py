"""Install each peer, then run the tests of those that are there.

    python -m tests.peers [--only NAME,NAME] [--from NAME=REQUIREMENT]

`make peers` runs it in an environment of its own. The tests of a peer are in `test_NAME.py`. Each
is installed by itself, so that one that cannot be had stops no other: it is named at the end, and
its tests are left out by name.
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


def install(peer: str, instead: str | None) -> str:
    """Returns why it cannot be installed, nothing where it can."""
    bare, needs = PEERS[peer]
    steps = (("-c", "constraints.txt", TORCH, *needs), ("--no-deps", *(bare or needs)))
    if instead:
        steps = (*steps[:1], ("--no-deps", instead))
    for step in steps:
        command = [sys.executable, "-m", "pip", "install", *step]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if ended.returncode:
            errors = [line for line in ended.stderr.splitlines() if line.startswith("ERROR")]
            return (errors or ["pip says nothing"])[0]
    return ""


def main() -> int:
    """Returns the exit status: 1 where a test fails or a peer cannot be installed."""
    parser = argparse.ArgumentParser("python -m tests.peers", description=__doc__)
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
