"""What faults cost: captions through a loopback endpoint, with and without 20 % faults.

Run from the repository root: `python -m benchmarks.llm`. README.md tells what is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from pipelines.llm.run import generate
from pipelines.llm.wire.errors import Policy
from synth.base.progress import Silent

FAULTS = (
    *("rate_limit", "server", "connection", "drop", "stream_error", "html", "no_finish", "empty"),
    *("cut_off", "refusal", "content_filter", "repetition", "whitespace", "timeout", "stall"),
)
TIMEOUT_S = 2.0


def measure(captions: int, latency: float, concurrency: int, rate: float) -> dict[str, Any]:
    """One run, and what the least time for its requests would have been."""
    from tests.kit.llm_server import LlmServer
    from tests.kit.llm_tasks import KEY, KEY_VARIABLE, obliging, settings
    from tests.kit.llm_tasks import captions as captions_of

    os.environ[KEY_VARIABLE] = KEY
    with (
        tempfile.TemporaryDirectory() as folder,
        LlmServer(
            obliging, key=KEY, fault_rate=rate, faults=FAULTS, seed=1, latency_s=latency
        ) as server,
    ):
        run = settings(
            Path(folder),
            server.base_url,
            captions_of(captions),
            concurrency=concurrency,
            timeout_s=TIMEOUT_S,
            policy=Policy(attempts=8, base_s=0.1, cap_s=1.0),
        )
        started = time.monotonic()
        summary = generate(run, Silent())
        seconds = time.monotonic() - started
        asked = summary.account.requests
        slow = summary.account.faults.get("timeout", 0)
    least = ((asked - slow) * latency + slow * TIMEOUT_S) / concurrency
    return {
        "fault_rate": rate,
        "latency_s": latency,
        "concurrency": concurrency,
        "answered": summary.answered,
        "failed": sum(summary.failed.values()),
        "open": summary.left,
        "requests": asked,
        "seconds": round(seconds, 2),
        "least_seconds": round(least, 2),
        "ratio": round(seconds / least, 2),
    }


def main() -> None:
    """Run with and without faults, and print a line of JSON for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm", description=__doc__)
    parser.add_argument("--captions", type=int, default=5000)
    parser.add_argument("--latency", type=float, nargs="+", default=[0.25, 0.4])
    parser.add_argument("--concurrency", type=int, default=16)
    given = parser.parse_args()
    for latency in given.latency:
        for rate in (0.0, 0.2):
            print(json.dumps(measure(given.captions, latency, given.concurrency, rate)), flush=True)


if __name__ == "__main__":
    main()
