"""One turn in this process: `python -m benchmarks.speed.turn MODULE JOB.json`.

MODULE has `prepare(job)`; the figures are the last line that is printed.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

from benchmarks.speed.measure import measured


def main() -> None:
    module, job = sys.argv[1:]
    prepare = importlib.import_module(module).prepare
    print(json.dumps(measured(prepare, json.loads(Path(job).read_text(encoding="utf-8")))))


if __name__ == "__main__":
    main()
