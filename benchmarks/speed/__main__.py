"""Segue's speed beside that of its peers, on the same clips, doing the same work, in one run.

Contenders take turns, each turn in a fresh process with one thread; README.md tells what is
measured. Peers are installed from PyPI into an environment of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.speed.aims import aims
from benchmarks.speed.cases import (
    catalogue,
    growth,
    ingest,
    loader,
    plan,
    read,
    rebuild,
    render,
    scaling,
)
from benchmarks.speed.contenders import ROOT, SpeedContender, take_turns
from benchmarks.speed.peers.environment import peers_python, versions
from benchmarks.speed.stage import FULL, QUICK, BenchStage
from benchmarks.speed.table import machine, medians, own_versions, table

RESULTS: Final = ROOT / "benchmarks" / "results"
ESC50: Final = ROOT.parent / "shared" / "data" / "ESC-50"
PEERS: Final = ROOT / "out" / "peers"
CASES: Final = {
    "render": render,
    "read": read,
    "plan": plan,
    "ingest": ingest,
    "rebuild": rebuild,
    "scaling": scaling,
    "loader": loader,
    "growth": growth,
    "catalogue": catalogue,
}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description=__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="a few samples of everything")
    parser.add_argument("--repeats", type=int, default=5, help="turns of each contender")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--no-peers", action="store_true", help="Segue and the encoder alone")
    parser.add_argument("--peers", type=Path, default=PEERS, help="the peers' environment")
    parser.add_argument("--esc50", type=Path, default=ESC50, help="clips; without, made sounds")
    parser.add_argument("--scratch", type=Path, help="where corpora are built for a while")
    parser.add_argument("--json", type=Path, help="where the figures go; the table lies beside")
    options = parser.parse_args(arguments)
    name = "speed-quick.json" if options.quick else "speed.json"
    options.json = options.json or (ROOT / "out" if options.quick else RESULTS) / name
    return options


def main() -> None:
    """Prepare, take turns, write the figures, print the table."""
    options = parse()
    python = Path(sys.executable)
    peers = None if options.no_peers else peers_python(options.peers.absolute())
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        stage = BenchStage(
            Path(scratch) / "stage", options.esc50.absolute(), QUICK if options.quick else FULL
        )
        sounds = stage.prepare()
        contenders: list[SpeedContender] = [
            contender
            for name in options.only
            for contender in CASES[name].contenders(stage)
            if peers is not None or not contender.peer
        ]
        turns = take_turns(
            contenders, options.repeats, Path(scratch), {False: python, True: peers or python}
        )
    found = medians(sorted(turns, key=lambda turn: turn["repeat"]))
    report = {
        "machine": machine(),
        "load": f"{load:.1f} before, {os.getloadavg()[0]:.1f} after",
        "sounds": sounds,
        "size": "quick" if options.quick else "full",
        "repeats": options.repeats,
        "versions": own_versions(),
        "peers": versions(peers) if peers is not None else {},
        "medians": found,
        "aims": aims(found),
        "turns": turns,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    told = table(report)
    options.json.with_suffix(".md").write_text(told + "\n", encoding="utf-8")
    print(told)


if __name__ == "__main__":
    main()
