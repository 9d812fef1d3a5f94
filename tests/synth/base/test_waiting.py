"""A sign of life: on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

WAIT = (
    "from synth.base.progress import show_waiting\nwith show_waiting('loading'): pass\n"
    "print('done')"
)


def test_it_is_shown_on_a_terminal_and_leaves_other_output_alone() -> None:
    leader, terminal = pty.openpty()
    shown = subprocess.run(
        [sys.executable, "-c", WAIT], stdout=subprocess.PIPE, stderr=terminal, check=True
    )
    os.close(terminal)
    assert shown.stdout == b"done\n"
    assert b"loading" in os.read(leader, 4096)
    os.close(leader)


def test_off_a_terminal_nothing_is_shown() -> None:
    shown = subprocess.run([sys.executable, "-c", WAIT], capture_output=True, check=True)
    assert (shown.stdout, shown.stderr) == (b"done\n", b"")
