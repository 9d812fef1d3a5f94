"""Soaks: what a test suite has no time for.

    python -m benchmarks.soak [--minutes 10] [--seed N] [--only LANE/VICTIM] [--json]
    python -m benchmarks.soak --between-writes [--only build,gc/store] [--points N] [--json]
    python -m benchmarks.soak --mutated 500 [--json]

The first kills the processes of builds at random moments (kills.py), the second kills commands
between every pair of their writes (between.py), the third reads damaged sound files on a quiet
machine and on a busy one (mutated.py). The status is 1 where anything is wrong. Linux only.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys


def main() -> int:
    """Run a soak. Returns the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.soak", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--between-writes", action="store_true", help="kill between all writes")
    mode.add_argument("--mutated", type=int, metavar="FILES", help="read so many damaged files")
    parser.add_argument("--minutes", type=float, default=10.0, help="the most that kills may take")
    parser.add_argument("--seed", type=int, default=None, help="of the moments; else a new one")
    parser.add_argument("--only", default="", help="as dask,flow/server or gc: parts of names")
    parser.add_argument("--points", type=int, default=0, help="so many of each command's writes")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    print("starting", file=sys.stderr, flush=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    only = options.only.split(",")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if options.between_writes:
            from benchmarks.soak.between import soak

            return soak(only, options.points, options.json)
        if options.mutated is not None:
            from benchmarks.soak.mutated import compare

            return compare(options.mutated, options.json)
        from benchmarks.soak.kills import kill_builds

        return kill_builds(options.minutes, options.seed, only, options.json)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
