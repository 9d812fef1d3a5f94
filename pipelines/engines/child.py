"""Run a module as `python -m` does, in a process that ends when the one that asked for it does.

`python -m pipelines.engines.child PARENT MODULE [WORD ...]`; PARENT is the number of its process.
"""

from __future__ import annotations

import runpy
import sys

from pipelines.engines.executor import watch_parent

if __name__ == "__main__":
    watch_parent(int(sys.argv[1]))
    del sys.argv[:2]  # its own name and PARENT; the module's name makes room for its path
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
