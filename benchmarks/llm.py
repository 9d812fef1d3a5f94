"""What faults cost: captions through a loopback endpoint, with and without 20 % faults.

Run from the repository root: `python -m benchmarks.llm`. README.md tells what is measured.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.core import table
from benchmarks.core.contenders import Contender, take_turns
from benchmarks.core.turn import Done, Job, Stopwatch, Work
from pipelines.llm.run import GenerateSummary, generate
from pipelines.llm.wire.errors import Policy
from synth.base.progress import UNOBSERVED

FAULTS: Final = (
    *("rate_limit", "server", "connection", "drop", "stream_error", "html", "no_finish", "empty"),
    *("cut_off", "refusal", "content_filter", "repetition", "whitespace", "timeout", "stall"),
)
TIMEOUT_S: Final = 2.0


def prepare(job: Job) -> Work:
    """One run, and what the least time for its requests would have been."""
    from tests.kit.llm_server import LlmServer
    from tests.kit.llm_tasks import KEY, KEY_VARIABLE, captions, obliging, settings

    os.environ[KEY_VARIABLE] = KEY
    rate, latency, concurrency = job["rate"], job["latency"], job["concurrency"]

    def run(name: str, count: int, watch: Stopwatch, **faults: Any) -> GenerateSummary:
        folder = Path(job["out"]) / name
        folder.mkdir()
        with LlmServer(obliging, key=KEY, **faults) as server:
            run_settings = settings(
                folder,
                server.base_url,
                captions(count),
                concurrency=concurrency,
                timeout_s=TIMEOUT_S,
                policy=Policy(attempts=8, base_s=0.1, cap_s=1.0),
            )
            with watch:
                return generate(run_settings, UNOBSERVED)

    run("warm", 16, Stopwatch())

    def work(watch: Stopwatch) -> Done:
        faults = {"fault_rate": rate, "faults": FAULTS, "seed": 1, "latency_s": latency}
        summary = run("measured", job["captions"], watch, **faults)
        requests = summary.account.requests
        slow = summary.account.faults.get("timeout", 0)
        facts = {
            "requests": requests,
            "answered": summary.answered,
            "failed": sum(summary.failed.values()),
            "open": summary.left,
            "least_s": ((requests - slow) * latency + slow * TIMEOUT_S) / concurrency,
        }
        return Done(job["captions"], facts=facts)

    return work


def main() -> None:
    """Run with and without faults, and print the table."""
    parser = table.make_parser("llm", __doc__, repeats=1)
    parser.add_argument("--captions", type=int, default=5000)
    parser.add_argument("--latency", type=float, nargs="+", default=[0.25, 0.4])
    parser.add_argument("--concurrency", type=int, default=16)
    options = parser.parse_args()
    captions = 40 if options.quick else options.captions
    job = {"captions": captions, "concurrency": options.concurrency}
    contenders = [
        Contender(
            f"{latency:g} s, {options.concurrency}",
            f"{rate:.0%}",
            "benchmarks.llm",
            job | {"latency": latency, "rate": rate},
        )
        for latency in options.latency
        for rate in (0.0, 0.2)
    ]
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        turns = take_turns(contenders, options.repeats, Path(scratch))
    rows = (
        (
            case,
            name,
            f"{values['requests']:,.0f}",
            f"{values['answered']:,.0f}, {values['failed']:.0f}, {values['open']:.0f}",
            f"{values['wall_s']:.1f} s",
            f"{values['least_s']:.1f} s",
            f"{values['wall_s'] / values['least_s']:.2f}",
        )
        for case, by_name in table.medians(turns).items()
        for name, values in by_name.items()
    )
    columns = "latency, at once|faults|requests|answered, failed, open|wall|least|ratio"
    print(f"{table.machine()}\n\n{table.markdown(columns.split('|'), rows)}")
    table.write_json(options.json, turns)


if __name__ == "__main__":
    main()
