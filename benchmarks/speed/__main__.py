"""Segue's speed beside that of its peers, on the same clips, doing the same work, in one run.

README.md tells what is measured. Peers are installed from PyPI into an environment of their own.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.core import table
from benchmarks.core.contenders import ROOT, take_turns
from benchmarks.speed import building, reading
from benchmarks.speed.aims import aims
from benchmarks.speed.peers.environment import peer_versions, peers_python
from benchmarks.speed.stage import FULL, QUICK, BenchStage

ESC50: Final = ROOT.parent / "shared" / "data" / "ESC-50"
CASES: Final = {
    "render": building.render,
    "read": reading.read,
    "plan": building.plan,
    "ingest": reading.ingest,
    "rebuild": building.rebuild,
    "scaling": building.scaling,
    "loader": reading.loader,
    "growth": building.growth,
    "catalogue": building.catalogue,
}


def describe(report: dict[str, Any]) -> str:
    """All cases in Markdown, then the aims."""
    head = f"{report['machine']}, load {report['load']}; {report['sounds']}; "
    head += f"{report['repeats']} repeats; {table.list_versions(report['versions'])}"
    parts = ["`python -m benchmarks.speed`", head]
    if report["peers"]:
        parts.append(f"Peers: {table.list_versions(report['peers'])}")
    contenders = [
        (case, name, values)
        for case, by_name in report["medians"].items()
        for name, values in by_name.items()
    ]
    rows = (
        (
            case,
            name,
            f"{values['cpu_ms']:.3f} ms",
            f"{values['cpu_least_ms']:.3f} to {values['cpu_most_ms']:.3f}",
            f"{values['ratio']:.2f}",
            f"{values['wall_ms']:.3f} ms",
            f"{values['per_cpu_s']:,.0f}",
            f"{values['peak_mib']:,.0f} MiB",
        )
        for case, name, values in contenders
    )
    columns = "Case|Contender|CPU a sample|least to most|of the first's|Wall a sample"
    columns += "|Samples a CPU second|Peak memory"
    parts.append(table.markdown(columns.split("|"), rows, text=2))
    waits = [
        (
            name,
            f"{values['data_wait']:.1%}",
            f"{values['longest_wait_s'] * 1e3:.0f} ms",
            f"{values['per_s']:,.0f}",
        )
        for _, name, values in contenders
        if "data_wait" in values
    ]
    if waits:
        columns = "Loader|Waiting for data|Longest wait|Samples a second, unhindered"
        parts.append(table.markdown(columns.split("|"), waits))
    return "\n\n".join([*parts, table.aim_table(report["aims"])])


def main() -> None:
    """Prepare, take turns, write the figures, print the table."""
    parser = table.make_parser("speed", __doc__, repeats=5)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--no-peers", action="store_true", help="Segue and the floors alone")
    parser.add_argument("--peers", type=Path, default=ROOT / "out" / "peers")
    parser.add_argument("--esc50", type=Path, default=ESC50, help="clips; without, made sounds")
    options = parser.parse_args()
    name = ROOT / ("out/speed-quick" if options.quick else "benchmarks/results/speed")
    peers = None if options.no_peers else peers_python(options.peers.absolute())
    load = table.load()
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        size = QUICK if options.quick else FULL
        stage = BenchStage(Path(scratch) / "stage", options.esc50.absolute(), size)
        sounds = stage.prepare()
        contenders = [contender for name in options.only for contender in CASES[name](stage)]
        turns = take_turns(contenders, options.repeats, Path(scratch), peers)
    medians = table.medians(turns)
    report = {
        "machine": table.machine(),
        "load": f"{load} before, {table.load()} after",
        "sounds": sounds,
        "size": "quick" if options.quick else "full",
        "repeats": options.repeats,
        "versions": table.versions(),
        "peers": peer_versions(peers) if peers is not None else {},
        "medians": medians,
        "aims": [aim.to_json() for aim in aims(medians)],
        "turns": turns,
    }
    file = options.json or name.with_suffix(".json")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    file.with_suffix(".md").write_text(describe(report) + "\n", encoding="utf-8")
    print(describe(report))


if __name__ == "__main__":
    main()
